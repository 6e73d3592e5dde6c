/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel source as a contestant: compiled as plain C, and by the first OpenCL or CUDA device. All take
 * batches, so a case becomes a batch of one sample whose arena has the pitches and the alignment of the case.
 */
#include "check/contestants.h"
#include "device/device.h"
#include "device/kernel/host_build.h"

#include <stdint.h>
#include <string.h>

typedef struct tried_device {
    stk__device *device;
    bool tried;
    stk_error error; /* why there is no device */
} tried_device;
static tried_device opencl, cuda;

static size_t bytes_of(stk__pixels pixels)
{
    if (!pixels.data) return 0;
    return (size_t)(pixels.h - 1) * pixels.pitch_bytes + (size_t)pixels.w * (size_t)pixels.channels;
}

/* Row by row: what lies between rows in the case is not for reading. */
static stk_view append_pixels(stk__pixels pixels, stk__augment_batch *batch, uint8_t *arena)
{
    if (!pixels.data) return (stk_view){0};
    const size_t start = batch->arena_bytes + (uintptr_t)pixels.data % 16;
    const stk_view view = {start, pixels.pitch_bytes, pixels.w, pixels.h, pixels.channels};
    for (int32_t y = 0; y < pixels.h; y++)
        memcpy(arena + start + (size_t)y * pixels.pitch_bytes, stk__pixels_row(pixels, y),
               (size_t)pixels.w * (size_t)pixels.channels);
    batch->arena_bytes = start + bytes_of(pixels);
    return view;
}

/* views: image and mask; arena: their memory, which only grows. */
static stk_status make_batch(const stk__augment_source *source, stk__buffer *arena, stk_view views[2],
                             stk__augment_batch *batch, stk_error *error)
{
    const size_t bytes = bytes_of(source->image) + bytes_of(source->mask) + 32;
    STK__TRY(stk__buffer_reserve(arena, bytes, error));
    memset(arena->data, 0xEE, bytes);
    views[0] = append_pixels(source->image, batch, arena->data);
    views[1] = append_pixels(source->mask, batch, arena->data);
    batch->count = 1;
    batch->arena = arena->data;
    batch->images = &views[0];
    batch->masks = source->mask.data ? &views[1] : NULL;
    return STK_OK;
}

stk_status check_augment_host_build(const stk__augment_block *block, const stk__augment_source *source,
                                    const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    stk_view views[2];
    stk__buffer samples = {0};
    stk__augment_batch batch = {.blocks = block, .target = *target};
    stk_status status = make_batch(source, scratch, views, &batch, error);
    if (status == STK_OK) status = stk__host_build_batch(&batch, &samples, error);
    stk__buffer_fini(&samples);
    return status;
}

static const char *why_not(tried_device *tried, const char *name)
{
    if (!tried->tried) stk__device_open(&tried->device, name, &tried->error);
    tried->tried = true;
    return tried->device ? NULL : tried->error.message;
}

const char *check_opencl_why_not(void)
{
    return why_not(&opencl, "opencl:0");
}

const char *check_cuda_why_not(void)
{
    return why_not(&cuda, "cuda:0");
}

stk_status check_augment_opencl(const stk__augment_block *block, const stk__augment_source *source,
                                const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    stk_view views[2];
    stk__augment_batch batch = {.blocks = block, .target = *target};
    STK__TRY(make_batch(source, scratch, views, &batch, error));
    return stk__device_augment(opencl.device, &batch, error);
}

stk_status check_augment_cuda(const stk__augment_block *block, const stk__augment_source *source,
                              const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    stk_view views[2];
    stk__augment_batch batch = {.blocks = block, .target = *target};
    STK__TRY(make_batch(source, scratch, views, &batch, error));
    return stk__device_augment(cuda.device, &batch, error);
}

void check_devices_close(void)
{
    stk__device_close(&opencl.device);
    stk__device_close(&cuda.device);
    opencl.tried = cuda.tried = false;
}
