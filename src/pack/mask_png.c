/* PNG files for masks: 8-bit grey or palette, no row filters, deflate by libdeflate; chosen for decoding
 * speed. One writer per thread. */
#include "pack/mask_png.h"

#include <libdeflate.h>
#include <string.h>

/* Measured with our decoder on masks of faces: rows without filters take half the instructions of rows by
 * their left neighbours, and higher levels save less than they cost. */
enum { LEVEL = 6, LOOKAHEAD_BYTES = 64 };

enum { SIGNATURE_BYTES = 8, CHUNK_EXTRA_BYTES = 12, HEADER_BYTES = 13, PALETTE_BYTES = 256 * 3 };
enum { COLOUR_GREY = 0, COLOUR_PALETTE = 3 };

struct stk__mask_writer {
    struct libdeflate_compressor *deflate;
    stk__buffer rows; /* each behind its filter's number, 0 */
};

stk_status stk__mask_writer_create(stk__mask_writer **writer, stk_error *error)
{
    *writer = stk__alloc(sizeof **writer);
    if (!*writer) return stk__fail_memory(error, sizeof **writer, "a writer of masks");
    (*writer)->deflate = libdeflate_alloc_compressor(LEVEL);
    if ((*writer)->deflate) return STK_OK;
    stk__mask_writer_destroy(writer);
    return stk__fail(error, STK_ERROR_MEMORY, "no memory for a compressor");
}

void stk__mask_writer_destroy(stk__mask_writer **writer)
{
    if (!*writer) return;
    if ((*writer)->deflate) libdeflate_free_compressor((*writer)->deflate);
    stk__buffer_fini(&(*writer)->rows);
    stk__free(*writer);
    *writer = NULL;
}

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

/* Copies the rows; returns the highest id. */
static int lay_rows(const stk__mask_writer *writer, stk__pixels ids)
{
    uint8_t *out = writer->rows.data, highest = 0;
    for (int32_t y = 0; y < ids.h; y++) {
        const uint8_t *row = stk__pixels_row(ids, y);
        *out++ = 0;
        for (int32_t x = 0; x < ids.w; x++)
            highest = row[x] > highest ? row[x] : highest;
        memcpy(out, row, (size_t)ids.w);
        out += ids.w;
    }
    return highest;
}

static uint8_t *put_head(uint8_t *out, stk__pixels ids, bool palette)
{
    static const uint8_t signature[SIGNATURE_BYTES] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    memcpy(out, signature, sizeof signature);
    uint8_t *chunk = out + sizeof signature,
            *rest = put_number(put_number(chunk + 8, (uint32_t)ids.w), (uint32_t)ids.h);
    const uint8_t kind[] = {8, palette ? COLOUR_PALETTE : COLOUR_GREY, 0, 0,
                            0}; /* depth, colour; not interlaced */
    memcpy(rest, kind, sizeof kind);
    return close_chunk(chunk, "IHDR", HEADER_BYTES);
}

static uint8_t *put_palette(uint8_t *chunk, stk__mask_palette palette, int highest)
{
    const int count = highest < palette.count ? palette.count : highest + 1;
    memset(chunk + 8, 0, PALETTE_BYTES);
    memcpy(chunk + 8, palette.colours, (size_t)palette.count * 3);
    return close_chunk(chunk, "PLTE", (size_t)count * 3);
}

stk_status stk__mask_write(stk__mask_writer *writer, stk__pixels ids, stk__mask_palette palette,
                           stk__buffer *file, stk_error *error)
{
    const size_t raw = ((size_t)ids.w + 1) * (size_t)ids.h;
    const size_t room = libdeflate_zlib_compress_bound(writer->deflate, raw);
    const size_t frame = SIGNATURE_BYTES + HEADER_BYTES + PALETTE_BYTES + 4 * CHUNK_EXTRA_BYTES;
    file->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(&writer->rows, raw, error));
    STK__TRY(stk__buffer_reserve(file, frame + room + LOOKAHEAD_BYTES, error));
    const int highest = lay_rows(writer, ids);
    uint8_t *at = put_head(file->data, ids, palette.count > 0);
    if (palette.count) at = put_palette(at, palette, highest);
    const size_t size = libdeflate_zlib_compress(writer->deflate, writer->rows.data, raw, at + 8, room);
    at = close_chunk(close_chunk(at, "IDAT", size), "IEND", 0);
    file->size_bytes = (size_t)(at - file->data);
    memset(at, 0, LOOKAHEAD_BYTES);
    return STK_OK;
}
