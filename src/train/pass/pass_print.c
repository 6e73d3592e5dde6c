/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker train --plan`: a row a layer, then what it all comes to. */
#include "train/pass/pass_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum column {
    COLUMN_LAYER,
    COLUMN_OP,
    COLUMN_OUTPUT,
    COLUMN_PARAMS,
    COLUMN_FLOPS,
    COLUMN_MEMORY,
    COLUMN_NOTE,
    COLUMN_COUNT
} column;

enum { CELL_BYTES = 96 };
typedef struct line {
    char cell[COLUMN_COUNT][CELL_BYTES];
} line;

static const line heading = {{"layer", "op", "output", "parameters", "MFLOP", "memory", ""}};

static stk_status append(stk__buffer *text, stk_error *error, const char *format, ...) STK__PRINTF(3, 4);
static stk_status append(stk__buffer *text, stk_error *error, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    const size_t size = length < 0 ? 0 : (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1;
    return stk__buffer_append(text, piece, size, error);
}

/* "1,234,567" */
static void print_count(int64_t count, char text[CELL_BYTES])
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    int at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

/* "31.1 MB" */
static void print_bytes(size_t bytes, char text[CELL_BYTES])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 999.95 && unit < 4; unit++)
        size /= 1000;
    snprintf(text, CELL_BYTES, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

/* "97.5 GFLOP" */
static void print_flops(double flops, char text[CELL_BYTES])
{
    static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
    int unit = 0;
    for (; flops >= 999.5 && unit < 4; unit++)
        flops /= 1000;
    snprintf(text, CELL_BYTES, "%.*f %s", flops < 99.95 && unit ? 1 : 0, flops, units[unit]);
}

static void fill_line(line *l, const stk__pass *pass, int index)
{
    const stk__pass_row *row = &pass->rows[index];
    const stk__pass_node *node = &pass->graph.nodes[index];
    *l = (line){0};
    snprintf(l->cell[COLUMN_LAYER], CELL_BYTES, "%s", row->layer);
    snprintf(l->cell[COLUMN_OP], CELL_BYTES, "%s", row->word);
    stk__shape_print(&row->output, l->cell[COLUMN_OUTPUT], CELL_BYTES);
    if (row->param_count) print_count(row->param_count, l->cell[COLUMN_PARAMS]);
    if (row->flops > 0)
        snprintf(l->cell[COLUMN_FLOPS], CELL_BYTES, row->flops < 5e4 ? "< 0.1" : "%.1f", row->flops / 1e6);
    if (row->output_bytes + row->saved_bytes)
        print_bytes(row->output_bytes + row->saved_bytes, l->cell[COLUMN_MEMORY]);
    else if (node->used)
        snprintf(l->cell[COLUMN_MEMORY], CELL_BYTES, "in place");
    if (row->fused || row->joined) {
        snprintf(l->cell[COLUMN_NOTE], CELL_BYTES, "fused into %.*s", CELL_BYTES - 16,
                 row->fused ? row->fused : row->joined);
        return;
    }
    const char *frozen = node->frozen && node->form->param_count ? "frozen" : "";
    const char *again = node->again ? "recomputed" : "";
    const char *method = node->used ? row->method : "";
    snprintf(l->cell[COLUMN_NOTE], CELL_BYTES, "%s%s%s%s%s", method,
             *method && (*frozen || *again) ? ", " : "", node->used ? frozen : "not used",
             *frozen && *again ? ", " : "", again);
}

static bool is_number(int which)
{
    return which == COLUMN_PARAMS || which == COLUMN_FLOPS || which == COLUMN_MEMORY;
}

typedef struct layout {
    int width[COLUMN_COUNT];
    int columns;
} layout;

static void widen(int width[COLUMN_COUNT], const line *l)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const int size = (int)strlen(l->cell[i]);
        if (size > width[i]) width[i] = size;
    }
}

/* Columns of cell i with what is before it, when so many are used; 0: it begins another line, indented. */
static int place_cell(int i, int used, int wide, int columns)
{
    enum { INDENT = 4 };
    if (i == 0) return wide;
    return columns && used + 2 + wide > columns && used > INDENT ? 0 : used + 2 + wide;
}

/* columns: of the terminal; 0: any. All rows are broken at the same cells, but for the note. */
static stk_status print_line(const line *l, const layout *form, stk__buffer *text, stk_error *error)
{
    int last = COLUMN_MEMORY, used = 0;
    if (l->cell[COLUMN_NOTE][0]) last = COLUMN_NOTE;
    for (int i = 0; i <= last; i++) {
        const int wide = i == COLUMN_NOTE ? (int)strlen(l->cell[i]) : form->width[i];
        const int room = i == COLUMN_NOTE ? 0 : is_number(i) ? wide : -wide;
        const int next = place_cell(i, used, wide, form->columns);
        STK__TRY(append(text, error, "%s%*s", !i ? "" : next ? "  " : "\n    ", room, l->cell[i]));
        used = next ? next : 4 + wide;
    }
    return append(text, error, "\n");
}

static stk_status print_layers(const stk__pass *pass, int columns, stk__buffer *text, stk_error *error)
{
    layout form = {.columns = columns};
    line l;
    widen(form.width, &heading);
    for (int i = 0; i < pass->graph.count; i++) {
        fill_line(&l, pass, i);
        widen(form.width, &l);
    }
    STK__TRY(print_line(&heading, &form, text, error));
    for (int i = 0; i < pass->graph.count; i++) {
        fill_line(&l, pass, i);
        STK__TRY(print_line(&l, &form, text, error));
    }
    return STK_OK;
}

static stk_status print_sums(const stk__pass *pass, stk__buffer *text, stk_error *error)
{
    const stk__pass_report *report = &pass->report;
    char count[CELL_BYTES], frozen[CELL_BYTES];
    int64_t learnt = 0;
    for (int i = 0; i < pass->graph.count; i++)
        if (pass->graph.nodes[i].learns) learnt += pass->rows[i].param_count;
    print_count(report->param_count, count);
    print_count(report->param_count - learnt, frozen);
    STK__TRY(append(text, error, "\nparameters   %s", count));
    if (learnt < report->param_count) STK__TRY(append(text, error, " (%s frozen)", frozen));
    print_flops(report->flops, count);
    STK__TRY(append(text, error, "\narithmetic   %s forward", count));
    print_flops(report->step_flops, count);
    if (pass->training) STK__TRY(append(text, error, ", %s per step", count));
    if (report->recomputed_layers)
        STK__TRY(append(text, error, " with %d layer%s recomputed", report->recomputed_layers,
                        stk__plural((unsigned long long)report->recomputed_layers)));
    return append(text, error, "\n");
}

/* What train.gradient_checkpointing would bring, or costs. */
static stk_status print_trade(const stk__pass *pass, stk__buffer *text, stk_error *error)
{
    stk__pass_trade trades[2];
    STK__TRY(stk__pass_compare(pass, trades, error));
    STK__TRY(append(text, error, "gradient_checkpointing\n"));
    for (int i = 0; i < 2; i++) {
        char size[CELL_BYTES], flops[CELL_BYTES];
        print_bytes(trades[i].activation_bytes, size);
        print_flops(trades[i].step_flops, flops);
        STK__TRY(append(text, error, "  %-14s %10s of activations, %s per step", i ? "true" : "false", size,
                        flops));
        if (trades[i].recomputed_layers)
            STK__TRY(append(text, error, ", %d layer%s recomputed", trades[i].recomputed_layers,
                            stk__plural((unsigned long long)trades[i].recomputed_layers)));
        STK__TRY(append(text, error, "%s\n", pass->recompute == i ? "  (in effect)" : ""));
    }
    return STK_OK;
}

static stk_status print_part(const char *name, size_t bytes, stk__buffer *text, stk_error *error)
{
    char size[CELL_BYTES];
    print_bytes(bytes, size);
    return bytes ? append(text, error, "  %-14s %10s\n", name, size) : STK_OK;
}

static stk_status print_memory(const stk__pass *pass, stk__buffer *text, stk_error *error)
{
    const stk__pass_report *report = &pass->report;
    char apart[CELL_BYTES], size[CELL_BYTES];
    size_t all = report->activation_bytes;
    STK__TRY(append(text, error, "memory\n"));
    if (pass->model) {
        const stk__model_bytes bytes = stk__model_measure(pass->model);
        STK__TRY(print_part("parameters", bytes.params + bytes.buffers, text, error));
        STK__TRY(print_part("gradients", bytes.grads, text, error));
        STK__TRY(print_part("optimizer", bytes.optimizer, text, error));
        STK__TRY(print_part("average", bytes.averages, text, error));
        all += pass->model->size_bytes;
    }
    print_bytes(report->activation_bytes, size);
    print_bytes(report->unshared_bytes, apart);
    STK__TRY(append(text, error, "  %-14s %10s  (%s without sharing%s)\n", "activations", size, apart,
                    pass->half == STK_DTYPE_BF16  ? ", in bf16"
                    : pass->half == STK_DTYPE_F16 ? ", in fp16"
                                                  : ""));
    return pass->model ? print_part("total", all, text, error) : STK_OK;
}

stk_status stk__pass_print(const stk__pass *pass, const stk__network *network, int columns, stk__buffer *text,
                           stk_error *error)
{
    STK__TRY(append(text, error, "%s: %s%s%s\n\n", network->name, stk__task_word(network->task),
                    network->about ? ", " : "", network->about ? network->about : ""));
    STK__TRY(print_layers(pass, columns, text, error));
    STK__TRY(print_sums(pass, text, error));
    if (pass->training) STK__TRY(print_trade(pass, text, error));
    return print_memory(pass, text, error);
}
