/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch on the GPU against the reference: every operation in training, evaluation, frozen, bf16
 * and fp16. */
#include "selftest.h"

#include "engine/conform.h"

#include <math.h>

static const char section[] = "engine torch against the reference, largest relative difference",
                  other_section[] = "engine torch, other modes: largest difference relative to its bound";
static const char *const mode_names[STK_CONFORM_MODES] = {"training", "evaluation", "frozen", "bf16", "fp16"};

typedef struct pair {
    stk__engine *tested, *right;
} pair;

/* A row for each operation. The first that fails ends it. */
static void try_training(stk__selftest *t, const pair *engines)
{
    for (int kind = 0; kind < STK_OP_COUNT; kind++) {
        stk__conform_result result;
        stk_error error = {0};
        stk__selftest_row row = {.section = section,
                                 .kind = STK_LIMIT_MOST,
                                 .limit = stk__conform_bound((stk__op_kind)kind, STK_CONFORM_TRAINING)};
        snprintf(row.name, sizeof row.name, "%s", stk__op_word((stk__op_kind)kind));
        if (stk__selftest_stopped())
            stk__fail(&error, STK_ERROR_INTERRUPTED, "interrupted");
        else
            stk__conform(engines->tested, engines->right, (stk__op_kind)kind, STK_CONFORM_TRAINING, &result,
                         &error);
        if (error.code != STK_OK) {
            stk__selftest_fail(t->gpu, section, row.name, &error);
            return;
        }
        row.value = result.difference;
        stk__selftest_put(t->gpu, &row, t->quick);
        stk__progress_show(&t->progress, "operations", (uint64_t)kind + 1, STK_OP_COUNT);
    }
}

/* One row for all operations of a mode: the worst of them, measured by its own bound, is named. */
static void try_mode(stk__selftest *t, const pair *engines, stk__conform_mode mode)
{
    stk__selftest_row row = {.section = other_section, .kind = STK_LIMIT_MOST, .limit = 1, .value = -1};
    int count = 0;
    for (int kind = 0; kind < STK_OP_COUNT; kind++) {
        stk__conform_result result;
        stk_error error = {0};
        const char *word = stk__op_word((stk__op_kind)kind);
        if (stk__selftest_stopped())
            stk__fail(&error, STK_ERROR_INTERRUPTED, "interrupted");
        else
            stk__conform(engines->tested, engines->right, (stk__op_kind)kind, mode, &result, &error);
        if (error.code != STK_OK) {
            snprintf(row.name, sizeof row.name, "%s: %s", mode_names[mode], word);
            stk__selftest_fail(t->gpu, other_section, row.name, &error);
            return;
        }
        if (!result.trials) continue;
        const double bound = stk__conform_bound((stk__op_kind)kind, mode);
        count++;
        if (result.difference / bound <= row.value) continue;
        row.value = result.difference / bound;
        snprintf(row.basis, sizeof row.basis, "%s, %.1e of %.1e", word, result.difference, bound);
    }
    if (count == 1)
        snprintf(row.name, sizeof row.name, "%s batch_norm", mode_names[mode]);
    else
        snprintf(row.name, sizeof row.name, "%s, %d operations", mode_names[mode], count);
    stk__selftest_put(t->gpu, &row, t->quick);
}

void stk__selftest_engine(stk__selftest *t)
{
    pair engines = {0};
    stk_error error = {0};
    const stk__engine_options options = {.name = "torch", .device = t->gpu->info.name, .no_tf32 = true};
    stk__progress_start(&t->progress);
    stk_status status = stk__engine_open(&engines.tested, &options, &error);
    if (status == STK_OK)
        status = stk__engine_open(&engines.right, &(stk__engine_options){.name = "reference"}, &error);
    if (status == STK_OK) try_training(t, &engines);
    for (int mode = STK_CONFORM_EVALUATION; status == STK_OK && mode < STK_CONFORM_MODES; mode++)
        try_mode(t, &engines, (stk__conform_mode)mode);
    stk__progress_end(&t->progress);
    stk__engine_close(&engines.right);
    stk__engine_close(&engines.tested);
    if (status != STK_OK) stk__selftest_fail(t->gpu, section, "all operations", &error);
}
