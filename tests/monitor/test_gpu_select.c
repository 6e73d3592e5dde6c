/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs --gpu and CUDA_VISIBLE_DEVICES select, with ids, prefixes, parts and mistakes. */
#include "monitor/gpu_select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const stk_gpu gpus[] = {
    {.index = 0, .vendor = "nvidia", .id = "GPU-11112222-aaaa"},
    {.index = 1, .vendor = "nvidia", .id = "GPU-1111ffff-bbbb"},
    {.index = 1, .vendor = "nvidia", .id = "MIG-77777777-cccc", .part = "MIG 1g.10gb", .part_number = 3},
    {.index = 2, .vendor = "nvidia", .id = "GPU-33333333-dddd"},
    {.index = 0, .vendor = "amd", .id = "0000:03:00.0"},
};
enum { COUNT = sizeof gpus / sizeof gpus[0] };

/* "10010": a digit per GPU. */
static const char *seen(const bool *chosen)
{
    static char text[COUNT + 1];
    for (int i = 0; i < COUNT; i++)
        text[i] = chosen[i] ? '1' : '0';
    return text;
}

static void cuda_visible_devices_is_read_as_cuda_does(void **state)
{
    (void)state;
    static const struct {
        const char *list, *expected;
    } rows[] = {
        {NULL, "11111"},
        {"", "00001"},
        {"-1", "00001"},
        {"0", "10001"},
        {"2,0", "10011"},
        {" 2 , 0 ", "10011"},
        {"1", "01101"}, /* with its parts */
        {"0,-1,2", "10001"},
        {"0,9,2", "10001"},
        {"0,,2", "10001"},
        {"x", "00001"},
        {"GPU-3333", "00011"},
        {"GPU-1111ffff,GPU-11112222-aaaa", "11001"},
        {"GPU-", "00001"},
        {"MIG-7777", "00101"},
        {"MIG-7777,GPU-9", "00101"},
        {"GPU-11112222-aaaa-longer", "00001"},
        {"99999999999999999999", "00001"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool chosen[COUNT];
        stk__gpu_select_cuda(rows[i].list, gpus, chosen, COUNT);
        if (strcmp(seen(chosen), rows[i].expected) != 0)
            fail_msg("'%s' leaves %s, not %s", rows[i].list, seen(chosen), rows[i].expected);
    }
}

static void asked_for_must_be_there(void **state)
{
    (void)state;
    bool chosen[COUNT];
    stk_error error = {0};
    assert_int_equal(stk__gpu_select("0,GPU-3333", gpus, chosen, COUNT, &error), STK_OK);
    assert_string_equal(seen(chosen), "10011");
    assert_int_equal(stk__gpu_select("0000:03", gpus, chosen, COUNT, &error), STK_OK);
    assert_string_equal(seen(chosen), "00001");
    assert_int_equal(stk__gpu_select("1.3", gpus, chosen, COUNT, &error), STK_OK); /* as it is shown */
    assert_string_equal(seen(chosen), "00100");
    assert_int_equal(stk__gpu_select("1.2", gpus, chosen, COUNT, &error), STK_ERROR_ARGUMENT);
    assert_int_equal(stk__gpu_select("0.0", gpus, chosen, COUNT, &error), STK_ERROR_ARGUMENT);
    assert_int_equal(stk__gpu_select("0,3", gpus, chosen, COUNT, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, "no such GPU '3'");
    assert_non_null(strstr(error.hint, "nvidia-smi"));
    assert_int_equal(stk__gpu_select("", gpus, chosen, COUNT, &error), STK_ERROR_ARGUMENT);
    assert_int_equal(stk__gpu_select("0", gpus, chosen, 0, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.hint, "no GPU was found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda_visible_devices_is_read_as_cuda_does),
        cmocka_unit_test(asked_for_must_be_there),
    };
    return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
