/* SPDX-License-Identifier: Apache-2.0 */
/* stoker help, and what --help prints: usage, options, settings and examples of a verb, from its description,
 * its flags and the tables of its settings. Everything in columns is wrapped by stk__config_help: flags and
 * chosen settings are handed to it as tables of their own. */
#include "cli.h"

#include "core/foreign_name.h"
#include "core/nearest.h"

#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_ROWS = 32, NAME_BYTES = 96 };

/* Rows of a table that is made for one page. */
typedef struct page_rows {
    stk__option rows[MOST_ROWS];
    char names[MOST_ROWS][NAME_BYTES];
    size_t count;
} page_rows;

static int columns(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 40) return 80;
    return size.ws_col > 120 ? 120 : size.ws_col;
}

static void print_tables(const stk__option_table *const *tables, size_t count)
{
    stk__buffer text = {0};
    stk_error error;
    if (stk__config_help(tables, count, columns(), &text, &error) == STK_OK)
        fwrite(text.data, 1, text.size_bytes, stdout);
    stk__buffer_fini(&text);
}

/* The next row, whose name is still to be written; NULL: no room. */
static char *add_row(page_rows *page, const stk__option *row)
{
    if (page->count == MOST_ROWS) return NULL;
    page->rows[page->count] = *row;
    page->rows[page->count].name = page->names[page->count];
    return page->names[page->count++];
}

static void print_rows(const char *title, const page_rows *page)
{
    const stk__option_table table = {.section = title, .options = page->rows, .count = page->count};
    printf("\n");
    print_tables(&(const stk__option_table *){&table}, 1);
}

/* --- a verb ------------------------------------------------------------------------------------------------
 */

static void add_flag(page_rows *page, const stk__flag *flag)
{
    char *name = add_row(page, &(stk__option){.type = STK_OPTION_TEXT, .help = flag->help});
    if (name)
        snprintf(name, NAME_BYTES, "%s%s%s--%s%s%s", flag->letter ? "-" : "",
                 flag->letter ? flag->letter : "", flag->letter ? ", " : "", flag->name,
                 flag->value ? " " : "", flag->value ? flag->value : "");
}

static void print_flags(const stk__arguments *a)
{
    page_rows page = {.count = 0};
    for (size_t i = 0; i < a->flag_count; i++)
        add_flag(&page, &a->flags[i]);
    for (const stk__flag *flag = stk__common_flags(a); flag->name; flag++)
        add_flag(&page, flag);
    print_rows("Options", &page);
}

/* Is name, of this length, "section.option"? */
static bool is_full_name(const stk__option_table *table, const stk__option *option, const char *name,
                         size_t length)
{
    const size_t section = strlen(table->section);
    return length > section + 1 && stk__name_equal(name, table->section, section) && name[section] == '.' &&
           stk__option_is_named(option, name + section + 1, length - section - 1);
}

static void add_setting(page_rows *page, const stk__verb *verb, const char *name, size_t length)
{
    const stk__option_table *const *tables = verb->settings();
    for (size_t t = 0; t < verb->settings_count; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const stk__option *option = &tables[t]->options[i];
            if (!is_full_name(tables[t], option, name, length)) continue;
            char *row = add_row(page, option);
            if (row) snprintf(row, NAME_BYTES, "%s.%s", tables[t]->section, option->name);
        }
}

static void print_common(const stk__verb *verb)
{
    page_rows page = {.count = 0};
    const char *names = verb->common;
    size_t length;
    for (const char *name; (name = stk__name_next(&names, &length));)
        add_setting(&page, verb, name, length);
    print_rows("Common settings: key=value on the command line", &page);
}

static void print_settings(const stk__arguments *a, bool brief)
{
    const stk__verb *verb = a->verb;
    if (verb->common) print_common(verb);
    if (verb->common && brief) {
        printf("\nAll settings: stoker %s --help\n", verb->name);
        printf("A section:    stoker help %s data\n", verb->name);
        printf("One of them:  stoker help %s data.root\n", verb->name);
        return;
    }
    printf("\nAll settings: key=value or --key value, STOKER_SECTION_KEY in the environment%s\n\n",
           a->own_words ? "" : ", or a file");
    print_tables(verb->settings(), verb->settings_count);
}

void stk__help_print(const stk__arguments *a, bool brief)
{
    const stk__verb *verb = a->verb;
    printf("Usage: stoker %s\n\n%s\n", verb->usage, verb->about);
    print_flags(a);
    if (a->more_help) a->more_help(stdout);
    if (verb->settings) print_settings(a, brief);
    printf("\nExamples\n");
    for (int i = 0; i < STK_VERB_EXAMPLES && verb->examples[i].command; i++)
        printf("%s  # %s\n  %s\n", i ? "\n" : "", verb->examples[i].about, verb->examples[i].command);
}

/* --- a section or a setting --------------------------------------------------------------------------------
 */

/* By its name or an alias. */
static bool is_section(const stk__option_table *table, const char *name, size_t length)
{
    size_t other;
    const char *aliases = table->section_aliases;
    if (strlen(table->section) == length && stk__name_equal(name, table->section, length)) return true;
    for (const char *alias; aliases && (alias = stk__name_next(&aliases, &other));)
        if (other == length && stk__name_equal(name, alias, length)) return true;
    return false;
}

/* "optimizer.lr", "optimiser.lr", "lr", "learning_rate"; a bare name is looked for in the main sections only.
 */
static bool is_meant(const stk__option_table *table, const stk__option *option, const char *topic)
{
    if (!strchr(table->section, '.') && stk__option_is_named(option, topic, strlen(topic))) return true;
    for (const char *dot = topic; (dot = strchr(dot, '.')); dot++)
        if (is_section(table, topic, (size_t)(dot - topic)) &&
            stk__option_is_named(option, dot + 1, strlen(dot + 1)))
            return true;
    return false;
}

static void print_ways(const stk__option_table *table, const stk__option *option)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s.%s", table->section, option->name);
    printf("\n  command line  %s=VALUE\n  environment   STOKER_", name);
    for (const char *c = name; *c; c++)
        putchar(*c == '.' ? '_' : toupper((unsigned char)*c));
    printf("=VALUE\n");
}

/* Prints the section or the settings of that name; false: the verb has none. */
static bool print_topic(const stk__verb *verb, const char *topic)
{
    bool found = false;
    const stk__option_table *const *tables = verb->settings ? verb->settings() : NULL;
    for (size_t t = 0; tables && t < verb->settings_count; t++)
        if (is_section(tables[t], topic, strlen(topic))) {
            print_tables(&tables[t], 1);
            return true;
        }
    for (size_t t = 0; tables && t < verb->settings_count; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const stk__option *option = &tables[t]->options[i];
            if (!is_meant(tables[t], option, topic)) continue;
            const stk__option_table one = {.section = tables[t]->section, .options = option, .count = 1};
            if (found) printf("\n");
            print_tables(&(const stk__option_table *){&one}, 1);
            print_ways(tables[t], option);
            found = true;
        }
    return found;
}

/* By our name, or as another program calls it: "hidden_size". */
static bool print_known(const stk__verb *verb, const char *topic)
{
    if (print_topic(verb, topic)) return true;
    const stk__foreign_name *row = stk__foreign_find(topic, strlen(topic));
    return row && row->key && print_topic(verb, row->key);
}

static bool speaks_of(const stk__option *option, const char *words)
{
    const char *const texts[] = {option->name, option->aliases, option->choices, option->help};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i] && strcasestr(texts[i], words)) return true;
    return false;
}

/* Settings whose names or help have these words: "cosine", "mixed precision"; false: none. */
static bool print_search(const stk__verb *verb, const char *words)
{
    enum { LEAST_LETTERS = 3 };
    page_rows page = {.count = 0};
    char title[NAME_BYTES];
    const stk__option_table *const *tables = verb->settings ? verb->settings() : NULL;
    for (size_t t = 0; tables && strlen(words) >= LEAST_LETTERS && t < verb->settings_count; t++)
        for (size_t i = 0; strchr(tables[t]->section, '.') == NULL && i < tables[t]->count; i++) {
            const stk__option *option = &tables[t]->options[i];
            char *name = speaks_of(option, words) ? add_row(&page, option) : NULL;
            if (name) snprintf(name, NAME_BYTES, "%s.%s", tables[t]->section, option->name);
        }
    snprintf(title, sizeof title, "Settings with '%.40s'", words);
    if (page.count) print_rows(title, &page);
    return page.count;
}

static void offer_settings(stk__nearest *nearest, const stk__verb *verb, char full[NAME_BYTES])
{
    const stk__option_table *const *tables = verb->settings ? verb->settings() : NULL;
    for (size_t t = 0; tables && t < verb->settings_count; t++) {
        stk__nearest_offer(nearest, tables[t]->section);
        for (size_t i = 0; i < tables[t]->count; i++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "%s.%s", tables[t]->section, tables[t]->options[i].name);
            stk__nearest_offer(nearest, tables[t]->options[i].name);
            stk__nearest_offer(nearest, name);
            if (nearest->best == name) nearest->best = memcpy(full, name, sizeof name);
        }
    }
}

/* A name of another program that has no counterpart: the reason. False: it is none of those. */
static bool print_reason(const char *topic)
{
    const stk__foreign_name *row = stk__foreign_find(topic, strlen(topic));
    if (row && !row->key) printf("There is no setting '%s': %s.\n", row->name, row->text);
    return row && !row->key;
}

/* verb NULL: of any verb. */
static int refuse_topic(const stk__verb *verb, const char *topic)
{
    char full[NAME_BYTES];
    stk__nearest nearest = {.word = topic};
    for (size_t i = 0; stk__verbs[i]; i++) {
        if (!verb) stk__nearest_offer(&nearest, stk__verbs[i]->name);
        if (!verb || verb == stk__verbs[i]) offer_settings(&nearest, stk__verbs[i], full);
    }
    return stk__cli_no_such(verb ? verb->name : "", verb ? "setting" : "verb or setting", topic,
                            nearest.best);
}

int stk__help_run(int argc, char **argv)
{
    int used;
    const stk__verb *verb = stk__verb_find(argc - 1, argv + 1, &used);
    const char *topic = argc > 1 + used ? argv[1 + used] : NULL;
    if (argc > 2 + used) return stk__cli_usage("", "'%s' is one argument too many", argv[2 + used]);
    if (verb && !topic) return stk__verb_ask(verb, "--help=brief");
    if (!topic || strcmp(topic, "help") == 0 || strcmp(topic, "man") == 0 || strcmp(topic, "version") == 0) {
        stk__help_overview(stdout);
        return STK_EXIT_GOOD;
    }
    if (verb && (print_known(verb, topic) || print_reason(topic) || print_search(verb, topic)))
        return STK_EXIT_GOOD;
    if (verb) return refuse_topic(verb, topic);
    if (print_known(&stk__verb_train, topic)) return STK_EXIT_GOOD; /* it has nearly all of them */
    for (size_t i = 0; stk__verbs[i]; i++)
        if (print_topic(stk__verbs[i], topic)) return STK_EXIT_GOOD;
    return print_reason(topic) || print_search(&stk__verb_train, topic) ? STK_EXIT_GOOD
                                                                        : refuse_topic(NULL, topic);
}

/* --- all verbs ---------------------------------------------------------------------------------------------
 */

void stk__help_overview(FILE *file)
{
    fprintf(file, "stoker %s keeps GPUs fed: data loading, training, monitoring\n\nUsage: stoker VERB …\n\n",
            stk_version());
    for (size_t i = 0; stk__verbs[i]; i++)
        fprintf(file, "  %-9s %s\n", stk__verbs[i]->name, stk__verbs[i]->about);
    fprintf(file, "\n"
                  "  stoker help VERB      usage, options, common settings, examples\n"
                  "  stoker help SETTING   one setting (learning_rate), or words to search for\n"
                  "  stoker VERB --help    the same with all settings\n"
                  "  stoker man VERB       its man page: stoker man train | man -l -\n"
                  "  stoker version        also -V, --version\n");
}
