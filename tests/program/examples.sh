#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs each program of examples/ on models whose answers are known.
# usage: examples.sh FOLDER_OF_PROGRAMS TEST_DATA SOURCES
set -eu
programs=$1 data=$2 sources=$3
text=$data/cases/gguf/script-text.gguf calls=$data/cases/gguf/script-tools.gguf
plain=$data/tiny-models/llama/model.gguf
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "examples test: $*: $(cat "$scratch/out" "$scratch/err")" >&2; exit 1; }

# example STATUS PROGRAM ARGUMENT... with standard input from this script's
example() {
    want=$1 what=$2
    shift 2
    got=0
    "$programs/example_$what" "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
    [ "$got" = "$want" ] || fail "$what ended with $got"
}
says() { printf '%s\n' "$@" | cmp -s - "$scratch/out" || fail "$what says something else"; }

for source in "$sources"/*.c; do
    [ -x "$programs/example_$(basename "$source" .c)" ] || fail "$source is built by no test"
done

example 0 mlp
example 0 generate "$text" "a"
says "Hello world out"
example 0 generate "$plain" "the cat" # no chat template: the text goes on
[ "$(wc -c <"$scratch/out")" -gt 1 ] || fail "no text"
example 1 generate "$scratch/none.gguf" "a"
grep -q 'generate: cannot open' "$scratch/err" || fail "the file is not named"
example 2 generate

printf 'a\nb\n' >"$scratch/lines"
example 0 chat "$text" <"$scratch/lines"
says "Hello world out" "ABCDEFGHIJ"

example 0 extract "$text" "a"
grep -Eqx '[{]"name":"[^"]+","age":[0-9]+,"languages":\[[^]]*\][}]' "$scratch/out" ||
    fail "the answer is not of the schema"

example 0 tools "$calls" "a"
grep -Eqx 'get_weather [{]"city": ?"[^"]+", ?"unit": ?"[^"]+"[}]' "$scratch/out" ||
    fail "no valid call"
example 1 tools "$text" "a"
grep -q 'no format of calls' "$scratch/err" || fail "tools were not refused"
echo "examples test: good"
