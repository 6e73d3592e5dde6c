/* SPDX-License-Identifier: Apache-2.0 */
/* Small data sets on disk for loader tests: pairs, mixed sizes and series, and the digest of what a loader
 * makes of them. */
#include "support/sample_set.h"

#include "core/file.h"
#include "loader/digest.h"
#include "support/workspace.h"
#include "support/pictures.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

dataset dataset_empty(void)
{
    dataset set;
    const workspace made = workspace_make();
    memcpy(set.root, made.path, sizeof set.root);
    return set;
}

static void put(const dataset *set, const char *sub, const char *name, stk__buffer *bytes)
{
    char path[PATH_MAX];
    stk_error error;
    snprintf(path, sizeof path, "%s/%s", set->root, sub);
    assert_int_equal(stk__folder_make(path, &error), STK_OK);
    snprintf(path, sizeof path, "%s/%s/%s", set->root, sub, name);
    assert_int_equal(stk__file_write(path, *bytes, STK_FILE_QUICK, &error), STK_OK);
    stk__buffer_fini(bytes);
}

static void put_image(const dataset *set, int number, int w, int h)
{
    char name[32];
    stk__buffer bytes = {0};
    stk__pixels pixels = pictures_draw(w, h, 3, (uint32_t)number + 1);
    pictures_jpeg(&bytes, pixels, &(pictures_jpeg_options){0});
    snprintf(name, sizeof name, "%04d.jpg", number);
    put(set, "images", name, &bytes);
    stk__free(pixels.data);
}

static void put_mask(const dataset *set, int number, int w, int h)
{
    char name[32];
    stk__buffer bytes = {0};
    stk__pixels ids = pictures_draw_mask(w, h, 5, (uint32_t)number + 1);
    uint16_t *samples = stk__alloc((size_t)w * (size_t)h * sizeof *samples);
    assert_non_null(samples);
    for (int i = 0; i < w * h; i++)
        samples[i] = ids.data[i];
    pictures_png(&bytes, samples, w, h, &(pictures_png_options){.depth = 8});
    snprintf(name, sizeof name, "%04d.png", number);
    put(set, "masks", name, &bytes);
    stk__free(samples);
    stk__free(ids.data);
}

dataset dataset_pairs(int count, int w, int h)
{
    const dataset set = dataset_empty();
    for (int i = 0; i < count; i++) {
        put_image(&set, i, w, h);
        put_mask(&set, i, w, h);
    }
    return set;
}

/* 255 where the mask of that number has this id. */
static void put_part(const dataset *set, int number, const char *part, int id, const stk__pixels *ids)
{
    char name[32];
    stk__buffer bytes = {0};
    const stk__pixels mask = pictures_draw(ids->w, ids->h, 1, 0);
    for (int i = 0; i < ids->w * ids->h; i++)
        mask.data[i] = ids->data[i] == id ? 255 : 0;
    pictures_png_plain(&bytes, mask, PICTURES_FILTER_MIX);
    snprintf(name, sizeof name, "%05d_%s.png", number, part);
    put(set, number < 3 ? "CelebAMask-HQ-mask-anno/0" : "CelebAMask-HQ-mask-anno/1", name, &bytes);
    stk__free(mask.data);
}

dataset dataset_part_masks(int count, int w, int h)
{
    const dataset set = dataset_empty();
    for (int i = 0; i < count; i++) {
        char name[32];
        stk__buffer bytes = {0};
        const stk__pixels pixels = pictures_draw(w, h, 3, (uint32_t)i + 1),
                          ids = pictures_draw_mask(w, h, 5, (uint32_t)i + 1);
        pictures_jpeg(&bytes, pixels, &(pictures_jpeg_options){0});
        snprintf(name, sizeof name, "%d.jpg", i);
        put(&set, "CelebA-HQ-img", name, &bytes);
        put_part(&set, i, "skin", 1, &ids);
        put_part(&set, i, "l_eye", 2, &ids);
        put_part(&set, i, "hair", 3, &ids);
        stk__free(pixels.data);
        stk__free(ids.data);
    }
    return set;
}

dataset dataset_mixed_sizes(int count)
{
    const dataset set = dataset_empty();
    for (int i = 0; i < count; i++)
        put_image(&set, i, i % 3 == 2 ? 50 : 24, i % 3 == 2 ? 31 : 20);
    return set;
}

dataset dataset_series(int rows)
{
    const dataset set = dataset_empty();
    stk__buffer text = {0};
    char line[128];
    stk_error error;
    for (int i = -1; i < rows; i++) {
        const int length = i < 0 ? snprintf(line, sizeof line, "a,b,c,target\n")
                                 : snprintf(line, sizeof line, "%d,%d.5,%d,%d\n", i, i, -i, 10 * i);
        assert_int_equal(stk__buffer_append(&text, line, (size_t)length, &error), STK_OK);
    }
    put(&set, ".", "series.csv", &text);
    return set;
}

void dataset_remove(dataset *set)
{
    workspace made;
    memcpy(made.path, set->root, sizeof made.path);
    workspace_remove(&made);
    set->root[0] = '\0';
}

stk__digest dataset_digest(stk_loader *loader, uint64_t *samples)
{
    stk__hash *hash;
    stk_error error = {0};
    stk__digest digest = {0};
    stk_batch *batch;
    stk_status status;
    assert_int_equal(stk__hash_create(&hash, &error), STK_OK);
    if (samples) *samples = 0;
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK) {
        digest = stk__digest_chain(hash, digest, batch);
        if (samples) *samples += (uint64_t)batch->count;
        stk_batch_release(batch);
    }
    if (status != STK_END) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_END);
    stk__hash_destroy(&hash);
    return digest;
}
