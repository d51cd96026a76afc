#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logits of a real model against the float64 reference, recomputed here by lm_ref.py.

    real_models.py --dump PROGRAM --power PROGRAM --model FILE.gguf --golden DIR [--full]

Over the six prompts: RMS and mean KL at most 1.1 times llama.cpp's default figures (llamacpp.json), equal
top tokens at most half a point fewer, and each stored position within a factor of 2 of llama.cpp's rms there
or over all positions, whichever is larger (a position where it happened to be close is no measure: the
same position with F16 and with F32 keys and values differs by a factor of 2 here).
Along the reference's greedy paths (prompts and chats): the same token at every step whose margin is
above the bound. Perplexity of text.txt within a bound of the reference. --full: the logits over text.txt
too. Exits with 77 where the model or a module is missing. About a minute and 6 GB.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "2")
try:
    import numpy as np
    from lm_ref import LM
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

RMS_AND_KL, TOP_POINTS, SINGLE = 1.1, 0.005, 2.0
BOUNDS = {"qwen2": {"margin": 0.47, "perplexity": 0.005}, "gemma3": {"margin": 1.05, "perplexity": 0.01}}
# Positions where the model itself is bistable: noise of 3e-3 before each product moves the reference's
# logits by 10 together for two seeds of three. One such position outweighs the other 1,381 in the RMS, so
# it is left out of it (not of KL and top tokens) with F16 keys and values; with F32 nothing is left out.
UNSTABLE = {"gemma3": [("long", 729)]}
failures = []


def check(good, text):
    print(("ok    " if good else "FAIL  ") + text, flush=True)
    if not good:
        failures.append(text)


def lines(path):
    return [json.loads(x) for x in path.read_text(encoding="utf-8").split("\n") if x]


def dump(args, sequences, name, kv="f16"):
    """Power's logits of every position of the sequences, one array each (memory-mapped)."""
    prompts, out = args.work / f"{name}.json", args.work / f"{name}.f32"
    prompts.write_text(json.dumps([{"ids": ids} for ids in sequences]))
    subprocess.run([args.dump, args.model, prompts, out, kv], check=True)
    rows = np.memmap(out, np.float32, "r").reshape(sum(map(len, sequences)), -1)
    cut = np.cumsum([0] + [len(ids) for ids in sequences])
    return [rows[a:b] for a, b in zip(cut, cut[1:])]


def distances(ref, got):
    """Per row: rms, KL(reference || got), same top."""
    got = got.astype(np.float64)
    a = ref - ref.max(-1, keepdims=True)
    b = got - got.max(-1, keepdims=True)
    pa = np.exp(a)
    za = pa.sum(-1, keepdims=True)
    kl = (pa / za * (a - np.log(za) - b + np.log(np.exp(b).sum(-1, keepdims=True)))).sum(-1)
    return np.sqrt(((got - ref) ** 2).mean(-1)), kl, ref.argmax(-1) == got.argmax(-1)


def compare(model, ids, rows):
    hidden = model.forward([(ids, model.cache())])[0]
    parts = [distances(model.logits(hidden[i:i + 64]), rows[i:i + 64]) for i in range(0, len(ids), 64)]
    return [np.concatenate(p) for p in zip(*parts)]


def judge(name, rms, kl, top, theirs):
    total = float(np.sqrt(np.nanmean(rms ** 2)))
    check(total <= RMS_AND_KL * theirs["rms"], f"{name}: rms {total:.4f}, llama.cpp {theirs['rms']:.4f}")
    check(kl.mean() <= RMS_AND_KL * theirs["kl_mean"], f"{name}: mean KL {kl.mean():.3e}, llama.cpp {theirs['kl_mean']:.3e}")
    check(top.mean() >= theirs["same_top"] - TOP_POINTS, f"{name}: same top {top.mean():.4f}, llama.cpp {theirs['same_top']:.4f}")


def prompt_table(args, model, prompts, kv):
    got = dump(args, [p["ids"] for p in prompts], "prompts-" + kv, kv)
    return {p["name"]: compare(model, p["ids"], rows) for p, rows in zip(prompts, got)}


def check_prompts(args, model, theirs):
    prompts = lines(args.golden / "prompts.jsonl")
    table = prompt_table(args, model, prompts, "f16")
    for name, position in UNSTABLE.get(model.arch, []):
        print(f"note: {name} {position} has rms {table[name][0][position]:.2f} and is left out of the RMS")
        table[name][0][position] = np.nan
    judge("prompts", *[np.concatenate(x) for x in zip(*table.values())], theirs["prompts"])
    if args.full:
        exact = prompt_table(args, model, prompts, "f32")
        judge("prompts, F32 KV", *[np.concatenate(x) for x in zip(*exact.values())], theirs["prompts"])
    usual = theirs["prompts"]["rms"]
    worst = max((table[p["prompt"]][0][p["position"]] / max(p["rms"], usual), p["prompt"], p["position"])
                for p in theirs["golden_positions"])
    check(worst[0] <= SINGLE, f"single positions: at worst {worst[0]:.2f} times llama.cpp's rms ({worst[1]}, {worst[2]})")


def check_greedy(args, margin):
    """Teacher-forced along the reference's ids."""
    paths = lines(args.golden / "greedy.jsonl")
    if (args.golden / "chat-greedy.jsonl").exists():
        paths += lines(args.golden / "chat-greedy.jsonl")
    got = dump(args, [g["prompt_ids"] + g["ids"] for g in paths], "greedy")
    steps = bound = wrong = 0
    for g, rows in zip(paths, got):
        for i, (want, m) in enumerate(zip(g["ids"], g["margin"])):
            steps += 1
            if m > margin:
                bound += 1
                wrong += int(rows[len(g["prompt_ids"]) + i - 1].argmax()) != want
    check(bound > 50 and wrong == 0, f"greedy: {wrong} of {bound} steps above margin {margin} differ ({steps} steps)")


def check_perplexity(args, limit):
    want = json.loads((args.golden / "perplexity.json").read_text())["perplexity"]
    text = args.golden.parent / "text.txt"
    out = subprocess.run([args.power, "perplexity", args.model, text, "--json"], check=True, stdout=subprocess.PIPE).stdout
    got = json.loads(out)["perplexity"]
    check(abs(got / want - 1) <= limit, f"perplexity {got:.4f}, reference {want:.4f} ({100 * (got / want - 1):+.2f} %)")


def check_text(args, model, theirs):
    ids = json.loads((args.golden / "perplexity.json").read_text())["ids"]
    judge("text", *compare(model, ids, dump(args, [ids], "text")[0]), theirs["text"])


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--dump", required=True)
    a.add_argument("--power", required=True)
    a.add_argument("--model", required=True)
    a.add_argument("--golden", required=True, type=pathlib.Path)
    a.add_argument("--full", action="store_true")
    args = a.parse_args()
    if not args.model or not os.path.exists(args.model):
        print(f"SKIP: no model file at \"{args.model}\"")
        sys.exit(77)
    theirs = json.loads((args.golden / "llamacpp.json").read_text())["default"]
    with tempfile.TemporaryDirectory(prefix="power-golden-") as work:
        args.work = pathlib.Path(work)
        model = LM(args.model)
        bounds = BOUNDS[model.arch]
        check_prompts(args, model, theirs)
        check_greedy(args, bounds["margin"])
        check_perplexity(args, bounds["perplexity"])
        if args.full:
            check_text(args, model, theirs)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
