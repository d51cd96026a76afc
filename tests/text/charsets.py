# SPDX-License-Identifier: MIT
"""The sets of characters of src/text/charset.c against PyPI's tokenizers, code point by code point.

usage: charsets.py CHARSETS
The library is asked what it does to each character: what its normalizers remove, set apart or
change, where its pre-tokenizers cut. Input: the output of the program CHARSETS. Output: a line for
each set; exit 1 when one differs, 77 when the library is not there. Characters that are younger than
the tables of utf8proc are in no set of ours and are left out.
"""

import subprocess
import sys
import unicodedata

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CHUNK = 4096
MARK = "\u2603" # no character becomes it


def normalised(normalizer):
    """What a normalizer makes of each character alone, between two digits that it leaves alone."""
    out = []
    for start in range(0, len(CODES), CHUNK):
        codes = CODES[start:start + CHUNK]
        asked = MARK.join("0%s0" % chr(c) for c in codes if chr(c) != MARK)
        parts = iter(normalizer.normalize_str(asked).split(MARK))
        out += ["0%s0" % MARK if chr(c) == MARK else next(parts) for c in codes]
        assert next(parts, None) is None
    return [part[1:-1] for part in out]


def cut(pre_tokenizer, front):
    """The pieces of `front`, the character, `front`."""
    return [[p for p, _ in pre_tokenizer.pre_tokenize_str(front + chr(c) + front)] for c in CODES]


def expectations():
    """(letter, name, the code points of the set by the library)."""
    from tokenizers import Regex, normalizers, pre_tokenizers
    bert = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False,
            "lowercase": False}

    def of_bert(**options):
        return normalised(normalizers.BertNormalizer(**{**bert, **options}))

    yield "s", "space", {c for c, p in zip(CODES, cut(pre_tokenizers.WhitespaceSplit(), "a"))
                         if p == ["a", "a"]}
    word = pre_tokenizers.Whitespace()
    yield "w", "word", {c for c, p in zip(CODES, cut(word, "a")) if p == ["a%sa" % chr(c)]}
    spaces = {c for c in CODES if chr(c).isspace()}
    yield "p", "punctuation", {c for c, p in zip(CODES, cut(pre_tokenizers.BertPreTokenizer(), "a"))
                               if len(p) == 3 and c not in spaces}
    yield "c", "control", {c for c, t in zip(CODES, of_bert(clean_text=True)) if t == ""}
    yield "j", "CJK", {c for c, t in zip(CODES, of_bert(handle_chinese_chars=True))
                       if t == " %s " % chr(c)}
    yield "a", "accent", {c for c, t in zip(CODES, of_bert(strip_accents=True)) if t == ""}
    yield "m", "mark", {c for c, t in zip(CODES, normalised(normalizers.StripAccents())) if t == ""}


def young_forms(normalizers):
    """Compatibility forms that Python's tables have and the library's do not."""
    changed = {c for c in CODES if unicodedata.normalize("NFKC", chr(c)) != chr(c)}
    same = {c for c, t in zip(CODES, normalised(normalizers.NFKC())) if t == chr(c)}
    return changed, changed & same


def report(name, ours, theirs):
    wrong = sorted(ours ^ theirs)
    print("%s: %d characters, %d differ" % (name, len(theirs), len(wrong)))
    for c in wrong[:5]:
        print("  U+%04X %s: %s" % (c, unicodedata.category(chr(c)),
                                   "ours only" if c in ours else "theirs only"))
    return not wrong


def main():
    try:
        import tokenizers
        from tokenizers import normalizers
    except ImportError:
        print("SKIP: the tokenizers library is not there (make deps)")
        return 77
    print("tokenizers %s, Unicode %s" % (tokenizers.__version__, unicodedata.unidata_version))
    done = subprocess.run([sys.argv[1]], capture_output=True, check=True, text=True)
    ours, lower = {}, {}
    for line in done.stdout.splitlines():
        code, letters, after = line.split(" ", 2)
        lower[int(code, 16)] = "".join(chr(int(x, 16)) for x in after.split())
        for letter in letters:
            ours.setdefault(letter, set()).add(int(code, 16))
    assert sorted(lower) == CODES
    good = True
    unknown = ours["u"]
    print("%d code points that our Unicode tables do not know are left out" % len(unknown))
    for letter, name, theirs in expectations():
        good &= report(name, ours[letter] - unknown, theirs - unknown)
    known, young = young_forms(normalizers)
    good &= report("young compatibility forms", ours["y"] & known, young)
    changed = {c for c, t in zip(CODES, normalised(normalizers.Lowercase())) if t != lower[c]}
    good &= report("lower case", changed - unknown, set())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
