#include "bench_reference.h"

#include "core/file.h"
#include "stoker/loader.h"

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
        .root = root, .batch_size = FULL, .order = "sequential", .epochs = 1, .alone = true};
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
