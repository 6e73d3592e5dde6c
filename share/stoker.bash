# Completion of `stoker` for bash: verbs, switches, settings and their words; files and folders everywhere else.
# Settings that several sections have are offered by their bare name too: stoker then says which ones it may mean.
_stoker() {
    local line=${COMP_LINE:0:COMP_POINT} current word words i
    current=${line##* }
    COMPREPLY=()
    if [ "$COMP_CWORD" -le 1 ]; then
        words=$("${COMP_WORDS[0]}" --complete 2>/dev/null)
    else
        words=$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --complete 2>/dev/null)
    fi
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
