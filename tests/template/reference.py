# SPDX-License-Identifier: MIT
"""The Jinja2 environment that the transformers library renders chat templates in, as published:
sandbox, trimmed blocks, loop controls, `generation` blocks, tojson without ASCII escapes,
raise_exception and a clock that stands still."""

import datetime
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

NOW = datetime.datetime(2026, 3, 14, 15, 9, 26)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("support"), [], [], body).set_lineno(line)

    def support(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return env


def render(env, text, variables):
    """Text, or None where Jinja2 raises, with its words."""
    try:
        return env.from_string(text).render(**variables), ""
    except Exception as fault:  # whatever it raises is an error of the template
        return None, f"{type(fault).__name__}: {fault}"
