/* SPDX-License-Identifier: Apache-2.0 */
/* Batches kept in GPU memory, as in training: every byte is compared with the same batches from the CPU. With
 * MixUp and CutMix, in both layouts, in float32 and 16 bits. */
#include "selftest.h"

#include "core/memory.h"
#include "loader/host_copy.h"
#include "stoker/loader.h"

#include <string.h>

static const char section[] = "batches in GPU memory, bytes that differ from the CPU result";

typedef struct trial {
    const char *name, *augment;
    int dtype, axes;
} trial;

static const trial trials[] = {
    {"strong, NHWC, float32", "preset: strong", STK_STORE_F32, STK_AXES_NHWC},
    {"MixUp, NHWC, bfloat16", "preset: standard, mixup_alpha: 0.6, mixup_prob: 1", STK_STORE_BF16,
     STK_AXES_NHWC},
    {"CutMix, planar (NCHW), float16", "preset: standard, cutmix_alpha: 1, cutmix_prob: 1", STK_STORE_F16,
     STK_AXES_NCHW},
};

typedef struct sum {
    uint64_t bytes, differing, batches;
} sum;

static stk_status compare_batches(const stk_batch *here, const stk_batch *there, stk__buffer *memory, sum *s,
                                  stk_error *error)
{
    stk_batch copy;
    STK__TRY(stk_batch_wait(here, error));
    STK__TRY(stk__host_copy(here, memory, &copy, error));
    const stk_tensor *const got[] = {&copy.images, &copy.masks,  &copy.masks2,
                                     &copy.labels, &copy.lambda, &copy.weights},
                            *const right[] = {&there->images, &there->masks,  &there->masks2,
                                              &there->labels, &there->lambda, &there->weights};
    for (size_t i = 0; i < sizeof got / sizeof got[0]; i++) {
        const uint8_t *a = got[i]->data, *b = right[i]->data;
        const int64_t bytes = stk_tensor_bytes(right[i]);
        if (stk_tensor_bytes(got[i]) != bytes)
            return stk__fail(error, STK_ERROR_DATA, "tensor size in GPU memory differs");
        for (int64_t k = 0; k < bytes; k++)
            s->differing += a[k] != b[k];
        s->bytes += (uint64_t)bytes;
    }
    s->batches++;
    return STK_OK;
}

/* An epoch of both, batch by batch. */
static stk_status compare_epochs(stk_loader *loaders[2], sum *s, stk_error *error)
{
    stk__buffer memory = {0};
    stk_status status = STK_OK;
    while (status == STK_OK) {
        stk_batch *batches[2] = {NULL, NULL};
        if (stk__selftest_stopped()) status = stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        for (int i = 0; i < 2 && status == STK_OK; i++)
            status = stk_loader_next(loaders[i], &batches[i], error);
        if (status == STK_OK) status = compare_batches(batches[0], batches[1], &memory, s, error);
        stk_batch_release(batches[0]);
        stk_batch_release(batches[1]);
    }
    stk__buffer_fini(&memory);
    return status == STK_END ? STK_OK : status;
}

static void run_trial(stk__selftest *t, const trial *about)
{
    stk_loader_options options = {.root = t->quick ? "make:faces?count=8" : "make:faces?count=32",
                                  .image_size = {t->quick ? 48 : 256, t->quick ? 64 : 320},
                                  .batch_size = 4,
                                  .num_workers = 2,
                                  .dtype = about->dtype,
                                  .axes = about->axes,
                                  .augment = about->augment,
                                  .epochs = 1,
                                  .device = t->gpu->info.name};
    stk_loader *loaders[2] = {NULL, NULL};
    stk_error error = {0};
    sum s = {0};
    stk_status status = stk_loader_open(&loaders[0], &options, &error);
    options.device = NULL;
    if (status == STK_OK) status = stk_loader_open(&loaders[1], &options, &error);
    if (status == STK_OK) status = compare_epochs(loaders, &s, &error);
    for (int i = 0; i < 2; i++)
        t->left_behind += stk_loader_close(&loaders[i]);
    if (status != STK_OK) {
        stk__selftest_fail(t->gpu, section, about->name, &error);
        return;
    }
    stk__selftest_row row = {.section = section, .value = (double)s.differing, .kind = STK_LIMIT_MOST};
    snprintf(row.name, sizeof row.name, "%s", about->name);
    snprintf(row.basis, sizeof row.basis, "%s bytes, %d batches", stk__cli_grouped(s.bytes), (int)s.batches);
    stk__selftest_put(t->gpu, &row, t->quick);
}

void stk__selftest_resident(stk__selftest *t)
{
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        run_trial(t, &trials[i]);
}
