/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of the settings fails once: a clean status, nothing lost. */
#include "config_helpers.h"

#include <unistd.h>

typedef struct counter {
    long left; /* allocations that still succeed; negative: all */
    long alive;
} counter;

static void *count_alloc(void *context, size_t size_bytes)
{
    counter *c = context;
    if (c->left == 0) return NULL;
    if (c->left > 0) c->left--;
    c->alive++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((counter *)context)->alive--;
    free(memory);
}

static stk_status use(stk__config *config, stk__buffer *text, stk_error *error)
{
    char *environment[] = {"STOKER_DATA_SEED=3", "STOKER_OPTIMIZER_EPS=1", NULL};
    data_options data = {0};
    STK__TRY(stk__config_foreign(config, "optimizer", "no optimiser", error));
    STK__TRY(
        stk__config_read_text(config,
                              "data: {batch_size: 4, image_size: [1, 2], mask_map: {0: 1}, val: {seed: 5}}\n"
                              "optimizer: {lr: 1}\n",
                              "t.yaml", error));
    STK__TRY(stk__config_read_environment(config, environment, error));
    STK__TRY(stk__config_set(config, "root", "/d", STK_ORIGIN_COMMAND, "command line", error));
    STK__TRY(stk__config_apply(config, "data.val", &data, error));
    STK__TRY(stk__config_effect(config, "data.seed", "4", "a reason", error));
    STK__TRY(stk__config_effects_from(config, "data", &data, error));
    STK__TRY(stk__config_write_yaml(config, text, error));
    return stk__config_help(tables, TABLE_COUNT, 80, text, error);
}

static stk_status run(stk_error *error)
{
    stk__config *config;
    stk__buffer text = {0};
    stk_status status = stk__config_create(&config, tables, TABLE_COUNT, error);
    if (status == STK_OK) status = use(config, &text, error);
    stk__buffer_fini(&text);
    stk__config_destroy(&config);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    counter c = {.left = 0};
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release, .context = &c};
    stk_allocator_set(&hook);
    stk_status status = STK_ERROR_MEMORY;
    long n = 0;
    for (; status != STK_OK && n < 10000; n++) {
        stk_error error = {0};
        c.left = n;
        status = run(n % 2 ? &error : NULL);
        assert_int_equal(c.alive, 0);
        if (status == STK_OK) continue;
        assert_int_equal(status, STK_ERROR_MEMORY);
        if (n % 2) assert_int_equal(error.code, STK_ERROR_MEMORY);
    }
    stk_allocator_set(NULL);
    assert_int_equal(status, STK_OK);
    assert_true(n > 60);
}

static void a_file_may_find_no_memory(void **state)
{
    (void)state;
    char path[] = "/tmp/stk_config_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    stk__config *config = config_new();
    counter c = {.left = 0};
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release, .context = &c};
    stk_error error = {0};
    stk_allocator_set(&hook);
    const stk_status status = stk__config_read_file(config, path, &error);
    const stk_status silent = stk__config_read_file(config, path, NULL);
    stk_allocator_set(NULL);
    assert_int_equal(status, STK_ERROR_MEMORY);
    assert_int_equal(silent, STK_ERROR_MEMORY);
    assert_int_equal(error.code, STK_ERROR_MEMORY);
    stk__config_destroy(&config);
    unlink(path);
}

static void json_without_memory_is_null(void **state)
{
    (void)state;
    stk__config *config = config_new();
    check_set(config, "seed", "1", STK_ORIGIN_COMMAND);
    check_set(config, "mask_map", "caf\xe9", STK_ORIGIN_COMMAND); /* not UTF-8: needs a copy of ours */
    counter c = {.left = 0};
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release, .context = &c};
    stk_allocator_set(&hook);
    json_t *rows = stk__config_effects_json(config);
    stk_allocator_set(NULL);
    assert_null(rows);
    stk__config_destroy(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_file_may_find_no_memory),
        cmocka_unit_test(json_without_memory_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
