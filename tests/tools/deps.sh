#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/deps with dpkg, apt, sudo and the user replaced. usage: deps.sh SOURCE_DIR
set -eu
source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "deps test: $*: $(cat "$scratch/out")" >&2; exit 1; }

stub() { # stub NAME BODY
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
mkdir -p "$scratch/bin" "$scratch/tree"
cp -r "$source/tools" "$scratch/tree/"
for tool in sh dirname awk cat env cmp rm; do
    ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done
stub id 'echo "$FAKE_UID"'
stub dpkg-query 'shift 3; for p; do case " $FAKE_MISSING " in *" $p "*) ;; *) echo "installed $p" ;; esac; done'
stub apt-get 'echo "apt-get $DEBIAN_FRONTEND $*" >>"$FAKE_LOG"'
export FAKE_UID=1000 FAKE_MISSING="cmake libedit-dev" FAKE_LOG="$scratch/log"
unset CI DEBIAN_FRONTEND || true
deps() {
    : >"$scratch/log"
    PATH="$scratch/bin" sh "$scratch/tree/tools/deps" build >"$scratch/out" 2>&1 </dev/null
}
line="apt-get update && apt-get install -y --no-install-recommends cmake libedit-dev"

deps && fail "no root, no sudo: exit 0"
grep -qF "run as root: $line" "$scratch/out" || fail "no root, no sudo: the line is not said"
[ ! -s "$scratch/log" ] || fail "no root, no sudo: apt was run"

stub sudo '[ "$1" != -n ] || shift; echo sudo >>"$FAKE_LOG"; exec "$@"'
deps && fail "sudo without a terminal: exit 0"
grep -q "sudo apt-get update && sudo apt-get install" "$scratch/out" || fail "sudo: no line"
[ ! -s "$scratch/log" ] || fail "sudo was used unasked"

CI=true deps || fail "CI=true failed"
export CI= FAKE_UID=0
deps || fail "root failed"
want='apt-get  update -q
apt-get noninteractive install -q -y --no-install-recommends cmake libedit-dev'
[ "$(cat "$scratch/log")" = "$want" ] || fail "root ran: $(cat "$scratch/log")"

FAKE_MISSING= deps && [ ! -s "$scratch/log" ] && [ ! -s "$scratch/out" ] ||
    fail "with nothing missing, apt was asked"
echo "deps test: good"
