# SPDX-License-Identifier: MIT
# Completion of `power` for bash: commands, options and file names. Commands and options are those
# that the program's own --help names.

_power_commands() {
    "$1" --help 2>/dev/null | awk '/^commands$/ { on = 1; next } !NF { on = 0 } on { print $1 }'
}

_power() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        words="$(_power_commands "$program") help --help --version"
    elif [ "${COMP_WORDS[1]}" = help ] && [ "$COMP_CWORD" = 2 ]; then
        words=$(_power_commands "$program")
    elif [ "${word#-}" != "$word" ]; then
        words=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null |
            sed -n 's/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p')
    else
        return # file names, by `-o default`
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _power power
