/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, kernels and their launches: the kernel source as plain C does the work. */
#include "fake_gpu.h"

#include "core/hash.h"
#include "device/cuda/cuda_device.h"
#include "device/kernel/host_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char fake_magic[16] = "fake cubin 1";

typedef struct fake_module {
    fake_handle handle;
    bool ours, wrong_bits; /* it is the text that the fake can run */
    char *text;
} fake_module;

typedef struct fake_function_handle {
    fake_handle handle;
    const fake_module *module;
    fake_kernel_kind kernel; /* FAKE_KERNELS_COUNT: none that the fake can run */
} fake_function_handle;

/* A GPU runs cubins of its own generation, not newer ones; a driver takes those of its own major version and
 * of older ones. */
static int check_image(const fake_cubin *head, const char *text, int sm)
{
    const bool ptx = head->magic[0] == 'P';
    if (memcmp(head->magic + 1, fake_magic + 1, sizeof fake_magic - 1) != 0)
        return FAKE_CUDA_ERROR_INVALID_IMAGE;
    const stk__digest digest = stk__digest_of(text, head->text_bytes);
    if (digest.high != head->check_high || digest.low != head->check_low)
        return FAKE_CUDA_ERROR_INVALID_IMAGE;
    if ((ptx ? head->compiler : head->compiler / 1000 * 1000) > fake.driver)
        return FAKE_CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (ptx) return head->sm <= sm ? CUDA_SUCCESS : FAKE_CUDA_ERROR_NO_BINARY_FOR_GPU;
    return head->sm / 10 == sm / 10 && head->sm <= sm ? CUDA_SUCCESS : FAKE_CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* Real PTX. Its ISA version M.m came with CUDA M+4.m since 7.0. */
static int check_ptx(const char *text, int sm)
{
    int major, minor, target;
    const char *version = strstr(text, ".version"), *aim = strstr(text, ".target");
    if (!version || !aim || sscanf(version, ".version %d.%d", &major, &minor) != 2 ||
        sscanf(aim, ".target sm_%d", &target) != 1)
        return FAKE_CUDA_ERROR_INVALID_PTX;
    if ((major + 4) * 1000 + minor * 10 > fake.driver) return FAKE_CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    return target <= sm ? CUDA_SUCCESS : FAKE_CUDA_ERROR_NO_BINARY_FOR_GPU;
}

int cuModuleLoadData(stk__cu_handle *module, const void *image)
{
    int gpu;
    fake_cubin head = {.wrong_bits = fake.wrong};
    const char *text = image;
    int code = fake_enter_current(FAKE_cuModuleLoadData, &gpu);
    FAKE_SPOIL(module);
    if (code) return code;
    const bool real = text[0] == '/' || text[0] == '.';
    if (!real) {
        memcpy(&head, image, sizeof head);
        text += sizeof head;
    }
    code = real ? check_ptx(text, fake.gpus[gpu].sm) : check_image(&head, text, fake.gpus[gpu].sm);
    if (code) return code;
    fake_module *made = fake_make(FAKE_MODULE, gpu, sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->text = real ? strdup(text) : strndup(text, head.text_bytes);
    made->wrong_bits = head.wrong_bits;
    made->ours = made->text && strcmp(made->text, real ? stk__device_ptx : stk__kernel_source) == 0;
    *module = made;
    return CUDA_SUCCESS;
}

int cuModuleUnload(stk__cu_handle module)
{
    int gpu;
    const int code = fake_enter_current(FAKE_cuModuleUnload, &gpu);
    if (gpu < 0) return code;
    if (!fake_is(module, FAKE_MODULE, gpu)) return code ? code : FAKE_CUDA_ERROR_INVALID_HANDLE;
    free(((fake_module *)module)->text);
    ((fake_module *)module)->text = NULL;
    fake_end(module);
    return code;
}

int cuModuleGetFunction(stk__cu_handle *function, stk__cu_handle module, const char *name)
{
    int gpu;
    char macro[80], plain[80];
    const int code = fake_enter_current(FAKE_cuModuleGetFunction, &gpu);
    FAKE_SPOIL(function);
    if (code) return code;
    if (!fake_is(module, FAKE_MODULE, gpu)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    const fake_module *m = module;
    snprintf(macro, sizeof macro, "STK_KERNEL(%s)", name);
    snprintf(plain, sizeof plain, " %s(", name);
    if (!m->text || (!strstr(m->text, macro) && !strstr(m->text, plain))) return FAKE_CUDA_ERROR_NOT_FOUND;
    fake_function_handle *made = fake_make(FAKE_KERNEL, gpu, sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->module = m;
    while (made->kernel < FAKE_KERNELS_COUNT && strcmp(fake_kernels[made->kernel], name) != 0)
        made->kernel++;
    *function = made;
    return CUDA_SUCCESS;
}

/* Limits of every GPU since 2012, and the kernels' own __launch_bounds__. */
static int check_shape(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes)
{
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0) return FAKE_CUDA_ERROR_INVALID_VALUE;
    if (grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535) return FAKE_CUDA_ERROR_INVALID_VALUE;
    if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 || shared_bytes > 48 * 1024)
        return FAKE_CUDA_ERROR_INVALID_VALUE;
    if ((uint64_t)block[0] * block[1] * block[2] > STK_KERNEL_GROUP)
        return FAKE_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

static const stk__kernel_launch *launch_of(const fake_work *work)
{
    return work->kernel == FAKE_MIX ? &work->mix.launch : &work->text.launch;
}

/* Of so many samples. */
static size_t image_bytes(const fake_work *work, size_t samples)
{
    const stk__kernel_launch *l = launch_of(work);
    return samples * (size_t)l->w * (size_t)l->h * (size_t)l->channels *
           (l->dtype == STK_KERNEL_F32  ? 4u
            : l->dtype == STK_KERNEL_U8 ? 1u
                                        : 2u);
}

static size_t mask_bytes(const fake_work *work, size_t samples)
{
    const stk__kernel_launch *l = launch_of(work);
    const size_t id = l->mask_dtype == STK_KERNEL_MASK_I64 ? 8 : l->mask_dtype == STK_KERNEL_MASK_U8 ? 1 : 0;
    return samples * (size_t)l->w * (size_t)l->h * id;
}

static size_t factor_bytes(const fake_work *work)
{
    return (size_t)work->dropout.samples * work->dropout.length * sizeof(float);
}

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Host pointer to device memory that has so many bytes; NULL: it has not. */
static void *translate(const void *pointer, size_t bytes, int gpu)
{
    pthread_mutex_lock(&fake_lock);
    const fake_memory *memory = fake_find(address_of(pointer), bytes, false, gpu);
    void *host = memory ? memory->host + (address_of(pointer) - memory->address) : NULL;
    pthread_mutex_unlock(&fake_lock);
    return host;
}

static bool is_place_inside(const stk__kernel_place *place, const void *arena, int channels, int gpu)
{
    if (place->w <= 0 || place->h <= 0) return place->w == 0;
    const uint64_t offset = (uint64_t)place->offset_high << 32 | place->offset_low;
    const size_t bytes = (size_t)(place->h - 1) * place->pitch_bytes + (size_t)place->w * (size_t)channels;
    return translate((const uint8_t *)arena + offset, bytes, gpu) != NULL;
}

/* Every pixel that the kernel may read lies in one piece of device memory, as its offsets say. */
static bool are_places_inside(const fake_work *work, const stk__kernel_sample *samples, int gpu)
{
    for (uint32_t i = 0; i < work->groups[2]; i++)
        if (!is_place_inside(&samples[i].image, work->text.arena, work->text.launch.channels, gpu) ||
            (work->text.launch.mask_dtype != STK_KERNEL_MASK_NONE &&
             !is_place_inside(&samples[i].mask, work->text.arena, 1, gpu)))
            return false;
    return true;
}

static int refuse_access(const char *what)
{
    pthread_mutex_lock(&fake_lock);
    fake_blame("a kernel leaves device memory: %s", what);
    pthread_mutex_unlock(&fake_lock);
    return FAKE_CUDA_ERROR_ILLEGAL_ADDRESS;
}

size_t fake_output_bytes(const fake_work *work)
{
    if (work->kernel == FAKE_ROUND) return (size_t)work->groups[2] * work->round.length;
    if (work->kernel == FAKE_GATHER) return work->groups[2]; /* how large samples are is known on the GPU */
    return work->kernel == FAKE_DROPOUT ? factor_bytes(work) : image_bytes(work, work->groups[2]);
}

static void poison_factors(const fake_work *work, int gpu)
{
    void *factors = translate(work->dropout.factors, factor_bytes(work), gpu);
    if (factors) memset(factors, FAKE_POISON, factor_bytes(work));
}

/* What stk_augment or stk_dropout will write, all of it. */
void fake_poison_output(const fake_work *work, int gpu)
{
    if (work->kernel == FAKE_DROPOUT) poison_factors(work, gpu);
    if (work->kernel != FAKE_AUGMENT) return;
    const size_t image_size = image_bytes(work, work->groups[2]),
                 mask_size = mask_bytes(work, work->groups[2]);
    void *image = translate(work->text.image, image_size, gpu),
         *mask = translate(work->text.mask, mask_size, gpu);
    if (image) memset(image, FAKE_POISON, image_size);
    if (mask && mask_size) memset(mask, FAKE_POISON, mask_size);
}

static long kernels_done(void)
{
    pthread_mutex_lock(&fake_lock);
    const long done = (long)fake_counts[FAKE_KERNELS];
    pthread_mutex_unlock(&fake_lock);
    return done;
}

static int run_augment(const fake_work *work, int gpu)
{
    stk__kernel_work text = work->text;
    const uint32_t *g = work->groups;
    const size_t mask_size = mask_bytes(work, g[2]);
    text.samples = translate(work->text.samples, g[2] * sizeof(stk__kernel_sample), gpu);
    if (!text.samples) return refuse_access("its samples");
    if (!are_places_inside(work, text.samples, gpu)) return refuse_access("pixels of a sample");
    text.arena = translate(work->text.arena, 1, gpu); /* NULL where no sample has pixels */
    text.image = translate(work->text.image, image_bytes(work, g[2]), gpu);
    text.mask = mask_size ? translate(work->text.mask, mask_size, gpu) : NULL;
    if (!text.image || (mask_size && !text.mask)) return refuse_access("its output");
    if (work->kernel == FAKE_GREY)
        stk__host_build_grey(&text, g[0], g[1], g[2]);
    else
        stk__host_build_augment(&text, g[0], g[1], g[2]);
    if (work->kernel == FAKE_AUGMENT && fake_is_wrong(work, kernels_done())) text.image[0] ^= 1;
    return CUDA_SUCCESS;
}

/* How many samples the entries reach. */
static size_t find_reach(const stk__kernel_mix *mixes, uint32_t count)
{
    size_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool pair = mixes[i].kind == STK_KERNEL_MIX_BLEND || mixes[i].kind == STK_KERNEL_MIX_PASTE;
        const uint32_t last = pair && mixes[i].b > mixes[i].a ? mixes[i].b : mixes[i].a;
        if (last + (size_t)1 > most) most = last + (size_t)1;
    }
    return most;
}

static int run_mix(const fake_work *work, int gpu)
{
    stk__kernel_mix_work mix = work->mix;
    const uint32_t *g = work->groups;
    mix.mixes = translate(work->mix.mixes, g[2] * sizeof(stk__kernel_mix), gpu);
    if (!mix.mixes) return refuse_access("its entries");
    const size_t samples = find_reach(mix.mixes, g[2]), mask_size = mask_bytes(work, samples);
    mix.image = translate(work->mix.image, image_bytes(work, samples), gpu);
    mix.mask = mask_size ? translate(work->mix.mask, mask_size, gpu) : NULL;
    mix.mask2 = work->mix.mask2 ? translate(work->mix.mask2, mask_size, gpu) : NULL;
    if (!mix.image || (mask_size && !mix.mask) || (work->mix.mask2 && !mix.mask2))
        return refuse_access("samples that are mixed");
    stk__host_build_mix(&mix, g[0], g[1], g[2]);
    if (fake_is_wrong(work, kernels_done())) mix.image[0] ^= 1;
    return CUDA_SUCCESS;
}

static int run_dropout(const fake_work *work, int gpu)
{
    stk__kernel_dropout_work dropout = work->dropout;
    dropout.ids = translate(work->dropout.ids, dropout.samples * sizeof(int64_t), gpu);
    dropout.numbers = translate(work->dropout.numbers, 2 * sizeof(int64_t), gpu);
    dropout.factors = translate(work->dropout.factors, factor_bytes(work), gpu);
    if (!dropout.ids || !dropout.numbers || !dropout.factors) return refuse_access("dropout");
    stk__host_build_dropout(&dropout, work->groups[0], work->groups[1]);
    if (work->wrong_bits) dropout.factors[0] += 1;
    return CUDA_SUCCESS;
}

/* The bytes between the first and the last of the values; where they begin, seen from the first value. */
static size_t span_of(const stk__kernel_values *v, int32_t w, int32_t h, int64_t *before)
{
    const int64_t size = v->kind == STK_KERNEL_VALUES_F32 ? 4 : v->kind == STK_KERNEL_VALUES_I64 ? 8 : 1;
    const int64_t reach[3] = {(h - 1) * v->row_bytes, (w - 1) * v->pixel_bytes,
                              (v->channels - 1) * v->channel_bytes};
    int64_t after = size;
    *before = 0;
    for (int i = 0; i < 3; i++)
        *(reach[i] < 0 ? before : &after) += reach[i];
    return (size_t)(after - *before);
}

/* From device to host addresses; false: values, or their bytes in the arena, leave device memory. */
static bool translate_values(stk__kernel_values *v, const fake_work *work, const stk__kernel_gather *source,
                             int gpu)
{
    int64_t before;
    if (!v->from) return true;
    const size_t bytes = span_of(v, source->w, source->h, &before),
                 made = (size_t)source->w * (size_t)source->h * (size_t)v->channels;
    const uint8_t *first = translate(v->from + before, bytes, gpu);
    if (!first || !translate(work->gather.arena + v->to, made, gpu)) return false;
    v->from = first - before;
    return true;
}

static int gather(stk__kernel_gather *sources, const fake_work *work, int gpu)
{
    const uint32_t *g = work->groups;
    stk__kernel_gather_work host = {.sources = sources,
                                    .table = translate(work->gather.table, 256, gpu),
                                    .arena = translate(work->gather.arena, 1, gpu),
                                    .wrong = translate(work->gather.wrong, 2 * sizeof(uint32_t) * g[2], gpu)};
    if (!host.table || !host.arena || !host.wrong) return refuse_access("what stk_gather writes");
    uint32_t groups[3];
    stk__launch_gather_groups(sources, g[2], groups);
    if (memcmp(groups, g, sizeof groups) != 0)
        return refuse_access("stk_gather has not the groups of its samples");
    for (uint32_t i = 0; i < g[2]; i++)
        if (!translate_values(&sources[i].image, work, &sources[i], gpu) ||
            !translate_values(&sources[i].mask, work, &sources[i], gpu))
            return refuse_access("values that are gathered");
    stk__host_build_gather(&host, g[0], g[1], g[2]);
    if (work->wrong_bits) host.arena[sources[0].image.to] ^= 1;
    return CUDA_SUCCESS;
}

static int run_gather(const fake_work *work, int gpu)
{
    const size_t bytes = work->groups[2] * sizeof(stk__kernel_gather);
    const stk__kernel_gather *there = translate(work->gather.sources, bytes, gpu);
    stk__kernel_gather *sources = there ? malloc(bytes) : NULL;
    if (!there) return refuse_access("sources of stk_gather");
    if (!sources) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(sources, there, bytes);
    const int code = gather(sources, work, gpu);
    free(sources);
    return code;
}

static int run_round(const fake_work *work, int gpu)
{
    stk__kernel_round_work rounding = work->round;
    const size_t values = fake_output_bytes(work);
    rounding.from = translate(work->round.from, values * sizeof(float), gpu);
    rounding.to = translate(work->round.to, values, gpu);
    if (!rounding.from || !rounding.to) return refuse_access("levels that are rounded");
    memset(rounding.to, FAKE_POISON, values);
    stk__host_build_round(&rounding, work->groups[0], work->groups[2]);
    if (work->wrong_bits) rounding.to[0] ^= 1;
    return CUDA_SUCCESS;
}

int fake_run_kernel(const fake_work *work, int gpu)
{
    if (work->kernel == FAKE_ROUND) return run_round(work, gpu);
    if (work->kernel == FAKE_GATHER) return run_gather(work, gpu);
    if (work->kernel == FAKE_DROPOUT) return run_dropout(work, gpu);
    return work->kernel == FAKE_MIX ? run_mix(work, gpu) : run_augment(work, gpu);
}

/* Lock not held. Memory that the launch names is in use until it has run. */
static void mark_uses(fake_work *work, int gpu)
{
    const void *const augment[] = {work->text.arena, work->text.samples, work->text.image, work->text.mask},
                      *const mix[] = {work->mix.mixes, work->mix.mask2, work->mix.image, work->mix.mask},
                      *const dropout[] = {work->dropout.ids, work->dropout.numbers, work->dropout.factors,
                                          NULL},
                      *const gathered[] = {work->gather.sources, work->gather.table, work->gather.arena,
                                           work->gather.wrong},
                      *const rounded[] = {work->round.from, work->round.to, NULL, NULL};
    const void *const *pointers = work->kernel == FAKE_MIX       ? mix
                                  : work->kernel == FAKE_DROPOUT ? dropout
                                  : work->kernel == FAKE_GATHER  ? gathered
                                  : work->kernel == FAKE_ROUND   ? rounded
                                                                 : augment;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < 4; i++)
        work->uses[i] = fake_find(address_of(pointers[i]), 1, false, gpu);
    pthread_mutex_unlock(&fake_lock);
}

/* As many groups as the output has tiles: fewer leave pixels out, more write elsewhere. */
static bool fits_output(const fake_work *work)
{
    const stk__kernel_dropout_work *d = &work->dropout;
    if (work->kernel == FAKE_ROUND)
        return work->round.length && work->groups[1] == 1 &&
               work->groups[0] ==
                   (work->round.length + (uint64_t)STK_KERNEL_ROUND_VALUES - 1) / STK_KERNEL_ROUND_VALUES;
    if (work->kernel == FAKE_GATHER) return true; /* its samples are on the GPU, when it runs */
    if (work->kernel == FAKE_DROPOUT)
        return d->samples && d->length && work->groups[1] == d->rows && work->groups[2] == 1 &&
               work->groups[0] ==
                   (d->length + (uint64_t)STK_KERNEL_DROPOUT_VALUES - 1) / STK_KERNEL_DROPOUT_VALUES;
    const stk__kernel_launch *l = launch_of(work);
    return l->w > 0 && l->h > 0 && (l->channels == 1 || l->channels == 3) &&
           work->groups[0] == ((uint32_t)l->w + STK_KERNEL_TILE_W - 1) / STK_KERNEL_TILE_W &&
           work->groups[1] == ((uint32_t)l->h + STK_KERNEL_TILE_H - 1) / STK_KERNEL_TILE_H;
}

static int launch(const fake_function_handle *function, fake_stream *stream, const unsigned grid[3],
                  void **parameters)
{
    fake_work *work = calloc(1, sizeof *work);
    if (!work) return CUDA_ERROR_OUT_OF_MEMORY;
    *work = (fake_work){.function = FAKE_kernel,
                        .kernel = function->kernel,
                        .wrong_bits = function->module->wrong_bits,
                        .groups = {grid[0], grid[1], grid[2]}};
    if (function->kernel == FAKE_MIX)
        memcpy(&work->mix, parameters[0], sizeof work->mix);
    else if (function->kernel == FAKE_DROPOUT)
        memcpy(&work->dropout, parameters[0], sizeof work->dropout);
    else if (function->kernel == FAKE_GATHER)
        memcpy(&work->gather, parameters[0], sizeof work->gather);
    else if (function->kernel == FAKE_ROUND)
        memcpy(&work->round, parameters[0], sizeof work->round);
    else
        memcpy(&work->text, parameters[0], sizeof work->text);
    const bool runs = function->module->ours && function->kernel != FAKE_KERNELS_COUNT;
    if (!runs || !fits_output(work)) {
        pthread_mutex_lock(&fake_lock);
        fake_blame(runs ? "a launch has not the groups of its output"
                        : "a kernel of another text is launched");
        pthread_mutex_unlock(&fake_lock);
        free(work);
        return FAKE_CUDA_ERROR_INVALID_VALUE;
    }
    mark_uses(work, stream->handle.gpu);
    return fake_queue(stream, work);
}

int cuLaunchKernel(stk__cu_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   stk__cu_handle stream, void **parameters, void **extra)
{
    int gpu;
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    int code = fake_enter_current(FAKE_cuLaunchKernel, &gpu);
    if (!code) code = check_shape(grid, block, shared_bytes);
    if (code) return code;
    if (!parameters || extra) return FAKE_CUDA_ERROR_INVALID_VALUE;
    fake_stream *s = fake_stream_of(stream, gpu);
    if (!s || !fake_is(function, FAKE_KERNEL, gpu)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    const fake_function_handle *f = function;
    if (!fake_is(f->module, FAKE_MODULE, gpu)) return FAKE_CUDA_ERROR_INVALID_HANDLE;
    if (block_x != STK_KERNEL_GROUP || block_y != 1 || block_z != 1) return FAKE_CUDA_ERROR_INVALID_VALUE;
    return launch(f, s, grid, parameters);
}
