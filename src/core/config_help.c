/* SPDX-License-Identifier: Apache-2.0 */
/* The help of all keys: names on the left, sentences wrapped on the right. */
#include "core/config.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS_LEAST = 40, INDENT = 2, GAP = 2, NAME_MOST = 26 };

typedef struct page {
    stk__buffer *text;
    size_t columns; /* of a line */
    size_t margin;  /* where sentences start */
    size_t at;      /* column of the next character */
    stk_error *error;
} page;

static const char tie = STK_OPTION_TIE;

static stk_status put(page *p, const char *text, size_t length)
{
    STK__TRY(stk__buffer_append(p->text, text, length, p->error));
    uint8_t *end = p->text->data + p->text->size_bytes;
    for (uint8_t *c = end - length; c < end; c++) {
        p->at += (*c & 0xc0) != 0x80; /* letters, not bytes */
        if (*c == tie) *c = ' ';
    }
    return STK_OK;
}

static void tie_words(char *text)
{
    for (; *text; text++)
        if (*text == ' ') *text = tie;
}

static stk_status end_line(page *p)
{
    p->at = 0;
    return stk__buffer_append(p->text, "\n", 1, p->error);
}

static stk_status put_spaces(page *p, size_t until)
{
    while (p->at < until)
        STK__TRY(put(p, " ", 1));
    return STK_OK;
}

/* Puts words at the margin, a new line where they do not fit. */
static stk_status put_words(page *p, const char *words)
{
    size_t length;
    for (const char *word; (word = stk__name_next(&words, &length));) {
        if (p->at > p->margin && p->at + 1 + length > p->columns) STK__TRY(end_line(p));
        if (p->at > p->margin)
            STK__TRY(put(p, " ", 1));
        else
            STK__TRY(put_spaces(p, p->margin));
        STK__TRY(put(p, word, length));
    }
    return STK_OK;
}

/* The default as it would be written; what no table says follows from the type. */
static void describe_default(const stk__option *option, char *text, size_t size)
{
    const char *fallback = option->fallback;
    const bool open = option->type == STK_OPTION_COUNT || option->type == STK_OPTION_SWITCH;
    if (!fallback && open) fallback = "auto";
    if (!fallback && option->type == STK_OPTION_WORD)
        snprintf(text, size, "default %.*s", (int)strcspn(option->choices, "=|"), option->choices);
    else
        snprintf(text, size, "%s%s", fallback ? "default " : "", fallback ? fallback : "");
    if (strlen(text) < COLUMNS_LEAST / 2) tie_words(text);
}

/* What can be written: "1 to 64 batches", "fail, replace or skip". */
static void describe_values(const stk__option *option, char *text, size_t size)
{
    if (option->type == STK_OPTION_SWITCH) {
        snprintf(text, size, "true or false");
    } else if (option->choices) {
        stk__option_choices(option, text, size);
    } else {
        char range[96];
        stk__option_range(option, range, sizeof range);
        tie_words(range);
        snprintf(text, size, "%s%s%s", range, *range && option->unit ? " " : "",
                 option->unit ? option->unit : "");
    }
}

void stk__option_facts(const stk__option *option, char *text, size_t size)
{
    char facts[3][256];
    describe_default(option, facts[0], sizeof facts[0]);
    describe_values(option, facts[1], sizeof facts[1]);
    snprintf(facts[2], sizeof facts[2], "%s%s", option->aliases ? "also " : "",
             option->aliases ? option->aliases : "");
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < 3 && used < size; i++)
        if (*facts[i])
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "; " : "[", facts[i]);
    if (used && used < size) snprintf(text + used, size - used, "]");
}

static stk_status put_option(page *p, const stk__option *option)
{
    char facts[800];
    stk__option_facts(option, facts, sizeof facts);
    STK__TRY(put_spaces(p, INDENT));
    STK__TRY(put(p, option->name, strlen(option->name)));
    if (p->at + GAP > p->margin) STK__TRY(end_line(p));
    STK__TRY(put_words(p, option->help));
    STK__TRY(put_words(p, facts));
    return end_line(p);
}

/* Words over the whole width, from column start on, and the end of the line. */
static stk_status put_sentence(page *p, const char *words, size_t start)
{
    const size_t margin = p->margin;
    p->margin = start;
    STK__TRY(put_words(p, words));
    p->margin = margin;
    return end_line(p);
}

/* Appends start and the words of list, "a or b"; nothing when there is no list. */
static void append_names(char *text, size_t size, const char *start, const char *list)
{
    size_t used = strlen(text), length;
    for (const char *name; list && used < size && (name = stk__name_next(&list, &length)); start = " or ")
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", start, (int)length, name);
}

static stk_status put_title(page *p, const stk__option_table *table)
{
    char names[256];
    snprintf(names, sizeof names, "%s", table->section);
    append_names(names, sizeof names, ", or ", table->section_aliases);
    append_names(names, sizeof names, "; its keys are also accepted in section ", table->also);
    return put_sentence(p, names, 0);
}

/* The section whose options this table repeats, NULL when they are its own. */
static const char *repeated_section(const stk__option_table *const *tables, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (tables[i]->options == tables[index]->options) return tables[i]->section;
    return NULL;
}

static stk_status put_table(page *p, const stk__option_table *const *tables, size_t index)
{
    const char *repeated = repeated_section(tables, index);
    if (index > 0) STK__TRY(end_line(p));
    STK__TRY(put_title(p, tables[index]));
    if (repeated) {
        char sentence[192];
        snprintf(sentence, sizeof sentence, "every key of %s; an unset key has the value it has there",
                 repeated);
        return put_sentence(p, sentence, INDENT);
    }
    for (size_t i = 0; i < tables[index]->count; i++)
        STK__TRY(put_option(p, &tables[index]->options[i]));
    return STK_OK;
}

/* The longest name decides, within reason: a longer one gets a line of its own. */
static size_t find_margin(const stk__option_table *const *tables, size_t count)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i]->count; k++) {
            const size_t length = strlen(tables[i]->options[k].name);
            if (length > longest && length <= NAME_MOST) longest = length;
        }
    return INDENT + longest + GAP;
}

stk_status stk__config_help(const stk__option_table *const *tables, size_t count, int columns,
                            stk__buffer *text, stk_error *error)
{
    page p = {.text = text, .margin = find_margin(tables, count), .error = error};
    p.columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : (size_t)columns;
    if (p.margin > p.columns / 2) p.margin = p.columns / 2;
    for (size_t i = 0; i < count; i++)
        STK__TRY(put_table(&p, tables, i));
    return STK_OK;
}
