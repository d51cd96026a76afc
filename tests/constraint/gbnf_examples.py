#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GBNF against what llama.cpp publishes in the PyPI source package that `make peers` fetches:
its example grammars compile, and the grammars of its own integration test admit the texts that it
lists as passing and none that it lists as failing.

usage: gbnf_examples.py CLASSIFY

Grammars with tokens must be refused by name. A number of repeats over 2,000 is where llama.cpp
gives up or rounds; its tests have none.
"""
import re
import sys

from judge import Judge, cache, members, skip

CALL = re.compile(r'test_grammar\(\s*"(?P<what>[^"]*)",(?:\s*//[^\n]*)*\s*R"""\((?P<grammar>.*?)\)"""', re.S)
STRING = re.compile(r'R"""\((.*?)\)"""|"((?:[^"\\\n]|\\.)*)"', re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def unescape(text):
    def one(match):
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else ESCAPES.get(match[3], match[3])
    return re.sub(r"\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\(.)", one, text)


def lists_behind(source, at):
    """The texts of the two brace lists from `at` on."""
    lists = []
    while len(lists) < 2:
        at = source.index("{", at) + 1
        texts = []
        while True:
            space = re.compile(r"(?:\s|,|//[^\n]*)*").match(source, at)
            at = space.end()
            if source[at] == "}":
                break
            string = STRING.match(source, at)
            if not string:
                return None  # tokens
            texts.append(string[1] if string[1] is not None else unescape(string[2]))
            at = string.end()
        lists.append(texts)
    return lists


def integration(judge, source):
    faults = checked = grammars = 0
    for call in CALL.finditer(source):
        grammars += 1
        lists = lists_behind(source, call.end())
        if lists is None:
            answer = judge.ask([], gbnf=call["grammar"])
            if not answer.startswith("POWER_UNSUPPORTED") or "token" not in answer:
                faults += 1
                print(f"{call['what']}: {answer}")
            continue
        for texts, want in zip(lists, "10"):
            answer = judge.ask(texts, gbnf=call["grammar"])
            checked += len(texts)
            for text, got in zip(texts, answer.ljust(len(texts))):
                if got != want:
                    faults += 1
                    print(f"{call['what']}: {text!a} {got}, expected {want}: {answer[:100]}")
    return grammars, checked, faults


def left_recursion(judge, source):
    """The grammars that llama.cpp's test of left recursion must refuse."""
    faults = n = 0
    begin = source.index("static void test_failure_left_recursion")
    for match in re.finditer(r'R"""\((.*?)\)"""', source[begin:source.index("\n}", begin)], re.S):
        n += 1
        answer = judge.ask([], gbnf=match[1])
        if not answer.startswith("POWER_INVALID") or "left recurs" not in answer:
            faults += 1
            print(f"left recursion: {match[1]!r}: {answer}")
    return n, faults


def main():
    judge = Judge(sys.argv[1])
    places = sorted(cache().glob("peers/src/llama_cpp*")) or sorted(cache().glob("peers/sdist/*.tar.gz"))
    if not places:
        skip("llama.cpp's source package is not in the cache (make peers fetches it)")
    faults = 0
    examples = [f for f in members(places[0], "/grammars/") if f[0].endswith(".gbnf")]
    for name, text in examples:
        answer = judge.ask([""], gbnf=text)
        if answer not in ("0", "1"):
            faults += 1
            print(f"{name}: {answer}")
    source = members(places[0], "tests/test-grammar-integration.cpp")[0][1]
    grammars, checked, more = integration(judge, source)
    recursive, failed = left_recursion(judge, source)
    faults += more + failed
    print(f"gbnf: {len(examples)} examples, {grammars} grammars with {checked} texts, "
          f"{recursive} left-recursive ones, {faults} faults")
    return 1 if judge.close() or faults or not examples or not checked or not recursive else 0


if __name__ == "__main__":
    sys.exit(main())
