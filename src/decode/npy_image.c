/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of NumPy as images: uint8 of [h w], [h w 1] or [h w 3], in C order, copied row by row with the
 * channels converted; as masks [h w] or [h w 1]. */
#include "decode/format.h"

#include "core/npy.h"

#include <string.h>

enum { ROWS_PER_LOOK = 32 };

/* The state is the decoder's limits, which it owns. */
static stk_status create_state(void **state, const stk__limits *limits, stk_error *error)
{
    (void)error;
    *state = (void *)(uintptr_t)limits;
    return STK_OK;
}

static void destroy_state(void *state)
{
    (void)state;
}

/* Arrays of bytes: [h w], [h w 1] or [h w 3]. */
static stk_status read_array(stk__encoded bytes, stk__npy *npy, stk__picture *picture, stk_error *error)
{
    STK__TRY(stk__npy_parse(npy, bytes.data, bytes.size_bytes, error));
    if (npy->kind != 'u' || npy->item_bytes != 1)
        return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "npy image has dtype '%c%d' instead of 'u1'",
                            npy->kind, npy->item_bytes);
    if (npy->fortran) return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "npy image in Fortran order");
    const uint64_t channels = npy->ndim == 2 ? 1 : npy->shape[2];
    if (npy->ndim < 2 || npy->ndim > 3 || (channels != 1 && channels != 3))
        return stk__damaged(error, STK_DAMAGE_UNSUPPORTED,
                            "npy image has a shape other than [h w], [h w 1] or [h w 3]");
    if (npy->shape[0] > INT32_MAX || npy->shape[1] > INT32_MAX)
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy image is too large");
    picture->h = (int32_t)npy->shape[0];
    picture->w = (int32_t)npy->shape[1];
    picture->channels = (int32_t)channels;
    picture->depth_bits = 8;
    return STK_OK;
}

static stk_status read_header(void *state, stk__encoded bytes, stk__picture *picture, stk_error *error)
{
    (void)state;
    stk__npy npy;
    return read_array(bytes, &npy, picture, error);
}

static void convert_row(const uint8_t *from, int32_t channels, uint8_t *to, stk__pixels target)
{
    if (channels == target.channels) {
        memcpy(to, from, (size_t)target.w * (size_t)channels);
        return;
    }
    for (int32_t x = 0; x < target.w; x++, from += channels, to += target.channels) {
        if (channels == 3)
            *to = stk__luma(from[0], from[1], from[2]);
        else
            to[0] = to[1] = to[2] = *from;
    }
}

static stk_status decode_image(void *state, stk__encoded bytes, const stk__picture *picture,
                               stk__pixels target, stk_error *error)
{
    (void)picture;
    stk__npy npy;
    stk__picture found = {0};
    stk__deadline deadline = stk__deadline_start(state);
    STK__TRY(read_array(bytes, &npy, &found, error));
    STK__TRY(stk__npy_check_size(&npy, bytes.size_bytes, error));
    if (found.w != target.w || found.h != target.h)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the header belongs to another image");
    const stk__pixels stored = {(uint8_t *)bytes.data + npy.offset_bytes,
                                (size_t)found.w * (size_t)found.channels, found.w, found.h, found.channels};
    for (int32_t y = 0; y < target.h; y++) {
        convert_row(stk__pixels_row(stored, y), found.channels, stk__pixels_row(target, y), target);
        if (y % ROWS_PER_LOOK == 0 && stk__deadline_passed(&deadline))
            return stk__deadline_fail(&deadline, error);
    }
    return STK_OK;
}

static stk_status decode_mask(void *state, stk__encoded bytes, const stk__picture *picture,
                              stk__pixels target, stk_error *error)
{
    stk__npy npy;
    stk__picture found = {0};
    STK__TRY(read_array(bytes, &npy, &found, error));
    if (found.channels != 1)
        return stk__damaged(error, STK_DAMAGE_MASK_FORMAT,
                            "an npy array with 3 channels is not a mask of class ids");
    return decode_image(state, bytes, picture, target, error);
}

static const char *const extensions[] = {"npy", NULL};
static const uint8_t magic[STK_NPY_MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

const stk__format_ops stk__format_npy = {
    .number = STK_FORMAT_NPY,
    .name = "npy",
    .extensions = extensions,
    .magic = magic,
    .magic_bytes = sizeof magic,
    .create = create_state,
    .destroy = destroy_state,
    .header = read_header,
    .image = decode_image,
    .mask = decode_mask,
};
