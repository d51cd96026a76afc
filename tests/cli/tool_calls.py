# SPDX-License-Identifier: MIT
"""Forced tool calls of the 0.5B model: always a declared function with valid arguments.

Usage: tool_calls.py POWER MODEL ROUNDS
"""
import decimal
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIP: jsonschema is not installed (make deps)")
    sys.exit(77)

TOOLS = {
    "get_weather": {"type": "object", "properties": {
        "city": {"type": "string", "maxLength": 20}, "unit": {"enum": ["C", "F"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city", "days"], "additionalProperties": False},
    "book": {"type": "object", "$defs": {"guest": {"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0,
                                                             "maximum": 130}},
        "required": ["name"], "additionalProperties": False}},
        "properties": {"day": {"type": "string", "format": "date"},
                       "guests": {"type": "array", "items": {"$ref": "#/$defs/guest"},
                                  "minItems": 1, "maxItems": 2},
                       "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}},
        "required": ["day", "guests", "code"], "additionalProperties": False},
    "now": {"type": "object", "properties": {}, "additionalProperties": False},
}
FORMATS = [None, "qwen-xml", "deepseek", "mistral", "lfm2", "command-r"]
QUESTIONS = ["What is the weather in Oslo?", "Book a table for two on Friday.", "What time is it?",
             "Write a poem."]


def ask(program, model, tools, choice, seed, form):
    command = [program, "run", model, "--tools", tools, "--tool-choice", choice, "--json",
               "--temperature", "1", "--seed", str(seed), "--ctx", "2048", "--max-tokens", "300"]
    if form:
        command += ["--answer-format", form]
    done = subprocess.run(command + [QUESTIONS[seed % len(QUESTIONS)]], capture_output=True,
                          text=True, check=False)
    if not done.stdout:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def digits_are_kept(program, model, folder):
    """A line of a call has the numbers as the model wrote them; "strict" is no word to be ignored."""
    def write(strict, values):
        path = pathlib.Path(folder, "exact.json")
        path.write_text(json.dumps([{"type": "function", "function": {
            "name": "exact", "strict": strict, "parameters": {
                "type": "object", "properties": values, "required": list(values),
                "additionalProperties": False}}}]))
        return [program, "run", model, "--temperature", "0", "--ctx", "1024", "--max-tokens", "120",
                "--tools", str(path)]

    ask_exact = write(False, {"x": {"const": 0.1}, "id": {"const": 12345678901234567890}})
    line = subprocess.run(ask_exact + ["--tool-choice", "exact", "Go on."], capture_output=True,
                          text=True, check=True).stdout
    numbers = json.loads(line, parse_float=decimal.Decimal)["arguments"]
    if numbers != {"x": decimal.Decimal("0.1"), "id": 12345678901234567890}:
        sys.exit(f"digits are lost: {line}")
    never = {"list": {"type": "array", "uniqueItems": True}}
    for strict in (True, False):
        done = subprocess.run(write(strict, never) + ["Go on."], capture_output=True, text=True,
                              check=False)
        if (done.returncode != 0) != strict or ("uniqueItems" in done.stderr) != strict:
            sys.exit(f"strict {strict}: exit {done.returncode}: {done.stderr}")


def main():
    program, model, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if not os.path.exists(model):
        print("SKIP: the 0.5B model is not there")
        sys.exit(77)
    wrong = cut = calls = 0
    with tempfile.TemporaryDirectory() as folder:
        digits_are_kept(program, model, folder)
        path = pathlib.Path(folder, "tools.json")
        path.write_text(json.dumps([{"type": "function", "function": {"name": n, "parameters": s}}
                                    for n, s in TOOLS.items()]))
        for seed in range(rounds):
            choice = ["required", "book", "get_weather"][seed % 3]
            answer = ask(program, model, str(path), choice, seed, FORMATS[seed % len(FORMATS)])
            if answer["finish"] == "length":
                cut += 1
                continue
            good = len(answer["tool_calls"]) == 1 and not answer["content"]
            for call in answer["tool_calls"]:
                calls += 1
                good = good and call["name"] in TOOLS and choice in ("required", call["name"])
                good = good and jsonschema.Draft202012Validator(
                    TOOLS[call["name"]]).is_valid(call["arguments"])
            if not good:
                wrong += 1
                print(seed, choice, FORMATS[seed % len(FORMATS)], answer["text"])
    print(f"calls: {calls}, cut: {cut}, wrong: {wrong}")
    sys.exit(wrong != 0 or calls < rounds // 2)


main()
