/* SPDX-License-Identifier: Apache-2.0 */
/* Images and masks: what is stored of them, and that it means the same. */
#include "decode/format.h"
#include "decode/png.h"
#include "pack/packer_picture.h"

#include <string.h>

static stk__encoded encoded_of(const stk__buffer *buffer)
{
    return (stk__encoded){buffer->data, buffer->size_bytes};
}

static bool is_same_picture(const stk__picture *a, const stk__picture *b)
{
    return a->w == b->w && a->h == b->h && a->channels == b->channels && a->orientation == b->orientation;
}

/* Pixels as stored, not turned, into the buffer. */
static stk_status decode_pixels(stk__packer *packer, stk__encoded bytes, const stk__picture *picture,
                                stk__buffer *pixels, stk_error *error)
{
    stk__picture stored = *picture;
    stored.orientation = 1;
    pixels->size_bytes = 0;
    const size_t size = (size_t)picture->w * (size_t)picture->h * (size_t)picture->channels;
    STK__TRY(stk__buffer_reserve(pixels, size, error));
    pixels->size_bytes = size;
    const stk__pixels target = stk__pixels_dense(pixels->data, picture->w, picture->h, picture->channels);
    return stk__decode_image(packer->decoder, bytes, &stored, target, error);
}

static bool is_same_pixels(const stk__packer *packer)
{
    return packer->before.size_bytes == packer->after.size_bytes &&
           memcmp(packer->before.data, packer->after.data, packer->before.size_bytes) == 0;
}

/* A failure of our own version does not make the sample bad: only memory is passed on. */
static stk_status try_rewrite(stk__packer *packer, const stk__picture *picture, bool *good, stk_error *error)
{
    stk__picture written;
    *good = false;
    stk_status status = stk__jpeg_rewrite(packer->jpeg, encoded_of(&packer->bytes), picture->orientation,
                                          &packer->file, error);
    const stk__encoded file = encoded_of(&packer->file);
    if (status == STK_OK) status = stk__decode_header(packer->decoder, file, "jpg", &written, error);
    if (status == STK_OK && !is_same_picture(picture, &written)) return STK_OK;
    if (status == STK_OK) status = decode_pixels(packer, file, &written, &packer->after, error);
    *good = status == STK_OK && is_same_pixels(packer);
    return status == STK_ERROR_MEMORY ? status : STK_OK;
}

static stk_status take_jpeg(stk__packer *packer, stk__pack_picture *picture, stk_error *error)
{
    bool good;
    STK__TRY(try_rewrite(packer, &picture->header, &good, error));
    picture->bytes = encoded_of(good ? &packer->file : &packer->bytes);
    picture->kept = !good;
    return STK_OK;
}

stk_status stk__packer_image(stk__packer *packer, const char *promised, stk__pack_picture *picture,
                             stk_error *error)
{
    const stk__encoded bytes = encoded_of(&packer->bytes);
    *picture = (stk__pack_picture){.bytes = bytes, .extension = "jpg"};
    STK__TRY(stk__decode_header(packer->decoder, bytes, promised, &picture->header, error));
    STK__TRY(decode_pixels(packer, bytes, &picture->header, &packer->before, error));
    if (picture->header.format == &stk__format_jpeg) return take_jpeg(packer, picture, error);
    picture->extension = picture->header.format->extensions[0]; /* copied as it is, and named so */
    return STK_OK;
}

/* What is written has no colors any more: then the table is not used. */
static stk_status decode_ids(stk__packer *packer, stk__encoded bytes, stk__picture *picture, stk__buffer *ids,
                             stk_error *error)
{
    const size_t size = (size_t)picture->w * (size_t)picture->h;
    ids->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(ids, size, error));
    ids->size_bytes = size;
    return stk__decode_mask(packer->decoder, bytes, picture,
                            &(stk__mask_options){.orientation = 1, .colors = packer->colors},
                            stk__pixels_dense(ids->data, picture->w, picture->h, 1), error);
}

/* The colours of a palette belong to the file: they are read again from its chunks. */
static stk_status find_palette(const stk__packer *packer, const stk__picture *picture,
                               stk__png_options *options, stk_error *error)
{
    stk__png png;
    *options = (stk__png_options){.filter = STK_PNG_NONE};
    if (picture->format != &stk__format_png) return STK_OK;
    STK__TRY(stk__png_read_chunks(encoded_of(&packer->bytes), &png, error));
    if (png.colour != STK_PNG_PALETTE) return STK_OK;
    options->palette = png.palette;
    options->palette_count = png.palette_count;
    return STK_OK;
}

static stk_status check_ids(stk__packer *packer, stk_error *error)
{
    stk__picture written;
    const stk__encoded file = encoded_of(&packer->file);
    STK__TRY(stk__decode_header(packer->decoder, file, "png", &written, error));
    STK__TRY(decode_ids(packer, file, &written, &packer->after, error));
    if (is_same_pixels(packer)) return STK_OK;
    return stk__fail(error, STK_ERROR_DATA,
                     "the mask that was written has other class ids than the original");
}

stk_status stk__packer_mask(stk__packer *packer, const char *promised, stk__pack_picture *picture,
                            stk_error *error)
{
    const stk__encoded bytes = encoded_of(&packer->bytes);
    stk__picture *header = &picture->header;
    stk__png_options options;
    *picture = (stk__pack_picture){.extension = "png"};
    STK__TRY(stk__decode_header(packer->decoder, bytes, promised, header, error));
    STK__TRY(decode_ids(packer, bytes, header, &packer->before, error));
    STK__TRY(find_palette(packer, header, &options, error));
    STK__TRY(stk__png_write(packer->masks, stk__pixels_dense(packer->before.data, header->w, header->h, 1),
                            &options, &packer->file, error));
    picture->bytes = encoded_of(&packer->file);
    return check_ids(packer, error);
}
