/* SPDX-License-Identifier: Apache-2.0 */
/* Changes PNG files so that most of them pass the checksums: raw bytes with right CRCs, or the rows behind
 * the compression, fitted to the size in the header. */
#include "fuzz.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 8, HEADER_END = 33, EXTRA_BYTES = 12, ROWS_BYTES = 1 << 16 };

static uint32_t read_number(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void write_number(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* The size of the whole chunk at `at`; 0: there is none. */
static size_t chunk_bytes(const uint8_t *data, size_t size, size_t at)
{
    if (at > size || size - at < EXTRA_BYTES || read_number(data + at) > size - at - EXTRA_BYTES) return 0;
    return (size_t)read_number(data + at) + EXTRA_BYTES;
}

static void fix_sums(uint8_t *data, size_t size)
{
    if (size < FIRST_CHUNK || memcmp(data, "\x89PNG", 4) != 0) return; /* pack: another format */
    for (size_t at = FIRST_CHUNK, bytes; (bytes = chunk_bytes(data, size, at)); at += bytes)
        write_number(data + at + bytes - 4, libdeflate_crc32(0, data + at + 4, bytes - 8));
}

/* The compressed data: all chunks from the first IDAT to behind the last. */
typedef struct stream {
    size_t start, end;          /* in the file */
    uint8_t packed[ROWS_BYTES]; /* joined */
    size_t packed_bytes;
    uint8_t rows[ROWS_BYTES];
    size_t rows_bytes;
} stream;

static bool find_stream(stream *s, const uint8_t *data, size_t size)
{
    s->start = s->end = s->packed_bytes = 0;
    for (size_t at = FIRST_CHUNK, bytes; (bytes = chunk_bytes(data, size, at)); at += bytes) {
        if (memcmp(data + at + 4, "IDAT", 4) != 0) continue;
        if (!s->start) s->start = at;
        s->end = at + bytes;
        if (s->packed_bytes + bytes > ROWS_BYTES) return false;
        memcpy(s->packed + s->packed_bytes, data + at + 8, bytes - EXTRA_BYTES);
        s->packed_bytes += bytes - EXTRA_BYTES;
    }
    return s->start > 0;
}

static bool inflate_rows(stream *s)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    const enum libdeflate_result result =
        libdeflate_zlib_decompress(inflater, s->packed, s->packed_bytes, s->rows, ROWS_BYTES, &s->rows_bytes);
    libdeflate_free_decompressor(inflater);
    return result == LIBDEFLATE_SUCCESS;
}

/* As many bytes as the header asks for, without interlacing. */
static size_t wanted_bytes(const uint8_t *data)
{
    static const unsigned samples[] = {1, 0, 3, 1, 2, 0, 4, 0};
    const uint64_t w = read_number(data + 16), h = read_number(data + 20);
    const uint64_t row = (w % 4096 * data[24] * samples[data[25] & 7] + 7) / 8 + 1;
    return (size_t)(row * (h % 4096) % ROWS_BYTES);
}

static void fit_rows(stream *s, const uint8_t *data)
{
    const size_t wanted = wanted_bytes(data);
    if (wanted > s->rows_bytes) memset(s->rows + s->rows_bytes, 0, wanted - s->rows_bytes);
    s->rows_bytes = wanted;
}

/* The file with these rows in one chunk; 0: it does not fit. */
static size_t put_rows(stream *s, uint8_t *data, size_t size, size_t most)
{
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(s->rows_bytes % 2 ? 1 : 6);
    const size_t packed =
        libdeflate_zlib_compress(deflater, s->rows, s->rows_bytes, s->packed, sizeof s->packed);
    libdeflate_free_compressor(deflater);
    const size_t rest = size - s->end, whole = s->start + EXTRA_BYTES + packed + rest;
    if (packed == 0 || whole > most) return 0;
    memmove(data + whole - rest, data + s->end, rest);
    write_number(data + s->start, (uint32_t)packed);
    memcpy(data + s->start + 4, "IDAT", 4);
    memcpy(data + s->start + 8, s->packed, packed);
    fix_sums(data, whole);
    return whole;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static stream s;
    if (seed % 4 < 2 && size >= HEADER_END && find_stream(&s, data, size) && inflate_rows(&s)) {
        if (seed % 4)
            s.rows_bytes = LLVMFuzzerMutate(s.rows, s.rows_bytes, ROWS_BYTES);
        else
            LLVMFuzzerMutate(data + 16, 13, 13); /* the header */
        if (seed % 16 < 12) fit_rows(&s, data);
        const size_t made = put_rows(&s, data, size, most);
        if (made) return made;
    }
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 != 7) fix_sums(data, size);
    return size;
}
