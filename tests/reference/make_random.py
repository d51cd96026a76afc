#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a random llama model in GGUF, with the vocabulary of another file.

    make_random.py --like FILE.gguf --out OUT.gguf [--hidden 384] [--ffn 640] [--layers 2] [--type F16]

Hidden 384 and FFN 640 make sums of two and three segments of 256. Needs numpy and gguf 0.19.
"""
import argparse

import gguf
import numpy as np


def copy_vocabulary(reader, writer):
    for key, field in reader.fields.items():
        if not key.startswith("tokenizer."):
            continue
        kind, value = field.types[0], field.contents()
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_key_value(key, value, kind, sub_type=field.types[-1])
        else:
            writer.add_key_value(key, value, kind)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--like", required=True)
    a.add_argument("--out", required=True)
    a.add_argument("--hidden", type=int, default=384)
    a.add_argument("--ffn", type=int, default=640)
    a.add_argument("--layers", type=int, default=2)
    a.add_argument("--type", default="F16", choices=["F16", "F32"])
    a.add_argument("--set", action="append", default=[], metavar="KEY=NUMBER", help="one more float key")
    a.add_argument("--tensor", action="append", default=[], metavar="NAME", help="one more tensor")
    args = a.parse_args()
    rng = np.random.default_rng(5)
    reader = gguf.GGUFReader(args.like)
    vocab = len(reader.fields["tokenizer.ggml.tokens"].contents())
    w = gguf.GGUFWriter(args.out, "llama")
    w.add_name("random")
    w.add_block_count(args.layers)
    w.add_context_length(1024)
    w.add_embedding_length(args.hidden)
    w.add_feed_forward_length(args.ffn)
    w.add_head_count(6)
    w.add_head_count_kv(2)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(args.hidden // 6)
    for pair in args.set:
        key, number = pair.split("=")
        w.add_float32(key, float(number))
    copy_vocabulary(reader, w)
    dtype = np.float16 if args.type == "F16" else np.float32

    def matrix(name, rows, cols, gain=1.2):
        w.add_tensor(name, (rng.standard_normal((rows, cols)) * gain / np.sqrt(cols)).astype(dtype))

    def vector(name, count):
        w.add_tensor(name, (1 + 0.25 * rng.standard_normal(count)).astype(np.float32))

    for name in args.tensor:
        vector(name, args.hidden)
    n, kv = args.hidden, args.hidden // 6 * 2
    matrix("token_embd.weight", vocab, n, 10.0)
    matrix("output.weight", vocab, n)
    vector("output_norm.weight", n)
    for i in range(args.layers):
        p = f"blk.{i}."
        vector(p + "attn_norm.weight", n)
        vector(p + "ffn_norm.weight", n)
        matrix(p + "attn_q.weight", n, n)
        matrix(p + "attn_k.weight", kv, n)
        matrix(p + "attn_v.weight", kv, n)
        matrix(p + "attn_output.weight", n, n)
        matrix(p + "ffn_gate.weight", args.ffn, n)
        matrix(p + "ffn_up.weight", args.ffn, n)
        matrix(p + "ffn_down.weight", n, args.ffn)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    main()
