/* SPDX-License-Identifier: Apache-2.0 */
/* The text files of generated data sets: classes.txt, points.csv, series.csv. Numbers have a fixed number
 * of digits and a decimal point in every locale. */
#include "make/make_write.h"

#include "core/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { STOP_EVERY = 1024 }; /* rows between two looks at options->stop */

static bool stopped(const stk__make_options *options, uint64_t row)
{
    return row % STOP_EVERY == 0 && options->stop && atomic_load(options->stop);
}

static stk_status append_text(stk__buffer *text, const char *part, stk_error *error)
{
    return stk__buffer_append(text, part, strlen(part), error);
}

/* A number with `decimals` digits behind the point, whatever the locale. */
static stk_status append_number(stk__buffer *text, float value, int decimals, stk_error *error)
{
    char digits[32];
    const long one = decimals == 2 ? 100 : 10000;
    const double scaled = (double)value * (double)one;
    const long whole = (long)(scaled < 0 ? 0.5 - scaled : scaled + 0.5);
    snprintf(digits, sizeof digits, "%s%ld.%0*ld", scaled < 0 && whole ? "-" : "", whole / one, decimals,
             whole % one);
    return append_text(text, digits, error);
}

static stk_status list_classes(const stk__make_options *options, stk__buffer *text, stk_error *error)
{
    const stk__make_info *info = stk__make_describe(options->kind);
    for (int32_t i = 0; i < info->class_count; i++) {
        STK__TRY(append_text(text, info->class_names[i], error));
        STK__TRY(append_text(text, "\n", error));
    }
    return STK_OK;
}

static stk_status list_points(const stk__make_options *options, stk__buffer *text, stk_error *error)
{
    STK__TRY(append_text(text, "file,gap_x,gap_y,slider_x,slider_y\n", error));
    for (uint64_t index = 0; index < options->count && !stopped(options, index); index++) {
        char key[64], name[96];
        stk__make_key(options->kind, index, options->count, key, sizeof key);
        snprintf(name, sizeof name, "images/%s.jpg", key);
        STK__TRY(append_text(text, name, error));
        const stk__made made = stk__make_facts(options->kind, options->seed, index);
        for (int i = 0; i < 4; i++) {
            STK__TRY(append_text(text, ",", error));
            STK__TRY(append_number(text, made.points[i / 2][i % 2], 2, error));
        }
        STK__TRY(append_text(text, "\n", error));
    }
    return STK_OK;
}

static stk_status list_rows(const stk__make_options *options, const float *values, stk__buffer *text,
                            stk_error *error)
{
    for (int f = 0; f < STK_MAKE_FEATURES; f++) {
        char name[8];
        snprintf(name, sizeof name, "f%02d,", f);
        STK__TRY(append_text(text, name, error));
    }
    STK__TRY(append_text(text, "target\n", error));
    for (uint64_t row = 0; row < options->count && !stopped(options, row); row++)
        for (int f = 0; f <= STK_MAKE_FEATURES; f++) {
            STK__TRY(append_number(text, *values++, 4, error));
            STK__TRY(append_text(text, f < STK_MAKE_FEATURES ? "," : "\n", error));
        }
    return STK_OK;
}

static stk_status list_series(const stk__make_options *options, stk__buffer *text, stk_error *error)
{
    const size_t size = sizeof(float) * (STK_MAKE_FEATURES + 1) * (size_t)options->count;
    float *values = stk__alloc(size);
    if (!values) return stk__fail_memory(error, size, "the series");
    for (uint64_t row = 0; row < options->count && !stopped(options, row); row += STOP_EVERY) {
        const uint64_t rest = options->count - row;
        stk__make_series(options->seed, row, row + (rest < STOP_EVERY ? rest : STOP_EVERY), values);
    }
    const stk_status status = list_rows(options, values, text, error);
    stk__free(values);
    return status;
}

static const struct {
    const char *name;
    stk_status (*list)(const stk__make_options *options, stk__buffer *text, stk_error *error);
} tables[STK_MAKE_COUNT] = {
    [STK_MAKE_FACES] = {"classes.txt", list_classes},
    [STK_MAKE_CAPTCHA] = {"points.csv", list_points},
    [STK_MAKE_SERIES] = {"series.csv", list_series},
};

stk_status stk__make_tables_write(const stk__make_options *options, uint64_t *bytes, stk_error *error)
{
    char path[PATH_MAX];
    if (!tables[options->kind].name) return STK_OK;
    snprintf(path, sizeof path, "%s/%s", options->folder, tables[options->kind].name);
    stk__buffer text = {0};
    stk_status status = tables[options->kind].list(options, &text, error);
    if (status == STK_OK && stopped(options, 0)) status = stk__fail(error, STK_ERROR_INTERRUPTED, "stopped");
    if (status == STK_OK) status = stk__file_write(path, text, STK_FILE_QUICK, error);
    *bytes += text.size_bytes;
    stk__buffer_fini(&text);
    return status;
}
