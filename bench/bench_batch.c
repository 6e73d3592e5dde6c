/* SPDX-License-Identifier: Apache-2.0 */
/* The batch that contestants of `stoker bench augment` share, and our ways to augment it: the kernels over
 * the pool of threads, the baseline (the same kernels in threads that share nothing), and memcpy of as many
 * bytes. Called by one thread. */
#include "bench_batch.h"

#include "core/clock.h"
#include "core/thread.h"
#include "make/make.h"
#include "stoker/loader.h"

#include <string.h>

static const char *const chain_names[STK_CHAINS] = {"standard", "strong", "no warp"};

const char *stk__chain_name(stk__chain chain)
{
    return chain_names[chain];
}

static stk_status make_plan(stk__plan **plan, stk__chain chain, stk_error *error)
{
    static const char *const presets[STK_CHAINS] = {"standard", "strong", "standard"};
    stk__augment_settings settings = {0};
    STK__TRY(stk__augment_set(&settings, "preset", presets[chain], error));
    if (chain == STK_CHAIN_NO_WARP) STK__TRY(stk__augment_set(&settings, "rotation_degrees", "0", error));
    return stk__plan_create(plan, &settings, 1, error);
}

static stk_status draw_faces(stk__bench_batch *batch, stk_error *error)
{
    const stk__make_info *info = stk__make_describe(STK_MAKE_FACES);
    uint8_t *scratch = stk__alloc(info->scratch_bytes);
    if (!scratch) return stk__fail_memory(error, info->scratch_bytes, "drawing");
    for (uint64_t i = 0; i < batch->count; i++) {
        uint8_t *image = batch->arena + batch->images[i].offset_bytes;
        uint8_t *mask = batch->arena + batch->masks[i].offset_bytes;
        stk__make_draw(STK_MAKE_FACES, 1, i, stk__pixels_dense(image, batch->w, batch->h, 3),
                       stk__pixels_dense(mask, batch->w, batch->h, 1), scratch);
    }
    stk__free(scratch);
    return STK_OK;
}

static void lay_out(stk__bench_batch *batch, uint64_t count)
{
    const stk__make_info *info = stk__make_describe(STK_MAKE_FACES);
    const size_t area = (size_t)info->w * (size_t)info->h;
    batch->count = count;
    batch->w = info->w;
    batch->h = info->h;
    batch->image_bytes = count * area * 3;
    batch->arena_bytes = count * area * 4;
    batch->out_bytes = count * area * (3 * sizeof(float) + 1);
    batch->copy_bytes = (batch->arena_bytes + batch->out_bytes) / 2;
    for (uint64_t i = 0; i < count; i++) {
        batch->images[i] = (stk_view){i * area * 3, (uint64_t)info->w * 3, info->w, info->h, 3};
        batch->masks[i] = (stk_view){batch->image_bytes + i * area, (uint64_t)info->w, info->w, info->h, 1};
    }
}

/* As slots of the loader are: in large pages. */
static stk_status reserve(stk__bench_batch *batch, stk_error *error)
{
    const struct {
        uint8_t **memory;
        size_t size_bytes;
    } parts[STK_BENCH_PARTS] = {{&batch->arena, batch->arena_bytes},
                                {&batch->out, batch->out_bytes},
                                {&batch->copy_from, batch->copy_bytes},
                                {&batch->copy_to, batch->copy_bytes}};
    for (int i = 0; i < STK_BENCH_PARTS; i++) {
        STK__TRY(stk__host_reserve(&batch->parts[i], parts[i].size_bytes, parts[i].size_bytes, error));
        *parts[i].memory = batch->parts[i].data;
    }
    return STK_OK;
}

stk_status stk__bench_batch_open(stk__bench_batch *batch, uint64_t count, stk_error *error)
{
    lay_out(batch, count);
    STK__TRY(reserve(batch, error));
    memset(batch->copy_from, 1, batch->copy_bytes); /* else all its pages are the one of zeros */
    for (int chain = 0; chain < STK_CHAINS; chain++)
        STK__TRY(make_plan(&batch->plans[chain], (stk__chain)chain, error));
    return draw_faces(batch, error);
}

/* The places from `filled` on, which is moved; STK_END behind the last image of the data set. */
static stk_status take_batch(stk__bench_batch *batch, stk_loader *loader, uint64_t *filled, stk_error *error)
{
    stk_batch *loaded;
    STK__TRY(stk_loader_next(loader, &loaded, error));
    const size_t area = (size_t)batch->w * (size_t)batch->h;
    for (int64_t i = 0; i < loaded->count && *filled < batch->count; i++, ++*filled) {
        uint8_t *image = batch->arena + batch->images[*filled].offset_bytes,
                *mask = batch->arena + batch->masks[*filled].offset_bytes;
        memcpy(image, (const uint8_t *)loaded->images.data + (size_t)i * area * 3, area * 3);
        if (loaded->masks.data)
            memcpy(mask, (const uint8_t *)loaded->masks.data + (size_t)i * area, area);
        else
            memset(mask, 0, area);
    }
    stk_batch_release(loaded);
    return STK_OK;
}

stk_status stk__bench_batch_fill(stk__bench_batch *batch, const char *root, stk_error *error)
{
    const stk_loader_options options = {.root = root,
                                        .batch_size = 1,
                                        .image_size = {batch->h, batch->w},
                                        .channels = 3,
                                        .dtype = STK_STORE_U8,
                                        .order = "sequential"};
    stk_loader *loader = NULL;
    uint64_t filled = 0;
    STK__TRY(stk_loader_open(&loader, &options, error));
    stk_status status = stk_loader_describe(loader)->w
                            ? STK_OK
                            : stk__fail(error, STK_ERROR_DATA, "'%s' has no images", root);
    while (status == STK_OK && filled < batch->count) {
        status = take_batch(batch, loader, &filled, error);
        if (status == STK_END) status = STK_OK; /* the next epoch */
    }
    stk_loader_close(&loader);
    return status;
}

void stk__bench_batch_close(stk__bench_batch *batch)
{
    for (int i = 0; i < STK_BENCH_PARTS; i++)
        stk__host_release(&batch->parts[i]);
    for (int chain = 0; chain < STK_CHAINS; chain++)
        stk__plan_destroy(&batch->plans[chain]);
    stk__augment_crew_fini(&batch->crew);
    stk_augmenter_close(&batch->augmenter);
}

/* v / 255 less the mean, by the deviation: the usual ones of ImageNet, as the peers have them. */
static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};

static stk__augment_target make_target(const stk__bench_batch *batch)
{
    stk__augment_target target = {.image = batch->out,
                                  .mask = batch->out + 4 * batch->image_bytes,
                                  .dtype = STK_DTYPE_F32,
                                  .mask_dtype = STK_DTYPE_U8,
                                  .w = batch->w,
                                  .h = batch->h,
                                  .channels = 3,
                                  .planar = true};
    for (int c = 0; c < 3; c++) {
        target.scale[c] = 1 / (255 * std[c]);
        target.bias[c] = -mean[c] / std[c];
    }
    return target;
}

stk__augment_batch stk__bench_batch_resolve(stk__bench_batch *batch, const stk__bench_way *way)
{
    for (uint64_t i = 0; i < batch->count; i++) {
        const stk__plan_at at = {.epoch = way->epoch,
                                 .sample = (uint32_t)i,
                                 .source_w = batch->w,
                                 .source_h = batch->h,
                                 .target_w = batch->w,
                                 .target_h = batch->h,
                                 .channels = 3};
        stk__resolved resolved;
        stk__plan_resolve(batch->plans[way->chain], &at, &resolved, NULL);
        batch->blocks[i] = resolved.block;
    }
    return (stk__augment_batch){.count = batch->count,
                                .blocks = batch->blocks,
                                .arena = batch->arena,
                                .arena_bytes = batch->arena_bytes,
                                .images = batch->images,
                                .masks = batch->masks,
                                .target = make_target(batch)};
}

static double ms_since(uint64_t start_ns)
{
    return (double)(stk__clock_ns() - start_ns) * 1e-6;
}

static stk_status run_pool(stk__bench_batch *batch, const stk__bench_way *way, uint32_t turn,
                           stk_error *error)
{
    stk__bench_way now = *way;
    now.epoch = way->epoch * 64 + turn;
    const stk__augment_batch work = stk__bench_batch_resolve(batch, &now);
    batch->crew.kernel = stk__augment_at(way->level);
    batch->crew.workers = way->workers;
    return stk__augment_batch_run(&work, &batch->crew, error);
}

typedef stk_status (*run_once)(stk__bench_batch *batch, const stk__bench_way *way, uint32_t turn,
                               stk_error *error);

/* The rule of STK_BENCH_TURN_MS, the same for whatever runs here. */
static stk_status take_turn(run_once run, stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                            stk_error *error)
{
    uint64_t start = stk__clock_ns();
    STK__TRY(run(batch, way, 0, error));
    *ms = ms_since(start);
    if (*ms >= STK_BENCH_TURN_MS) return STK_OK;
    uint32_t turns = 0;
    start = stk__clock_ns();
    do {
        STK__TRY(run(batch, way, ++turns, error));
    } while (ms_since(start) < STK_BENCH_TURN_MS && turns < 63);
    *ms = ms_since(start) / turns;
    return STK_OK;
}

stk_status stk__bench_batch_pool(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                 stk_error *error)
{
    return take_turn(run_pool, batch, way, ms, error);
}

static stk_status open_augmenter(stk__bench_batch *batch, stk_error *error)
{
    stk_augment_options options = {.augment = "standard", .seed = 1, .axes = STK_AXES_NCHW};
    for (int c = 0; c < 3; c++) {
        options.mean[c] = mean[c];
        options.std[c] = std[c];
    }
    return batch->augmenter ? STK_OK : stk_augmenter_open(&batch->augmenter, &options, error);
}

static stk_tensor dense(void *data, stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor tensor = {.data = data, .dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = stride;
        stride *= shape[i];
    }
    return tensor;
}

static stk_status apply(stk__bench_batch *batch, stk_axes axes, uint32_t epoch, stk_error *error)
{
    const int64_t n = (int64_t)batch->count, h = batch->h, w = batch->w;
    stk_augment_io io = {.count = n, .epoch = epoch, .axes = axes};
    if (axes == STK_AXES_NCHW)
        io.images = dense(batch->arena, STK_DTYPE_U8, 4, (int64_t[]){n, 3, h, w});
    else
        io.images = dense(batch->arena, STK_DTYPE_U8, 4, (int64_t[]){n, h, w, 3});
    io.masks = dense(batch->arena + batch->image_bytes, STK_DTYPE_U8, 3, (int64_t[]){n, h, w});
    io.out_images = dense(batch->out, STK_DTYPE_F32, 4, (int64_t[]){n, 3, h, w});
    io.out_masks = dense(batch->out + 4 * batch->image_bytes, STK_DTYPE_U8, 3, (int64_t[]){n, h, w});
    return stk_augmenter_apply(batch->augmenter, &io, error);
}

static stk_status run_augmenter(stk__bench_batch *batch, const stk__bench_way *way, uint32_t turn,
                                stk_error *error)
{
    return apply(batch, STK_AXES_NHWC, way->epoch * 64 + turn, error);
}

static stk_status run_planes(stk__bench_batch *batch, const stk__bench_way *way, uint32_t turn,
                             stk_error *error)
{
    return apply(batch, STK_AXES_NCHW, way->epoch * 64 + turn, error);
}

stk_status stk__bench_batch_augmenter(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                      stk_error *error)
{
    STK__TRY(open_augmenter(batch, error));
    return take_turn(run_augmenter, batch, way, ms, error);
}

stk_status stk__bench_batch_planes(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                   stk_error *error)
{
    STK__TRY(open_augmenter(batch, error));
    return take_turn(run_planes, batch, way, ms, error);
}

typedef struct thread_part {
    stk__augment_batch work; /* this thread's samples alone */
    stk__augment_kernel kernel;
    stk__buffer *scratch;
    stk__thread *thread;
    stk_status status;
} thread_part;

static void run_part(void *context)
{
    thread_part *part = context;
    const stk__augment_batch *work = &part->work;
    const size_t area = (size_t)work->target.w * (size_t)work->target.h;
    for (uint64_t i = 0; i < work->count && part->status == STK_OK; i++) {
        const stk_view *image = &work->images[i], *mask = &work->masks[i];
        stk__augment_target target = work->target;
        target.image = (float *)target.image + i * area * 3;
        target.mask = (uint8_t *)target.mask + i * area;
        const stk__augment_source source = {
            stk__pixels_dense((uint8_t *)work->arena + image->offset_bytes, image->w, image->h, 3),
            stk__pixels_dense((uint8_t *)work->arena + mask->offset_bytes, mask->w, mask->h, 1)};
        part->status = part->kernel(&work->blocks[i], &source, &target, part->scratch, NULL);
    }
}

static stk__augment_batch cut_part(const stk__augment_batch *all, uint64_t first, uint64_t end)
{
    stk__augment_batch part = *all;
    const size_t area = (size_t)all->target.w * (size_t)all->target.h;
    part.count = end - first;
    part.blocks += first;
    part.images += first;
    part.masks += first;
    part.target.image = (float *)all->target.image + first * area * 3;
    part.target.mask = (uint8_t *)all->target.mask + first * area;
    return part;
}

static stk_status run_baseline(stk__bench_batch *batch, const stk__bench_way *way, uint32_t turn,
                               stk_error *error)
{
    thread_part parts[STK_POOL_WORKERS] = {0};
    const uint64_t count = (uint64_t)way->workers;
    stk__bench_way now = *way;
    now.epoch = way->epoch * 64 + turn;
    const stk__augment_batch work = stk__bench_batch_resolve(batch, &now);
    stk_status status = STK_OK;
    for (uint64_t k = 0; k < count; k++) {
        parts[k].work = cut_part(&work, k * work.count / count, (k + 1) * work.count / count);
        parts[k].kernel = stk__augment_at(way->level);
        parts[k].scratch = &batch->crew.scratch[k];
    }
    for (uint64_t k = 1; k < count && status == STK_OK; k++)
        status = stk__thread_start(
            &parts[k].thread,
            &(stk__thread_options){.name = "baseline", .run = run_part, .context = &parts[k]}, error);
    if (status == STK_OK) run_part(&parts[0]);
    for (uint64_t k = 0; k < count; k++) {
        while (!stk__thread_join(&parts[k].thread, stk__clock_ns() + STK_SECOND_NS))
            continue;
        if (status == STK_OK && parts[k].status != STK_OK)
            status = stk__fail(error, parts[k].status, "the baseline failed");
    }
    return status;
}

stk_status stk__bench_batch_baseline(stk__bench_batch *batch, const stk__bench_way *way, double *ms,
                                     stk_error *error)
{
    return take_turn(run_baseline, batch, way, ms, error);
}

static void copy_piece(void *context, size_t item, int worker)
{
    (void)worker;
    const stk__bench_batch *batch = context;
    const size_t pieces = (size_t)stk__pool_default_workers();
    const size_t first = item * batch->copy_bytes / pieces, end = (item + 1) * batch->copy_bytes / pieces;
    memcpy(batch->copy_to + first, batch->copy_from + first, end - first);
}

static stk_status run_copy(stk__bench_batch *batch, const stk__bench_way *way, uint32_t turn,
                           stk_error *error)
{
    (void)way;
    (void)turn;
    (void)error;
    stk__pool_run(&(stk__pool_job){copy_piece, batch, .count = (size_t)stk__pool_default_workers()});
    return STK_OK;
}

double stk__bench_batch_copy(stk__bench_batch *batch)
{
    double ms = 0;
    take_turn(run_copy, batch, NULL, &ms, NULL);
    return ms;
}
