#!/bin/sh
# SPDX-License-Identifier: MIT
# What a file states and its family does not do is refused by name; neutral values are not.
# usage: refusals.sh PYTHON POWER MAKE_RANDOM LIKE.gguf
set -u
python=$1 power=$2 make=$3 like=$4
test -x "$python" || { echo 'SKIP: no Python environment in .venv'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
model() {
    "$python" "$make" --like "$like" --out "$work/m.gguf" --hidden 48 --ffn 64 --layers 1 "$@"
    "$power" run "$work/m.gguf" --raw "is" -n 1 >"$work/out" 2>"$work/err"
}
refused() {
    name=$1
    shift
    if model "$@" || ! grep -q "$name" "$work/err"; then
        failed=$((failed + 1))
        echo "FAIL $*: $(cat "$work/err")"
    else
        passed=$((passed + 1))
    fi
}
taken() {
    if model "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL $*: $(cat "$work/err")"
    fi
}
taken
for key in attention.clamp_kqv=8 attention.max_alibi_bias=8 attn_logit_softcapping=50 \
    final_logit_softcapping=30 embedding_scale=12 residual_scale=0.5 logit_scale=3 \
    expert_weights_scale=2.5 expert_gating_func=2 expert_shared_count=1 attention.causal=0 \
    rope.scaling.yarn_beta_fast=0 rope.scaling.high_freq_factor=0.5; do
    refused "${key%%=*}\|rope.scaling" --set "llama.$key"
done
refused 'blk.0.attn_q_norm.weight' --tensor blk.0.attn_q_norm.weight
refused 'output.bias' --tensor output.bias
for key in logit_scale=1 embedding_scale=0 expert_weights_scale=1 attention.clamp_kqv=0; do
    taken --set "llama.$key"
done
# A factor without a type is linear scaling, and so is the older key.
model && cp "$work/out" "$work/plain"
"$python" "$make" --like "$like" --out "$work/a.gguf" --hidden 48 --ffn 64 --layers 1 --set llama.rope.scaling.factor=8
"$python" "$make" --like "$like" --out "$work/b.gguf" --hidden 48 --ffn 64 --layers 1 --set llama.rope.scale_linear=8
for m in a b m; do
    "$power" run "$work/$m.gguf" --raw "channel is only a matter of" -n 24 --temperature 0 >"$work/$m.out" 2>&1
done
if cmp -s "$work/a.out" "$work/b.out" && ! cmp -s "$work/a.out" "$work/m.out"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo 'FAIL linear scaling by factor alone'
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
