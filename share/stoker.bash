# Completion of `stoker` for bash: verbs, options, settings and their values; files and folders everywhere else.
# Settings that several sections have are offered by their bare name too: stoker then says which ones it may mean.

# Adds the files and folders that begin with $1. Not left to `complete -o filenames`, which would write key\= and make\: too.
_stoker_files() {
    local word
    while read -r word; do
        if [[ " ${COMPREPLY[*]} " == *" $word "* ]]; then continue; fi # the folder of a run
        if [ -d "$word" ]; then word+=/; fi
        printf -v word %q "$word"
        COMPREPLY+=("$word")
    done < <(compgen -f -- "$1")
}

_stoker() {
    local line=${COMP_LINE:0:COMP_POINT} current word words i
    local -a before
    current=${line##* }
    COMPREPLY=()
    # Bash splits words at '=' and ':', the program does not.
    read -ra before <<<"${line%"$current"}"
    words=$("${COMP_WORDS[0]}" --complete "${before[@]:1}" 2>/dev/null)
    for word in $words; do
        if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
    done
    if [ "$COMP_CWORD" -gt 1 ] && [[ $current != *=* && $current != -* ]]; then _stoker_files "$current"; fi
    # Bash takes what follows '=' or ':' for a word of its own.
    if [[ $current == *:* && $current != *=* && $COMP_WORDBREAKS == *:* ]]; then
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"${current%"${current##*:}"}"}; done
    fi
    if [[ $current == *=* && $COMP_WORDBREAKS == *=* ]]; then
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#*=}; done
        if [ ${#COMPREPLY[@]} = 0 ]; then _stoker_files "${current#*=}"; fi
    fi
    if [ ${#COMPREPLY[@]} = 1 ] && [[ ${COMPREPLY[0]} == *[=/:] ]]; then compopt -o nospace; fi
}
complete -F _stoker stoker
