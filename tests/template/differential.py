# SPDX-License-Identifier: MIT
"""Renders generated templates with Jinja2 and with Power and compares: the same bytes, and an error
where Jinja2 raises one. Prints each difference (--show) and ends with status 1 if there is any."""

import argparse
import collections
import json
import re
import subprocess
import sys
import warnings

import generate
import reference

warnings.simplefilter("ignore")
# Python's own words, in any case: filters may have changed it.
UNSTABLE = re.compile(r"built-in (method|function)|bound method| at 0x", re.I)
# Where Python adds a name and an address, ours has "<generator object>".
ADDRESS = re.compile(r"(?<= object)( \w+)? at 0x[0-9a-f]+(?=>|&gt;)", re.I)


class Server:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, text, variables):
        line = json.dumps({"t": text, "v": variables}, ensure_ascii=False)
        self.process.stdin.write(line.encode("utf-8", "surrogatepass") + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"the renderer died at {text!r}")
        return json.loads(answer)


def judge(want, fault, got):
    """Why both differ, or None."""
    if want is None:
        return "Jinja2 raises, ours renders" if "text" in got else None
    if "text" not in got:
        return "ours raises, Jinja2 renders"
    return None if got["text"] == want else "texts differ"


def compare(env, server, text, variables, json_text, counts):
    want, fault = reference.render(env, text, json.loads(json_text))
    want = want and ADDRESS.sub("", want)
    got = server.render(text, json_text)
    counts["raise" if want is None else "render"] += 1
    if want is not None and UNSTABLE.search(want):
        counts["no stable text"] += 1
        return None
    if want is not None and any("\ud800" <= c < "\ue000" for c in want):
        counts["no stable text"] += 1
        return None
    if "text" not in got and (got.get("status") == generate.UNSUPPORTED or "more than 16384 bits" in got["error"]):
        counts["refused by name"] += 1
        counts["refused: " + re.sub(r"^template[^:]*: ", "", got["error"])[:60]] += 1
        return None
    why = judge(want, fault, got)
    return why and (why, want, fault, got)


def shrink(env, server, make, difference):
    """A shorter template with the same kind of difference."""
    text, variables, json_text = make
    changed = True
    while changed:
        changed = False
        parts = re.split(r"(\{[{%].*?[%}]\})", text, flags=re.S)
        for size in (8, 4, 2, 1):
            for i in range(0, len(parts) - size + 1):
                shorter = "".join(parts[:i] + parts[i + size:])
                if len(shorter) >= len(text):
                    continue
                again = compare(env, server, shorter, variables, json_text, collections.Counter())
                if again and again[0] == difference[0]:
                    text, changed, difference = shorter, True, again
                    break
            if changed:
                break
    return text, difference


def show(seed, number, text, difference):
    why, want, fault, got = difference
    print(f"--- seed {seed} case {number}: {why}\n    template: {text!r}")
    print(f"    Jinja2: {want!r} {fault[:300]}\n    Power:  {got.get('text', got.get('error'))!r}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", required=True, help="the program template_serve")
    parser.add_argument("--cases", type=int, default=2500)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--show", type=int, default=10, help="differences shown (default 10)")
    options = parser.parse_args()
    env, server = reference.environment(), Server(options.serve)
    counts, differences = collections.Counter(), 0
    for seed in options.seed or [1]:
        generator = generate.Generator(seed)
        for number in range(options.cases):
            make = generator.case()
            difference = compare(env, server, *make, counts)
            if not difference:
                continue
            differences += 1
            if differences <= options.show:
                show(seed, number, *shrink(env, server, make, difference))
    total = counts["render"] + counts["raise"]
    print(f"{total} templates, {counts['raise']} of them raise, {differences} differences")
    for name, n in sorted(counts.items()):
        if name not in ("render", "raise"):
            print(f"  {name}: {n}")
    sys.exit(1 if differences or counts["raise"] * 2 > total else 0)


if __name__ == "__main__":
    main()
