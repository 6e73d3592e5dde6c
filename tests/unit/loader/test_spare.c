/* SPDX-License-Identifier: Apache-2.0 */
/* Spare memory of slots: grows when it must, never moves what is in use, and is one piece in the next batch;
 * a loader maps no more than its images need, and nothing after warm-up. */
#include "loader/spare.h"
#include "stoker/loader.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

static struct {
    size_t now_bytes, most_bytes;
    int calls, calls_left; /* calls_left 0: all fail; -1: none */
} maps = {.calls_left = -1};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards maps: workers map, too */

static void *count_map(void *context, size_t size_bytes)
{
    (void)context;
    if (maps.calls_left == 0) return NULL;
    void *pages = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    pthread_mutex_lock(&lock);
    maps.calls++;
    maps.now_bytes += size_bytes;
    if (maps.now_bytes > maps.most_bytes) maps.most_bytes = maps.now_bytes;
    pthread_mutex_unlock(&lock);
    return pages;
}

static void count_unmap(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    pthread_mutex_lock(&lock);
    maps.now_bytes -= size_bytes;
    pthread_mutex_unlock(&lock);
    munmap(memory, size_bytes);
}

static void *plain_alloc(void *context, size_t size_bytes)
{
    (void)context;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void plain_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static int count_maps(void **state)
{
    (void)state;
    const stk_allocator counting = {plain_alloc, plain_release, count_map, count_unmap, NULL};
    memset(&maps, 0, sizeof maps);
    maps.calls_left = -1;
    return stk_allocator_set(&counting) == STK_OK ? 0 : -1;
}

static int stop_counting(void **state)
{
    (void)state;
    stk_allocator_set(NULL);
    return maps.now_bytes == 0 ? 0 : -1;
}

enum { PIECE = 300000, PIECES = 40 };

/* Takes pieces and writes each full of its number. */
static void fill(stk__spare *spare, uint64_t *offsets)
{
    uint8_t *where[PIECES];
    for (int i = 0; i < PIECES; i++) {
        where[i] = stk__spare_take(spare, PIECE, &offsets[i]);
        assert_non_null(where[i]);
        memset(where[i], i + 1, PIECE);
    }
    for (int i = 0; i < PIECES; i++)
        assert_ptr_equal(stk__spare_at(spare, offsets[i]), where[i]); /* nothing has moved */
}

static void check(const uint8_t *base, const uint64_t *offsets, stk__spare *spare)
{
    for (int i = 0; i < PIECES; i++) {
        const uint8_t *piece = base ? base + offsets[i] : stk__spare_at(spare, offsets[i]);
        for (size_t k = 0; k < PIECE; k++)
            if (piece[k] != i + 1) fail_msg("piece %d, byte %zu is %d", i, k, piece[k]);
    }
}

static void it_grows_and_becomes_one_piece(void **state)
{
    (void)state;
    static uint8_t planned[1000000];
    stk__spare spare = {0};
    uint64_t offsets[PIECES];
    assert_int_equal(stk__spare_init(&spare, (stk__host_memory){planned, sizeof planned}, 1 << 30, NULL),
                     STK_OK);
    assert_false(stk__spare_has_grown(&spare));
    stk__spare_begin(&spare);
    fill(&spare, offsets);
    assert_true(stk__spare_has_grown(&spare));
    check(NULL, offsets, &spare);
    const uint8_t *joined = stk__spare_join(&spare, NULL); /* in the middle of a batch: offsets stay */
    check(joined, offsets, &spare);
    for (int round = 0; round < 3; round++) {
        const int before = maps.calls;
        stk__spare_begin(&spare);
        fill(&spare, offsets);
        check(NULL, offsets, &spare);
        assert_int_equal(maps.calls, before);
    }
    assert_in_range(maps.most_bytes, PIECE * PIECES, 5 * PIECE * PIECES);
    stk__spare_fini(&spare);
}

static void chunks_are_joined_before_the_next_batch(void **state)
{
    (void)state;
    stk__spare spare = {0};
    uint64_t offsets[PIECES];
    assert_int_equal(stk__spare_init(&spare, (stk__host_memory){0}, 1 << 30, NULL), STK_OK);
    fill(&spare, offsets);
    maps.calls_left = 0; /* without memory for that, they serve as they are */
    stk__spare_begin(&spare);
    fill(&spare, offsets);
    check(NULL, offsets, &spare);
    maps.calls_left = -1;
    stk__spare_begin(&spare);
    assert_int_equal(spare.chunk_count, 1);
    fill(&spare, offsets);
    assert_int_equal(spare.chunk_count, 1);
    stk__spare_fini(&spare);
}

static void the_limit_and_the_system_are_told_apart(void **state)
{
    (void)state;
    stk__spare spare = {0};
    uint64_t offset;
    assert_int_equal(stk__spare_init(&spare, (stk__host_memory){0}, 100 * PIECE, NULL), STK_OK);
    for (int i = 0; i < 9; i++)
        assert_non_null(stk__spare_take(&spare, PIECE, &offset));
    assert_null(stk__spare_take(&spare, 92 * PIECE, &offset));
    assert_false(atomic_load(&spare.refused));
    stk__spare_begin(&spare);
    maps.calls_left = 0;
    assert_null(stk__spare_take(&spare, 50 * PIECE, &offset));
    assert_true(atomic_load(&spare.refused));
    maps.calls_left = -1;
    stk__spare_begin(&spare);
    assert_false(atomic_load(&spare.refused));
    stk__spare_fini(&spare);
}

/* Batches of a loader over several epochs; returns how many maps came in the second half. */
static int load(const char *root, int workers, int epochs)
{
    stk_loader *loader;
    stk_batch *batch;
    stk_error error;
    int first = 0, after = 0;
    const stk_loader_options options = {.root = root, .batch_size = 6, .num_workers = workers};
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    const stk_loader_info *info = stk_loader_describe(loader);
    for (uint64_t i = 0; i < (uint64_t)epochs * info->batches_per_epoch; i++) {
        stk_status status = stk_loader_next(loader, &batch, &error);
        if (status == STK_END) status = stk_loader_next(loader, &batch, &error); /* the next epoch */
        assert_int_equal(status, STK_OK);
        for (int64_t k = 0; k < batch->count; k++) { /* all of it is there */
            const stk_view *view = &batch->image_views[k];
            uint32_t sum = 0;
            for (size_t b = 0; b < view->pitch_bytes * (size_t)view->h; b++)
                sum += batch->arena[view->offset_bytes + b];
            assert_true(sum > 0);
        }
        stk_batch_release(batch);
        pthread_mutex_lock(&lock);
        if (i == (uint64_t)epochs * info->batches_per_epoch / 2) first = maps.calls;
        after = maps.calls - first;
        pthread_mutex_unlock(&lock);
    }
    stk_loader_close(&loader);
    return after;
}

static void a_loader_maps_what_its_images_need(void **state)
{
    (void)state;
    dataset same = dataset_pairs(24, 24, 20), mixed = dataset_mixed_sizes(24);
    assert_int_equal(load(same.root, STK_WORKERS_NONE, 6), 0);
    /* With workers the clock decides when one decodes its first image, and which slot gets the largest batch:
     * late maps come, but no more of them than there are owners of memory, however long the run. */
    const int owners = maps.calls + 1;
    assert_in_range(load(same.root, 2, 60), 0, 2 * owners);
    assert_true(maps.most_bytes < 8 << 20);
    maps.most_bytes = 0;
    assert_int_equal(load(mixed.root, STK_WORKERS_NONE, 40), 0);
    load(mixed.root, 2, 40);
    assert_true(maps.most_bytes < 24 << 20);
    dataset_remove(&same);
    dataset_remove(&mixed);
}

static void an_image_without_memory_is_named(void **state)
{
    (void)state;
    dataset mixed = dataset_mixed_sizes(6);
    stk_loader *loader;
    stk_batch *batch;
    stk_error error;
    const stk_loader_options options = {.root = mixed.root, .batch_size = 6, .num_workers = STK_WORKERS_NONE};
    assert_int_equal(stk_loader_open(&loader, &options, &error), STK_OK);
    maps.calls_left = 0;
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "out of memory for a decoded image"));
    assert_non_null(strstr(error.place, ".jpg"));
    assert_non_null(strstr(error.hint, "data.image_size"));
    stk_loader_close(&loader);
    dataset_remove(&mixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_grows_and_becomes_one_piece, count_maps, stop_counting),
        cmocka_unit_test_setup_teardown(chunks_are_joined_before_the_next_batch, count_maps, stop_counting),
        cmocka_unit_test_setup_teardown(the_limit_and_the_system_are_told_apart, count_maps, stop_counting),
        cmocka_unit_test_setup_teardown(an_image_without_memory_is_named, count_maps, stop_counting),
        cmocka_unit_test_setup_teardown(a_loader_maps_what_its_images_need, count_maps, stop_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
