#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the Hugging Face form of a small model from its GGUF file, for tests.

Input: model.gguf and the config.json that belongs to it. Output: a folder with SafeTensors (one
file, or shards with their index), config.json, a tokenizer. What the converter to GGUF did is
undone: names, the order of rotary rows, norms that gained one, stacked experts, the logarithm of
the decay, the order of value heads. Every step is checked to give back the GGUF's bits.
"""
import argparse
import json
import math
import struct
from pathlib import Path

import gguf
import numpy as np

LAYER = {
    "attn_norm.weight": "input_layernorm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.weight": "self_attn.o_proj.weight",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
FOUR_NORMS = {
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "ffn_norm.weight": "pre_feedforward_layernorm.weight",
    "post_ffw_norm.weight": "post_feedforward_layernorm.weight",
}
MORE = {
    "gemma2": FOUR_NORMS,
    "gemma3_text": FOUR_NORMS,
    "olmo2": FOUR_NORMS,
    "phi3": {"attn_qkv.weight": "self_attn.qkv_proj.weight",
             "ffn_up.weight": "mlp.gate_up_proj.weight"},
    "mixtral": {"ffn_gate_inp.weight": "block_sparse_moe.gate.weight",
                "ffn_gate_exps.weight": "block_sparse_moe.experts.%d.w1.weight",
                "ffn_down_exps.weight": "block_sparse_moe.experts.%d.w2.weight",
                "ffn_up_exps.weight": "block_sparse_moe.experts.%d.w3.weight"},
    "qwen3_moe": {"ffn_gate_inp.weight": "mlp.gate.weight",
                  "ffn_gate_exps.weight": "mlp.experts.%d.gate_proj.weight",
                  "ffn_down_exps.weight": "mlp.experts.%d.down_proj.weight",
                  "ffn_up_exps.weight": "mlp.experts.%d.up_proj.weight"},
    "qwen3_5_text": {"post_attention_norm.weight": "post_attention_layernorm.weight",
                     "attn_qkv.weight": "linear_attn.in_proj_qkv.weight",
                     "attn_gate.weight": "linear_attn.in_proj_z.weight",
                     "ssm_alpha.weight": "linear_attn.in_proj_a.weight",
                     "ssm_beta.weight": "linear_attn.in_proj_b.weight",
                     "ssm_conv1d.weight": "linear_attn.conv1d.weight",
                     "ssm_a": "linear_attn.A_log",
                     "ssm_dt.bias": "linear_attn.dt_bias",
                     "ssm_norm.weight": "linear_attn.norm.weight",
                     "ssm_out.weight": "linear_attn.out_proj.weight"},
}
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
LEFT_OUT = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}
ADJACENT_PAIRS = {"llama", "mistral", "mixtral", "granite"}
NORMS_LACK_ONE = {"gemma2", "gemma3_text", "qwen3_5_text"}


def values_of(tensor):
    """A tensor of GGUF as an array [.., rows, cols]; BF16 as its 16 bits."""
    shape = [int(n) for n in reversed(tensor.shape)]
    if tensor.tensor_type == gguf.GGMLQuantizationType.BF16:
        return np.ascontiguousarray(tensor.data).view(np.uint16).reshape(shape)
    assert tensor.tensor_type.name in ("F32", "F16"), tensor.name
    return np.array(tensor.data).reshape(shape)


def to_halves(rows, heads):
    """Rows of q or k: adjacent pairs of each head become its two halves."""
    each = rows.shape[0] // heads
    by_pair = rows.reshape(heads, each // 2, 2, *rows.shape[1:])
    return by_pair.swapaxes(1, 2).reshape(rows.shape)


def minus_one(values):
    """The float32 that gives `values` when one is added."""
    out = (values - np.float32(1)).astype(np.float32)
    for i in np.flatnonzero(out + np.float32(1) != values):
        near = [out[i]]
        for _ in range(8):
            near = [np.nextafter(near[0], np.float32(-np.inf)), *near,
                    np.nextafter(near[-1], np.float32(np.inf))]
        fits = [x for x in near if x + np.float32(1) == values[i]]
        assert fits, f"no number that becomes {values[i]!r} by adding one"
        out[i] = fits[0]
    return out


def log_of_minus(values):
    """The float32 x with -exp(x), rounded to float32, equal to `values`."""
    out = np.empty_like(values)
    for i, value in enumerate(values):
        x = np.float32(math.log(-float(value)))
        near = [x]
        for _ in range(16):
            near = [np.nextafter(near[0], np.float32(-np.inf)), *near,
                    np.nextafter(near[-1], np.float32(np.inf))]
        fits = [y for y in near if np.float32(-math.exp(float(y))) == value]
        assert fits, f"no logarithm that becomes {value!r}"
        out[i] = min(fits, key=lambda y: abs(float(y) - float(x)))
    return out


class Undo:
    """The steps of one model."""

    def __init__(self, config):
        self.config = config
        self.type = config["model_type"]
        self.names = {**LAYER, **MORE.get(self.type, {})}
        self.k_heads = config.get("linear_num_key_heads", 0)
        self.v_heads = config.get("linear_num_value_heads", 0)
        self.values_from = 2 * self.k_heads * config.get("linear_key_head_dim", 0)

    def grouped(self, values, first=0):
        """Value heads of GGUF (by place, then key head) to Hugging Face (by key head)."""
        tail = values[first:]
        each = tail.shape[0] // self.v_heads
        tiled = tail.reshape(self.v_heads // self.k_heads, self.k_heads, each, *values.shape[1:])
        return np.concatenate([values[:first], tiled.swapaxes(0, 1).reshape(tail.shape)])

    def layer(self, suffix, values):
        """Yields (name, values) for one tensor of a layer."""
        if self.type in ADJACENT_PAIRS and suffix in ("attn_q.weight", "attn_k.weight"):
            key = "num_attention_heads" if suffix[5] == "q" else "num_key_value_heads"
            values = to_halves(values, self.config[key])
        if self.type in NORMS_LACK_ONE and "norm" in suffix and suffix != "ssm_norm.weight":
            values = minus_one(values)
        if self.type == "qwen3_5_text":
            values = self.delta(suffix, values)
        name = self.names[suffix]
        if "%d" not in name:
            yield name, values
            return
        for expert, part in enumerate(values):
            yield name % expert, part

    def delta(self, suffix, values):
        if suffix == "attn_qkv.weight":
            return self.grouped(values, self.values_from)
        if suffix == "ssm_conv1d.weight":
            return self.grouped(values, self.values_from)[:, None, :]
        if suffix == "ssm_out.weight":
            return np.ascontiguousarray(self.grouped(values.T).T)
        if suffix == "ssm_a":
            return self.grouped(log_of_minus(values))
        if suffix in ("attn_gate.weight", "ssm_alpha.weight", "ssm_beta.weight", "ssm_dt.bias"):
            return self.grouped(values)
        return values

    def tensors(self, reader):
        layers = self.config["num_hidden_layers"]
        for tensor in reader.tensors:
            values = values_of(tensor)
            if tensor.name in WHOLE:
                if tensor.name == "output_norm.weight" and self.type in NORMS_LACK_ONE:
                    values = minus_one(values)
                yield WHOLE[tensor.name], values
                continue
            if tensor.name in LEFT_OUT:
                continue
            _, layer, suffix = tensor.name.split(".", 2)
            if int(layer) >= layers:
                continue  # prediction layers, which config.json counts apart
            for name, part in self.layer(suffix, values):
                yield f"model.layers.{layer}.{name}", part


def stored_as(values, kind):
    """Values in the model's type where that keeps every bit, as its checkpoints have them."""
    if values.dtype == np.uint16:
        return "BF16", values
    if kind == "BF16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        if not np.any(bits & 0xFFFF):
            return "BF16", (bits >> 16).astype(np.uint16)
    if kind == "F16" and np.array_equal(values.astype(np.float16).astype(np.float32),
                                        values.astype(np.float32)):
        return "F16", values.astype(np.float16)
    return ("F16" if values.dtype == np.float16 else "F32"), values


def write_file(path, tensors, kind):
    """The container: length of the header, header, bytes."""
    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, values in tensors:
        dtype, stored = stored_as(values, kind)
        blob = np.ascontiguousarray(stored).astype(stored.dtype.newbyteorder("<")).tobytes()
        header[name] = {"dtype": dtype, "shape": list(stored.shape),
                        "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    return at


def write_tensors(folder, tensors, kind, shards):
    if shards == 1:
        write_file(folder / "model.safetensors", tensors, kind)
        return
    where, total = {}, 0
    for i in range(shards):
        name = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = tensors[i::shards]
        total += write_file(folder / name, part, kind)
        where.update({tensor: name for tensor, _ in part})
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1))


# ---- vocabularies ----

SPLITS = {
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
CONTROL = 3


def field(reader, name, default=None):
    entry = reader.fields.get("tokenizer.ggml." + name)
    return entry.contents() if entry else default


def bpe_json(reader):
    """tokenizer.json of a byte-level BPE vocabulary."""
    tokens, types = field(reader, "tokens"), field(reader, "token_type")
    added = [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False, "special": True}
             for i in range(len(tokens)) if types[i] == CONTROL]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "byte_fallback": False,
             "fuse_unk": False, "ignore_merges": field(reader, "pre") == "llama-bpe",
             "vocab": {tokens[i]: i for i in range(len(tokens)) if types[i] != CONTROL},
             "merges": [m.split(" ") for m in field(reader, "merges")]}
    split = {"type": "Split", "pattern": {"Regex": SPLITS[field(reader, "pre")]},
             "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": False}
    processor = level
    if field(reader, "add_bos_token", False):
        bos = tokens[field(reader, "bos_token_id")]
        processor = {"type": "TemplateProcessing",
                     "single": [{"SpecialToken": {"id": bos, "type_id": 0}},
                                {"Sequence": {"id": "A", "type_id": 0}}],
                     "pair": [], "special_tokens": {}}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "post_processor": processor, "decoder": level, "model": model}


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def message(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number(n, value):
    return varint(n << 3) + varint(value & 0xFFFFFFFFFFFFFFFF)


def spm_model(reader):
    """tokenizer.model: SentencePiece's protocol buffer, BPE."""
    tokens, types = field(reader, "tokens"), field(reader, "token_type")
    out = b""
    for token, score, kind in zip(tokens, field(reader, "scores"), types):
        out += message(1, message(1, token.encode()) + b"\x15" + struct.pack("<f", score) +
                       number(3, kind))
    ids = [types.index(2), field(reader, "bos_token_id"), field(reader, "eos_token_id"),
           field(reader, "padding_token_id", -1)]
    trainer = number(3, 2) + b"".join(number(40 + i, value) for i, value in enumerate(ids))
    prefix = field(reader, "add_space_prefix", True)
    rules = number(3, int(prefix)) + number(4, 0) + number(5, 1)
    return out + message(2, trainer) + message(3, rules)


def write_tokenizer(folder, reader):
    if field(reader, "model") == "llama":
        (folder / "tokenizer.model").write_bytes(spm_model(reader))
        config = {"add_bos_token": True}
    else:
        (folder / "tokenizer.json").write_text(json.dumps(bpe_json(reader)))
        config = {"add_bos_token": field(reader, "add_bos_token", False)}
    tokens = field(reader, "tokens")
    for name in ("bos", "eos"):
        config[name + "_token"] = tokens[field(reader, name + "_token_id")]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def nest(name):
    """The name inside a model that sees pictures, too."""
    return name.replace("model.", "model.language_model.", 1) if name != "lm_head.weight" else name


def write_model(model, config_path, folder, shards=1, nested=False):
    """model.gguf and config.json -> a Hugging Face folder."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = gguf.GGUFReader(model)
    text = Path(config_path).read_text()
    tensors = list(Undo(json.loads(text)).tensors(reader))
    if nested:
        text = json.dumps({"model_type": "wrapped", "text_config": json.loads(text)})
        tensors = [(nest(name), values) for name, values in tensors]
    kind = next(t.tensor_type.name for t in reader.tensors if t.name == "token_embd.weight")
    write_tensors(folder, tensors, kind, shards)
    (folder / "config.json").write_text(text)
    write_tokenizer(folder, reader)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("config", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=1)
    args = parser.parse_args()
    write_model(args.model, args.config, args.folder, args.shards)


if __name__ == "__main__":
    main()
