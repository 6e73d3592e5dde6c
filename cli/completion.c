/* Words for the shell: `stoker VERB --complete` prints what may follow, one a line, from the same tables as
 * the help. share/stoker.bash asks for them. */
#include "cli.h"

#include <string.h>

static const char *const switch_words[] = {"true", "false", NULL};

/* "fail|replace=other|skip": the first name of each choice. */
static void print_choices(const char *key, const stk__option *option)
{
    for (const char *at = option->choices; at && *at;) {
        const size_t length = strcspn(at, "|");
        printf("%s=%.*s\n", key, (int)strcspn(at, "|="), at);
        at += length + (at[length] == '|');
    }
    for (int i = 0; option->type == STK_OPTION_SWITCH && switch_words[i]; i++)
        printf("%s=%s\n", key, switch_words[i]);
}

static void print_option(const char *section, const stk__option *option)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", section, option->name);
    printf("%s=\n%s=\n", option->name, key);
    print_choices(option->name, option);
    print_choices(key, option);
}

void stk__completion_print(const stk__arguments *a)
{
    for (size_t i = 0; i < a->flag_count; i++)
        printf("--%s\n", a->flags[i].name);
    printf("--help\n--quiet\n--verbose\n");
    for (size_t t = 0; t < a->table_count; t++)
        for (size_t i = 0; i < a->tables[t]->count; i++)
            print_option(a->tables[t]->section, &a->tables[t]->options[i]);
}
