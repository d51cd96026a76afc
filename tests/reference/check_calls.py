# SPDX-License-Identifier: MIT
"""Runs test_answer_envelope and validates the arguments of all its calls with jsonschema.

Usage: check_calls.py TEST_PROGRAM TEST_SOURCE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIP: jsonschema is not installed (make deps)")
    sys.exit(77)


def tools_of(source):
    text = pathlib.Path(source).read_text(encoding="utf-8")
    body = text[text.index("static const char tools[] ="):]
    body = body[:body.index(";\n")]
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', body)
    joined = "".join(json.loads('"' + part + '"') for part in parts)
    return {t["function"]["name"]: t["function"].get("parameters", {"type": "object"})
            for t in json.loads(joined)}


def main():
    schemas = tools_of(sys.argv[2])
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as out:
        done = subprocess.run([sys.argv[1], out.name], capture_output=True, text=True, check=False)
        lines = pathlib.Path(out.name).read_text(encoding="utf-8").splitlines()
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    if not lines:
        print("SKIP: the 0.5B model is not in the cache")
        sys.exit(77)
    checker = jsonschema.FormatChecker()
    wrong = 0
    for line in lines:
        call = json.loads(line)
        validator = jsonschema.Draft202012Validator(schemas[call["name"]], format_checker=checker)
        for error in validator.iter_errors(call["arguments"]):
            # Python's calendar begins with the year 1, RFC 3339's with 0.
            if error.validator == "format" and str(error.instance).startswith("0000-"):
                continue
            wrong += 1
            print(call["format"], call["name"], call["arguments"], error.message)
    print(f"calls: {len(lines)}, wrong: {wrong}")
    sys.exit(wrong != 0)


main()
