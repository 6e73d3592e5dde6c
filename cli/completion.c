/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the shell: `stoker --complete WORD…` prints what may follow the words, one a line, from the same
 * tables as the help; with --complete=help a tab and the help behind each. The scripts in share/ ask for
 * them, and offer files and folders beside. What a verb's first word may be is read from its usage. */
#include "cli.h"

#include "make/make.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <unistd.h>

/* The words that are there already; the last verb that was found is asked through its flags. */
static struct {
    const char *last; /* the one before what is completed; "": none */
    int count;        /* neither options nor settings, behind the verb */
} line = {.last = ""};

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

/* --- values of options -----------------------------------------------------------------------------------
 */

/* "avx2", "a|b": what can be written as it stands; N, FILE, DIR are for people, and files come from the
 * shell. */
static void print_alternatives(const char *text, const char *help, bool described)
{
    char word[64];
    while (islower((unsigned char)*text)) {
        const size_t length = strcspn(text, "|] ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        print_word(word, help, described);
        text += length + (text[length] == '|');
    }
}

/* "fail|replace=other": the first name of each, bare. */
static void print_values(const stk__option *option, bool described)
{
    char word[96];
    for (const char *at = option->choices; at && *at; at += *at == '|') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|="), at);
        print_word(word, option->help, described);
        at += strcspn(at, "|");
    }
    if (option->type == STK_OPTION_SWITCH) print_word("true", option->help, described);
    if (option->type == STK_OPTION_SWITCH) print_word("false", option->help, described);
}

/* name: "on_bad_sample" or "data.on_bad_sample". */
static bool print_setting_values(const stk__arguments *a, const char *name, bool described)
{
    const stk__option_table *const *tables = a->verb->settings ? a->verb->settings() : NULL;
    char key[128];
    bool found = false;
    for (size_t t = 0; tables && t < a->verb->settings_count; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const stk__option *option = &tables[t]->options[i];
            snprintf(key, sizeof key, "%s.%s", tables[t]->section, option->name);
            if (strcmp(name, option->name) != 0 && strcmp(name, key) != 0) continue;
            print_values(option, described);
            found = true;
        }
    return found;
}

/* Folders in runs/ that have settings. */
static void print_runs(bool described)
{
    char path[1024];
    DIR *folder = opendir("runs");
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "runs/%s/config.yaml", entry->d_name);
        const bool run = access(path, R_OK) == 0;
        *strrchr(path, '/') = '\0';
        if (run) print_word(path, "a run", described);
    }
    if (folder) closedir(folder);
}

/* True: the word before is an option or a setting that takes a value, and its values are printed. */
static bool print_values_of_last(const stk__arguments *a, bool described)
{
    if (strncmp(line.last, "--", 2) != 0 || strchr(line.last, '=')) return false;
    for (size_t i = 0; i < a->flag_count; i++) {
        const stk__flag *flag = &a->flags[i];
        if (strcmp(flag->name, line.last + 2) != 0) continue;
        if (flag->value) print_alternatives(flag->value, flag->help, described);
        if (strcmp(flag->name, "run") == 0) print_runs(described);
        return flag->value && !flag->given && !flag->each; /* else the value may be left out */
    }
    return print_setting_values(a, line.last + 2, described);
}

/* --- the verb's own words ----------------------------------------------------------------------------------
 */

static void print_made(bool described)
{
    char word[64];
    for (int i = 0; i < STK_MAKE_COUNT; i++) {
        const stk__make_info *info = stk__make_describe((stk__make_kind)i);
        snprintf(word, sizeof word, "make:%s", info->name);
        print_word(word, info->about, described);
    }
}

/* By the usage: "eval RUN [key=value …]", "make faces|captcha DIR", "bench train [unet|… …]". */
static void print_own_words(const stk__verb *verb, bool described)
{
    const char *word = verb->usage + strlen(verb->name);
    word += strspn(word, " [");
    const bool again = strstr(word, " …]") && islower((unsigned char)*word);
    if (verb->parts || (line.count && !again)) return;
    if (strncmp(word, "RUN", 3) == 0)
        print_runs(described);
    else if (verb->settings && (strncmp(word, "CONFIG", 6) == 0 || strncmp(word, "DIR", 3) == 0))
        print_made(described);
    else if (strchr(word, '|'))
        print_alternatives(word, verb->about, described);
}

/* --- all ---------------------------------------------------------------------------------------------------
 */

void stk__completion_print(const stk__arguments *a, bool help)
{
    if (print_values_of_last(a, help)) return;
    print_own_words(a->verb, help);
    for (size_t i = 0; i < a->flag_count; i++)
        print_flag(&a->flags[i], help);
    for (const stk__flag *flag = stk__common_flags(a); flag->name; flag++)
        print_flag(flag, help);
    const stk__option_table *const *tables = a->verb->settings ? a->verb->settings() : NULL;
    for (size_t t = 0; tables && t < a->verb->settings_count; t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            print_option(tables[t]->section, &tables[t]->options[i], help);
}

/* `stoker help VERB`: its sections and settings. */
static void print_topics(const stk__verb *verb, bool described)
{
    const stk__option_table *const *tables = verb->settings ? verb->settings() : NULL;
    char key[128];
    for (size_t t = 0; tables && t < verb->settings_count; t++) {
        print_word(tables[t]->section, "a section of settings", described);
        for (size_t i = 0; i < tables[t]->count; i++) {
            snprintf(key, sizeof key, "%s.%s", tables[t]->section, tables[t]->options[i].name);
            print_word(key, tables[t]->options[i].help, described);
        }
    }
}

static void print_verbs(const stk__verb *const *verbs, bool described)
{
    for (; *verbs; verbs++) {
        const char *space = strrchr((*verbs)->name, ' '); /* of a part: "bench load" */
        print_word(space ? space + 1 : (*verbs)->name, (*verbs)->about, described);
    }
}

/* Words behind the verb that are neither options, their values nor settings. */
static int count_own(int count, char **words)
{
    int own = 0;
    for (int i = 0; i < count; i++) {
        const bool value = i && words[i - 1][0] == '-' && !strchr(words[i - 1], '=');
        own += words[i][0] != '-' && !strchr(words[i], '=') && !value;
    }
    return own;
}

static void print_first_words(bool help)
{
    print_word("help", "Print help of a verb or a setting.", help);
    print_word("man", "Print the man page of a verb.", help);
    print_word("version", "Print the version.", help);
    print_word("--help", "Print the list of verbs.", help);
    print_word("--version", "Print the version.", help);
}

int stk__completion_run(int count, char **words, bool help)
{
    int used = 0;
    const bool helps = count > 0 && strcmp(words[0], "help") == 0,
               asks_help = helps || (count > 0 && strcmp(words[0], "man") == 0);
    const stk__verb *verb = stk__verb_find(count - asks_help, words + asks_help, &used);
    if (verb && verb->parts) print_verbs(verb->parts, help);
    if (verb && helps && count == used + 1) print_topics(verb, help);
    if (verb && !asks_help) {
        line.last = words[count - 1];
        line.count = count_own(count - used, words + used);
        return stk__verb_ask(verb, help ? "--complete=help" : "--complete");
    }
    if (verb || count > asks_help) return STK_EXIT_GOOD;
    print_verbs(stk__verbs, help);
    if (!asks_help) print_first_words(help);
    return STK_EXIT_GOOD;
}
