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

static stk_status put(page *p, const char *text, size_t length)
{
    STK__TRY(stk__buffer_append(p->text, text, length, p->error));
    for (size_t i = 0; i < length; i++)
        p->at += (text[i] & 0xc0) != 0x80; /* letters, not bytes */
    return STK_OK;
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

/* "whole number from 1 to 65536 images, default 32": what to write and what happens otherwise. */
static void describe(const stk__option *option, char *text, size_t size)
{
    char expected[256];
    stk__option_expects(option, expected, sizeof expected);
    const char *kind = strncmp(expected, "a ", 2) == 0 ? expected + 2 : expected;
    snprintf(text, size, "(%s%s%s%s%s%s%s)", kind, option->unit ? ", in " : "",
             option->unit ? option->unit : "", option->fallback ? "; default " : "",
             option->fallback ? option->fallback : "", option->aliases ? "; also " : "",
             option->aliases ? option->aliases : "");
}

static stk_status put_option(page *p, const stk__option *option)
{
    char facts[512];
    describe(option, facts, sizeof facts);
    STK__TRY(put_spaces(p, INDENT));
    STK__TRY(put(p, option->name, strlen(option->name)));
    if (p->at + GAP > p->margin) STK__TRY(end_line(p));
    STK__TRY(put_words(p, option->help));
    STK__TRY(put_words(p, facts));
    return end_line(p);
}

static stk_status put_title(page *p, const stk__option_table *table)
{
    const size_t margin = p->margin;
    char names[256];
    snprintf(names, sizeof names, "%s%s%s%s%s", table->section,
             table->section_aliases ? ", also written " : "",
             table->section_aliases ? table->section_aliases : "",
             table->also ? "; keys also taken from " : "", table->also ? table->also : "");
    p->margin = 0;
    STK__TRY(put_words(p, names));
    p->margin = margin;
    return end_line(p);
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
        snprintf(sentence, sizeof sentence, "every key of %s; where not set, as there", repeated);
        STK__TRY(put_spaces(p, INDENT));
        STK__TRY(put(p, sentence, strlen(sentence)));
        return end_line(p);
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
