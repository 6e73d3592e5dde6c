/* SPDX-License-Identifier: Apache-2.0 */
/* A skipped sample as stoker/batch.h describes it: weight 0, a view without width, and in a tensor zeros. */
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 6, BAD = 2 };

static void damage(const dataset *set, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", set->root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("junk", file);
    assert_int_equal(fclose(file), 0);
}

static stk_batch *take_batch(stk_loader **loader, const char *root)
{
    stk_batch *batch;
    stk_error error = {0};
    const stk_loader_options options = {
        .root = root, .batch_size = COUNT, .shuffle = STK_SWITCH_OFF, .on_bad_sample = STK_BAD_SKIP};
    if (stk_loader_open(loader, &options, &error) != STK_OK) fail_msg("%s", error.message);
    if (stk_loader_next(*loader, &batch, &error) != STK_OK) fail_msg("%s", error.message);
    assert_int_equal(batch->count, COUNT);
    return batch;
}

static bool is_filled(const uint8_t *data, size_t size_bytes, uint8_t value)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (data[i] != value) return false;
    return true;
}

static void its_views_have_no_width(void **state)
{
    (void)state;
    dataset set = dataset_pairs(COUNT, 24, 20);
    damage(&set, "images/0002.jpg");
    stk_loader *loader;
    stk_batch *batch = take_batch(&loader, set.root);
    const float *weights = batch->weights.data;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(batch->image_views[i].w, i == BAD ? 0 : 24);
        assert_int_equal(batch->mask_views[i].w, i == BAD ? 0 : 24);
        assert_true(weights[i] == (i == BAD ? 0.0F : 1.0F));
    }
    stk_batch_release(batch);
    stk_loader_close(&loader);
    dataset_remove(&set);
}

static void a_batch_of_one_size_stays_a_tensor(void **state)
{
    (void)state;
    dataset set = dataset_pairs(COUNT, 24, 20);
    damage(&set, "masks/0002.png"); /* the image was decoded before */
    stk_loader *loader;
    stk_batch *batch = take_batch(&loader, set.root);
    const size_t image_bytes = 24 * 20 * 3, mask_bytes = 24 * 20;
    assert_int_equal(batch->images.dtype, STK_DTYPE_U8);
    assert_int_equal(batch->images.shape[0], COUNT);
    for (int i = 0; i < COUNT; i++) {
        const uint8_t *image = (const uint8_t *)batch->images.data + (size_t)i * image_bytes,
                      *mask = (const uint8_t *)batch->masks.data + (size_t)i * mask_bytes;
        assert_int_equal(is_filled(image, image_bytes, 0), i == BAD);
        assert_int_equal(is_filled(mask, mask_bytes, 255), i == BAD);
    }
    assert_int_equal(batch->image_views[BAD].w, 0);
    stk_batch_release(batch);
    stk_loader_close(&loader);
    dataset_remove(&set);
}

static void one_of_another_size_counts_as_none(void **state)
{
    (void)state;
    dataset set = dataset_mixed_sizes(COUNT);
    damage(&set, "images/0002.jpg");
    damage(&set, "images/0005.jpg"); /* the other one that is larger */
    stk_loader *loader;
    stk_batch *batch = take_batch(&loader, set.root);
    assert_int_equal(batch->images.dtype, STK_DTYPE_U8); /* what is left has one size */
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(batch->image_views[i].w, i % 3 == 2 ? 0 : 24);
    stk_batch_release(batch);
    stk_loader_close(&loader);
    dataset_remove(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_views_have_no_width),
        cmocka_unit_test(a_batch_of_one_size_stays_a_tensor),
        cmocka_unit_test(one_of_another_size_counts_as_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
