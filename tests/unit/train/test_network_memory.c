/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of a network that is read fails once: a clean status, nothing lost. */
#include "network_helpers.h"

#include <unistd.h>

typedef struct counter {
    long left; /* allocations that still succeed */
    long alive;
} counter;

static void *count_alloc(void *context, size_t size_bytes)
{
    counter *c = context;
    if (c->left-- <= 0) return NULL;
    c->alive++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((counter *)context)->alive--;
    free(memory);
}

static stk_status read_once(const stk__network_request *request, const counter *c, stk_error *error)
{
    stk__network *network = NULL;
    const stk_status status = stk__network_read(&network, request, error);
    assert_true((status == STK_OK) == (network != NULL));
    stk__network_destroy(&network);
    assert_int_equal(c->alive, 0);
    return status;
}

static void check_every_allocation(const stk__network_request *request, long least)
{
    counter c = {0};
    const stk_allocator hook = {.alloc = count_alloc, .release = count_release, .context = &c};
    stk_status status = STK_ERROR_MEMORY;
    long n = 0;
    stk_allocator_set(&hook);
    for (; status != STK_OK && n < 10000; n++) {
        stk_error error = {0};
        c.left = n;
        status = read_once(request, &c, &error);
        c.left = n;
        assert_int_equal(read_once(request, &c, NULL), status);
        assert_int_equal(error.code, status);
        assert_true(status == STK_OK || status == STK_ERROR_MEMORY);
    }
    stk_allocator_set(NULL);
    assert_int_equal(status, STK_OK);
    assert_true(n > least);
}

static void shipped_networks(void **state)
{
    (void)state;
    const stk__network_setting sizes[] = {{"image_h", 64}, {"image_w", 64}}; /* some compute with them */
    for (int i = 0; stk__network_names(i); i++)
        check_every_allocation(
            &(stk__network_request){.name = stk__network_names(i), .facts = sizes, .fact_count = 2}, 4);
}

/* Small chunks would hide the places behind the first: a text long enough makes each call need a new one. */
static void a_file_with_long_texts(void **state)
{
    (void)state;
    char path[] = "/tmp/stk_network_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *stream = fdopen(file, "w");
    fprintf(stream, HEAD "about: %0900d\noptions:\n", 0);
    for (int i = 0; i < 30; i++)
        fprintf(stream, "  o%d: {default: 1, help: %0900d}\n", i, 0);
    fprintf(stream, "layers:\n  - {op: conv, name: c, channels: \"o0");
    for (int i = 1; i < 30; i++)
        fprintf(stream, " + o%d", i);
    fprintf(stream, "\"}\n  - for: {i: [1, 600]}\n    layers: [{op: relu, name: \"%0100d{i}\"}]\n", 0);
    assert_int_equal(fclose(stream), 0);
    check_every_allocation(&(stk__network_request){.file = path}, 15);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_networks),
        cmocka_unit_test(a_file_with_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
