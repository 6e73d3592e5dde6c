/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine NAME [TESTS]: one suite for all engines. NAME:winograd and NAME:direct: with that algorithm for
 * convolutions. Exit status 77: that engine is not available here. */
#include "test_engine.h"

#include "op_rig.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { SKIPPED = 77, TESTS = 5 * STK_OP_COUNT + 64 };

stk__engine *tested, *reference;

static struct CMUnitTest tests[TESTS];
static int test_count;
static engine_kind kinds[STK_OP_COUNT];

engine_bounds bounds_of(stk__op_kind kind)
{
    if (!reference) return (engine_bounds){1e-6, kind == STK_OP_LSTM ? 5e-6 : 2e-6};
    return (engine_bounds){5e-6, 2e-5};
}

static void add_test(const char *name, CMUnitTestFunction function, void *state)
{
    tests[test_count++] = (struct CMUnitTest){name, function, NULL, NULL, state};
}

static void add_kind(engine_kind *kind)
{
    static const struct {
        const char *phrase;
        CMUnitTestFunction function;
    } all[] = {{"%s_has_the_oracles_values", values_are_right},
               {"%s_has_the_oracles_gradients", gradients_are_right},
               {"%s_in_bf16_is_rounded_f32", bf16_is_rounded_f32},
               {"%s_in_f16_is_rounded_f32", f16_is_rounded_f32},
               {"%s_meets_the_reference", reference_is_met}};
    const bool metric = stk__op_is_metric(kind->kind), judges = metric || stk__op_is_loss(kind->kind);
    for (int i = 0; i < (reference ? 5 : 4); i++) {
        if ((i == 1 && metric) || ((i == 2 || i == 3) && judges)) continue;
        snprintf(kind->name[i], sizeof kind->name[i], all[i].phrase, stk__op_word(kind->kind));
        add_test(kind->name[i], all[i].function, kind);
    }
}

static int open_engines(const char *asked)
{
    stk_error error = {0};
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(asked, ":"), asked);
    const stk__engine_options options = {.name = name,
                                         .conv = strstr(asked, ":winograd") ? STK_CONV_WINOGRAD
                                                 : strstr(asked, ":direct") ? STK_CONV_DIRECT
                                                                            : STK_CONV_AUTO};
    const stk_status status = stk__engine_open(&tested, &options, &error);
    if (status == STK_ERROR_UNSUPPORTED) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return SKIPPED;
    }
    if (status == STK_OK && strcmp(name, "reference") != 0)
        stk__engine_open(&reference, &(stk__engine_options){.name = "reference"}, &error);
    if (status != STK_OK) fprintf(stderr, "%s: %s\n", name, error.message);
    return status == STK_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    rig_count_allocations();
    mallopt(M_PERTURB, 0x11); /* who reads memory that was never written shall see it */
    const int status = open_engines(argc > 1 ? argv[1] : "auto");
    if (status) return status;
    for (int k = 0; k < STK_OP_COUNT; k++) {
        kinds[k].kind = (stk__op_kind)k;
        add_kind(&kinds[k]);
    }
#define ENGINE_TEST_ADD(name) add_test(#name, name, NULL);
    ENGINE_TESTS(ENGINE_TEST_ADD)
#undef ENGINE_TEST_ADD
    if (argc > 2) cmocka_set_test_filter(argv[2]); /* "conv_*" */
    const int failed = _cmocka_run_group_tests("engine", tests, (size_t)test_count, NULL, NULL);
    stk__engine_close(&reference);
    stk__engine_close(&tested);
    return failed;
}
