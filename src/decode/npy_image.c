/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of NumPy as images: uint8 of [h w], [h w 1] or [h w 3], in C order, copied row by row with the
 * channels converted. Masks are [h w] or [h w 1] of integers of any width or bool, as NumPy's own functions
 * make them, if all ids fit in a byte. */
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

static bool is_bytes(const stk__npy *npy)
{
    return npy->kind == 'u' && npy->item_bytes == 1;
}

static stk_status refuse_type(const stk__npy *npy, const char *what, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "npy %s has dtype '%c%d' instead of 'u1'", what, npy->kind,
                 npy->item_bytes);
    stk__error_hint(error, npy->kind == 'f'
                               ? "images: save (255 * array).astype('uint8') of values from 0 to "
                                 "1; masks: array.astype('uint8')"
                               : "save array.astype('uint8')");
    return STK_ERROR_SAMPLE;
}

/* [h w] or [h w 1], or of bytes [h w 3]. Integers may be a mask: an image refuses them. */
static stk_status read_array(stk__encoded bytes, stk__npy *npy, stk__picture *picture, stk_error *error)
{
    STK__TRY(stk__npy_parse(npy, bytes.data, bytes.size_bytes, error));
    const uint64_t channels = npy->ndim == 2 ? 1 : npy->shape[2];
    if (npy->kind == 'f' || (npy->ndim == 3 && channels != 1 && !is_bytes(npy)))
        return refuse_type(npy, "image", error);
    if (npy->fortran) {
        stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "npy image in Fortran order");
        stk__error_hint(error, "save numpy.ascontiguousarray(array)");
        return STK_ERROR_SAMPLE;
    }
    if (npy->ndim < 2 || npy->ndim > 3 || (channels != 1 && channels != 3)) {
        stk__damaged(error, STK_DAMAGE_UNSUPPORTED,
                     "npy image has a shape other than [h w], [h w 1] or [h w 3]");
        stk__error_hint(error,
                        "an array of many images: save each one as a file, such as CLASS/0.npy or .png");
        return STK_ERROR_SAMPLE;
    }
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

static stk_status refuse_id(int64_t id, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_MASK_IDS, "the mask has class id %lld, %s", (long long)id,
                 id < 0 ? "less than 0" : "more than 255");
    stk__error_hint(error, "class ids are 0 to 254; pixels to be ignored have 255");
    return STK_ERROR_SAMPLE;
}

/* Little endian: the first byte of an integer is the id if all others are 0. */
static stk_status narrow_row(const stk__npy *npy, const uint8_t *from, uint8_t *to, int32_t w,
                             stk_error *error)
{
    const size_t bytes = (size_t)npy->item_bytes;
    const unsigned unused = 64 - 8 * (unsigned)bytes;
    const uint64_t most = npy->kind == 'i' && bytes == 1 ? INT8_MAX : UINT8_MAX;
    for (int32_t x = 0; x < w; x++, from += bytes) {
        uint64_t id = 0;
        memcpy(&id, from, bytes);
        if (id > most)
            return refuse_id(npy->kind == 'i' ? (int64_t)(id << unused) >> unused
                             : id > INT64_MAX ? INT64_MAX
                                              : (int64_t)id,
                             error);
        to[x] = (uint8_t)id;
    }
    return STK_OK;
}

typedef struct array {
    stk__npy npy;
    const uint8_t *first; /* item */
    size_t row_bytes;
    int32_t channels;
} array;

static stk_status open_array(stk__encoded bytes, stk__pixels target, array *a, stk_error *error)
{
    stk__picture found = {0};
    STK__TRY(read_array(bytes, &a->npy, &found, error));
    STK__TRY(stk__npy_check_size(&a->npy, bytes.size_bytes, error));
    if (found.w != target.w || found.h != target.h)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the header belongs to another image");
    a->first = bytes.data + a->npy.offset_bytes;
    a->channels = found.channels;
    a->row_bytes = (size_t)found.w * (size_t)found.channels * (size_t)a->npy.item_bytes;
    return STK_OK;
}

static stk_status decode_image(void *state, stk__encoded bytes, const stk__picture *picture,
                               stk__pixels target, stk_error *error)
{
    (void)picture;
    array a;
    stk__deadline deadline = stk__deadline_start(state);
    STK__TRY(open_array(bytes, target, &a, error));
    if (!is_bytes(&a.npy)) return refuse_type(&a.npy, "image", error);
    for (int32_t y = 0; y < target.h; y++) {
        convert_row(a.first + (size_t)y * a.row_bytes, a.channels, stk__pixels_row(target, y), target);
        if (y % ROWS_PER_LOOK == 0 && stk__deadline_passed(&deadline))
            return stk__deadline_fail(&deadline, error);
    }
    return STK_OK;
}

static stk_status decode_mask(void *state, stk__encoded bytes, const stk__picture *picture,
                              stk__pixels target, stk_error *error)
{
    (void)picture;
    array a;
    stk__deadline deadline = stk__deadline_start(state);
    STK__TRY(open_array(bytes, target, &a, error));
    if (a.channels != 1)
        return stk__damaged(error, STK_DAMAGE_MASK_FORMAT,
                            "an npy array with 3 channels is not a mask of class ids");
    for (int32_t y = 0; y < target.h; y++) {
        const uint8_t *from = a.first + (size_t)y * a.row_bytes;
        STK__TRY(narrow_row(&a.npy, from, stk__pixels_row(target, y), target.w, error));
        if (y % ROWS_PER_LOOK == 0 && stk__deadline_passed(&deadline))
            return stk__deadline_fail(&deadline, error);
    }
    return STK_OK;
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
