# SPDX-License-Identifier: MIT
"""Mistral's published tokenizers against tiktoken and sentencepiece, on generated texts.

usage: mistral_agree.py TOKENIZE_LINES COUNT [FOLDER]
FOLDER is the unpacked PyPI package `mistral-common`, which carries the vocabularies; without it,
POWER_MISTRAL_COMMON or the installed package is taken. A tekken file becomes a GGUF file as public
converters write it: 1,000 control tokens in front, merges by rank, pre-tokenizer "tekken".
Input: none. Output: a line for each vocabulary; exit 1 when any text differs, 77 when a library or
the package is not there.
"""

import base64
import glob
import importlib.util
import json
import os
import shutil
import sys
import tempfile

from tokenizers_agree import compare, texts_of

N_SPECIALS = 1000


def folder_of(arguments):
    if len(arguments) > 3:
        return arguments[3]
    if os.environ.get("POWER_MISTRAL_COMMON"):
        return os.environ["POWER_MISTRAL_COMMON"]
    spec = importlib.util.find_spec("mistral_common")
    return os.path.dirname(spec.origin) if spec and spec.origin else None


def alphabet():
    """GPT-2's character of each byte."""
    kept = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    table = {b: chr(b) for b in kept}
    for b in range(256):
        table.setdefault(b, chr(0x100 + len(table) - len(kept)))
    return table


def halves(token, ranks):
    """The two parts that the merges of lower rank leave of a token."""
    parts, own = [token[i:i + 1] for i in range(len(token))], ranks[token]
    while len(parts) > 2:
        best = min((ranks.get(parts[i] + parts[i + 1], own), i) for i in range(len(parts) - 1))
        if best[0] >= own:
            return None
        parts[best[1]:best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
    return parts


def write_tekken(path, tokens, ranks):
    import gguf
    table = alphabet()

    def spelled(token):
        return "".join(table[b] for b in token)

    merges = []
    for token in tokens[256:]:
        parts = halves(token, ranks)
        if parts:
            merges.append(spelled(parts[0]) + " " + spelled(parts[1]))
    specials = ["<SPECIAL_%d>" % i for i in range(N_SPECIALS)]
    specials[:3] = ["<unk>", "<s>", "</s>"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("tekken")
    writer.add_token_list(specials + [spelled(t) for t in tokens])
    writer.add_token_types([3] * N_SPECIALS + [1] * len(tokens))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_tekken(program, file, texts, folder):
    import tiktoken
    with open(file, encoding="utf-8") as f:
        document = json.load(f)
    config = document["config"]
    count = config["default_vocab_size"] - config["default_num_special_tokens"]
    tokens = [base64.b64decode(t["token_bytes"]) for t in document["vocab"][:count]]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    library = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks,
                                special_tokens={})
    path = os.path.join(folder, "tekken.gguf")
    write_tekken(path, tokens, ranks)
    theirs = [[N_SPECIALS + i for i in library.encode_ordinary(t)] for t in texts]
    return compare(program, os.path.basename(file), path, texts, theirs)


def check_sentencepiece(program, file, texts, folder):
    import sentencepiece
    path = os.path.join(folder, "tokenizer.model")
    shutil.copyfile(file, path)
    library = sentencepiece.SentencePieceProcessor(model_file=path)
    plain = [t for t in texts if "\0" not in t]
    return compare(program, os.path.basename(file), path, plain, [library.encode(t) for t in plain])


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    package = folder_of(sys.argv)
    try:
        import sentencepiece
        import tiktoken
    except ImportError as e:
        print("SKIP: %s (pip install tiktoken sentencepiece)" % e)
        return 77
    files = sorted(glob.glob(os.path.join(package or "", "**", "data", "*"), recursive=True))
    files = [f for f in files if package and ("tekken_" in f or ".model.v" in f)]
    if not files:
        print("SKIP: mistral-common is not there (pip install --no-deps mistral-common)")
        return 77
    print("tiktoken %s, sentencepiece %s" % (tiktoken.__version__, sentencepiece.__version__))
    texts = texts_of(count, 20261202)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            check = check_tekken if "tekken_" in file else check_sentencepiece
            good &= check(program, file, texts, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
