# Completion of `stoker` for fish: verbs, options, settings and their values, each with its help; files and folders everywhere else.
function __stoker_words
    set -l words (commandline -opc)
    $words[1] --complete=help $words[2..-1] 2>/dev/null
end
complete -c stoker -a '(__stoker_words)'
