/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of a PNG file: signature, IHDR, then every chunk with its CRC; the palette and the run of
 * IDAT chunks are remembered. Sizes are checked against what deflate can hold at best before pixels get
 * memory. Input is untrusted (fuzzed). */
#include "decode/exif.h"
#include "decode/mask_palette.h"
#include "decode/png.h"

#include <string.h>

enum { SIGNATURE_BYTES = 8, IHDR_BYTES = 13, CHUNK_EXTRA_BYTES = 12, DEFLATE_BEST_RATIO = 1032 };

static uint32_t read_number(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

typedef struct chunk {
    const uint8_t *start; /* its length field */
    const uint8_t *data;
    uint32_t size_bytes;
} chunk;

static bool is_type(const chunk *one, const char *type)
{
    return memcmp(one->start + 4, type, 4) == 0;
}

static stk__encoded span_of(const chunk *one)
{
    return (stk__encoded){one->start, (size_t)one->size_bytes + CHUNK_EXTRA_BYTES};
}

static bool is_letters(const uint8_t *type)
{
    for (int i = 0; i < 4; i++)
        if ((type[i] | 0x20) < 'a' || (type[i] | 0x20) > 'z') return false;
    return true;
}

static stk_status read_chunk(stk__encoded bytes, size_t at, chunk *one, stk_error *error)
{
    if (bytes.size_bytes - at < CHUNK_EXTRA_BYTES)
        return stk__damaged(error, STK_DAMAGE_TRUNCATED, "PNG is truncated at byte %zu, before IEND",
                            bytes.size_bytes);
    one->start = bytes.data + at;
    one->data = one->start + 8;
    one->size_bytes = read_number(one->start);
    if (!is_letters(one->start + 4))
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG chunk at byte %zu has an invalid type", at);
    if (one->size_bytes > bytes.size_bytes - at - CHUNK_EXTRA_BYTES)
        return stk__damaged(error, STK_DAMAGE_TRUNCATED, "PNG chunk '%.4s' of %u bytes is truncated",
                            (const char *)one->start + 4, one->size_bytes);
    const uint32_t sum = libdeflate_crc32(0, one->start + 4, (size_t)one->size_bytes + 4);
    if (sum != read_number(one->data + one->size_bytes))
        return stk__damaged(error, STK_DAMAGE_BAD_CHECKSUM,
                            "PNG chunk '%.4s' at byte %zu has a wrong checksum", (const char *)one->start + 4,
                            at);
    return STK_OK;
}

static int count_samples(stk__png_colour colour)
{
    static const uint8_t samples[] = {1, 0, 3, 1, 2, 0, 4};
    return (unsigned)colour < sizeof samples ? samples[colour] : 0;
}

static bool is_valid_depth(stk__png_colour colour, int depth_bits)
{
    const bool low = depth_bits == 1 || depth_bits == 2 || depth_bits == 4;
    if (depth_bits == 8) return true;
    if (depth_bits == 16) return colour != STK_PNG_PALETTE;
    return low && (colour == STK_PNG_GREY || colour == STK_PNG_PALETTE);
}

stk_status stk__png_read_header(stk__encoded bytes, stk__png *png, stk_error *error)
{
    *png = (stk__png){0};
    chunk header = {0};
    STK__TRY(read_chunk(bytes, SIGNATURE_BYTES, &header, error));
    if (!is_type(&header, "IHDR") || header.size_bytes != IHDR_BYTES)
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "PNG does not start with IHDR");
    const uint32_t w = read_number(header.data), h = read_number(header.data + 4);
    png->depth_bits = header.data[8];
    png->colour = header.data[9];
    png->interlaced = header.data[12] == 1;
    const int samples = count_samples(png->colour);
    if (w > INT32_MAX || h > INT32_MAX || samples == 0 || !is_valid_depth(png->colour, png->depth_bits) ||
        header.data[10] != 0 || header.data[11] != 0 || header.data[12] > 1)
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER,
                            "invalid PNG header: %u x %u, bit depth %d, color type %d", w, h, header.data[8],
                            header.data[9]);
    png->w = (int32_t)w;
    png->h = (int32_t)h;
    png->pixel_bits = samples * png->depth_bits;
    png->raw_row_bytes = ((size_t)w * (size_t)png->pixel_bits + 7) / 8;
    return STK_OK;
}

int stk__png_palette(stk__encoded bytes, const uint8_t **colors)
{
    enum { COLOR_TYPE_AT = 25, COLORS_MOST = 256 };
    size_t at = SIGNATURE_BYTES;
    if (bytes.size_bytes <= COLOR_TYPE_AT || memcmp(bytes.data + 1, "PNG", 3) != 0 ||
        bytes.data[COLOR_TYPE_AT] != STK_PNG_PALETTE)
        return 0;
    while (bytes.size_bytes - at >= CHUNK_EXTRA_BYTES) {
        const chunk one = {bytes.data + at, bytes.data + at + 8, read_number(bytes.data + at)};
        if (one.size_bytes > bytes.size_bytes - at - CHUNK_EXTRA_BYTES) return 0;
        if (is_type(&one, "PLTE")) {
            *colors = one.data;
            return one.size_bytes > 3 * COLORS_MOST ? 0 : (int)(one.size_bytes / 3);
        }
        at += (size_t)one.size_bytes + CHUNK_EXTRA_BYTES;
    }
    return 0;
}

/* By lengths alone; what is wrong with the chunks, and their checksums, is said when the image is decoded. */
stk__orientation stk__png_orientation(stk__encoded bytes)
{
    size_t at = SIGNATURE_BYTES;
    while (bytes.size_bytes - at >= CHUNK_EXTRA_BYTES) {
        const chunk one = {bytes.data + at, bytes.data + at + 8, read_number(bytes.data + at)};
        if (one.size_bytes > bytes.size_bytes - at - CHUNK_EXTRA_BYTES || is_type(&one, "IEND")) return 1;
        if (is_type(&one, "eXIf"))
            return stk__exif_block_orientation((stk__encoded){one.data, one.size_bytes});
        at += (size_t)one.size_bytes + CHUNK_EXTRA_BYTES;
    }
    return 1;
}

static stk_status take_palette(stk__png *png, const chunk *one, stk_error *error)
{
    const uint32_t most = png->colour == STK_PNG_PALETTE ? 1u << png->depth_bits : 256;
    const bool fits = one->size_bytes % 3 == 0 && one->size_bytes > 0 && one->size_bytes <= most * 3;
    if (png->palette || png->data_count || !fits)
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER,
                            "PNG palette of %u bytes is too long, a duplicate or too late", one->size_bytes);
    png->palette = one->data;
    png->palette_count = (int)(one->size_bytes / 3);
    return STK_OK;
}

static stk_status take_data(stk__png *png, const chunk *one, stk_error *error)
{
    const stk__encoded span = span_of(one);
    if (png->data_count == 0) {
        png->data_span = span;
        png->stream = one->data;
    } else if (png->data_span.data + png->data_span.size_bytes != span.data) {
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG data is interrupted by other chunks");
    } else {
        png->data_span.size_bytes += span.size_bytes;
    }
    png->data_count++;
    png->data_bytes += one->size_bytes;
    return STK_OK;
}

static stk_status take_chunk(stk__png *png, const chunk *one, stk_error *error)
{
    if (is_type(one, "IDAT")) return take_data(png, one, error);
    if (is_type(one, "PLTE")) return take_palette(png, one, error);
    if (is_type(one, "IEND")) {
        png->end_span = span_of(one);
        return STK_OK;
    }
    const bool optional = one->start[4] & 0x20; /* a small first letter */
    if (is_type(one, "IHDR")) return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "PNG with a duplicate IHDR");
    if (optional) return STK_OK;
    return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "PNG with the unsupported chunk '%.4s'",
                        (const char *)one->start + 4);
}

/* Before anything is allocated for the pixels: can the compressed data hold that many? */
static stk_status check_complete(const stk__png *png, stk_error *error)
{
    if (png->data_bytes == 0) return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG without image data");
    if (png->colour == STK_PNG_PALETTE && !png->palette)
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "PNG without its palette");
    if (png->raw_row_bytes * (size_t)png->h / DEFLATE_BEST_RATIO > png->data_bytes)
        return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG of %d x %d pixels with only %zu bytes of data",
                            png->w, png->h, png->data_bytes);
    return STK_OK;
}

stk_status stk__png_read_chunks(stk__encoded bytes, stk__png *png, stk_error *error)
{
    STK__TRY(stk__png_read_header(bytes, png, error));
    size_t at = SIGNATURE_BYTES + IHDR_BYTES + CHUNK_EXTRA_BYTES;
    while (!png->end_span.data) {
        chunk one = {0};
        STK__TRY(read_chunk(bytes, at, &one, error));
        STK__TRY(take_chunk(png, &one, error));
        at += (size_t)one.size_bytes + CHUNK_EXTRA_BYTES;
    }
    return check_complete(png, error);
}
