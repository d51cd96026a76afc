#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`power template`: files and models, options, errors with line and column.

    test_template.py POWER TESTS_DATA

Ends with `N passed, N failed`."""
import json
import os
import struct
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


def gguf(path, metas):
    """A file of texts without tensors."""
    text = lambda s: struct.pack("<Q", len(s.encode())) + s.encode()
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(metas)))
        for key, value in metas.items():
            file.write(text(key) + struct.pack("<I", 8) + text(value))
    return path


def choices(folder, chat, tools):
    plain, tool, rag = "D{{ tools is none }}", "T{{ tools | length }}", "R"
    key = "tokenizer.chat_template"
    both = gguf(os.path.join(folder, "both.gguf"),
                {"general.architecture": "llama", key: plain, f"{key}.tool_use": tool, f"{key}.rag": rag})
    expect("default", run(both, "-m", chat), 0, "DTrue")
    expect("tool_use", run(both, "-m", chat, "--tools", tools), 0, "T1")
    expect("by name", run(both, "-m", chat, "--tools", tools, "--name", "rag"), 0, "R")
    expect("default by name", run(both, "-m", chat, "--tools", tools, "--name", "default"), 0, "DFalse")
    expect("no such name", run(both, "-m", chat, "--name", "zzz"), 1, "", 'no chat template "zzz", there is: default, tool_use, rag')
    one = gguf(os.path.join(folder, "one.gguf"), {"general.architecture": "llama", f"{key}.rag": rag})
    expect("no default", run(one, "-m", chat), 1, "", "rag")
    broken = gguf(os.path.join(folder, "broken.gguf"), {"general.architecture": "llama", key: "{{", f"{key}.tool_use": tool})
    expect("a broken one", run(broken, "-m", chat), 1, "", "line 1")
    expect("beside a broken one", run(broken, "-m", chat, "--tools", tools), 0, "T1")
    none = gguf(os.path.join(folder, "none.gguf"), {"general.architecture": "llama"})
    expect("none", run(none, "-m", chat), 1, "", "no chat template")


def folders(folder, chat, tools):
    """SafeTensors: files beside the weights, and the list in tokenizer_config.json."""
    model = os.path.join(folder, "st")
    os.makedirs(os.path.join(model, "additional_chat_templates"))

    def write(name, content):
        with open(os.path.join(model, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    write("model.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))
    write("config.json", json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_attention_heads": 2,
                                     "num_key_value_heads": 1, "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 32,
                                     "max_position_embeddings": 64, "rms_norm_eps": 1e-6}))
    write("tokenizer_config.json", json.dumps({"chat_template": [
        {"name": "default", "template": "list default"}, {"name": "tool_use", "template": "list tool_use"}]}))
    expect("list", run(model, "-m", chat), 0, "list default")
    expect("list with tools", run(model, "-m", chat, "--tools", tools), 0, "list tool_use")
    write("chat_template.jinja", "file")
    write("additional_chat_templates/rag.jinja", "file rag")
    expect("file before list", run(model, "-m", chat), 0, "file")
    expect("file of a name", run(model, "-m", chat, "--name", "rag"), 0, "file rag")
    write("additional_chat_templates/tool_use.jinja", "file tool_use")
    expect("file with tools", run(model, "-m", chat, "--tools", tools), 0, "file tool_use")


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
        expect("set twice", run(plain, "-m", chat, "--set", "x=1", "--set", "x=2"), 2, "", "given before")
        expect("set, not UTF-8", run(plain, "-m", chat, "--set", b"x\xff=1"), 2, "", "not UTF-8")
        expect("set beside an option", run(plain, "-m", chat, "--set", "messages=[]"), 2, "", "another option")
        expect("set beside a flag", run(plain, "-m", chat, "--no-generation-prompt", "--set", "add_generation_prompt=true"), 2, "", "another option")
        expect("nothing in a file", run(plain, "-m", "/dev/null"), 1, "", "empty")
        expect("no tools in a file", run(plain, "-m", chat, "--tools", "/dev/null"), 1, "", "empty")
        expect("stdin twice", run(plain, "-m", "-", "--tools", "-"), 2, "", "stdin")
        with open(write("piped.jinja", "x" * 9000)) as piped:
            done = subprocess.run([power, "template", "/dev/stdin", "-m", chat], input=piped.read().encode(), capture_output=True)
        check("a template from a pipe", done.returncode == 0 and done.stdout == b"x" * 9000, done.stderr)
        expect("bad time", run(plain, "-m", chat, "--now", "2023-02-29"), 2, "", "--now")
        expect("name of a file", run(plain, "-m", chat, "--name", "x"), 2, "", "--name")
        expect("cannot go on", run(write("cut.jinja", "x"), "-m", chat, "--continue"), 1, "", "gone on with")
        help_text = run("--help")
        check("help", help_text[0] == 0 and "--messages" in help_text[1] and "--continue" in help_text[1], help_text)
        choices(folder, chat, tools)
        folders(folder, chat, tools)
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
