#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual page and the completion say what the program's --help says.
# usage: manual.sh POWER SOURCE_DIR
set -eu
power=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "manual test: $*" >&2; exit 1; }

python3 "$source/tools/make-man" "$power" >"$scratch/power.1" || fail "tools/make-man failed"
diff "$source/man/power.1" "$scratch/power.1" ||
    fail "man/power.1 is old: tools/make-man build/cmd/power > man/power.1"

# Every option of every command's help stands on the page, found here without make-man.
commands=$("$power" --help | sed -n '/^commands$/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -w)" -ge 8 ] || fail "--help names too few commands: $commands"
for command in $commands; do
    grep -q "^\.SS \"power $command " "$source/man/power.1" || fail "the page lacks power $command"
    options=$("$power" "$command" --help | sed -n 's/^  \(-., \|    \)--\([a-z0-9-]*\).*/\2/p')
    for option in $options; do
        [ "$option" = help ] || sed 's/\\-/-/g' "$source/man/power.1" |
            grep -Eq "^[.]B (-., )?--$option( |\$)" || fail "the page lacks --$option of $command"
    done
done

# Completion, as bash calls it.
PATH=$(dirname "$power"):$PATH
source "$source/completion/power.bash"
complete -p power | grep -q '_power power' || fail "nothing completes power"
completed() { # completed WORD... gives what the last word may become
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _power
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
given=$(completed power "") wanted=$(printf '%s\n' $commands help --help --version | sort)
[ "$given" = "$wanted" ] || fail "commands complete to: $given"
[ "$(completed power t)" = $'template\ntokenize' ] || fail "t completes to: $(completed power t)"
[ "$(completed power run m.gguf --sch)" = --schema ] || fail "--sch does not become --schema"
given=$(completed power show -)
wanted=$(printf -- '--%s\n' metadata tensors template digest ctx kv json help | sort)
[ "$given" = "$wanted" ] || fail "options of show complete to: $given"
[ -z "$(completed power run "")" ] || fail "file names are kept from bash"
echo "manual test: $(echo $commands | wc -w) commands"
