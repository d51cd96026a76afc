#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random regular expressions and texts: our automata against Python's `re`.

usage: regex_random.py CLASSIFY COUNT [SEED]

Each expression is written twice from one tree: as ECMA-262 for us, and as what means the same in
Python (`$` is `\\Z`, `.` leaves out four line terminators, `\\s` is ECMA-262's list). Texts are drawn
from the few characters that the expressions know, so that about half of them match.
"""
import json
import random
import re
import subprocess
import sys

SPACE = "\\t-\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
ALPHABET = "aabbc_ -1\n\u00e9\u2028\U0001F600A]"
ATOMS = [  # ECMA-262, Python
    ("a", "a"), ("b", "b"), ("c", "c"), ("1", "1"), ("_", "_"), (" ", "[ ]"),
    ("\u00e9", "\u00e9"), ("\\u00e9", "\u00e9"), ("\\u{1F600}", "\U0001F600"),
    ("\\uD83D\\uDE00", "\U0001F600"), ("\\x61", "a"), ("\\-", "\\-"), ("\\n", "\\n"),
    ("\\cJ", "\\n"), ("\\]", "\\]"), (".", "[^\\n\\r\\u2028\\u2029]"), ("\\d", "[0-9]"),
    ("\\D", "[^0-9]"), ("\\w", "[A-Za-z0-9_]"), ("\\W", "[^A-Za-z0-9_]"), ("\\s", f"[{SPACE}]"),
    ("\\S", f"[^{SPACE}]"), ("[ab]", "[ab]"), ("[^ab]", "[^ab]"), ("[a-c]", "[a-c]"),
    ("[^a-c\\d]", "[^a-c0-9]"), ("[\\w-]", "[A-Za-z0-9_\\-]"), ("[\\s\\S]", "[\\s\\S]"),
    ("[^]", "[\\s\\S]"), ("[]", "(?!)"), ("[\\W_]", "[\\W_]"), ("[a\\]-]", "[a\\]\\-]"),
    ("[^\\n]", "[^\\n]"), ("[\\u00e0-\\uffff]", "[\\u00e0-\\uffff]"),
]
CONDITIONS = [("^", "\\A"), ("$", "\\Z"), ("\\b", "\\b"), ("\\B", "(?:(?<!\\w)(?!\\w)|(?<=\\w)(?=\\w))")]
COUNTS = ["*", "+", "?", "{0}", "{1}", "{2}", "{0,2}", "{1,3}", "{2,}", "{0,1}", "{3}"]


def atom(rng, level):
    return ATOMS[rng.randrange(16)] if rng.random() < 0.6 else rng.choice(ATOMS)


def tree(rng, depth, looks):
    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return atom(rng, depth)
    if kind < 0.33:
        return rng.choice(CONDITIONS)
    if kind < 0.40 and looks:
        ours, theirs = tree(rng, depth - 1, looks)
        head = rng.choice(["(?=", "(?!"])
        return head + ours + ")", head + theirs + ")"
    if kind < 0.65:
        parts = [tree(rng, depth - 1, looks) for _ in range(rng.randint(2, 4))]
        return "".join(p[0] for p in parts), "".join(p[1] for p in parts)
    if kind < 0.80:
        parts = [tree(rng, depth - 1, looks) for _ in range(rng.randint(2, 3))]
        if rng.random() < 0.2:
            parts.append(("", ""))
        rng.shuffle(parts)
        opening = rng.choice(["(", "(?:", "(?<n>"])
        return opening.replace("n", "n%d" % rng.randrange(10 ** 9)) + "|".join(p[0] for p in parts) + ")", \
            "(?:" + "|".join(p[1] for p in parts) + ")"
    count = rng.choice(COUNTS)
    ours, theirs = tree(rng, depth - 1, looks)
    lazy = rng.choice(["", "", "?"])
    return f"(?:{ours}){count}{lazy}", f"(?:{theirs}){count}{lazy}"


def texts_for(rng):
    texts = {""}
    while len(texts) < 24:
        texts.add("".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 7))))
    return sorted(texts)


def main():
    classify, count = sys.argv[1], int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    ours = subprocess.Popen([classify], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            encoding="utf-8")
    faults = matched = checked = limits = 0
    for _ in range(count):
        looks = rng.random() < 0.3
        parts = [tree(rng, rng.randint(1, 4), looks) for _ in range(rng.randint(1, 2))]
        regex, witness = "|".join(p[0] for p in parts), "|".join(p[1] for p in parts)
        dialect = rng.choice(["whole", "search"])
        texts = texts_for(rng)
        compiled = re.compile(witness, re.ASCII)
        test = compiled.fullmatch if dialect == "whole" else compiled.search
        expected = "".join("1" if test(text) else "0" for text in texts)
        ours.stdin.write(json.dumps({"regex": regex, "dialect": dialect, "texts": texts}) + "\n")
        ours.stdin.flush()
        answer = ours.stdout.readline().strip()
        checked += len(texts)
        matched += expected.count("1")
        if answer.startswith("POWER_LIMIT"):  # a refusal within the stated budget, never a wrong answer
            limits += 1
        elif answer != expected:
            faults += 1
            wrong = [t for t, a, e in zip(texts, answer, expected) if a != e]
            print(f"{dialect} {regex!r} (as {witness!r}): {answer[:80]}, expected {expected}; {wrong[:3]!a}")
    print(f"regex_random: {count} expressions, {checked} texts, {matched} match, "
          f"{limits} beyond the limit of states, {faults} faults")
    ours.stdin.close()
    return 1 if faults or limits > 1 + count // 1000 or ours.wait() else 0


if __name__ == "__main__":
    sys.exit(main())
