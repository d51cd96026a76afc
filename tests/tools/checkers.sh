#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/check-edges and tools/check-style must fail on what they forbid. usage: checkers.sh SOURCE_DIR
set -eu
source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "checkers test: $*: $(cat "$scratch/out")" >&2; exit 1; }

mkdir -p "$scratch/tools" "$scratch/docs" "$scratch/src/base" "$scratch/src/os" "$scratch/src/graph"
cp "$source"/tools/check-edges "$source"/tools/check-style "$scratch/tools/"
cp "$source/docs/architecture.md" "$scratch/docs/"
echo "# none" >"$scratch/tools/style-exceptions.txt"
head='/* SPDX-License-Identifier: MIT */
/* A file of the test. */'
printf '%s\n' "$head" '#include "base/a.h"' >"$scratch/src/os/b.c"
printf '%s\n' "$head" 'int a(void);' >"$scratch/src/base/a.h"
check() { (cd "$scratch" && tools/"$1" >"$scratch/out" 2>&1); }

check check-edges || fail "allowed edges were refused"
check check-style || fail "a clean tree was refused"

printf '%s\n' "$head" '#include "os/b.h"' >"$scratch/src/graph/c.c"
touch "$scratch/src/os/b.h"
check check-edges && fail "graph -> os was allowed"
grep -q 'src/graph/c.c:3: graph may not include os' "$scratch/out" || fail "the edge is not named"
printf '%s\n' "$head" '#include <sys/socket.h>' >"$scratch/src/graph/c.c"
check check-edges && fail "a socket header was allowed in graph"
printf '%s\n' "$head" '#include "../os/b.h"' >"$scratch/src/graph/c.c"
check check-edges && fail "a relative path got around the table"
rm "$scratch/src/graph/c.c" "$scratch/src/os/b.h"

body() { awk "BEGIN { for (i = 0; i < $1; i++) print \"    a();\" }"; }
{ echo "$head"; echo 'int f(int x,'; echo '      int y) {'; body 69; echo '}'; } >"$scratch/src/base/f.c"
check check-style && fail "a function of 71 lines was allowed"
grep -q 'function f is 71' "$scratch/out" || fail "the long function is not named"
echo "src/base/f.c function f 71" >>"$scratch/tools/style-exceptions.txt"
check check-style || fail "an exception was not honoured"
{ echo "$head"; echo 'int f(void) {'; body 68; echo '}'; } >"$scratch/src/base/f.c"
check check-style && fail "an exception that is no longer needed was allowed"
echo "# none" >"$scratch/tools/style-exceptions.txt"
check check-style || fail "a function of 70 lines was refused"
printf '%s\n' "$head" 'void g(void) {' 'if (a) {' 'while (b) {' 'for (;;) {' 'do {' '} while (c);' \
    '}' '}' '}' '}' >"$scratch/src/base/f.c"
check check-style && fail "nesting of four was allowed"
printf 'int x;\n' >"$scratch/src/base/f.c"
check check-style && fail "a file without the SPDX line was allowed"
echo "checkers test: good"
