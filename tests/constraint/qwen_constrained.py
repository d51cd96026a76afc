#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Constrained answers of a real model: all parse and validate, and company, threads and chunks change nothing.

    qwen_constrained.py GENERATE_MANY MODEL [SCHEMAS SEEDS]

SCHEMAS of the twenty below (default all) with SEEDS seeds each (default 10), at temperature 1 over the whole
vocabulary. The witness is PyPI's jsonschema. An answer that max_tokens cut is counted, not validated.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIP: no jsonschema (make deps)")
    sys.exit(77)

if len(sys.argv) < 3 or not os.path.exists(sys.argv[2]):
    print("SKIP: no model")
    sys.exit(77)


def obj(required=None, **properties):
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required,
            "additionalProperties": False}


string, integer, boolean = {"type": "string", "maxLength": 24}, {"type": "integer", "minimum": 0, "maximum": 9999}, {"type": "boolean"}
CASES = [
    ("Describe a person.", obj(name=string, age={"type": "integer", "minimum": 0, "maximum": 150})),
    ("Name three colours.", {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 3, "maxItems": 3}),
    ("Is water wet?", {"enum": ["yes", "no", "perhaps", None]}),
    ("When was the moon landing?", obj(date={"type": "string", "format": "date"}, crew=integer)),
    ("A point in the plane.", obj(x={"type": "number", "minimum": -10, "maximum": 10}, y={"type": "integer", "minimum": -3, "maximum": 3})),
    ("A tree of names.", {"$ref": "#/$defs/node", "$defs": {"node": obj(["name"], name={"type": "string", "maxLength": 6}, children={"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2})}}),
    ("Book a flight.", obj(origin={"type": "string", "pattern": "^[A-Z]{3}$"}, target={"type": "string", "pattern": "^[A-Z]{3}$"}, seats={"type": "integer", "minimum": 1, "maximum": 9})),
    ("A contact.", {"anyOf": [obj(mail={"type": "string", "format": "email", "maxLength": 30}), obj(phone={"type": "string", "pattern": "^\\+[0-9]{6,12}$"})]}),
    ("Switch the lamp on.", obj(command={"const": "switch"}, on=boolean)),
    ("A shopping list.", {"type": "array", "items": obj(item=string, count={"type": "integer", "minimum": 1, "maximum": 20}), "maxItems": 3}),
    ("An IP address.", {"type": "string", "format": "ipv4"}),
    ("A UUID.", obj(id={"type": "string", "format": "uuid"})),
    ("A time of day.", obj(time={"type": "string", "format": "time"})),
    ("A multiple of seven.", {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 700}),
    ("A pair of a word and a number.", {"type": "array", "prefixItems": [{"type": "string", "maxLength": 10}, integer], "items": False, "minItems": 2}),
    ("Anything or nothing.", {"type": ["string", "null", "boolean"], "maxLength": 16}),
    ("Settings.", {"type": "object", "patternProperties": {"^x_[a-z]{1,6}$": boolean}, "additionalProperties": False, "maxProperties": 3}),
    ("A review.", obj(["stars"], stars={"type": "integer", "minimum": 1, "maximum": 5}, text=string, tags={"type": "array", "items": {"enum": ["good", "bad", "long"]}, "maxItems": 2})),
    ("A nested order.", obj(order=obj(id=integer, lines={"type": "array", "items": obj(sku={"type": "string", "pattern": "^[A-Z]-[0-9]{2}$"}, n=integer), "minItems": 1, "maxItems": 2}))),
    ("A quoted line.", obj(quote={"type": "string", "minLength": 3, "maxLength": 20}, by=string)),
]


def answers(n_schemas, seeds, threads, chunk, sessions):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "schemas.json")
        with open(path, "w") as f:
            json.dump([{"prompt": p, "schema": s} for p, s in CASES[:n_schemas]], f)
        p = subprocess.run([sys.argv[1], sys.argv[2], path, str(seeds), str(threads), str(chunk), str(sessions), "96"],
                           capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"FAIL: {p.stderr.strip()}")
    return [json.loads(line) for line in p.stdout.splitlines()]


def main():
    n_schemas, seeds = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (len(CASES), 10)
    got = answers(n_schemas, seeds, os.cpu_count() or 1, 0, 8)
    failed = cut = 0
    for line in got:
        if line["finish"] == "length":
            cut += 1
            continue
        try:
            value = json.loads(line["text"])
            jsonschema.Draft202012Validator(CASES[line["schema"]][1], format_checker=jsonschema.FormatChecker()).validate(value)
        except (ValueError, jsonschema.ValidationError) as error:
            failed += 1
            print(f"FAIL schema {line['schema']} seed {line['seed']}: {line['text']!r}: {str(error).splitlines()[0]}")
    other = answers(n_schemas, min(seeds, 2), 1, 3, 1)  # alone, one thread, three rows a step
    same = {(a["schema"], a["seed"]): (a["text"], a["finish"]) for a in got}
    for line in other:
        if same[line["schema"], line["seed"]] != (line["text"], line["finish"]):
            failed += 1
            print(f"FAIL schema {line['schema']} seed {line['seed']}: another answer alone: {line['text']!r}")
    print(f"{len(got)} answers, {len(got) - cut} whole, {cut} cut by max_tokens, {len(other)} again alone; {failed} wrong")
    sys.exit(1 if failed or cut == len(got) else 0)


main()
