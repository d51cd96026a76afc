# SPDX-License-Identifier: MIT
"""Our tokenizers against PyPI's tokenizers and sentencepiece, on generated texts.

usage: tokenizers_agree.py TOKENIZE_LINES COUNT [NAME]
Published vocabularies (MiniLM, Whisper) come from tools/fetch-model; small ones of every kind are
trained here. A library or a file that is not there is told and left out. Input: none. Output: a
line for each vocabulary; exit 1 when any text differs, 77 when nothing could be compared.
"""

import base64
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WORDS = """the of and to in a is that for it as was with be by on not he his but at are this have
from or had an they which one you were her all she there would their we him been has when who will
more no if out so said what up its about into than them can only other new some could time these two
may then do first any my now such like our over man me even most made after also did many before
must through years where much your way well down should because each just those people how too
little state good very make world still own see men work long get here between both life being under
never day same another know while last might us great old year off come since against go came right
used take three tokenizer function return value unbelievable internationalization""".split()
SCRIPTS = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x17F), (0x370, 0x3FF), (0x400, 0x45F),
           (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x94D), (0xE01, 0xE4E), (0x1100, 0x11FF),
           (0x3041, 0x30FE), (0x4E00, 0x4FFF), (0xAC00, 0xAD00), (0x1E00, 0x1EFF),
           (0xFF01, 0xFF60), (0x1D400, 0x1D7FF), (0x2460, 0x24FF), (0xFB00, 0xFB06),
           (0x0F40, 0x0FBC), (0x10400, 0x1044F), (0x20000, 0x20100), (0x2B740, 0x2B81D)]
EMOJI = ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "❤️", "☃", "1️⃣", "🦙"]
CONTROLS = ["\0", "\x01", "\x07", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\xad", "\u200b",
            "\u200c", "\u200d", "\u200e", "\u2028", "\u2029", "\u2060", "\ufeff", "\ufffd",
            "\ue000", "\u180e", "\U000e0041"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u3000", "\u2003", "\u1680",
          "    ", "\t\t", " \n", "\u2581", "\u2581\u2581"]
CODE = ["for (int i = 0; i < n; i++) {\n    x[i] += 0x1F;\n}\n", "def f(x):\n\treturn x**2\n",
        "SELECT * FROM t WHERE a >= 'b';", "http://example.com/a?b=c&d=%20#e", "a.b->c::d",
        "<div class=\"x\">&amp;</div>", "it's we'll I'M you'RE they'd", "--flag=1 $HOME ~/x"]
NUMBERS = ["0", "42", "3.14159", "1,000,000", "٣٤٥", "²³", "½", "Ⅷ", "१२३", "1e-9", "007"]
COMPOSED = ["é", "e\u0301", "Å", "A\u030a", "ǖ", "u\u0308\u0304", "ṩ", "s\u0307\u0323", "한", "한",
            "ﬁ", "ﬃ", "Ⅳ", "ℌ", "ｶﾞ", "ガ", "ｱ", "㍿", "㌀", "ﷺ", "İ", "ß", "ẞ", "ς", "Σ", "ǆ", "ŉ",
            "\u0958", "\u2126", "\u1ebf", "n\u0303\u0301", "\u0344", "\u0f73", "각", "㄀", "ㅎㅏㄴ"]
SPECIALS = ["[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]", "<|endoftext|>", "<|startoftranscript|>",
            "<|en|>", "<|notimestamps|>", "<s>", "</s>", "<unk>", "<0x0A>", "<tool>", " <mask>  ",
            "TOK", "xTOKx", "Tok", "##ing", "[cls]", "<keep>", "a<keep>b", "Ｔok"]


def any_character(rng):
    while True:
        c = chr(rng.randrange(0x20, 0x30000))
        if unicodedata.category(c) not in ("Cn", "Cs"):
            return c


def fragment(rng):
    kind = rng.randrange(13)
    if kind < 3:
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, 6))]
        return " ".join(w if rng.random() < 0.8 else w.upper() for w in words)
    if kind == 3:
        first, last = rng.choice(SCRIPTS)
        text = "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 8)))
        return "".join(c for c in text if unicodedata.category(c) != "Cn")
    if kind == 12:
        return "".join(any_character(rng) for _ in range(rng.randint(1, 4)))
    lists = [EMOJI, CONTROLS, SPACES, CODE, NUMBERS, COMPOSED, SPECIALS]
    if kind < 11:
        return rng.choice(lists[kind - 4])
    return rng.choice("!?.,;:'\"()[]{}-_/\\@#$%^&*+=~`|<>…—“”¿¡、。") * rng.randint(1, 4)


def texts_of(count, seed):
    rng = random.Random(seed)
    texts = ["", " ", "a", "  a  ", "\n", "x" * 101, "x" * 100, "é" * 300, "漢" * 300, " " * 300]
    while len(texts) < count:
        texts.append("".join(fragment(rng) + rng.choice(["", " ", " "])
                             for _ in range(rng.randint(1, 12))))
    return texts[:count]


def run_ours(program, path, texts, flags):
    data = b"".join(struct.pack("<I", len(t)) + t for t in (x.encode() for x in texts))
    done = subprocess.run([program, path, flags], input=data, capture_output=True)
    if done.returncode != 0:
        return done.stderr.decode().strip()
    return done.stdout.decode().split("\n")[:-1]


def compare(program, name, path, texts, theirs, flags=""):
    ours = run_ours(program, path, texts, flags)
    if isinstance(ours, str):
        print("%s: %s" % (name, ours))
        return False
    wrong = 0
    for text, got, want in zip(texts, ours, theirs):
        want = " ".join(map(str, want))
        if got == want:
            continue
        wrong += 1
        if wrong <= 3:
            print("  %s: %r\n    ours   %s\n    theirs %s" % (name, text[:200], got[:300], want[:300]))
    print("%s: %d of %d texts equal" % (name, len(texts) - wrong, len(texts)))
    return wrong == 0 and len(ours) == len(texts)


def compare_places(program, name, path, texts, tokenizer):
    """Byte offsets; theirs count characters."""
    ours = run_ours(program, path, texts, "ps")
    wrong = 0
    for i, text in enumerate(texts):
        bytes_at = [0]
        for c in text:
            bytes_at.append(bytes_at[-1] + len(c.encode()))
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        got = [tuple(map(int, p.split(":"))) for p in ours[2 * i + 1].split()]
        want = [(bytes_at[a], bytes_at[b]) for a, b in offsets]
        # a character that was normalised together with others (dropped marks) is wider here
        same = len(got) == len(want) and all(
            g == w or (g[0] <= w[0] and g[1] >= w[1] and not text.encode()[g[0]:g[1]].isascii())
            for g, w in zip(got, want))
        if not same:
            wrong += 1
            if wrong <= 3:
                print("  %s places: %r\n    ours   %s\n    theirs %s" % (name, text, got, want))
    print("%s: %d of %d texts with equal places" % (name, len(texts) - wrong, len(texts)))
    return wrong == 0


def compare_library(program, name, path, texts):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    theirs = [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]
    good = compare(program, name, path, texts, theirs, "p")
    plain = [t for t in texts if not any(s in t for s in ("<", "["))]
    theirs = [tokenizer.encode(t, add_special_tokens=True).ids for t in plain]
    good &= compare(program, name + ", with tokens around", path, plain, theirs, "a")
    return good


def corpus():
    rng = random.Random(7)
    lines = []
    for _ in range(3000):
        lines.append("".join(fragment(rng) + rng.choice(["", " "]) for _ in range(6)))
    text = "\x00".join(lines)
    for special in SPECIALS: # no piece may be spelled as a special token is
        text = text.replace(special.strip(), "")
    text = text.replace("\n", " ").replace("\r", " ")
    few = set("éÅǖṩ한漢가ガﬁ▁½٣😀…—“”。、" + "".join(chr(c) for c in range(0x430, 0x450)))
    return "".join(c for c in text if c in few or " " <= c < "\x7f" or c == "\x00").split("\x00")


def published(program, texts, name, model, file):
    fetch = subprocess.run(["sh", os.path.join(ROOT, "tools", "fetch-model"), model],
                           capture_output=True, text=True)
    if fetch.returncode != 0:
        print("%s: left out: %s" % (name, fetch.stderr.strip().split("\n")[-1][:160]))
        return None
    path = fetch.stdout.strip()
    assert path.endswith(file), path
    good = compare_library(program, name, path, texts)
    if name == "MiniLM":
        from tokenizers import Tokenizer
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        good &= compare_places(program, name, path, texts, tokenizer)
    return good


def trained_kinds():
    """(name, tokenizer) of small vocabularies that use the parts the published ones do not."""
    from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                            pre_tokenizers, processors, trainers)
    lines = corpus()

    def unigram(vocab_size, unk="<unk>"):
        return trainers.UnigramTrainer(vocab_size=vocab_size, unk_token=unk,
                                       special_tokens=["<unk>", "<s>", "</s>"])

    def bpe(vocab_size, alphabet=()):
        return trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=["<unk>", "<s>", "</s>"],
                                   initial_alphabet=list(alphabet), limit_alphabet=300)

    def finish(tokenizer, trainer):
        tokenizer.train_from_iterator(lines, trainer)
        tokenizer.add_tokens([AddedToken("TOK", single_word=True, normalized=True),
                              AddedToken("<tool>", normalized=False),
                              AddedToken("<keep>", normalized=True)])
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True)])
        return tokenizer

    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(),
                                         normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.post_processor = None or processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    yield "Unigram, Nmt, NFKC, Metaspace", finish(t, unigram(900))

    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Strip(left=False, right=True),
                                         normalizers.NFD(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                               pre_tokenizers.Metaspace(prepend_scheme="first")])
    yield "Unigram, StripAccents, WhitespaceSplit, first", finish(t, unigram(600))

    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    yield "BPE, Prepend, Replace, fused unknowns", finish(t, bpe(800))

    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(),
                                               pre_tokenizers.Digits(individual_digits=False)])
    yield "BPE, NFKD, Whitespace, Digits", finish(t, bpe(700))

    for behavior in ("isolated", "removed", "merged_with_previous", "merged_with_next",
                     "contiguous"):
        t = Tokenizer(models.BPE(unk_token="<unk>"))
        t.normalizer = normalizers.Lowercase()
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Punctuation(behavior),
                                                   pre_tokenizers.Split(" ", behavior)])
        yield "BPE, Lowercase, Punctuation %s" % behavior, finish(t, bpe(500))

    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)])
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    yield "byte-level BPE, Digits, prefix space", finish(
        t, bpe(800, pre_tokenizers.ByteLevel.alphabet()))

    t = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=12))
    t.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=None,
                                              handle_chinese_chars=False)
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
    yield "WordPiece, cased, Whitespace", finish(t, trainers.WordPieceTrainer(
        vocab_size=700, special_tokens=["<unk>", "<s>", "</s>"]))


def with_bytes(document):
    """The same vocabulary with byte fallback: 256 byte tokens more."""
    model = document["model"]
    model["byte_fallback"] = True
    names = ["<0x%02X>" % b for b in range(256)]
    if model["type"] == "Unigram":
        model["vocab"] += [[n, -20.0] for n in names]
    else:
        start = 1 + max(model["vocab"].values())
        model["vocab"].update({n: start + i for i, n in enumerate(names)})
    document["added_tokens"] = [a for a in document["added_tokens"] if a["id"] < 3]
    return document


def check_trained(program, texts, folder, only):
    good = True
    for name, tokenizer in trained_kinds():
        if only and only not in name:
            continue
        path = os.path.join(folder, "tokenizer.json")
        tokenizer.save(path)
        good &= compare_library(program, name, path, texts)
        if name.split(",")[0] not in ("Unigram", "BPE") or "Lowercase" in name:
            continue
        with open(path, encoding="utf-8") as f:
            document = with_bytes(json.load(f))
        with open(path, "w", encoding="utf-8") as f:
            json.dump(document, f)
        good &= compare_library(program, name + ", byte fallback", path, texts)
    return good


def random_bpe(rng):
    """A few tokens of a, b, c and spaces: merges in any order, some twice, ids in any order, tokens
    with characters that stand for no byte."""
    tokens, merges = list("abc") + ["\u0120"], []
    for _ in range(rng.randint(1, 16)):
        pair = (rng.choice(tokens), rng.choice(tokens))
        merges.append(list(pair))
        if pair[0] + pair[1] not in tokens:
            tokens.append(pair[0] + pair[1])
    tokens += [t.replace("\u0120", " ") for t in tokens if "\u0120" in t]
    rng.shuffle(merges)
    rng.shuffle(tokens)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": rng.random() < 0.5}
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
            "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "byte_fallback": False, "ignore_merges": rng.random() < 0.5,
                      "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}}


def check_random_bpe(program, count, folder):
    from tokenizers import Tokenizer
    rng = random.Random(count)
    path = os.path.join(folder, "random.tokenizer.json")
    wrong = 0
    for _ in range(count):
        with open(path, "w", encoding="utf-8") as f:
            json.dump(random_bpe(rng), f)
        texts = ["".join(rng.choice("abc ") for _ in range(rng.randint(1, 60))) for _ in range(60)]
        tokenizer = Tokenizer.from_file(path)
        theirs = [" ".join(map(str, tokenizer.encode(t).ids)) for t in texts]
        ours = run_ours(program, path, texts, "")
        if ours == theirs:
            continue
        wrong += 1
        if isinstance(ours, list):
            print("  random BPE: %r\n    ours   %s\n    theirs %s" % next(
                p for p in zip(texts, ours, theirs) if p[1] != p[2]))
        else:
            print("  random BPE: %s" % ours)
    print("random BPE: %d of %d vocabularies equal" % (count - wrong, count))
    return wrong == 0


def write_gguf(path, pieces, scores, types, charsmap, spec):
    import gguf
    writer = gguf.GGUFWriter(path, "t5")
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(spec["unk"])
    writer.add_add_space_prefix(spec["prefix"])
    writer.add_remove_extra_whitespaces(spec["extra"])
    if charsmap:
        writer.add_array("tokenizer.ggml.precompiled_charsmap",
                         charsmap)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def precompiled_json(path, pieces, scores, charsmap):
    document = {"version": "1.0", "truncation": None, "padding": None,
                "added_tokens": [{"id": i, "content": c, "special": True, "normalized": False,
                                  "lstrip": False, "rstrip": False, "single_word": False}
                                 for i, c in enumerate(["<unk>", "<s>", "</s>"])],
                "normalizer": {"type": "Sequence", "normalizers": [
                    {"type": "Precompiled",
                     "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                    {"type": "Strip", "strip_left": False, "strip_right": True},
                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]},
                "pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
                                  "prepend_scheme": "always", "split": True},
                "post_processor": None,
                "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                            "split": True},
                "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                          "vocab": [[p, s] for p, s in zip(pieces, scores)]}}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f)


def check_sentencepiece(program, texts, folder, only):
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as proto
    good = True
    lines = corpus()
    kinds = [("unigram", {}), ("unigram", {"byte_fallback": True, "vocab_size": 1000}),
             ("unigram", {"user_defined_symbols": ["<tool>", "TOK", "ﬁ"]}),
             ("unigram", {"remove_extra_whitespaces": False, "add_dummy_prefix": False}),
             ("unigram", {"normalization_rule_name": "nmt_nfkc_cf"}),
             ("bpe", {}), ("bpe", {"user_defined_symbols": ["<tool>", "TOK", "ﬁ"]}),
             ("bpe", {"byte_fallback": True, "normalization_rule_name": "identity",
                      "vocab_size": 1000})]
    for i, (kind, extra) in enumerate(kinds):
        name = "sentencepiece %s %s" % (kind, " ".join("%s=%s" % p for p in extra.items()))
        if only and only not in name:
            continue
        prefix = os.path.join(folder, "sp%d" % i)
        options = {"vocab_size": 700, "hard_vocab_limit": False, "character_coverage": 0.98}
        options.update(extra)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=prefix, model_type=kind, minloglevel=2,
            num_threads=1, **options)
        os.rename(prefix + ".model", prefix + ".tokenizer.model")
        path = prefix + ".tokenizer.model"
        library = sentencepiece.SentencePieceProcessor(model_file=path)
        plain = [t for t in texts if "\0" not in t]
        theirs = [library.encode(t) for t in plain]
        good &= compare(program, name, path, plain, theirs)
        model = proto.ModelProto()
        with open(path, "rb") as f:
            model.ParseFromString(f.read())
        pieces = [p.piece for p in model.pieces]
        scores = [p.score for p in model.pieces]
        charsmap = model.normalizer_spec.precompiled_charsmap
        if kind != "unigram":
            continue
        if not extra.get("byte_fallback"):
            spec = {"unk": 0, "prefix": model.normalizer_spec.add_dummy_prefix,
                    "extra": model.normalizer_spec.remove_extra_whitespaces}
            gguf_path = prefix + ".gguf"
            write_gguf(gguf_path, pieces, scores, [p.type for p in model.pieces], charsmap, spec)
            good &= compare(program, name + ", as GGUF", gguf_path, plain, theirs)
        if charsmap and not extra:
            json_path = prefix + ".tokenizer.json"
            precompiled_json(json_path, pieces, scores, charsmap)
            good &= compare_library(program, name + ", as tokenizer.json", json_path, texts)
    return good


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    texts = texts_of(count, 20261201)
    results = []
    try:
        import tokenizers
        print("tokenizers %s" % tokenizers.__version__)
    except ImportError:
        tokenizers = None
        print("left out: the tokenizers library is not there (make deps)")
    with tempfile.TemporaryDirectory() as folder:
        if tokenizers and not only or only in ("MiniLM", "Whisper"):
            if only != "Whisper":
                results.append(published(program, texts, "MiniLM", "all-minilm-l6-v2-tokenizer",
                                         "tokenizer.json"))
            if only != "MiniLM":
                results.append(published(program, texts, "Whisper", "whisper-base-tokenizer",
                                         "tokenizer.json"))
        if tokenizers and only not in ("MiniLM", "Whisper"):
            results.append(check_trained(program, texts, folder, only))
        if tokenizers and not only:
            results.append(check_random_bpe(program, count // 5, folder))
        try:
            if only not in ("MiniLM", "Whisper"):
                results.append(check_sentencepiece(program, texts, folder, only))
        except ImportError as e:
            print("left out: %s (make deps)" % e)
    if any(r is False for r in results):
        return 1
    if not any(results):
        print("SKIP: nothing could be compared")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
