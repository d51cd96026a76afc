# SPDX-License-Identifier: MIT
"""The same as ours.c with PyPI's `tokenizers`, one thread, on the vocabulary of a GGUF file.

usage: library.py MODEL TEXT CHUNK PASSES [--offsets] [--saved FILE]

The library's tokenizer is made from the tokens, scores and merges of the file as the authors'
tokenizer.json has them: byte-level BPE with the published split expression, or for a SentencePiece
vocabulary BPE over characters with byte fallback, whose merges are all splits of a token into two
tokens in the order of their scores. Making it takes a minute: --saved keeps it in FILE. Without
--offsets it encodes by encode_batch_fast.
"""

import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import gguf  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers  # noqa: E402

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
         r"\s*[\r\n]+|\s+(?!\S)|\s+")


def field(reader, name, default=None):
    f = reader.fields.get("tokenizer.ggml." + name)
    return default if f is None else f.contents()


def byte_level(reader, tokens):
    merges = [tuple(m.split(" ", 1)) if m[0] != " " else (" ", m[2:]) for m in field(reader, "merges")]
    vocab = {}
    for i, t in enumerate(tokens):
        vocab.setdefault(t, i)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    if field(reader, "pre") == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def sentencepiece(reader, tokens):
    scores, types = field(reader, "scores"), field(reader, "token_type")
    vocab = {}
    for i, t in enumerate(tokens):
        vocab.setdefault(t, i)
    merges = []
    for i, t in enumerate(tokens):
        if types[i] not in (1, 4, 5):
            continue
        local = [(t[:k], t[k:]) for k in range(1, len(t)) if t[:k] in vocab and t[k:] in vocab]
        local.sort(key=lambda p: (vocab[p[0]], vocab[p[1]]))
        merges += [(scores[i], i, p) for p in local]
    merges.sort(key=lambda m: -m[0])
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[m[2] for m in merges], byte_fallback=True,
                                     fuse_unk=True, unk_token="<unk>"))
    prefix = field(reader, "add_space_prefix", True)
    steps = ([normalizers.Prepend("\u2581")] if prefix else []) + [normalizers.Replace(" ", "\u2581")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    return tokenizer


def chunks(path, size):
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        end = min(at + size, len(data))
        limit = end + size
        while end < len(data) and end < limit and data[end - 1] != 10:
            end += 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        yield data[at:end].decode()
        at = end


def make(path):
    reader = gguf.GGUFReader(path)
    tokens = field(reader, "tokens")
    spm = field(reader, "model") == "llama"
    tokenizer = (sentencepiece if spm else byte_level)(reader, tokens)
    kinds = field(reader, "token_type", [1] * len(tokens))
    users = [t for t, kind in zip(tokens, kinds, strict=True) if kind == 4]
    if users and spm:
        tokenizer.add_tokens([AddedToken(t, normalized=False) for t in users])
    return tokenizer


def open_tokenizer():
    saved = sys.argv[sys.argv.index("--saved") + 1] if "--saved" in sys.argv else None
    if saved and os.path.exists(saved):
        return Tokenizer.from_file(saved)
    tokenizer = make(sys.argv[1])
    if saved:
        tokenizer.save(saved)
    return tokenizer


def main():
    start = time.thread_time()
    tokenizer = open_tokenizer()
    print(f"load {time.thread_time() - start:.6f}")
    texts = list(chunks(sys.argv[2], int(sys.argv[3])))
    encode = tokenizer.encode_batch if "--offsets" in sys.argv else tokenizer.encode_batch_fast
    for _ in range(int(sys.argv[4])):
        before = time.thread_time()
        out = [encode([t], add_special_tokens=False)[0] for t in texts]
        spent = time.thread_time() - before
        total, count = 0, 0
        for e in out:
            count += len(e.ids)
            for i in e.ids:
                total = ((total ^ i) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        print(f"{spent:.6f} {count} {total:016x}", flush=True)


main()
