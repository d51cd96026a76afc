#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The schemas of tests/data/cases/schema.json: what may be an answer is accepted in compact, standard
and indented form, what may not is rejected, or the schema is refused by one of the words given.
usage: schema_cases.py JUDGE CASES"""
import json
import subprocess
import sys


def spellings(text):
    try:
        value = json.loads(text)
    except ValueError:
        return [text]
    return [text, json.dumps(value), json.dumps(value, indent=2), json.dumps(value, indent="\t")]


def main():
    cases = json.load(open(sys.argv[2], encoding="utf-8"))["cases"]
    faults = refused = 0
    for case in cases:
        good = [s for text in case["accepts"] for s in spellings(text)]
        bad = [s for text in case["rejects"] for s in spellings(text)]
        for order in (False, True):
            line = json.dumps({"schema": json.dumps(case["schema"]), "texts": good + bad, "any_order": order})
            asked = subprocess.run([sys.argv[1]], input=line + "\n", capture_output=True, text=True, check=True)
            answer = json.loads(asked.stdout)
            if answer["status"] != "POWER_OK":
                named = any(word in answer["message"] for word in case.get("or_refused_naming", []))
                refused += named
                faults += not named
                print(case["id"], answer["message"])
            elif answer["accepts"] != [True] * len(good) + [False] * len(bad):
                faults += 1
                print(case["id"], list(zip(good + bad, answer["accepts"])))
    print(f"{len(cases)} cases, {refused // 2} refused by name, {faults} faults")
    return 1 if faults or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
