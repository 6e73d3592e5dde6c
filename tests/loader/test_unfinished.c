/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that is not finished when the wait for it ends: nothing of it is told, and nobody looks at what its
 * workers still write. */
#include "core/error.h"
#include "loader/loader_open.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 32, LAST = COUNT - 1 };

static atomic_int bad_so_far, told;
static atomic_bool gate_open;

/* All samples are bad; the last one waits for the gate. */
static stk_status gated_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                              stk_error *error)
{
    (void)source;
    (void)facts;
    while (id == LAST && !atomic_load(&gate_open))
        usleep(1000);
    atomic_fetch_add(&bad_so_far, 1);
    return stk__damaged(error, STK_DAMAGE_BAD_ROW, "bad on purpose");
}

static void number_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "%llu", (unsigned long long)id);
}

static void number_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    number_key(source, id, text, size);
}

static void *interrupt_soon(void *loader)
{
    usleep(50000); /* into the wait of next */
    stk_loader_interrupt(loader);
    return NULL;
}

static void count_entry(void *context, const stk_ledger_entry *entry)
{
    (void)context;
    (void)entry;
    atomic_fetch_add(&told, 1);
}

static stk__source source;

static stk_loader *open_gated(void)
{
    static const stk__source_ops ops = {
        .name = "gated", .facts = gated_facts, .key = number_key, .where = number_where};
    source = (stk__source){.ops = &ops, .info = {.layout = "gated", .count = COUNT}};
    const stk_loader_options options = {.batch_size = COUNT,
                                        .num_workers = 2,
                                        .epochs = 1,
                                        .order = "sequential",
                                        .on_bad_sample = STK_BAD_SKIP};
    stk_loader *loader;
    stk_error error;
    atomic_store(&gate_open, false);
    atomic_store(&bad_so_far, 0);
    assert_int_equal(
        stk__loader_open(&loader, &(stk__loader_setup){.options = &options, .source = &source}, &error),
        STK_OK);
    return loader;
}

static void bad_samples_of_an_unfinished_batch_are_not_told(void **state)
{
    (void)state;
    stk_loader *loader = open_gated();
    stk_batch *batch;
    stk_error error;
    pthread_t thread;
    stk_loader_set_ledger(loader, count_entry, NULL);
    while (atomic_load(&bad_so_far) < LAST)
        usleep(1000);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, loader), 0);
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_ERROR_INTERRUPTED);
    pthread_join(thread, NULL);
    stk_loader_stats stats;
    stk_loader_get_stats(loader, &stats);
    atomic_store(&gate_open, true);
    assert_int_equal(stk_loader_close(&loader), 0);
    assert_int_equal(stats.bad_samples, 0);
    assert_int_equal(told, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_samples_of_an_unfinished_batch_are_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
