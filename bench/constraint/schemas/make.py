#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes cases.jsonl: 30 schemas with one answer each, in the default spacing of json.dumps.

Answers are fixed by a seed; the script asserts that every answer satisfies its schema when
jsonschema is installed.
"""
import json
import pathlib
import random

WORDS = ("amber bridge copper delta ember forest garden harbor island jungle kernel lantern meadow "
         "needle orchard pepper quartz river saddle timber umbrella valley window yellow zephyr").split()
random.seed(7)
CASES = []


def case(name, schema, answer):
    CASES.append((name, schema, answer))


def obj(properties, required=None, **more):
    return {"type": "object", "properties": properties, "additionalProperties": False,
            "required": list(properties) if required is None else required, **more}


def words(n):
    return " ".join(random.choice(WORDS) for _ in range(n))


S, I, N, B = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}

case("flat", obj({"name": S, "age": I, "member": B}), {"name": words(3), "age": 41, "member": True})
case("wide_200", obj({f"field_{i:03d}": (S, I, N, B)[i % 4] for i in range(200)}),
     {f"field_{i:03d}": (words(2), i * 7, i + 0.5, i % 3 == 0)[i % 4] for i in range(200)})
wide = {f"{WORDS[i % 25]}_{i}": (S, I)[i % 2] for i in range(200)}
case("wide_200_optional", obj(wide, []), {k: (words(1), 5)[i % 2] for i, k in enumerate(wide) if i % 3 == 0})
tree = {"$ref": "#/$defs/node", "$defs": {"node": obj({"value": I, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}})}}


def grow(depth):
    return {"value": random.randrange(1000), "children": [grow(depth - 1) for _ in range(2)] if depth else []}


case("tree", tree, grow(4))
pair = {"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [{"type": "null"}, obj({"left": {"$ref": "#/$defs/t"}, "key": S, "right": {"$ref": "#/$defs/t"}})]}}}


def binary(depth):
    return {"left": binary(depth - 1), "key": words(1), "right": binary(depth - 1)} if depth else None


case("binary_tree", pair, binary(4))
linked = {"$ref": "#/$defs/l", "$defs": {"l": obj({"head": N, "tail": {"anyOf": [{"$ref": "#/$defs/l"}, {"type": "null"}]}})}}
chain = None
for i in range(15):
    chain = {"head": i * 1.25, "tail": chain}
case("linked_list", linked, chain)
names = [f"{a}-{b}" for a in WORDS for b in WORDS]
case("enum_600", {"type": "array", "items": {"enum": names}}, [random.choice(names) for _ in range(20)])
case("enum_mixed", obj({"a": {"enum": [1, 2.5, "three", None, True, "thirty", "three hundred"]}, "b": {"const": "fixed text"}}), {"a": "three hundred", "b": "fixed text"})
case("pattern_id", {"type": "array", "items": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4,6}(-[a-z]+)?$"}}, ["ABC-1234", "XYZ-123456-beta", "QRS-99999"])
case("pattern_words", obj({"slug": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}, "version": {"type": "string", "pattern": "^v?[0-9]+\\.[0-9]+\\.[0-9]+$"}}), {"slug": "the-quick-brown-fox", "version": "v10.2.33"})
case("max_length", obj({"title": {"type": "string", "maxLength": 80}, "summary": {"type": "string", "minLength": 10, "maxLength": 400}}), {"title": words(8), "summary": words(40)})
case("short_strings", {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 12}}, WORDS)
case("numbers", {"type": "array", "items": N}, [0, -1.5, 3.25, 1000000, 0.001, 42, -7])
case("bounded_integers", {"type": "array", "items": {"type": "integer", "minimum": -100, "maximum": 1999}}, [0, -100, 1999, 42, 7, 100, -3])
case("matrix", {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": I}}}, [[[i * j * k for k in range(4)] for j in range(3)] for i in range(3)])
case("tuple", {"type": "array", "prefixItems": [S, I, B, obj({"x": N})], "items": False, "minItems": 4}, [words(2), 3, False, {"x": 0.5}])
shape = {"anyOf": [obj({"kind": {"const": "circle"}, "radius": N}), obj({"kind": {"const": "square"}, "side": N}), obj({"kind": {"const": "label"}, "text": S})]}
case("any_of", {"type": "array", "items": shape}, [{"kind": "circle", "radius": 2.5}, {"kind": "label", "text": words(5)}, {"kind": "square", "side": 4}])
case("scalars", {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}, [words(2), 5, None, True, "x"])
case("formats", obj({"day": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"}, "id": {"type": "string", "format": "uuid"}}), {"day": "2024-02-29", "at": "2024-05-06T07:08:09Z", "id": "123e4567-e89b-12d3-a456-426614174000"})
case("addresses", obj({"mail": {"type": "string", "format": "email"}, "ip": {"type": "string", "format": "ipv4"}}), {"mail": "someone@example.org", "ip": "192.168.10.254"})
case("map_of_numbers", {"type": "object", "additionalProperties": N}, {w: i * 1.5 for i, w in enumerate(WORDS[:12])})
case("map_of_strings", {"type": "object", "additionalProperties": S}, {w: words(4) for w in WORDS[12:20]})
case("tool_call", obj({"name": {"enum": ["search", "open", "close"]}, "arguments": obj({"query": S, "limit": {"type": "integer", "minimum": 1, "maximum": 50}, "tags": {"type": "array", "items": S, "maxItems": 5}})}), {"name": "search", "arguments": {"query": words(6), "limit": 20, "tags": [words(1) for _ in range(4)]}})
person = obj({"name": S, "mail": S, "roles": {"type": "array", "items": {"enum": ["admin", "editor", "viewer"]}}})
case("team", obj({"team": S, "lead": person, "people": {"type": "array", "items": person}}), {"team": words(2), "lead": {"name": words(2), "mail": "a@b.de", "roles": ["admin"]}, "people": [{"name": words(2), "mail": "c@d.org", "roles": ["viewer", "editor"]} for _ in range(4)]})
case("unicode", obj({"text": S, "other": S}), {"text": "Zürich, 東京, Москва – naïve café", "other": "emoji 😀 and \"quotes\" and \\ slashes\n"})
case("free_text", obj({"essay": S}), {"essay": ". ".join(words(12) for _ in range(12))})
case("invoice", obj({"number": {"type": "string", "pattern": "^INV-[0-9]{6}$"}, "lines": {"type": "array", "items": obj({"item": {"type": "string", "maxLength": 40}, "count": {"type": "integer", "minimum": 1}, "price": N}), "minItems": 1}, "paid": B}), {"number": "INV-004217", "lines": [{"item": words(3), "count": i + 1, "price": 9.5 * i} for i in range(5)], "paid": False})
case("deep", {"$ref": "#/$defs/d", "$defs": {"d": obj({"d": {"anyOf": [{"$ref": "#/$defs/d"}, I]}})}}, json.loads('{"d": ' * 20 + "7" + "}" * 20))
case("optional", obj({k: S for k in WORDS[:10]}, [WORDS[2], WORDS[7]]), {k: words(3) for k in (WORDS[0], WORDS[2], WORDS[5], WORDS[7])})
expression = {"$ref": "#/$defs/e", "$defs": {"e": {"anyOf": [N, {"type": "string", "pattern": "^[a-z]$"}, obj({"op": {"enum": ["add", "mul", "neg"]}, "args": {"type": "array", "items": {"$ref": "#/$defs/e"}, "minItems": 1, "maxItems": 3}})]}}}
case("expression", expression, {"op": "add", "args": [{"op": "mul", "args": ["x", 2, {"op": "neg", "args": [3.5]}]}, "y", 1]})

assert len(CASES) == 30, len(CASES)
try:
    import jsonschema
except ImportError:
    jsonschema = None
with open(pathlib.Path(__file__).with_name("cases.jsonl"), "w", encoding="utf-8") as out:
    for name, schema, answer in CASES:
        if jsonschema:
            jsonschema.Draft202012Validator(schema).validate(answer)
        text = json.dumps(answer, ensure_ascii=False)
        line = {"name": name, "kind": "schema", "constraint": json.dumps(schema), "answer": text}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
