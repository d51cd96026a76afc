#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SafeTensors and GGUF forms of a model give the same logits, bit for bit.

    safetensors_forms.py --dump PROGRAM --power PROGRAM --models tests/data/tiny-models

Every family: the Hugging Face form is written from the GGUF (write_safetensors.py), as one file and
in two shards; llama and mistral also in the form they were published in. Over both golden prompts,
F32 keys and values. The tokenizer of the form gives the golden ids. mistral with sliding_window 32 in
config.json is within four times the noise of golden-window.json. Exits with 77 where a module is
missing.
"""
import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from write_safetensors import write_model
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

GIVEN = ("llama", "mistral")
NESTED = ("gemma3", "qwen35")  # published inside models that see pictures, too
REFUSED = [
    ("qwen2", {"use_sliding_window": True, "sliding_window": 32}, "sliding_window"),
    ("qwen2", {"layer_types": ["sliding_attention"] * 3}, "layer_types"),
    ("gemma2", {"layer_types": ["full_attention"] * 4}, "layer_types"),
    ("llama", {"hidden_act": "gelu"}, "hidden_act"),
    ("llama", {"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
    ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "dynamic"),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "truncate": False}},
     "truncate"),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "original_context_length"),
    ("llama", {"num_hidden_layers": 2}, "blk.2"),
    ("llama", {"num_hidden_layers": 4}, "blk.3"),
    ("llama", {"model_type": "mamba"}, "mamba"),
    ("qwen3moe", {"norm_topk_prob": False}, "norm_topk_prob"),
]
failures = []


def check(good, text):
    print(("ok    " if good else "FAIL  ") + text, flush=True)
    if not good:
        failures.append(text)


def dump(args, model, prompts):
    """Logits of all prompts, each in a session no longer than itself: phi3 chooses by the length."""
    out, single = args.work / "logits.f32", args.work / "prompt.json"
    logits = b""
    for prompt in json.loads(prompts.read_text())["prompts"]:
        single.write_text(json.dumps([{"ids": prompt["ids"]}]))
        out.unlink(missing_ok=True)
        run = subprocess.run([args.dump, model, single, out, "f32"], capture_output=True,
                             text=True)
        if run.returncode:
            print(run.stderr.strip())
            return b""
        logits += out.read_bytes()
    return logits


def compare(args, name, form, model, prompts, want):
    got = dump(args, model, prompts)
    if got == want and want:
        check(True, f"{name}: {form}: {len(want) // 4} logits equal")
        return
    detail = f"{len(got)} bytes, want {len(want)}"
    if len(got) == len(want) and want:
        a, b = np.frombuffer(got, np.float32), np.frombuffer(want, np.float32)
        differ = a.view(np.uint32) != b.view(np.uint32)
        detail = f"{differ.sum()} of {a.size} differ, by up to {np.abs(a - b).max():.3g}"
    check(False, f"{name}: {form}: {detail}")


def compare_ids(args, name, folder, prompts):
    for prompt in json.loads(prompts.read_text())["prompts"]:
        run = subprocess.run([args.power, "tokenize", "--json", folder, prompt["text"]],
                             capture_output=True, text=True)
        ids = run.stderr.strip()
        if run.returncode == 0:
            ids = [token["id"] for token in json.loads(run.stdout)]
        check(ids == prompt["ids"], f"{name}: ids of the {prompt['name']} prompt" +
              ("" if ids == prompt["ids"] else f": {ids}"))


def family(args, folder):
    name, gguf, prompts = folder.name, folder / "model.gguf", folder / "golden.json"
    want = dump(args, gguf, prompts)
    for shards in (1, 2):
        form = args.work / f"{name}-{shards}"
        write_model(gguf, folder / "config.json", form, shards)
        compare(args, name, f"written in {shards} file(s)", form, prompts, want)
    compare_ids(args, name, form, prompts)
    if name in NESTED:
        form = args.work / f"{name}-nested"
        write_model(gguf, folder / "config.json", form, nested=True)
        compare(args, name, "nested", form, prompts, want)
    if name in GIVEN:
        given = args.work / f"{name}-given"
        given.mkdir()
        for file in folder.iterdir():
            if file.suffix in (".safetensors", ".model") or file.stem in (
                    "config", "tokenizer", "tokenizer_config"):
                shutil.copy(file, given)
        compare(args, name, "as published", given, prompts, want)
        compare(args, name, "as published, by the file's name", given / "model.safetensors",
                prompts, want)
        compare_ids(args, name, given, prompts)


def window(args, folder):
    """The distance to golden-window.json, and that without the window it is far off."""
    form = args.work / "mistral-given"
    config = json.loads((form / "config.json").read_text())
    golden = folder / "golden-window.json"
    wanted = json.loads(golden.read_text())
    limit = 4 * wanted["noise_float32"]
    for size in (32, None):
        (form / "config.json").write_text(json.dumps({**config, "sliding_window": size}))
        rows = np.frombuffer(dump(args, form, golden), np.float32)
        rows = rows.reshape(-1, config["vocab_size"]).astype(np.float64)
        worst, at = 0.0, 0
        for prompt in wanted["prompts"]:
            for logits, lse in zip(prompt["logits"], prompt["logsumexp"]):
                row = rows[at]
                mine = row.max() + math.log(np.exp(row - row.max()).sum())
                worst = max(worst, abs(mine - lse),
                            np.abs(row[wanted["logit_ids"]] - logits).max())
                at += 1
        check(at == len(rows), f"mistral: {at} positions of {len(rows)}")
        if size:
            check(worst <= limit, f"mistral: window {size}: {worst:.3g} of {limit:.3g}")
        else:
            check(worst > 100 * limit, f"mistral: without the window: {worst:.3g} away")


def refusals(args):
    """What config.json asks for and Power does not do is refused by its name, not left out."""
    for family_name, change, name in REFUSED:
        folder, form = args.models / family_name, args.work / f"{family_name}-1"
        config = json.loads((folder / "config.json").read_text())
        (form / "config.json").write_text(json.dumps({**config, **change}))
        run = subprocess.run([args.dump, form, folder / "golden.json", args.work / "none", "f32"],
                             capture_output=True, text=True)
        check(run.returncode == 1 and name in run.stderr,
              f"{family_name}: {json.dumps(change)[:60]}: {run.stderr.strip() or run.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", required=True)
    parser.add_argument("--power", required=True)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("families", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        args.work = pathlib.Path(work)
        folders = sorted(x.parent for x in args.models.glob("*/model.gguf"))
        for folder in folders:
            if not args.families or folder.name in args.families:
                family(args, folder)
                if folder.name == "mistral":
                    window(args, folder)
        if not args.families:
            check(len(folders) >= 14, f"{len(folders)} families")
            refusals(args)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
