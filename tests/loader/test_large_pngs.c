/* SPDX-License-Identifier: Apache-2.0 */
/* Large PNG images are decompressed as a whole: what all workers hold of that at once counts into
 * limits.memory, and it is given back. */
#include "core/file.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 12, W = 5000, H = 4000, IMAGE_BYTES = W * H };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards both */
static size_t now_bytes, most_bytes;

static void *count_alloc(void *context, size_t size_bytes)
{
    (void)context;
    pthread_mutex_lock(&lock);
    now_bytes += size_bytes;
    if (now_bytes > most_bytes) most_bytes = now_bytes;
    pthread_mutex_unlock(&lock);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    pthread_mutex_lock(&lock);
    now_bytes -= size_bytes;
    pthread_mutex_unlock(&lock);
    free(memory);
}

static dataset images;

static int make_images(void **state)
{
    (void)state;
    images = dataset_empty();
    stk__buffer file = {0};
    uint16_t *data = stk__alloc(IMAGE_BYTES * sizeof *data);
    for (size_t i = 0; i < IMAGE_BYTES; i++)
        data[i] = i / 3000 % 256;
    pictures_png(&file, data, W, H, &(pictures_png_options){.colour = 0});
    for (int i = 0; i < COUNT; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%02d.png", images.root, i);
        if (stk__file_write(path, file, STK_FILE_QUICK, NULL) != STK_OK) return -1;
    }
    stk__free(data);
    stk__buffer_fini(&file);
    return 0;
}

static int remove_images(void **state)
{
    (void)state;
    dataset_remove(&images);
    return 0;
}

/* The digest of an epoch; *peak_bytes: without the slots, which are mapped. */
static stk__digest load(uint64_t memory_bytes, int64_t workers, size_t *peak_bytes)
{
    const stk_allocator counting = {count_alloc, count_release, NULL, NULL, NULL};
    const stk_loader_options options = {.root = images.root,
                                        .batch_size = 4,
                                        .num_workers = workers,
                                        .epochs = 1,
                                        .limit_memory_bytes = memory_bytes};
    stk_loader *loader;
    stk_error error;
    assert_int_equal(stk_allocator_set(&counting), STK_OK);
    now_bytes = most_bytes = 0;
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    uint64_t samples;
    const stk__digest digest = dataset_digest(loader, &samples);
    assert_int_equal(samples, COUNT);
    assert_true(now_bytes < IMAGE_BYTES); /* nothing that large is kept */
    stk_loader_close(&loader);
    stk_allocator_set(NULL);
    *peak_bytes = most_bytes;
    return digest;
}

static void what_all_workers_hold_is_bounded(void **state)
{
    (void)state;
    size_t peak;
    const stk__digest one = load(1, 1, &peak);
    assert_true(peak < IMAGE_BYTES + (4 << 20));
    /* A batch takes 80 MB: half of it is left for two images at a time. */
    const stk__digest four = load(4 * IMAGE_BYTES, 4, &peak);
    assert_in_range(peak, IMAGE_BYTES, 2 * IMAGE_BYTES + (8 << 20));
    assert_memory_equal(&one, &four, sizeof one);
    /* More than a single image needs: one after the other. */
    const stk__digest tight = load(1, 4, &peak);
    assert_in_range(peak, IMAGE_BYTES, IMAGE_BYTES + (8 << 20));
    assert_memory_equal(&one, &tight, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_workers_hold_is_bounded),
    };
    return cmocka_run_group_tests(tests, make_images, remove_images);
}
