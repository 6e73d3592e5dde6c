/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the shell: `stoker --complete WORD…` prints what may follow the words, one a line, from the same
 * tables as the help; with --complete=help a tab and the help behind each. The scripts in share/ ask for
 * them. */
#include "cli.h"

#include <string.h>

static void print_word(const char *word, const char *help, bool described)
{
    if (described)
        printf("%s\t%s\n", word, help);
    else
        printf("%s\n", word);
}

/* "fail|replace=other|skip": the first name of each choice. */
static void print_choices(const char *key, const stk__option *option, bool described)
{
    char word[192];
    static const char *const switch_words[] = {"true", "false", NULL};
    for (const char *at = option->choices; at && *at;) {
        const size_t length = strcspn(at, "|");
        snprintf(word, sizeof word, "%s=%.*s", key, (int)strcspn(at, "|="), at);
        print_word(word, option->help, described);
        at += length + (at[length] == '|');
    }
    for (int i = 0; option->type == STK_OPTION_SWITCH && switch_words[i]; i++) {
        snprintf(word, sizeof word, "%s=%s", key, switch_words[i]);
        print_word(word, option->help, described);
    }
}

static void print_option(const char *section, const stk__option *option, bool described)
{
    char key[128], word[132];
    snprintf(key, sizeof key, "%s.%s", section, option->name);
    snprintf(word, sizeof word, "%s=", option->name);
    print_word(word, option->help, described);
    snprintf(word, sizeof word, "%s=", key);
    print_word(word, option->help, described);
    print_choices(option->name, option, described);
    print_choices(key, option, described);
}

static void print_flag(const stk__flag *flag, bool described)
{
    char word[64];
    snprintf(word, sizeof word, "--%s", flag->name);
    print_word(word, flag->help, described);
}

void stk__completion_print(const stk__arguments *a, bool help)
{
    for (size_t i = 0; i < a->flag_count; i++)
        print_flag(&a->flags[i], help);
    for (const stk__flag *flag = stk__common_flags; flag->name; flag++)
        print_flag(flag, help);
    const stk__option_table *const *tables = a->verb->settings ? a->verb->settings() : NULL;
    for (size_t t = 0; tables && t < a->verb->settings_count; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            print_option(tables[t]->section, &tables[t]->options[i], help);
}

static void print_verbs(const stk__verb *const *verbs, bool described)
{
    for (; *verbs; verbs++) {
        const char *space = strrchr((*verbs)->name, ' '); /* of a part: "bench load" */
        print_word(space ? space + 1 : (*verbs)->name, (*verbs)->about, described);
    }
}

int stk__completion_run(int count, char **words, bool help)
{
    int used;
    const bool asks_help = count > 0 && (strcmp(words[0], "help") == 0 || strcmp(words[0], "man") == 0);
    const stk__verb *verb = stk__verb_find(count - asks_help, words + asks_help, &used);
    if (verb && verb->parts) print_verbs(verb->parts, help);
    if (verb && !asks_help) return stk__verb_ask(verb, help ? "--complete=help" : "--complete");
    if (verb || count > asks_help) return STK_EXIT_GOOD;
    print_verbs(stk__verbs, help);
    if (asks_help) return STK_EXIT_GOOD;
    print_word("help", "Print help of a verb or a setting.", help);
    print_word("man", "Print the man page of a verb.", help);
    print_word("version", "Print the version.", help);
    print_word("--help", "Print the list of verbs.", help);
    print_word("--version", "Print the version.", help);
    return STK_EXIT_GOOD;
}
