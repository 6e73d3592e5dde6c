/* SPDX-License-Identifier: Apache-2.0 */
/* What the load race makes out of its data set: shards, the same images as progressive JPEGs, and a reference
 * file of what our loader decodes, with which bench/peers/load_check.py compares the pixels of others. One
 * thread. */
#include "race_data.h"

#include "core/file.h"
#include "pack/pack.h"
#include "stoker/loader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <jpeglib.h>

/* --- shards and progressive JPEGs --------------------------------------------------------------------------
 */

stk_status stk__packed_make(const char *root, const char *folder, const atomic_bool *stop, stk_error *error)
{
    const stk__pack_request request = {.root = root, .folder = folder, .stop = stop};
    stk__pack_report report;
    return stk__pack_run(&request, &report, error);
}

/* The baseline has decoded every file already, so libjpeg's own way with errors, to exit, will do. */
static stk_status write_progressive(const stk__buffer *file, const char *path, stk_error *error)
{
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct in = {.err = jpeg_std_error(&errors)};
    struct jpeg_compress_struct out = {.err = &errors};
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    jpeg_create_decompress(&in);
    jpeg_create_compress(&out);
    jpeg_mem_src(&in, file->data, file->size_bytes);
    jpeg_mem_dest(&out, &bytes, &size);
    jpeg_read_header(&in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&in);
    jpeg_copy_critical_parameters(&in, &out);
    jpeg_simple_progression(&out);
    jpeg_write_coefficients(&out, coefficients);
    jpeg_finish_compress(&out);
    jpeg_finish_decompress(&in);
    jpeg_destroy_compress(&out);
    jpeg_destroy_decompress(&in);
    const stk__buffer made = {.data = bytes, .size_bytes = size};
    const stk_status status = stk__file_write(path, made, STK_FILE_QUICK, error);
    free(bytes);
    return status;
}

stk_status stk__progressive_make(const stk__progressive *progressive, const char *folder, stk_error *error)
{
    const stk__source *source = progressive->source;
    stk__buffer file = {0};
    stk_status status = stk__folder_make(folder, error);
    for (uint64_t id = 0; id < progressive->count && status == STK_OK; id++) {
        char from[PATH_MAX], to[PATH_MAX];
        source->ops->where(source, id, STK_FIELD_IMAGE, from, sizeof from);
        snprintf(to, sizeof to, "%s/%06llu.jpg", folder, (unsigned long long)id);
        status = stk__file_read(from, 0, &file, error);
        if (status == STK_OK) status = write_progressive(&file, to, error);
        if (atomic_load(progressive->stop)) status = stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    }
    stk__buffer_fini(&file);
    return status;
}

/* --- reference pixels --------------------------------------------------------------------------------------
 */

enum { STEP = 64, FULL = 32 }; /* as in load_check.py */

/* In the order of the file: grids of all images, of all masks, the first images and masks whole. */
enum { GRIDS, MASK_GRIDS, IMAGES, MASKS, PARTS };

typedef struct parts {
    stk__buffer part[PARTS];
    uint64_t count;
} parts;

static stk_status add_grid(stk__buffer *grid, const uint8_t *arena, const stk_view *view, stk_error *error)
{
    for (int32_t y = 0; y < view->h; y += STEP)
        for (int32_t x = 0; x < view->w; x += STEP)
            STK__TRY(stk__buffer_append(grid,
                                        arena + view->offset_bytes + (uint64_t)y * view->pitch_bytes +
                                            (uint64_t)x * (uint64_t)view->channels,
                                        (size_t)view->channels, error));
    return STK_OK;
}

static stk_status add_whole(stk__buffer *whole, const uint8_t *arena, const stk_view *view, stk_error *error)
{
    for (int32_t y = 0; y < view->h; y++)
        STK__TRY(stk__buffer_append(whole, arena + view->offset_bytes + (uint64_t)y * view->pitch_bytes,
                                    (size_t)view->w * (size_t)view->channels, error));
    return STK_OK;
}

static stk_status add_batch(parts *p, const stk_batch *batch, stk_error *error)
{
    if (batch->images.dtype == STK_DTYPE_NONE || batch->masks.dtype == STK_DTYPE_NONE)
        return stk__fail(error, STK_ERROR_DATA, "peers cannot load this: images or masks differ in size");
    for (int64_t i = 0; i < batch->count; i++, p->count++) {
        const stk_view *image = &batch->image_views[i], *mask = &batch->mask_views[i];
        STK__TRY(add_grid(&p->part[GRIDS], batch->arena, image, error));
        STK__TRY(add_grid(&p->part[MASK_GRIDS], batch->arena, mask, error));
        if (p->count >= FULL) continue;
        STK__TRY(add_whole(&p->part[IMAGES], batch->arena, image, error));
        STK__TRY(add_whole(&p->part[MASKS], batch->arena, mask, error));
    }
    return STK_OK;
}

static stk_status read_all(stk_loader *loader, parts *p, stk_error *error)
{
    stk_batch *batch;
    stk_status status;
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        status = add_batch(p, batch, error);
        stk_batch_release(batch);
        if (status != STK_OK) return status;
    }
    return status == STK_END ? STK_OK : status;
}

static stk_status load_parts(const char *root, parts *p, stk__reference *reference, stk_error *error)
{
    const stk_loader_options options = {
        .root = root, .batch_size = FULL, .order = "sequential", .epochs = 1, .dedicated_cpus = true};
    stk_loader *loader;
    STK__TRY(stk_loader_open(&loader, &options, error));
    const stk_loader_info *info = stk_loader_describe(loader);
    *reference = (stk__reference){info->sample_count, info->h, info->w};
    const stk_status status = read_all(loader, p, error);
    stk_loader_close(&loader);
    return status;
}

stk_status stk__reference_write(const char *root, const char *path, stk__reference *reference,
                                stk_error *error)
{
    parts p = {0};
    stk_status status = load_parts(root, &p, reference, error);
    for (int i = 1; i < PARTS && status == STK_OK; i++)
        status = stk__buffer_append(&p.part[0], p.part[i].data, p.part[i].size_bytes, error);
    if (status == STK_OK) status = stk__file_write(path, p.part[0], STK_FILE_QUICK, error);
    for (int i = 0; i < PARTS; i++)
        stk__buffer_fini(&p.part[i]);
    return status;
}
