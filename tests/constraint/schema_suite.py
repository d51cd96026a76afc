#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON-Schema-Test-Suite that the source package of PyPI's jsonschema carries, drafts 2020-12
and draft-07: each group is refused by name, or every valid instance is accepted (in compact and in
standard spacing) and every invalid one rejected. usage: schema_suite.py JUDGE [-v]

Left out: format.json, which says that `format` asserts nothing, since we always assert it
(optional/format is in), and draft-07's optional/content.json, since content words are annotations
to us, as 2020-12 says. The package is fetched once, into ~/.cache/power (XDG_CACHE_HOME).
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

VERSION = "4.26.0"
SKIP = 77
LISTED = set("""$schema $id $anchor $ref $defs definitions $comment title description default examples
    deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema type enum const anyOf
    allOf oneOf properties required additionalProperties patternProperties prefixItems items
    additionalItems minItems maxItems minLength maxLength pattern format minimum maximum
    exclusiveMinimum exclusiveMaximum multipleOf""".split())
FORMATS = {"date", "time", "date-time", "uuid", "email", "ipv4", "ipv6", "uri"}
DRAFT7 = "http://json-schema.org/draft-07/schema#"


def suite_folder():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "power" / "json-schema-suite"
    package = folder / f"jsonschema-{VERSION}.tar.gz"
    if not package.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "jsonschema",
             "--disable-pip-version-check", "-d", folder, f"jsonschema=={VERSION}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if fetched.returncode or not package.exists():
            print(f"SKIP: cannot fetch the source package of jsonschema {VERSION}")
            sys.exit(SKIP)
    return package


def groups(package):
    """(file, draft, group) of every group."""
    with tarfile.open(package) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            match = re.search(r"json/tests/(draft2020-12|draft7)/(.*)\.json$", member.name)
            if not match or not member.isfile() or match.group(2) in ("format", "optional/content"):
                continue
            for group in json.loads(tar.extractfile(member).read()):
                yield f"{match.group(1)}/{match.group(2)}", match.group(1), group


def keywords(schema, found, draft):
    """Keywords of a schema and those inside it."""
    if not isinstance(schema, dict):
        return
    if draft == "draft7" and "$ref" in schema:
        found.add(("$ref", schema["$ref"]))
        schema = {k: v for k, v in schema.items() if k in ("definitions",)}
    for key, value in schema.items():
        found.add((key, json.dumps(value)) if key in ("format", "$ref", "multipleOf") else (key, ""))
        if key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
            for part in value.values():
                keywords(part, found, draft)
        elif key in ("allOf", "anyOf", "oneOf", "prefixItems") or isinstance(value, list) and key == "items":
            for part in value:
                keywords(part, found, draft)
        elif key in ("items", "additionalItems", "additionalProperties", "not", "if", "then", "else",
                     "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"):
            keywords(value, found, draft)


def is_listed(schema, draft):
    found = set()
    keywords(schema, found, draft)
    local = json.dumps(schema)
    for key, value in found:
        if key not in LISTED:
            return False
        if key == "format" and json.loads(value) not in FORMATS:
            return False
        if key == "$schema" and not re.search(r"json-schema.org/(draft/2020-12|draft-07)/schema", local):
            return False
        if key == "$ref" and re.search(r"localhost|json-schema\.org", value) and '"$id"' not in local:
            return False  # another document
        if key == "multipleOf" and float(value) != int(float(value)):
            return False  # for integers
    return True


def texts_of(instance):
    return [json.dumps(instance, ensure_ascii=False, separators=(",", ":")),
            json.dumps(instance, ensure_ascii=False)]


def question(draft, group):
    schema = group["schema"]
    if draft == "draft7" and isinstance(schema, dict):
        schema = {**schema, "$schema": schema.get("$schema", DRAFT7)}
    texts = [text for test in group["tests"] for text in texts_of(test["data"])]
    return {"schema": json.dumps(schema), "texts": texts, "any_order": True}


def main():
    verbose = "-v" in sys.argv
    all_groups = list(groups(suite_folder()))
    lines = "".join(json.dumps(question(draft, group)) + "\n" for _, draft, group in all_groups)
    asked = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    if asked.returncode or len(answers) != len(all_groups):
        print(asked.stderr, f"schema_judge: exit {asked.returncode} after {len(answers)} groups")
        return 1
    right = refused = wrong = listed = listed_right = unnamed = 0
    for (name, draft, group), answer in zip(all_groups, answers):
        in_list = "refRemote" not in name and is_listed(group["schema"], draft)
        listed += in_list
        title = f"{name}: {group['description']}"
        if answer["status"] != "POWER_OK":
            # `false` and the like: no value satisfies it, which is an answer of its own
            if "no value satisfies" in answer["message"] and not any(t["valid"] for t in group["tests"]):
                right += 1
                listed_right += in_list
                continue
            refused += 1
            unnamed += not re.search(r'^schema: "', answer["message"])
            if verbose or not re.search(r'^schema: "', answer["message"]):
                print("refused" + (" LISTED" if in_list else ""), title, "|", answer["message"])
            continue
        expected = [test["valid"] for test in group["tests"] for _ in range(2)]
        if answer["accepts"] == expected:
            right += 1
            listed_right += in_list
            continue
        wrong += 1
        print("WRONG", title, json.dumps(group["schema"])[:300])
        for test, text, got in zip([t for t in group["tests"] for _ in range(2)],
                                   question(draft, group)["texts"], answer["accepts"]):
            if got != test["valid"]:
                print("   ", text[:200], "is", test["valid"], "got", got)
    print(f"{len(all_groups)} groups: {right} right, {refused} refused, {wrong} wrong; "
          f"of {listed} with listed keywords only {listed_right} right "
          f"({100 * listed_right / max(listed, 1):.1f} %)")
    return 0 if wrong == 0 and unnamed == 0 and listed_right >= 0.9 * listed else 1


if __name__ == "__main__":
    sys.exit(main())
