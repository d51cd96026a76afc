#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random schemas with random instances, judged by Python's jsonschema with exact decimals, and texts
sampled from our automaton, which jsonschema must validate.
usage: schema_random.py JUDGE SCHEMAS [SEED]

What we refuse is counted; too many refusals fail the test, or it would prove nothing.
"""
import copy
import decimal
import json
import random
import subprocess
import sys

SKIP = 77
try:
    import jsonschema
    from jsonschema import validators
except ImportError:
    print("SKIP: no jsonschema in .venv (make deps)")
    sys.exit(SKIP)

decimal.setcontext(decimal.Context(prec=6000, Emax=999999, Emin=-999999))
D = decimal.Decimal
KEYS = ["a", "b", "ab", "x_1", "x_2", "k\n", "é", "c"]
STRINGS = ["", "a", "b", "ab", "abc", "xx", "é", "a\nb", "aé😀", "12", "bbbb", "c\"\\/"]
PATTERNS = ["^a", "b$", "^[a-c]{1,3}$", "x|y", "^[0-9]+$", "^x_", "a.?b"[:1], "^(ab|c)*$", "[^a]", "é"]
NUMBERS = [D(t) for t in "0 1 -1 2 3 5 6 10 12 -7 99 100 0.5 -0.5 1.5 2.25 0.01 -3.75 1e2 1.5e3 12.50".split()]


def is_integer(_, value):
    if isinstance(value, bool):
        return False
    if isinstance(value, D):
        return value == value.to_integral_value()
    return isinstance(value, int)


def is_number(_, value):
    return isinstance(value, (int, D)) and not isinstance(value, bool)


CHECKER = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
    {"integer": is_integer, "number": is_number})
Validator = validators.extend(jsonschema.Draft202012Validator, type_checker=CHECKER)


class Writer:
    """JSON with Decimals and a chosen spelling of numbers."""

    def __init__(self, rng, plain):
        self.rng, self.plain = rng, plain

    def number(self, value):
        if not isinstance(value, D):
            return str(value)
        if self.plain or self.rng.random() < 0.7:
            text = format(value, "f")
            if self.rng.random() < 0.2:
                text += "00" if "." in text else ".0"
            return text
        sign, digits, exponent = value.normalize().as_tuple()
        head = str(digits[0]) + ("." + "".join(map(str, digits[1:])) if digits[1:] else "")
        exponent += len(digits) - 1
        if value == 0:
            exponent = 3
        return ("-" if sign else "") + head + self.rng.choice("eE") + self.rng.choice(
            [str(exponent), format(exponent, "+03d")])

    def dump(self, value, comma, colon, indent, level=0):
        if value is None or isinstance(value, (bool, str)):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, (int, D)):
            return self.number(value)
        pads = ("", "") if indent is None else ("\n" + " " * indent * (level + 1), "\n" + " " * indent * level)
        if isinstance(value, list):
            parts, marks = [self.dump(v, comma, colon, indent, level + 1) for v in value], "[]"
        else:
            parts = [json.dumps(k, ensure_ascii=False) + colon + self.dump(v, comma, colon, indent, level + 1)
                     for k, v in value.items()]
            marks = "{}"
        if not parts:
            return marks
        return marks[0] + pads[0] + (comma + pads[0]).join(parts) + pads[1] + marks[1]

    def texts(self, value):
        return [self.dump(value, ",", ":", None), self.dump(value, ", ", ": ", None),
                self.dump(value, ",", ": ", 2)]


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.defs = []

    def value(self, depth=2):
        kind = self.rng.randrange(8 if depth else 6)
        if kind == 0:
            return self.rng.choice([None, True, False])
        if kind in (1, 2):
            value = self.rng.choice(NUMBERS)
            return int(value) if value == value.to_integral_value() and self.rng.random() < 0.5 else value
        if kind < 6:
            return self.rng.choice(STRINGS)
        if kind == 6:
            return [self.value(depth - 1) for _ in range(self.rng.randrange(4))]
        keys = self.rng.sample(KEYS, self.rng.randrange(5))
        return {key: self.value(depth - 1) for key in keys}

    def some(self, options, least=0, most=3):
        return self.rng.sample(options, self.rng.randint(least, min(most, len(options))))

    def number_words(self):
        words = {}
        for word in self.some(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], 1, 2):
            words[word] = self.rng.choice([D(2), D(3), D("0.5"), D(7), D("0.01"), D("1.5")]) if word == "multipleOf" \
                else self.rng.choice(NUMBERS)
        return words

    def string_words(self):
        words = {}
        for word in self.some(["minLength", "maxLength", "pattern"], 1, 2):
            words[word] = self.rng.choice(PATTERNS) if word == "pattern" else self.rng.randrange(5)
        return words

    def array_words(self, depth):
        words = {}
        for word in self.some(["items", "prefixItems", "minItems", "maxItems", "contains"], 1, 3):
            if word == "prefixItems":
                words[word] = [self.schema(depth - 1) for _ in range(self.rng.randint(1, 3))]
            elif word in ("items", "contains"):
                words[word] = self.schema(depth - 1)
            else:
                words[word] = self.rng.randrange(4)
        return words

    def object_words(self, depth):
        words = {}
        choices = ["properties", "properties", "required", "additionalProperties", "patternProperties",
                   "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas"]
        for word in self.some(choices, 1, 4):
            if word == "properties":
                words[word] = {key: self.schema(depth - 1) for key in self.some(KEYS, 1, 3)}
            elif word == "required":
                words[word] = self.some(KEYS, 0, 2)
            elif word == "additionalProperties":
                words[word] = self.rng.choice([False, False, self.schema(depth - 1)])
            elif word == "patternProperties":
                words[word] = {key: self.schema(depth - 1) for key in self.some(PATTERNS, 1, 2)}
            elif word == "propertyNames":
                words[word] = self.string_words()
            elif word == "dependentRequired":
                words[word] = {key: self.some(KEYS, 0, 2) for key in self.some(KEYS, 1, 2)}
            elif word == "dependentSchemas":
                words[word] = {key: self.schema(depth - 1) for key in self.some(KEYS, 1, 1)}
            else:
                words[word] = self.rng.randrange(4)
        return words

    def schema(self, depth):
        roll = self.rng.random()
        if roll < 0.06 or depth <= 0 and roll < 0.2:
            return self.rng.choice([True, True, {}, False])
        schema = {}
        if self.rng.random() < 0.6:
            types = ["null", "boolean", "integer", "number", "string", "array", "object"]
            schema["type"] = self.rng.choice(types) if self.rng.random() < 0.7 else self.some(types, 1, 3)
        kinds = ["number", "string"] + (["array", "object", "object", "combine", "combine", "value", "ref"]
                                        if depth > 0 else ["value"])
        for kind in self.some(kinds, 1, 2):
            if kind == "number":
                schema.update(self.number_words())
            elif kind == "string":
                schema.update(self.string_words())
            elif kind == "array":
                schema.update(self.array_words(depth))
            elif kind == "object":
                schema.update(self.object_words(depth))
            elif kind == "value":
                if self.rng.random() < 0.3:
                    schema["const"] = self.value()
                else:
                    schema["enum"] = [self.value() for _ in range(self.rng.randint(1, 4))]
            elif kind == "ref":
                schema["$ref"] = "#/$defs/d%d" % self.rng.randrange(2)
            else:
                self.combine(schema, depth)
        return schema

    def combine(self, schema, depth):
        word = self.rng.choice(["allOf", "anyOf", "oneOf", "not", "if"])
        if word == "not":
            schema[word] = self.schema(depth - 1)
        elif word == "if":
            schema["if"] = self.schema(depth - 1)
            schema["then"] = self.schema(depth - 1)
            if self.rng.random() < 0.5:
                schema["else"] = self.schema(depth - 1)
        else:
            schema[word] = [self.schema(depth - 1) for _ in range(self.rng.randint(1, 3))]

    def root(self):
        schema = self.schema(3)
        while not isinstance(schema, dict):
            schema = self.schema(3)
        # d0 is plain, d1 may come back to itself below a member or an item
        schema["$defs"] = {"d0": {k: v for k, v in self.string_words().items()},
                           "d1": {"properties": {"a": {"$ref": "#/$defs/d1"}, "b": {"type": "integer"}},
                                  "items": {"$ref": "#/$defs/d1"}}}
        return schema


def pythonic(schema):
    """The same for Python's re: `$` is the very end."""
    if isinstance(schema, list):
        return [pythonic(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key == "pattern" and isinstance(value, str):
            value = value.replace("$", r"\Z")
        elif key == "patternProperties":
            value = {k.replace("$", r"\Z"): v for k, v in value.items()}
        out[key] = pythonic(value) if key not in ("enum", "const") else value
    return out


def has_word(schema, word):
    if isinstance(schema, dict):
        return word in schema or any(has_word(v, word) for v in schema.values())
    return isinstance(schema, list) and any(has_word(v, word) for v in schema)


def likely(rng, maker, schema, depth=3):
    """An instance that has a chance to be valid."""
    if not isinstance(schema, dict) or depth == 0 or rng.random() < 0.15:
        return maker.value()
    if "const" in schema:
        return copy.deepcopy(schema["const"])
    if "enum" in schema:
        return copy.deepcopy(rng.choice(schema["enum"]))
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema and rng.random() < 0.4:
            return likely(rng, maker, rng.choice(schema[word]), depth)
    for word in ("then", "else", "if", "not"):
        if word in schema and rng.random() < 0.3:
            return likely(rng, maker, schema[word], depth)
    types = schema.get("type", rng.choice(["object", "object", "array", "string", "number"]))
    kind = types if isinstance(types, str) else rng.choice(types)
    if kind == "object":
        keys = set(rng.sample(KEYS, rng.randrange(3))) | set(schema.get("required", []))
        keys |= {k for k in schema.get("properties", {}) if rng.random() < 0.6}
        keys = rng.sample(sorted(keys), len(keys))
        return {k: likely(rng, maker, schema.get("properties", {}).get(k, schema.get("additionalProperties", True)),
                          depth - 1) for k in keys}
    if kind == "array":
        prefix = schema.get("prefixItems", [])
        return [likely(rng, maker, prefix[i] if i < len(prefix) else schema.get("items", True), depth - 1)
                for i in range(rng.randrange(5))]
    if kind == "string":
        return rng.choice(STRINGS)
    if kind in ("number", "integer"):
        return rng.choice(NUMBERS)
    return rng.choice([None, True, False])


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key twice")
    return dict(pairs)


def parse(text):
    return json.loads(text, parse_float=D, object_pairs_hook=unique)


def is_valid(validator, value):
    try:
        return validator.is_valid(value)
    except (decimal.DecimalException, RecursionError):
        return None




def main():
    judge, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    cases, lines = [], []
    for i in range(count):
        rng = random.Random(seed * 1000003 + i)
        maker = Maker(rng)
        schema = maker.root()
        writer = Writer(rng, plain=has_word(schema, "multipleOf"))
        values = [likely(rng, maker, schema) for _ in range(12)] + [maker.value() for _ in range(4)]
        texts = [writer.texts(value) for value in values]
        text = Writer(rng, plain=True).dump(schema, ",", ":", None)
        cases.append((schema, text, values, texts))
        lines.append(json.dumps({"schema": text, "texts": sum(texts, []), "any_order": i % 4 != 0 or None,
                                 "walks": 6, "seed": seed * 7919 + i}))
    asked = subprocess.run([judge], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    if asked.returncode or len(answers) != count:
        print(asked.stderr, f"schema_judge: exit {asked.returncode} after {len(answers)} schemas")
        return 1
    refused, wrong, checked, accepted, walks, empty = {}, 0, 0, 0, 0, 0
    for i, ((schema, text, values, texts), answer) in enumerate(zip(cases, answers)):
        validator = Validator(pythonic(schema))
        if answer["status"] != "POWER_OK":
            if "no value satisfies" in answer["message"]:
                empty += 1
                good = [v for v in values if is_valid(validator, v)]
                if good:
                    wrong += 1
                    print("WRONG: satisfiable", text, good[:1])
                continue
            refused[answer["message"]] = refused.get(answer["message"], 0) + 1
            continue
        any_order, got = i % 4 != 0, iter(answer["accepts"])
        for value, spelled in zip(values, texts):
            valid = is_valid(validator, value)
            for one in spelled:
                accepts = next(got)
                checked += 1
                accepted += accepts is True
                if valid is None or accepts == valid:
                    continue
                if valid and not any_order:
                    continue  # keys stand in another order
                wrong += 1
                if wrong < 20:
                    print(f"WRONG: schema {i}", text, "\n  text", one, "valid", valid, "accepts", accepts)
        for walk in answer["walks"]:
            if walk is None:
                continue
            if isinstance(walk, dict):
                wrong += 1
                print(f"WRONG: schema {i}", text, walk)
                continue
            walks += 1
            try:
                valid = is_valid(validator, parse(walk))
            except decimal.DecimalException:
                valid = None  # an exponent beyond what Python's decimals hold
            except ValueError as fault:
                valid = str(fault)
            if valid not in (True, None):
                wrong += 1
                if wrong < 20:
                    print(f"WRONG: schema {i} wrote", repr(walk), "for", text, valid)
    total_refused = sum(refused.values())
    print(f"{count} schemas: {total_refused} refused, {empty} empty, {checked} texts ({accepted} accepted), "
          f"{walks} sampled texts, {wrong} wrong")
    if "-v" in sys.argv:
        for message, n in sorted(refused.items(), key=lambda item: -item[1]):
            print(n, message)
    enough = total_refused < 0.35 * count and accepted > checked / 20 and walks > count
    return 0 if wrong == 0 and enough else 1


if __name__ == "__main__":
    sys.exit(main())
