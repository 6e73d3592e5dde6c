/* The engine torch on the GPU against the reference: every operation. */
#include "selftest.h"

#include "engine/conform.h"

#include <math.h>

static const char section[] = "engine torch against the reference, largest relative difference";

static stk_status try_kinds(stk__selftest *t, stk__engine *tested, stk__engine *right, stk_error *error)
{
    for (int kind = 0; kind < STK_OP_COUNT; kind++) {
        stk__conform_result result;
        stk__selftest_row row = {
            .section = section, .kind = STK_LIMIT_MOST, .limit = stk__conform_bound((stk__op_kind)kind)};
        if (stk__selftest_stopped()) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        snprintf(row.name, sizeof row.name, "%s", stk__op_word((stk__op_kind)kind));
        const stk_status status = stk__conform(tested, right, (stk__op_kind)kind, &result, error);
        if (status != STK_OK) {
            stk__selftest_fail(t->gpu, section, row.name, error);
            return STK_END; /* told */
        }
        row.value = result.difference;
        stk__selftest_put(t->gpu, &row, t->quick);
        stk__progress_show(&t->progress, "operations", (uint64_t)kind + 1, STK_OP_COUNT);
    }
    return STK_OK;
}

void stk__selftest_engine(stk__selftest *t)
{
    stk__engine *tested = NULL, *right = NULL;
    stk_error error = {0};
    const stk__engine_options options = {.name = "torch", .device = t->gpu->info.name, .no_tf32 = true};
    stk__progress_start(&t->progress);
    stk_status status = stk__engine_open(&tested, &options, &error);
    if (status == STK_OK)
        status = stk__engine_open(&right, &(stk__engine_options){.name = "reference"}, &error);
    if (status == STK_OK) status = try_kinds(t, tested, right, &error);
    stk__progress_end(&t->progress);
    stk__engine_close(&right);
    stk__engine_close(&tested);
    if (status != STK_OK && status != STK_END) stk__selftest_fail(t->gpu, section, "all operations", &error);
}
