/* SPDX-License-Identifier: Apache-2.0 */
/* stoker man: man pages as roff, from what --help prints: descriptions of verbs, flags and tables of
 * settings. `stoker man` prints stoker.1, `stoker man train` stoker-train.1; the build installs them. */
#include "cli.h"

#include "core/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- roff --------------------------------------------------------------------------------------------------
 */

/* What would be a command, or another character in print than in a terminal. */
static const char *escape(char c)
{
    static const struct {
        char c;
        const char *text;
    } rows[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},        {'`', "\\(ga"},
                {'^', "\\(ha"}, {'~', "\\(ti"}, {STK_OPTION_TIE, "\\ "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].c == c) return rows[i].text;
    return NULL;
}

/* One letter of several bytes as \[u2026]: roff reads bytes. */
static const char *put_letter(const char *text)
{
    const size_t length = stk__utf8_length(text);
    uint32_t code = (uint32_t)(unsigned char)text[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3Fu);
    if (length) printf("\\[u%04X]", (unsigned)code);
    return text + (length ? length : 1);
}

static void put(const char *text)
{
    while (*text) {
        if ((unsigned char)*text >= 0x80) {
            text = put_letter(text);
            continue;
        }
        const char *escaped = escape(*text);
        if (escaped)
            fputs(escaped, stdout);
        else
            putchar(*text);
        text++;
    }
}

/* A line of its own: one that begins with '.' would be a command. */
static void put_line(const char *text)
{
    if (*text == '.') fputs("\\&", stdout);
    put(text);
    putchar('\n');
}

static void put_bold(const char *text)
{
    fputs("\\fB", stdout);
    put(text);
    fputs("\\fR", stdout);
}

/* Lines as they stand, until end_lines; below a heading there is a gap already. */
static void begin_lines(bool gap)
{
    printf(gap ? ".PP\n.nf\n" : ".nf\n");
}

static void end_lines(void)
{
    printf(".fi\n");
}

/* --- sections ----------------------------------------------------------------------------------------------
 */

static void put_title(const char *page)
{
    printf(".TH ");
    for (const char *c = page; *c; c++)
        putchar(toupper((unsigned char)*c));
    printf(" 1 \"\" \"stoker %s\" \"User Commands\"\n", stk_version());
}

/* "stoker-train \- train a network": one line, as whatis(1) expects. */
static void put_name(const char *page, const char *about)
{
    char line[256];
    const size_t length = strlen(about);
    snprintf(line, sizeof line, "%c%s", tolower((unsigned char)about[0]), about + 1);
    if (length && length < sizeof line && line[length - 1] == '.') line[length - 1] = '\0';
    printf(".SH NAME\n");
    put(page);
    printf(" \\- ");
    put_line(line);
}

static void put_flag(const stk__flag *flag)
{
    printf(".TP\n");
    if (flag->letter) printf("\\fB\\-%s\\fR, ", flag->letter);
    printf("\\fB\\-\\-");
    put(flag->name);
    printf("\\fR");
    if (flag->value) {
        printf(" \\fI");
        put(flag->value);
        printf("\\fR");
    }
    printf("\n");
    put_line(flag->help);
}

static void put_flags(const stk__arguments *a)
{
    for (size_t i = 0; a && i < a->flag_count; i++)
        put_flag(&a->flags[i]);
    for (const stk__flag *flag = stk__common_flags(a); flag->name; flag++)
        put_flag(flag);
}

static void put_setting(const char *section, const stk__option *option)
{
    char name[160], facts[800];
    stk__option_facts(option, facts, sizeof facts);
    snprintf(name, sizeof name, "%s.%s", section, option->name);
    printf(".TP\n");
    put_bold(name);
    printf("\n");
    put_line(option->help);
    if (*facts) put_line(facts);
}

/* Tables that repeat another's options say so. */
static void put_table(const stk__option_table *const *tables, size_t index)
{
    const stk__option_table *table = tables[index];
    printf(".SS ");
    put_line(table->section);
    for (size_t i = 0; i < index; i++)
        if (tables[i]->options == table->options) {
            char line[192];
            snprintf(line, sizeof line, "Every key of %s; where not set, as there.", tables[i]->section);
            put_line(line);
            return;
        }
    for (size_t i = 0; i < table->count; i++)
        put_setting(table->section, &table->options[i]);
}

static void put_settings(const stk__arguments *a)
{
    printf(".SH SETTINGS\n");
    put_line(a->own_words ? "Settings are given as key=value or --key value, or in the environment as "
                            "STOKER_SECTION_KEY."
                          : "Settings are given as key=value or --key value, in the environment as "
                            "STOKER_SECTION_KEY, or in a YAML file (CONFIG).");
    put_line("The section may be left out where the key alone is unique.");
    for (size_t t = 0; t < a->verb->settings_count; t++)
        put_table(a->verb->settings(), t);
}

static void put_examples(const stk__verb *verb)
{
    for (int i = 0; i < STK_VERB_EXAMPLES && verb->examples[i].command; i++) {
        char line[256];
        snprintf(line, sizeof line, "# %s", verb->examples[i].about);
        begin_lines(i > 0);
        put_line(line);
        put_bold(verb->examples[i].command);
        printf("\n");
        end_lines();
    }
}

static void put_statuses(void)
{
    static const char *const rows[][2] = {{"0", "success"},
                                          {"1", "the work failed"},
                                          {"2", "wrong use: an unknown verb, option, key or value"},
                                          {"130", "interrupted by Ctrl-C or SIGTERM"}};
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        printf(".TP\n");
        put_bold(rows[i][0]);
        printf("\n");
        put_line(rows[i][1]);
    }
}

/* --- pages -------------------------------------------------------------------------------------------------
 */

/* What the verb prints behind its options. */
static void put_more(void (*more_help)(FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) return;
    more_help(file);
    fclose(file);
    begin_lines(true);
    for (char *line = text + strspn(text, "\n"), *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        const bool last = !*end;
        *end = '\0';
        put_line(line);
        if (last) break;
    }
    end_lines();
    free(text);
}

/* A part of a verb, "bench load", stands below the verb itself: its headings are one level lower. */
void stk__man_print(const stk__arguments *a)
{
    const stk__verb *verb = a->verb;
    const bool part = strchr(verb->name, ' ');
    if (part) printf(".SH %s\n", verb->name);
    const char *heading = part ? ".SS" : ".SH";
    printf("%s SYNOPSIS\n", heading);
    put_bold("stoker ");
    put_line(verb->usage);
    printf("%s DESCRIPTION\n", heading);
    put_line(verb->about);
    if (a->more_help) put_more(a->more_help);
    printf("%s OPTIONS\n", heading);
    put_flags(a);
    if (verb->settings) put_settings(a);
    printf("%s EXAMPLES\n", heading);
    put_examples(verb);
}

static void put_overview(void)
{
    put_title("stoker");
    put_name("stoker", "keeps GPUs fed: data loading, training, monitoring");
    printf(".SH SYNOPSIS\n.B stoker\n.I VERB\n");
    put_line("[argument …] [key=value …]");
    printf(".br\n.B stoker help\n");
    put_line("[VERB] [SECTION|SETTING]");
    printf(".br\n.B stoker man\n");
    put_line("[VERB]");
    printf(".br\n.B stoker version\n.SH VERBS\n");
    for (size_t i = 0; stk__verbs[i]; i++) {
        printf(".TP\n");
        put_bold(stk__verbs[i]->name);
        printf("\n");
        put_line(stk__verbs[i]->about);
    }
    printf(".SH OPTIONS\nOf every verb:\n");
    put_flags(NULL);
    printf(".SH SETTINGS\n");
    put_line("Settings are key=value. The command line wins over the environment (STOKER_SECTION_KEY), "
             "that over the YAML file CONFIG, that over presets and defaults.");
    put_line("The page of each verb lists its settings; stoker help SETTING prints one.");
}

static void put_others(const stk__verb *self)
{
    printf(".SH SEE ALSO\n");
    if (self) printf(".BR stoker (1),\n");
    for (const stk__verb *const *verb = stk__verbs; *verb; verb++)
        if (*verb != self) {
            const bool last = !verb[1] || (verb[1] == self && !verb[2]);
            printf(".BR stoker\\-%s (1)%s\n", (*verb)->name, last ? "" : ",");
        }
}

int stk__man_run(int count, char **words)
{
    int used;
    char page[64];
    const stk__verb *verb = stk__verb_find(count, words, &used);
    if (count != used) return stk__cli_no_such("", "verb", words[used], NULL);
    if (verb) {
        snprintf(page, sizeof page, "stoker-%s", words[0]);
        put_title(page);
        put_name(page, verb->about);
    } else {
        put_overview();
    }
    int code = STK_EXIT_GOOD;
    if (verb) code = stk__verb_ask(verb, "--man");
    for (size_t i = 0; verb && verb->parts && verb->parts[i]; i++)
        if (code == STK_EXIT_GOOD) code = stk__verb_ask(verb->parts[i], "--man");
    put_statuses();
    put_others(verb);
    return code;
}
