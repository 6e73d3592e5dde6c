/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a header of .npy and copies the rows behind it. Nothing changes after open: any thread
 * may read. */
#include "session/front/npy_source.h"

#include "core/npy.h"

#include <stdio.h>
#include <string.h>

enum { TAIL_BYTES = 64 /* readable, behind what is read */ };

typedef struct npy_source {
    stk__source source; /* first */
    stk_tensor images;
} npy_source;

static const stk_tensor *images_of(const stk__source *source)
{
    return &((const npy_source *)(const void *)source)->images;
}

static stk_status no_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts, stk_error *error)
{
    (void)source;
    (void)id;
    (void)error;
    *facts = (stk__sample_facts){.label = 0};
    return STK_OK;
}

/* One pixel after the other, or whole rows where they are dense. */
static void copy_image(const stk_tensor *t, uint64_t id, uint8_t *to)
{
    const int64_t *shape = t->shape, *strides = t->strides;
    const uint8_t *image = (const uint8_t *)t->data + (int64_t)id * strides[0];
    const bool dense = strides[3] == 1 && strides[2] == shape[3];
    for (int64_t y = 0; y < shape[1]; y++) {
        const uint8_t *row = image + y * strides[1];
        if (dense) memcpy(to, row, (size_t)(shape[2] * shape[3]));
        for (int64_t x = 0; !dense && x < shape[2]; x++)
            for (int64_t c = 0; c < shape[3]; c++)
                to[x * shape[3] + c] = row[x * strides[2] + c * strides[3]];
        to += shape[2] * shape[3];
    }
}

static stk_status read_image(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                             const char **extension, stk_error *error)
{
    const stk_tensor *t = images_of(source);
    const size_t bytes = (size_t)(t->shape[1] * t->shape[2] * t->shape[3]);
    (void)field;
    STK__TRY(stk__buffer_reserve(buffer, STK_NPY_IMAGE_BYTES + bytes + TAIL_BYTES, error));
    stk__npy_write_image(buffer->data, (int32_t)t->shape[1], (int32_t)t->shape[2], (int32_t)t->shape[3]);
    copy_image(t, id, buffer->data + STK_NPY_IMAGE_BYTES);
    buffer->size_bytes = STK_NPY_IMAGE_BYTES + bytes;
    *extension = "npy";
    return STK_OK;
}

static void name_image(const stk__source *source, uint64_t id, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "images[%llu]", (unsigned long long)id);
}

static void place_image(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    name_image(source, id, text, size);
}

static void close_source(stk__source *source)
{
    stk__free(source);
}

static const stk__source_ops npy_ops = {.name = "pixels",
                                        .facts = no_facts,
                                        .read = read_image,
                                        .key = name_image,
                                        .where = place_image,
                                        .close = close_source};

static stk_status check_images(const stk_tensor *t, stk_error *error)
{
    if (t->dtype != STK_DTYPE_U8 || t->ndim != 4 || !t->data)
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "images must be a tensor of u8 with dimensions [n h w c]");
    if (t->device != STK_DEVICE_CPU)
        return stk__fail(error, STK_ERROR_ARGUMENT, "images must be in host memory");
    if (t->shape[3] != 1 && t->shape[3] != 3)
        return stk__fail(error, STK_ERROR_ARGUMENT, "images have %lld channels; 1 or 3 are possible",
                         (long long)t->shape[3]);
    for (int d = 0; d < 3; d++)
        if (t->shape[d] < 1 || t->shape[d] > INT32_MAX)
            return stk__fail(error, STK_ERROR_ARGUMENT, "images have %lld in dimension %d of [n h w c]",
                             (long long)t->shape[d], d);
    return STK_OK;
}

stk_status stk__npy_source_open(stk__source **source, const stk_tensor *images, stk_error *error)
{
    STK__TRY(check_images(images, error));
    npy_source *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "a source");
    made->images = *images;
    made->source.ops = &npy_ops;
    made->source.info.layout = "images";
    made->source.info.images = true;
    made->source.info.count = (uint64_t)images->shape[0];
    made->source.info.fingerprint = stk__digest_of(&made->source.info.count, sizeof made->source.info.count);
    *source = &made->source;
    return STK_OK;
}
