#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`power template`: files and models, options, errors with line and column.

    test_template.py POWER TESTS_DATA

Ends with `N passed, N failed`."""
import json
import os
import subprocess
import sys
import tempfile

power, data = sys.argv[1], sys.argv[2]
passed, failed = 0, 0


def check(name, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {name}: {detail}"[:2000], flush=True)


def run(*args, stdin=""):
    p = subprocess.run([power, "template", *args], input=stdin.encode(), capture_output=True, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def expect(name, got, code, out=None, err=None):
    good = got[0] == code and (out is None or got[1] == out) and (err is None or err in got[2])
    check(name, good and (code == 0 or got[2].count("\n") == 1), repr(got))


def main():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path

        chat = write("chat.json", json.dumps([{"role": "user", "content": "Hi é"}, {"role": "assistant", "content": "Yes, "}]))
        tools = write("tools.json", json.dumps([{"name": "f"}]))
        plain = write("plain.jinja", "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
                      "{% if add_generation_prompt %}[assistant]{% endif %}")
        expect("file", run(plain, "--messages", chat), 0, "[user]Hi é\n[assistant]Yes, \n[assistant]")
        expect("stdin", run(plain, "-m", "-", stdin='[{"role": "user", "content": "x"}]'), 0, "[user]x\n[assistant]")
        expect("no prompt", run(plain, "-m", chat, "--no-generation-prompt"), 0, "[user]Hi é\n[assistant]Yes, \n")
        expect("continue", run(plain, "-m", chat, "--continue"), 0, "[user]Hi é\n[assistant]Yes, ")
        out = run(plain, "-m", chat, "--json")
        check("json", out[0] == 0 and json.loads(out[1]) == {"text": "[user]Hi é\n[assistant]Yes, \n[assistant]"}, out)
        some = write("some.jinja", "{{ tools | tojson }}|{{ x }}|{{ y }}|{{ strftime_now('%Y-%m-%d %H:%M:%S') }}")
        expect("set", run(some, "-m", chat, "--tools", tools, "--set", "x=[1, 2]", "--set", 'y="é"', "--now", "2024-02-29T01:02:03Z"),
               0, '[{"name": "f"}]|[1, 2]|é|2024-02-29 01:02:03')
        expect("day", run(some, "-m", chat, "--now", "1999-12-31"), 0, "null|||1999-12-31 00:00:00")
        expect("syntax", run(write("bad.jinja", "a\n  {{ 1 + }}"), "-m", chat), 1, "", "line 2, column 10")
        expect("raised", run(write("raise.jinja", "\n{{ raise_exception('no ' ~ messages[0].role) }}"), "-m", chat), 1, "",
               "line 2, column 19: no user")
        expect("undefined", run(write("undef.jinja", "{{ a.b }}"), "-m", chat), 1, "", "'a' is undefined")
        expect("no json", run(plain, "-m", write("no.json", "[1,")), 1, "", "messages: unexpected end at byte 3")
        expect("no list", run(plain, "-m", write("obj.json", "{}")), 1, "", "not a JSON array")
        expect("no file", run(plain, "-m", os.path.join(folder, "none")), 1, "")
        expect("nothing", run(plain), 2, "", "--messages")
        expect("bad set", run(plain, "-m", chat, "--set", "x=1,"), 2, "", "NAME=JSON")
        expect("bad time", run(plain, "-m", chat, "--now", "2023-02-29"), 2, "", "--now")
        expect("name of a file", run(plain, "-m", chat, "--name", "x"), 2, "", "--name")
        expect("cannot go on", run(write("cut.jinja", "x"), "-m", chat, "--continue"), 1, "", "gone on with")
        help_text = run("--help")
        check("help", help_text[0] == 0 and "--messages" in help_text[1] and "--continue" in help_text[1], help_text)
        script = f"{data}/cases/gguf/script-text.gguf"
        rendered = run(script, "-m", chat)
        if rendered[0] == 0:
            ids = json.loads(run(script, "-m", chat, "--json")[1])
            check("ids of a model", ids["text"] == rendered[1] and ids["ids"], ids)
        else:
            expect("a model without one", rendered, 1, "", "no chat template")
        expect("unknown name", run(script, "-m", chat, "--name", "zzz"), 1, "", "template")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
