/* Every kind of PNG, by libspng. It is fed with the critical chunks only: what stands in the others can
 * neither cost memory nor change the verdict. */
#include "decode/png.h"

#include <stdlib.h>
#include <string.h>
#include <spng.h>

enum { CHUNK_LIMIT_BYTES = 1 << 20, ROWS_PER_LOOK = 32, SPAN_COUNT = 4 };

/* What libspng still has to read. */
typedef struct feed {
    stk__encoded spans[SPAN_COUNT];
    int next;
} feed;

static int read_feed(spng_ctx *codec, void *user, void *to, size_t size)
{
    (void)codec;
    feed *from = user;
    uint8_t *at = to;
    while (size > 0) {
        while (from->next < SPAN_COUNT && from->spans[from->next].size_bytes == 0)
            from->next++;
        if (from->next == SPAN_COUNT) return SPNG_IO_EOF;
        stk__encoded *span = &from->spans[from->next];
        const size_t part = size < span->size_bytes ? size : span->size_bytes;
        memcpy(at, span->data, part);
        at += part;
        size -= part;
        span->data += part;
        span->size_bytes -= part;
    }
    return 0;
}

/* libspng takes a failed allocation inside zlib for damaged data, so its allocations are watched. The memory
 * is the codec's own: plain malloc, not our hook. */
static _Thread_local bool starved;

static void *note(void *memory)
{
    starved |= memory == NULL;
    return memory;
}

static void *codec_malloc(size_t size)
{
    return note(malloc(size));
}

static void *codec_realloc(void *memory, size_t size)
{
    return note(realloc(memory, size));
}

static void *codec_calloc(size_t count, size_t size)
{
    return note(calloc(count, size));
}

static stk_status report(int code, stk_error *error)
{
    if (starved || code == SPNG_EMEM)
        return stk__fail(error, STK_ERROR_MEMORY, "no memory for the PNG decoder");
    return stk__damaged(error, STK_DAMAGE_CORRUPT, "PNG decoder: %s", spng_strerror(code));
}

static stk_status start(spng_ctx *codec, feed *from, stk_error *error)
{
    int code = spng_set_chunk_limits(codec, CHUNK_LIMIT_BYTES, CHUNK_LIMIT_BYTES);
    if (code == 0) code = spng_set_png_stream(codec, read_feed, from);
    if (code == 0) code = spng_decode_image(codec, NULL, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
    return code == 0 ? STK_OK : report(code, error);
}

/* Row after row into the same memory, each put away at once. */
static stk_status read_plain(spng_ctx *codec, stk__png_state *state, const stk__png_sink *sink,
                             stk_error *error)
{
    const stk__deadline deadline = stk__deadline_start(state->limits);
    for (int32_t y = 0; y < sink->png->h; y++) {
        const int code = spng_decode_row(codec, state->raw.data, sink->png->raw_row_bytes);
        if (code != 0 && code != SPNG_EOI) return report(code, error);
        STK__TRY(stk__png_put_row(sink, state->raw.data, y, error));
        if (y % ROWS_PER_LOOK == 0 && stk__deadline_passed(&deadline))
            return stk__deadline_fail(&deadline, error);
    }
    return STK_OK;
}

/* A row is complete after the last pass only: all are kept. */
static stk_status read_interlaced(spng_ctx *codec, stk__png_state *state, const stk__png_sink *sink,
                                  stk_error *error)
{
    const stk__deadline deadline = stk__deadline_start(state->limits);
    const size_t pitch = sink->png->raw_row_bytes;
    memset(state->raw.data, 0, pitch * (size_t)sink->png->h);
    for (int code = 0, count = 0; code != SPNG_EOI; count++) {
        struct spng_row_info row;
        code = spng_get_row_info(codec, &row);
        if (code == 0) code = spng_decode_row(codec, state->raw.data + pitch * row.row_num, pitch);
        if (code != 0 && code != SPNG_EOI) return report(code, error);
        if (count % ROWS_PER_LOOK == 0 && stk__deadline_passed(&deadline))
            return stk__deadline_fail(&deadline, error);
    }
    for (int32_t y = 0; y < sink->png->h; y++)
        STK__TRY(stk__png_put_row(sink, state->raw.data + pitch * (size_t)y, y, error));
    return STK_OK;
}

stk_status stk__png_decode_any(stk__png_state *state, stk__encoded bytes, const stk__png_sink *sink,
                               stk_error *error)
{
    const stk__png *png = sink->png;
    const size_t rows = png->interlaced ? (size_t)png->h : 1;
    STK__TRY(stk__buffer_reserve(&state->raw, png->raw_row_bytes * rows, error));
    const stk__encoded head = {bytes.data, 33}; /* signature and IHDR */
    feed from = {{head, png->palette_span, png->data_span, png->end_span}, 0};
    if (png->colour != STK_PNG_PALETTE) from.spans[1].size_bytes = 0;
    struct spng_alloc memory = {codec_malloc, codec_realloc, codec_calloc, free};
    starved = false;
    spng_ctx *codec = spng_ctx_new2(&memory, 0);
    if (!codec) return stk__fail(error, STK_ERROR_MEMORY, "no memory for the PNG decoder");
    stk_status status = start(codec, &from, error);
    if (status == STK_OK)
        status = png->interlaced ? read_interlaced(codec, state, sink, error)
                                 : read_plain(codec, state, sink, error);
    spng_ctx_free(codec);
    return status;
}
