# SPDX-License-Identifier: MIT
"""Encoding beside llama.cpp and PyPI's `tokenizers`, one thread, in alternating rounds.

usage: run.py PROGRAM [--rounds N] [--texts FOLDER] [--peers FOLDER] [MODEL...]

PROGRAM is bench_tokenize of the build folder. FOLDER of --peers (default ~/.cache/power/peers) holds
llama.cpp as source (src/*/llama.cpp) and as static libraries (build); without it that column is
missing, without `tokenizers` the other. MODELs are GGUF files; by default the Qwen and Gemma models
of the cache and the vocabularies of ../shared/data/tokenizers, as far as they are there.

Each program encodes each text (English, code, Chinese; 1 MB, made by texts.py) in chunks of about
8 KiB. A round is one process of each program in turn, with one pass to warm up and one that counts;
times are the processor time of the thread. Printed are medians in MB/s and the median of the ratios
of each round. The ids of all must have one sum, else the run fails. The bars: 3 times llama.cpp, not
slower than tokenizers.
"""

import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "power")
CHUNK = "8192"


def default_models():
    names = [os.path.join(CACHE, "models", n) for n in ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                                                        "gemma-3-270m-q4_k_m.gguf")]
    names += [os.path.join(ROOT, "..", "shared", "data", "tokenizers", n + ".gguf")
              for n in ("gpt-2", "llama-spm")]
    return [n for n in names if os.path.exists(n)]


def build_llama(peers, folder):
    source, libraries = glob.glob(os.path.join(peers, "src", "*", "llama.cpp")), []
    for name in ("libllama", "libggml", "libggml-cpu", "libggml-base"):
        libraries += glob.glob(os.path.join(peers, "build", "**", name + ".a"), recursive=True)
    if not source or len(libraries) < 4 or not shutil.which("g++"):
        print(f"llama.cpp: not in {peers}, left out")
        return None
    program, part = os.path.join(folder, "peer_llama"), os.path.join(folder, "peer_llama.o")
    include = [f"-I{source[0]}/include", f"-I{source[0]}/ggml/include", f"-I{HERE}"]
    subprocess.run(["gcc", "-O2", "-c", *include, os.path.join(HERE, "llama.c"), "-o", part], check=True)
    subprocess.run(["g++", part, *libraries, "-fopenmp", "-lpthread", "-ldl", "-lm", "-o", program],
                   check=True)
    return program


def has_library():
    try:
        import gguf  # noqa: F401
        import tokenizers  # noqa: F401
        return True
    except ImportError as e:
        print(f"tokenizers: left out ({e})")
        return False


def one_pass(command):
    """Seconds and sum of the second pass."""
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    seconds, tokens, total = out[2].split()
    return float(seconds), (tokens, total)


def measure(programs, path, rounds):
    """Seconds of each program, by round. False when the ids differ."""
    times, sums = {name: [] for name in programs}, set()
    for _ in range(rounds):
        for name, command in programs.items():
            seconds, total = one_pass(command)
            times[name].append(seconds)
            sums.add(total)
    return times, len(sums) == 1


def ratios_of(times, peer):
    return statistics.median(b / a for a, b in zip(times["ours"], times[peer], strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", default=os.path.join(CACHE, "bench-texts"))
    parser.add_argument("--peers", default=os.path.join(CACHE, "peers"))
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.texts, "chinese.txt")):
        subprocess.run([sys.executable, os.path.join(HERE, "texts.py"), args.texts], check=True)
    llama, library = build_llama(args.peers, args.texts), has_library()
    bars, ok = {"llama.cpp": 3.0, "tokenizers": 1.0}, True
    for model in args.models or default_models():
        saved = os.path.join(args.texts, os.path.basename(model) + ".tokenizer.json")
        for text in ("english", "code", "chinese"):
            path = os.path.join(args.texts, text + ".txt")
            programs = {"ours": [args.program, model, path, CHUNK, "2"]}
            if llama:
                programs["llama.cpp"] = [llama, model, path, CHUNK, "2"]
            if library:
                programs["tokenizers"] = [sys.executable, os.path.join(HERE, "library.py"), model, path,
                                          CHUNK, "2", "--saved", saved]
            times, same = measure(programs, path, args.rounds)
            megabytes = os.path.getsize(path) / 1e6
            line = f"{os.path.basename(model)[:20]:20} {text:8}"
            for name, t in times.items():
                line += f" {name} {megabytes / statistics.median(t):6.1f} MB/s"
                if name != "ours":
                    ratio = ratios_of(times, name)
                    ok = ok and ratio >= bars[name]
                    line += f" ({ratio:.1f}x{'' if ratio >= bars[name] else ', under the bar'})"
            ok = ok and same
            print(line + ("" if same else "  THE IDS DIFFER"), flush=True)
    return 0 if ok else 1


sys.exit(main())
