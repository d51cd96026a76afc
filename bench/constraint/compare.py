#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Masks of Power beside llguidance and xgrammar: the same schemas, answers and vocabulary.

    python3 -m venv DIR && DIR/bin/pip install llguidance xgrammar tokenizers numpy gguf
    DIR/bin/python bench/constraint/compare.py --bench BUILD/bench/bench_masks --model MODEL.gguf

Engines run in alternation, --rounds times. Every time is the calling thread's processor time of one
mask; each schema is compiled anew in every round, so no mask was seen before. An engine whose package
is missing is left out with a line. Prints one line of JSON for each engine: medians over the rounds
and, for the others, their ratio to Power's.

The tokenizer of the others is made from the vocabulary in the GGUF file (PyPI's gguf), so all work on
the same ids.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def clock():
    return time.thread_time_ns() / 1e3


def summary(times, compiles, refused):
    times, compiles = sorted(times), sorted(compiles)

    def at(values, part):
        return values[int((len(values) - 1) * part)] if values else 0.0

    return {"masks": len(times), "refused": refused, "mean_us": statistics.fmean(times) if times else 0,
            "median_us": at(times, 0.5), "p90_us": at(times, 0.9), "p99_us": at(times, 0.99),
            "max_us": at(times, 1), "compile_median_us": at(compiles, 0.5), "compile_max_us": at(compiles, 1)}


class Llguidance:
    def __init__(self, path, n_tokens, end):
        import llguidance
        import llguidance.numpy
        self.module, self.masks = llguidance, llguidance.numpy
        self.tokenizer = llguidance.LLTokenizer(path, n_vocab=n_tokens, eos_token=end)
        self.mask = self.masks.allocate_token_bitmask(1, n_tokens)

    def run(self, cases):
        times, compiles, refused = [], [], 0
        for case, ids in cases:
            start = clock()
            grammar = self.module.LLMatcher.grammar_from_json_schema(
                case["constraint"], overrides={"whitespace_flexible": True})
            matcher = self.module.LLMatcher(self.tokenizer, grammar)
            compiles.append(clock() - start)
            for token in ids + [None]:
                start = clock()
                self.masks.fill_next_token_bitmask(matcher, self.mask, 0)
                times.append(clock() - start)
                if token is not None and not matcher.consume_token(token):
                    refused += 1
                    break
        return summary(times, compiles, refused)


class Xgrammar:
    def __init__(self, path, n_tokens, end):
        import tokenizers
        import xgrammar
        self.module = xgrammar
        vocab = tokenizers.Tokenizer.from_file(path).get_vocab(with_added_tokens=True)
        texts = [""] * n_tokens
        for text, number in vocab.items():
            texts[number] = text
        self.info = xgrammar.TokenizerInfo(texts, xgrammar.VocabType.BYTE_LEVEL, vocab_size=n_tokens,
                                           stop_token_ids=[end])
        self.mask = xgrammar.allocate_token_bitmask(1, n_tokens)

    def run(self, cases):
        compiler = self.module.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        times, compiles, refused = [], [], 0
        for case, ids in cases:
            start = clock()
            grammar = compiler.compile_json_schema(case["constraint"], any_whitespace=True)
            matcher = self.module.GrammarMatcher(grammar)
            compiles.append(clock() - start)
            for token in ids + [None]:
                start = clock()
                matcher.fill_next_token_bitmask(self.mask)
                times.append(clock() - start)
                if token is not None and not matcher.accept_token(token):
                    refused += 1
                    break
        return summary(times, compiles, refused)


class Power:
    def __init__(self, bench, model, lines):
        self.command = [bench, model, lines]

    def run(self, _cases):
        done = subprocess.run(self.command, capture_output=True, text=True, check=False)
        sys.stderr.write(done.stderr)
        return json.loads(done.stdout)


QWEN_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
              r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def make_tokenizer(model, path):
    """Qwen's byte-level BPE of the GGUF file as tokenizer.json; control tokens are special."""
    import gguf
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers
    fields = gguf.GGUFReader(model).fields
    texts = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    bpe = models.BPE({text: i for i, text in enumerate(texts)}, merges)
    tokenizer = tokenizers.Tokenizer(bpe)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(tokenizers.Regex(QWEN_SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([tokenizers.AddedToken(text, special=True)
                                  for text, kind in zip(texts, kinds) if kind in (3, 5)])
    tokenizer.save(path)
    return tokenizer, len(texts)


def open_engines(options, path, n_tokens, end):
    engines = {"power": Power(options.bench, options.model, options.cases)}
    for name, kind in (("llguidance", Llguidance), ("xgrammar", Xgrammar)):
        try:
            engines[name] = kind(path, n_tokens, end)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return engines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="the program bench_masks")
    parser.add_argument("--model", required=True, help="GGUF file with the vocabulary")
    parser.add_argument("--cases", default=str(HERE / "schemas" / "cases.jsonl"))
    parser.add_argument("--end", type=int, default=151645, help="end token (default: Qwen's <|im_end|>)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    path = str(pathlib.Path(folder.name) / "tokenizer.json")
    tokenizer, n_tokens = make_tokenizer(options.model, path)
    cases = []
    for line in open(options.cases, encoding="utf-8"):
        case = json.loads(line)
        if case["kind"] == "schema":
            cases.append((case, tokenizer.encode(case["answer"], add_special_tokens=False).ids))
    engines = open_engines(options, path, n_tokens, options.end)
    results = {name: [] for name in engines}
    for _ in range(options.rounds):
        for name, engine in engines.items():
            results[name].append(engine.run(cases))
    middle = {name: {key: round(statistics.median(r[key] for r in rounds), 2) for key in rounds[0]}
              for name, rounds in results.items()}
    for name, values in middle.items():
        ratios = {f"{key}_ratio": round(values[key] / middle["power"][key], 2)
                  for key in ("median_us", "mean_us", "p99_us") if middle["power"][key]}
        print(json.dumps({"engine": name, **values, **({} if name == "power" else ratios)}))


if __name__ == "__main__":
    main()
