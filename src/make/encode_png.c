#include "make/encode.h"

#include <libdeflate.h>
#include <string.h>

enum { LEVEL = 4, FRAME_BYTES = 8 + 25 + 12 + 12, DATA_AT = 8 + 25 + 8 };

struct stk__encoder {
    struct libdeflate_compressor *deflate;
    stk__buffer rows; /* each row behind its filter's number */
};

stk_status stk__encoder_create(stk__encoder **encoder, stk_error *error)
{
    *encoder = stk__alloc(sizeof **encoder);
    if (!*encoder) return stk__fail_memory(error, sizeof **encoder, "an encoder");
    (*encoder)->deflate = libdeflate_alloc_compressor(LEVEL);
    if ((*encoder)->deflate) return STK_OK;
    stk__encoder_destroy(encoder);
    return stk__fail_memory(error, 0, "a compressor");
}

void stk__encoder_destroy(stk__encoder **encoder)
{
    if (!*encoder) return;
    if ((*encoder)->deflate) libdeflate_free_compressor((*encoder)->deflate);
    stk__buffer_fini(&(*encoder)->rows);
    stk__free(*encoder);
    *encoder = NULL;
}

static uint8_t *put_u32(uint8_t *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *out++ = (uint8_t)(value >> shift);
    return out;
}

/* Length, name and checksum around `size` bytes that stand at start + 8 already; returns the end. */
static uint8_t *frame_chunk(uint8_t *start, const char *name, size_t size)
{
    put_u32(start, (uint32_t)size);
    memcpy(start + 4, name, 4);
    return put_u32(start + 8 + size, libdeflate_crc32(0, start + 4, size + 4));
}

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

static uint8_t choose_filter(const line *l)
{
    uint32_t none = 0, left = 0, up = 0;
    for (size_t x = 0; x < l->size; x++) {
        none += cost(l->row[x]);
        left += cost((uint8_t)(l->row[x] - left_of(l, x)));
        up += l->above ? cost((uint8_t)(l->row[x] - l->above[x])) : 128;
    }
    return none <= left && none <= up ? 0 : left <= up ? 1 : 2;
}

static void filter_row(uint8_t *out, const line *l)
{
    if (out[0] == 0) memcpy(out + 1, l->row, l->size);
    for (size_t x = 0; out[0] == 1 && x < l->size; x++)
        out[x + 1] = (uint8_t)(l->row[x] - left_of(l, x));
    for (size_t x = 0; out[0] == 2 && x < l->size; x++)
        out[x + 1] = (uint8_t)(l->row[x] - l->above[x]);
}

static stk_status filter_rows(stk__encoder *encoder, stk__pixels pixels, stk__png_filter filter,
                              stk_error *error)
{
    const size_t pixel = (size_t)pixels.channels, row_bytes = (size_t)pixels.w * pixel + 1;
    STK__TRY(stk__buffer_reserve(&encoder->rows, row_bytes * (size_t)pixels.h, error));
    for (int32_t y = 0; y < pixels.h; y++) {
        const line l = {stk__pixels_row(pixels, y), y ? stk__pixels_row(pixels, y - 1) : NULL, row_bytes - 1,
                        pixel};
        uint8_t *out = encoder->rows.data + row_bytes * (size_t)y;
        out[0] = filter == STK_PNG_BEST ? choose_filter(&l) : 1;
        filter_row(out, &l);
    }
    return STK_OK;
}

stk_status stk__encode_png(stk__encoder *encoder, stk__pixels pixels, stk__png_filter filter,
                           stk__buffer *file, stk_error *error)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    const size_t raw_bytes = ((size_t)pixels.w * (size_t)pixels.channels + 1) * (size_t)pixels.h;
    const size_t room = libdeflate_zlib_compress_bound(encoder->deflate, raw_bytes);
    STK__TRY(filter_rows(encoder, pixels, filter, error));
    file->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(file, FRAME_BYTES + room, error));
    memcpy(file->data, signature, sizeof signature);
    uint8_t *header = file->data + sizeof signature;
    put_u32(put_u32(header + 8, (uint32_t)pixels.w), (uint32_t)pixels.h);
    memcpy(header + 16, "\x08\0\0\0\0", 5);   /* 8 bits, grey, deflate, filters, not interlaced */
    if (pixels.channels == 3) header[17] = 2; /* RGB */
    frame_chunk(header, "IHDR", 13);
    const size_t size =
        libdeflate_zlib_compress(encoder->deflate, encoder->rows.data, raw_bytes, file->data + DATA_AT, room);
    if (size == 0) return stk__fail(error, STK_ERROR_MEMORY, "cannot compress %zu bytes", raw_bytes);
    uint8_t *end = frame_chunk(file->data + DATA_AT - 8, "IDAT", size);
    end = frame_chunk(end, "IEND", 0);
    file->size_bytes = (size_t)(end - file->data);
    return STK_OK;
}
