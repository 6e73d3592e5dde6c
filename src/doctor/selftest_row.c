/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a self-test: what they say, and how they are judged. Pure functions; what could name a machine, a
 * path or a GPU is taken out of every text that is kept. */
#include "doctor/selftest_row.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *stk__verdict_word(stk__verdict verdict)
{
    static const char *const words[] = {"", "ok", "LOW", "FAILED", "unknown"};
    return words[verdict];
}

stk__verdict stk__selftest_judge(const stk__selftest_row *row, bool quick)
{
    if (row->kind == STK_LIMIT_NONE || (row->speed && quick)) return STK_VERDICT_NONE;
    if (isnan(row->limit)) return STK_VERDICT_UNKNOWN;
    const stk__verdict beyond = row->speed ? STK_VERDICT_LOW : STK_VERDICT_FAILED;
    if (isnan(row->value)) return STK_VERDICT_FAILED;
    const bool kept = row->kind == STK_LIMIT_LEAST ? row->value >= row->limit : row->value <= row->limit;
    return kept ? STK_VERDICT_OK : beyond;
}

/* Length of a private text (path) that begins here; 0: none. */
static size_t find_path(const char *at, bool at_start)
{
    if (*at != '/' || !at_start) return 0;
    const size_t length = strcspn(at, " '\",;:()\n");
    return length > 1 ? length : 0;
}

static size_t find_id(const char *at)
{
    if (strncmp(at, "GPU-", 4) != 0 && strncmp(at, "MIG-", 4) != 0) return 0;
    const size_t length = strspn(at + 4, "0123456789abcdefABCDEF-");
    return length >= 8 ? length + 4 : 0;
}

void stk__selftest_scrub(char *text)
{
    char *to = text;
    bool at_start = true; /* of a word: a '/' inside a word is not a path */
    for (const char *from = text; *from;) {
        const size_t path = find_path(from, at_start), id = find_id(from);
        if (path) {
            const char *name = from + path;
            while (name > from && name[-1] != '/')
                name--;
            memmove(to, name, (size_t)(from + path - name));
            to += from + path - name;
            from += path;
        } else if (id) {
            memcpy(to, "a GPU", 5);
            to += 5;
            from += id;
        } else {
            *to++ = *from++;
        }
        at_start = to == text || (!isalnum((unsigned char)to[-1]) && to[-1] != '.' && to[-1] != '/');
    }
    *to = '\0';
}

static stk__selftest_row *take_row(stk__selftest_gpu *gpu)
{
    if (gpu->row_count == STK_SELFTEST_ROWS) gpu->row_count--; /* full: overwrites the last row */
    return &gpu->rows[gpu->row_count++];
}

void stk__selftest_put(stk__selftest_gpu *gpu, const stk__selftest_row *row, bool quick)
{
    stk__selftest_row *kept = take_row(gpu);
    *kept = *row;
    kept->verdict = stk__selftest_judge(row, quick);
}

static void put_words(stk__selftest_gpu *gpu, const stk__selftest_row *row, const char *why)
{
    stk__selftest_row *kept = take_row(gpu);
    *kept = *row;
    kept->value = NAN;
    snprintf(kept->why, sizeof kept->why, "%s", why);
    stk__selftest_scrub(kept->why);
}

void stk__selftest_fail(stk__selftest_gpu *gpu, const char *section, const char *name, const stk_error *error)
{
    const bool stopped = error->code == STK_ERROR_INTERRUPTED;
    stk__selftest_row row = {.section = section,
                             .verdict = stopped ? STK_VERDICT_UNKNOWN : STK_VERDICT_FAILED};
    char why[sizeof row.why];
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(why, sizeof why, "%.280s%s%.190s", error->message, error->hint[0] ? "; hint: " : "",
             error->hint);
    put_words(gpu, &row, stopped ? "interrupted" : why);
}

void stk__selftest_unknown(stk__selftest_gpu *gpu, const char *section, const char *name, const char *why)
{
    stk__selftest_row row = {.section = section, .verdict = STK_VERDICT_UNKNOWN};
    snprintf(row.name, sizeof row.name, "%s", name);
    put_words(gpu, &row, why);
}

void stk__selftest_count(const stk__selftest_gpu *gpu, stk__selftest_tally *tally)
{
    for (int i = 0; i < gpu->row_count; i++) {
        const stk__verdict verdict = gpu->rows[i].verdict;
        tally->ok += verdict == STK_VERDICT_OK;
        tally->low += verdict == STK_VERDICT_LOW;
        tally->failed += verdict == STK_VERDICT_LOW || verdict == STK_VERDICT_FAILED;
        tally->unknown += verdict == STK_VERDICT_UNKNOWN;
    }
}
