#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs a build into a scratch place and builds programs outside the tree against it.
# usage: run.sh BUILD LIBDIR
set -eu
build=$1 libdir=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "install test: $*" >&2; exit 1; }

DESTDIR=$scratch/image cmake --install "$build" --prefix /opt/power >"$scratch/install.log" ||
    { cat "$scratch/install.log"; fail "cmake --install failed"; }
# Moved away from the prefix it was installed for: nothing may hold on to a path.
root=$scratch/moved
mv "$scratch/image/opt/power" "$root"

[ -x "$root/bin/power" ] || fail "the program is missing"
"$root/bin/power" --version | grep -q '^power [0-9]' || fail "power --version says something else"
[ -s "$root/share/man/man1/power.1" ] || fail "the manual page is missing"
[ -s "$root/share/bash-completion/completions/power" ] || fail "the completion is missing"
[ -f "$root/$libdir/libpower.a" ] || fail "libpower.a is missing"
soname=$(readelf -d "$root/$libdir/libpower.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = libpower.so.0 ] || fail "SONAME is '$soname'"
[ -e "$root/$libdir/$soname" ] || fail "$soname is missing"
for header in "$here"/../../include/power/*.h; do
    cmp -s "$header" "$root/include/power/$(basename "$header")" || fail "$header is not installed"
done
[ "$(find "$root/include" -name '*.h' | wc -l)" = "$(ls "$here"/../../include/power/*.h | wc -l)" ] ||
    fail "private headers are installed"

model=$here/../data/tiny-models/llama/model.gguf
[ -f "$model" ] || fail "$model is missing"
cp -r "$here/consumer" "$scratch/consumer"
cd "$scratch/consumer"
export LD_LIBRARY_PATH="$root/$libdir"

# 1. pkg-config, shared and static, nothing but what it says.
export PKG_CONFIG_PATH="$root/$libdir/pkgconfig"
version=$(pkg-config --modversion power)
flags="$(pkg-config --cflags --libs power)"
cc -std=c17 -Wall -Wextra -Werror -o c-shared main.c $flags
c++ -std=c++17 -Wall -Wextra -Werror -o cxx-shared main.cpp $flags
./c-shared "$version" "$model" >said 2>&1 || { cat said; fail "the C program (pkg-config) failed"; }
[ ! -s said ] || { cat said; fail "the library printed"; }
./cxx-shared "$version" "$model" || fail "the C++ program (pkg-config) failed"
for example in "$here"/../../examples/*.c; do # as their first comments say
    cc -std=c17 -Wall -Wextra -Werror -o example "$example" $flags -lm || fail "$example does not build"
done
static="$root/$libdir/libpower.a $(pkg-config --static --libs power | sed 's/-lpower//')"
cc -std=c17 -o c-static main.c $(pkg-config --cflags power) $static
LD_LIBRARY_PATH= ./c-static "$version" "$model" || fail "the C program (static) failed"
! readelf -d c-static | grep -q 'libpower' || fail "the static program needs libpower.so"

# 2. find_package(power).
cmake -S . -B out -G Ninja -DCMAKE_PREFIX_PATH="$root" >cmake.log 2>&1 ||
    { cat cmake.log; fail "find_package(power) failed"; }
cmake --build out >cmake.log 2>&1 || { cat cmake.log; fail "the CMake consumer does not build"; }
./out/consumer_c "$version" "$model" || fail "the C program (CMake) failed"
./out/consumer_cxx "$version" "$model" || fail "the C++ program (CMake) failed"
echo "install test: version $version, 5 programs built and run"
