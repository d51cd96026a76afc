#!/bin/sh
# SPDX-License-Identifier: MIT
# The program opens no socket and starts no process, seen from the kernel's side.
# usage: quiet.sh BUILD TEST_DATA
set -eu
power=$1/cmd/power model=$2/tiny-models/llama/model.gguf
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "quiet test: $*" >&2; exit 1; }

[ -x "$power" ] || fail "$power is missing"
strace -f -o "$scratch/probe" -e trace=execve true 2>/dev/null ||
    { echo "SKIP: strace may not trace here"; exit 77; }

watch() { # watch NAME ARGUMENT...
    what=$1
    shift
    strace -f -o "$scratch/trace" -e trace=%network,%process "$power" "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null || fail "power $what failed: $(cat "$scratch/err")"
    if grep -E ' (socket|socketpair|connect|bind|listen|accept4?|send(to|msg|mmsg)|recv(from|msg|mmsg))\(' \
        "$scratch/trace"; then
        fail "power $what used a socket"
    fi
    [ "$(grep -c ' execve(' "$scratch/trace")" = 1 ] || fail "power $what started a program"
    ! grep -E ' v?fork\(' "$scratch/trace" || fail "power $what forked"
    # Threads are clones too; a child process is one that shares no memory.
    ! grep -E ' clone3?\(' "$scratch/trace" | grep -v CLONE_VM || fail "power $what forked"
}

watch run run "$model" --raw --temperature 0 --max-tokens 4 --threads 2 "hello"
[ ! -s "$scratch/err" ] || fail "power run wrote to stderr: $(cat "$scratch/err")"
[ -s "$scratch/out" ] || fail "power run gave no answer"
watch show show "$model"
watch tokenize tokenize "$model" "hello"
watch doctor doctor
echo "quiet test: good"
