#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Formats against the JSON-Schema-Test-Suite that the source package of PyPI's `jsonschema` holds.

usage: formats.py CLASSIFY

Every string of optional/format is classified as the suite says. Left out: `regex` and
`idn-hostname`, which we refuse by name. Dates are also compared with Python's calendar.
"""
import datetime
import json
import random
import sys

from judge import Judge, members
from schema_suite import suite_folder

REFUSED = {"regex", "idn-hostname", "unknown", "ecmascript-regex"}


def suite(judge):
    faults = checked = 0
    seen = set()
    package = suite_folder()
    for draft in ("draft2020-12", "draft7"):
        for name, text in members(package, f"tests/{draft}/optional/format/"):
            format_name = name.rsplit("/", 1)[-1].removesuffix(".json")
            if format_name in REFUSED:
                continue
            cases = [case for group in json.loads(text) for case in group["tests"]
                     if isinstance(case["data"], str)]
            answer = judge.ask([case["data"] for case in cases], format=format_name)
            seen.add(format_name)
            checked += len(cases)
            for case, got in zip(cases, answer.ljust(len(cases))):
                if got != str(int(case["valid"])):
                    faults += 1
                    print(f"{format_name}: {case['data']!a} {case['description']}: {answer[:60]}")
    return len(seen), checked, faults


def calendar(judge):
    rng = random.Random(4)
    texts = [f"{y:04}-{m:02}-{d:02}" for y in (1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100)
             for m in range(14) for d in range(33)]
    texts += [f"{rng.randrange(1, 10000):04}-02-29" for _ in range(2000)]

    def exists(text):
        try:
            datetime.date.fromisoformat(text)
            return "1"
        except ValueError:
            return "0"
    expected = "".join(map(exists, texts))
    answer = judge.ask(texts, format="date")
    for text, got, want in zip(texts, answer, expected):
        if got != want:
            print(f"date {text}: {got}, the calendar says {want}")
    return len(texts), int(answer != expected)


def main():
    judge = Judge(sys.argv[1])
    days, faults = calendar(judge)
    formats, checked, more = suite(judge)
    faults += more
    for name in sorted(REFUSED):
        if not judge.ask([""], format=name).startswith("POWER_NOT_FOUND"):
            faults += 1
            print(f"{name} is not refused")
    print(f"formats: {days} dates, {checked} texts of {formats} formats, {faults} faults")
    return 1 if judge.close() or faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
