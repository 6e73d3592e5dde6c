/* SPDX-License-Identifier: Apache-2.0 */
/* PNG encoder: rows are filtered one after the other into one buffer, libdeflate compresses them in one call,
 * and the chunks are built around the result in the caller's buffer. The same pixels and options give the
 * same bytes. A writer belongs to one thread at a time. */
#include "image/png_write.h"

#include <libdeflate.h>
#include <string.h>

enum { CHUNK_EXTRA_BYTES = 12, HEADER_BYTES = 13, PALETTE_BYTES = 256 * 3, LOOKAHEAD_BYTES = 64 };
enum { COLOUR_GREY = 0, COLOUR_RGB = 2, COLOUR_PALETTE = 3 };        /* PNG's numbers */
enum { FILTER_NONE = 0, FILTER_LEFT = 1, FILTER_UP = 2, DEPTH = 8 }; /* of these, too */

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

struct stk__png_writer {
    struct libdeflate_compressor *deflate;
    stk__buffer rows; /* each row behind its filter's number */
};

stk_status stk__png_writer_create(stk__png_writer **writer, int level, stk_error *error)
{
    *writer = stk__alloc(sizeof **writer);
    if (!*writer) return stk__fail_memory(error, sizeof **writer, "a PNG writer");
    (*writer)->deflate = libdeflate_alloc_compressor(level);
    if ((*writer)->deflate) return STK_OK;
    stk__png_writer_destroy(writer);
    return stk__fail_memory(error, 0, "a compressor");
}

void stk__png_writer_destroy(stk__png_writer **writer)
{
    if (!*writer) return;
    if ((*writer)->deflate) libdeflate_free_compressor((*writer)->deflate);
    stk__buffer_fini(&(*writer)->rows);
    stk__free(*writer);
    *writer = NULL;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* A row of bytes; each has its left neighbour one pixel before. */
typedef struct line {
    const uint8_t *row, *above; /* above NULL: the first row */
    size_t size, pixel;         /* in bytes */
} line;

static uint8_t left_of(const line *l, size_t x)
{
    return x < l->pixel ? 0 : l->row[x - l->pixel];
}

/* Sum of the differences as signed bytes, the usual guess at how well a row will compress. */
static uint32_t cost(uint8_t difference)
{
    return difference < 128 ? difference : 256u - difference;
}

static uint8_t find_best(const line *l)
{
    uint32_t none = 0, left = 0, up = 0;
    for (size_t x = 0; x < l->size; x++) {
        none += cost(l->row[x]);
        left += cost((uint8_t)(l->row[x] - left_of(l, x)));
        up += l->above ? cost((uint8_t)(l->row[x] - l->above[x])) : 128;
    }
    return none <= left && none <= up ? FILTER_NONE : left <= up ? FILTER_LEFT : FILTER_UP;
}

static uint8_t choose_filter(const line *l, stk__png_filter filter)
{
    if (filter == STK_PNG_BEST) return find_best(l);
    return filter == STK_PNG_LEFT ? FILTER_LEFT : FILTER_NONE;
}

static void filter_row(uint8_t *out, const line *l)
{
    if (out[0] == FILTER_NONE) memcpy(out + 1, l->row, l->size);
    for (size_t x = 0; out[0] == FILTER_LEFT && x < l->size; x++)
        out[x + 1] = (uint8_t)(l->row[x] - left_of(l, x));
    for (size_t x = 0; out[0] == FILTER_UP && x < l->size; x++)
        out[x + 1] = (uint8_t)(l->row[x] - l->above[x]);
}

static void filter_rows(const stk__png_writer *writer, stk__pixels pixels, stk__png_filter filter)
{
    const size_t pixel = (size_t)pixels.channels, row_bytes = (size_t)pixels.w * pixel + 1;
    for (int32_t y = 0; y < pixels.h; y++) {
        const line l = {stk__pixels_row(pixels, y), y ? stk__pixels_row(pixels, y - 1) : NULL, row_bytes - 1,
                        pixel};
        uint8_t *out = writer->rows.data + row_bytes * (size_t)y;
        out[0] = choose_filter(&l, filter);
        filter_row(out, &l);
    }
}

/* --- chunks -------------------------------------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *out++ = (uint8_t)(value >> shift);
    return out;
}

/* Length, name and checksum around `size` bytes that stand at start + 8 already; returns the end. */
static uint8_t *close_chunk(uint8_t *start, const char *name, size_t size)
{
    put_number(start, (uint32_t)size);
    memcpy(start + 4, name, 4);
    return put_number(start + 8 + size, libdeflate_crc32(0, start + 4, size + 4));
}

static uint8_t *put_head(uint8_t *out, stk__pixels pixels, bool palette)
{
    memcpy(out, signature, sizeof signature);
    uint8_t *chunk = out + sizeof signature;
    uint8_t *kind = put_number(put_number(chunk + 8, (uint32_t)pixels.w), (uint32_t)pixels.h);
    const uint8_t colour = palette ? COLOUR_PALETTE : pixels.channels == 3 ? COLOUR_RGB : COLOUR_GREY;
    memcpy(kind, (const uint8_t[]){DEPTH, colour, 0, 0, 0}, 5); /* deflate, filters; not interlaced */
    return close_chunk(chunk, "IHDR", HEADER_BYTES);
}

static int find_highest(stk__pixels ids)
{
    uint8_t highest = 0;
    for (int32_t y = 0; y < ids.h; y++)
        for (int32_t x = 0; x < ids.w; x++)
            highest = stk__pixels_row(ids, y)[x] > highest ? stk__pixels_row(ids, y)[x] : highest;
    return highest;
}

/* Has a colour for every id, as PNG demands. */
static uint8_t *put_palette(uint8_t *chunk, stk__pixels ids, const stk__png_options *options)
{
    const int needed = find_highest(ids) + 1;
    const int count = needed > options->palette_count ? needed : options->palette_count;
    memset(chunk + 8, 0, PALETTE_BYTES);
    memcpy(chunk + 8, options->palette, (size_t)options->palette_count * 3);
    return close_chunk(chunk, "PLTE", (size_t)count * 3);
}

stk_status stk__png_write(stk__png_writer *writer, stk__pixels pixels, const stk__png_options *options,
                          stk__buffer *file, stk_error *error)
{
    const size_t raw_bytes = ((size_t)pixels.w * (size_t)pixels.channels + 1) * (size_t)pixels.h;
    const size_t room = libdeflate_zlib_compress_bound(writer->deflate, raw_bytes);
    const size_t frame = sizeof signature + HEADER_BYTES + PALETTE_BYTES + 4 * CHUNK_EXTRA_BYTES;
    file->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(&writer->rows, raw_bytes, error));
    STK__TRY(stk__buffer_reserve(file, frame + room + LOOKAHEAD_BYTES, error));
    filter_rows(writer, pixels, options->filter);
    uint8_t *at = put_head(file->data, pixels, options->palette_count > 0);
    if (options->palette_count) at = put_palette(at, pixels, options);
    const size_t size = libdeflate_zlib_compress(writer->deflate, writer->rows.data, raw_bytes, at + 8, room);
    if (size == 0) return stk__fail(error, STK_ERROR_MEMORY, "cannot compress %zu bytes", raw_bytes);
    at = close_chunk(close_chunk(at, "IDAT", size), "IEND", 0);
    file->size_bytes = (size_t)(at - file->data);
    memset(at, 0, LOOKAHEAD_BYTES);
    return STK_OK;
}
