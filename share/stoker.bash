# Completion of `stoker` for bash: verbs, options, settings and their values; files and folders everywhere else.
# Settings that several sections have are offered by their bare name too: stoker then says which ones it may mean.
_stoker() {
    local line=${COMP_LINE:0:COMP_POINT} current word words i
    current=${line##* }
    COMPREPLY=()
    words=$("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    for word in $words; do
        if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
    done
    if [ "$COMP_CWORD" -gt 1 ] && [[ $current != *=* && $current != -* ]]; then
        while read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    fi
    if [ ${#COMPREPLY[@]} = 1 ] && [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
    # Bash takes what follows '=' for a word of its own.
    if [[ $current == *=* && $COMP_WORDBREAKS == *=* ]]; then
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#*=}; done
        if [ ${#COMPREPLY[@]} = 0 ]; then
            while read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${current#*=}")
        fi
    fi
}
complete -o filenames -F _stoker stoker
