#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Float64 forward pass of the small llama and qwen2 files, with nothing added but Power's rounding of
activations: q = rint(x * (127 / amax)), d = amax / 127 in blocks of 256 for weight types of 256
elements and of 32 for the other quantised types; F32, F16 and BF16 weights take x as it is.

    llama_int8_ref.py [--plain] --out DIR FILE.gguf ...      write logits of all positions
    llama_int8_ref.py --check FILE.gguf ...                  rounding off: compare with FILE.json
    llama_int8_ref.py --compare DIR FILE.gguf ...            compare DIR/NAME.f32 with this reference

The prompts come from FILE.json beside FILE.gguf. DIR/NAME.f32 holds, for each prompt in order,
float32 [positions][vocab], little endian. --compare prints, for each prompt, the median over positions
of the rms difference and the maximum; it fails where a median is above --limit (1e-5).
Needs numpy and gguf 0.19 (a virtual environment).
"""
import argparse
import json
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

FLOAT_TYPES = (Type.F32, Type.F16, Type.BF16)


def rounded(x, block):
    """Power's activation rounding of the rows of x (float64 in, float64 out)."""
    x32 = x.astype(np.float32).reshape(*x.shape[:-1], -1, block)
    amax = np.abs(x32).max(-1, keepdims=True)
    live = amax >= np.float32(2.0**-94)
    safe = np.where(live, amax, np.float32(1))
    q = np.rint(x32 * (np.float32(127) / safe))
    d = np.where(live, safe / np.float32(127), np.float32(0))
    return (q.astype(np.float64) * d.astype(np.float64)).reshape(x.shape)


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.tensors = {t.name: t for t in reader.tensors}
        self.fields = reader.fields
        self.arch = self.value("general.architecture")
        assert self.arch in ("llama", "qwen2"), self.arch
        self.layers = self.value(f"{self.arch}.block_count")
        self.heads = self.value(f"{self.arch}.attention.head_count")
        self.kv_heads = self.value(f"{self.arch}.attention.head_count_kv")
        self.eps = self.value(f"{self.arch}.attention.layer_norm_rms_epsilon")
        self.base = self.value(f"{self.arch}.rope.freq_base")
        self.width = self.value(f"{self.arch}.embedding_length")
        key = f"{self.arch}.attention.key_length"
        self.head_dim = self.value(key) if key in self.fields else self.width // self.heads
        self.cache = {}

    def value(self, key):
        return self.fields[key].contents()

    def weight(self, name):
        """The values of a tensor in float64, [rows][columns]."""
        if name not in self.cache:
            t = self.tensors[name]
            values = gguf.quants.dequantize(t.data, t.tensor_type)
            shape = [int(n) for n in reversed(t.shape)]
            self.cache[name] = values.reshape(shape).astype(np.float64)
        return self.cache[name]

    def linear(self, x, name, round_rows):
        kind = self.tensors[f"{name}.weight"].tensor_type
        if round_rows and kind not in FLOAT_TYPES:
            x = rounded(x, 256 if gguf.GGML_QUANT_SIZES[kind][0] == 256 else 32)
        y = x @ self.weight(f"{name}.weight").T
        if f"{name}.bias" in self.tensors:
            y = y + self.weight(f"{name}.bias")
        return y

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.weight(f"{name}.weight")

    def rope(self, x):
        """x [rows][heads][head_dim]; llama rotates neighbours, qwen2 halves."""
        half = self.head_dim // 2
        inv = (self.base ** (-2.0 * np.arange(half) / self.head_dim)).astype(np.float32)
        angle = np.arange(len(x))[:, None] * inv.astype(np.float64)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        out = np.empty_like(x)
        if self.arch == "llama":
            first, second = slice(0, None, 2), slice(1, None, 2)
        else:
            first, second = slice(0, half), slice(half, None)
        a, b = x[..., first], x[..., second]
        out[..., first] = a * cos - b * sin
        out[..., second] = a * sin + b * cos
        return out

    def attend(self, x, at, round_rows):
        rows = len(x)
        q = self.linear(x, f"{at}.attn_q", round_rows).reshape(rows, self.heads, -1)
        k = self.linear(x, f"{at}.attn_k", round_rows).reshape(rows, self.kv_heads, -1)
        v = self.linear(x, f"{at}.attn_v", round_rows).reshape(rows, self.kv_heads, -1)
        q, k = self.rope(q), self.rope(k)
        group = self.heads // self.kv_heads
        k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
        s = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(self.head_dim)
        s = np.where(np.tril(np.ones((rows, rows), bool)), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        o = np.einsum("hqk,khd->qhd", p, v).reshape(rows, -1)
        return self.linear(o, f"{at}.attn_output", round_rows)

    def logits(self, ids, round_rows):
        x = self.weight("token_embd.weight")[np.asarray(ids)]
        for layer in range(self.layers):
            at = f"blk.{layer}"
            x = x + self.attend(self.norm(x, f"{at}.attn_norm"), at, round_rows)
            h = self.norm(x, f"{at}.ffn_norm")
            gate = self.linear(h, f"{at}.ffn_gate", round_rows)
            up = self.linear(h, f"{at}.ffn_up", round_rows)
            x = x + self.linear(gate / (1 + np.exp(-gate)) * up, f"{at}.ffn_down", round_rows)
        head = "output" if "output.weight" in self.tensors else "token_embd"
        return self.linear(self.norm(x, "output_norm"), head, round_rows)


def check(path, golden, model):
    worst = 0.0
    for prompt in golden["prompts"]:
        y = model.logits(prompt["ids"], False)
        at = y[np.asarray(prompt["positions"])]
        worst = max(worst, np.abs(at[:, golden["logit_ids"]] - np.asarray(prompt["logits"])).max())
        assert (at.argmax(-1) == np.asarray(prompt["argmax"])).all(), f"{path}: argmax"
    print(f"{path.stem}: max distance to the golden values {worst:.2e}")
    return worst < 1e-5


def compare(path, golden, model, folder, limit):
    other = np.fromfile(folder / f"{path.stem}.f32", "<f4")
    at, good = 0, True
    for prompt in golden["prompts"]:
        y = model.logits(prompt["ids"], True)
        mine = other[at:at + y.size].reshape(y.shape)
        at += y.size
        rms = np.sqrt(((mine - y) ** 2).mean(-1))
        print(f"{path.stem} {prompt['name']}: median rms {np.median(rms):.2e}, rms "
              f"{np.sqrt((rms ** 2).mean()):.2e}, max {np.abs(mine - y).max():.2e}")
        good = good and np.median(rms) <= limit
    return good and at == other.size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compare", type=pathlib.Path)
    parser.add_argument("--plain", action="store_true", help="no rounding of activations")
    parser.add_argument("--limit", type=float, default=1e-5)
    args = parser.parse_args()
    good = True
    for path in args.files:
        golden = json.loads(path.with_suffix(".json").read_text())
        model = Model(path)
        if args.check:
            good &= check(path, golden, model)
        elif args.compare:
            good &= compare(path, golden, model, args.compare, args.limit)
        else:
            args.out.mkdir(parents=True, exist_ok=True)
            parts = [model.logits(p["ids"], not args.plain) for p in golden["prompts"]]
            np.concatenate([y.ravel() for y in parts]).astype("<f4").tofile(
                args.out / f"{path.stem}.f32")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
