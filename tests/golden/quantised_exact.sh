#!/bin/sh
# SPDX-License-Identifier: MIT
# The quantised tiny models against a float64 forward that adds nothing but Power's own rounding of
# activations: what is left is float noise, so every block type's product is exact.
# usage: quantised_exact.sh PYTHON DUMP_LOGITS TINY_MODELS REFERENCE
set -eu
python=$1 dump=$2 models=$3 reference=$4
test -x "$python" || { echo 'SKIP: no Python environment in .venv'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in llama-quantised qwen2-quantised; do
    mkdir "$work/$folder"
    for model in "$models/$folder"/*.gguf; do
        name=$(basename "$model" .gguf)
        "$dump" "$model" "${model%.gguf}.json" "$work/$folder/$name.f32" f32
    done
    "$python" "$reference" --compare "$work/$folder" "$models/$folder"/*.gguf
done
