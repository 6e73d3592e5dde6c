/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG by libjpeg-turbo, with a Huffman decoder of our own. One decompressor serves all images of a decoder;
 * libjpeg reports failures through callbacks that jump back, so every entry into it is one function with its
 * own setjmp. */
#include "decode/exif.h"
#include "decode/jpeg.h"
#include "decode/jpeg_tables.h"

#include <assert.h>

enum { ROWS_AT_ONCE = 16 };

static void destroy_state(void *memory)
{
    stk__jpeg_state *state = memory;
    jpeg_destroy_decompress(&state->codec);
    stk__buffer_fini(&state->rows);
    stk__free(state);
}

static stk_status create_state(void **memory, const stk__limits *limits, stk_error *error)
{
    stk__jpeg_state *state = stk__alloc(sizeof *state);
    if (!state) return stk__fail_memory(error, sizeof *state, "a JPEG decoder");
    state->limits = limits;
    stk__jpeg_listen(state);
    if (setjmp(state->jump)) {
        destroy_state(state);
        return stk__fail(error, STK_ERROR_MEMORY, "out of memory in the JPEG decoder");
    }
    jpeg_create_decompress(&state->codec);
    stk__jpeg_tables_create(&state->codec);
    state->codec.progress = &state->progress;
    *memory = state;
    return STK_OK;
}

/* Lets the codec read up to the first scan. */
static stk_status open_bytes(stk__jpeg_state *state, stk__encoded bytes, stk_error *error)
{
    state->ready.data = NULL;
    state->damage = STK_DAMAGE_NONE;
    state->warning_count = 0;
    state->reason = state->accepted = NULL;
    state->left_over = state->walkable = false;
    if (setjmp(state->jump)) return stk__jpeg_report(state, true, error);
    jpeg_abort_decompress(&state->codec);
    state->codec.output_scanline = 0; /* messages name it before libjpeg sets it */
    stk__jpeg_tables_forget(&state->codec);
    jpeg_mem_src(&state->codec, bytes.data, bytes.size_bytes);
    jpeg_read_header(&state->codec, TRUE);
    stk__jpeg_tables_complete(&state->codec);
    state->ready = bytes;
    state->header_bytes = bytes.size_bytes - state->codec.src->bytes_in_buffer;
    state->header_digest = stk__digest_of(bytes.data, state->header_bytes);
    return STK_OK;
}

/* The codec stands behind the header of just these bytes, even if their buffer was refilled meanwhile. */
static bool is_open(const stk__jpeg_state *state, stk__encoded bytes)
{
    if (state->ready.data != bytes.data || state->ready.size_bytes != bytes.size_bytes) return false;
    const stk__digest digest = stk__digest_of(bytes.data, state->header_bytes);
    return digest.high == state->header_digest.high && digest.low == state->header_digest.low;
}

static stk_status check_kind(stk__jpeg_state *state, stk_error *error)
{
    const struct jpeg_decompress_struct *codec = &state->codec;
    const char *what = NULL;
    if (codec->data_precision != 8) what = "more than 8 bits";
    if (codec->jpeg_color_space == JCS_UNKNOWN) what = "an unknown color space";
    if (!what) return STK_OK;
    state->ready.data = NULL;
    return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "unsupported JPEG with %s", what);
}

static stk_status read_header(void *memory, stk__encoded bytes, stk__picture *picture, stk_error *error)
{
    stk__jpeg_state *state = memory;
    STK__TRY(open_bytes(state, bytes, error));
    STK__TRY(check_kind(state, error));
    picture->w = (int32_t)state->codec.image_width;
    picture->h = (int32_t)state->codec.image_height;
    picture->channels = state->codec.num_components == 1 ? 1 : 3;
    picture->depth_bits = state->codec.data_precision;
    picture->orientation = stk__exif_orientation(bytes);
    return STK_OK;
}

/* Only where a shrunken pixel stands for exactly n x n stored ones: otherwise the image would be stretched
 * against its mask and points. */
static int choose_shrink(const stk__picture *picture, int32_t want_w, int32_t want_h)
{
    int shrink = 1;
    while (shrink < 8 && picture->w % (shrink * 2) == 0 && picture->h % (shrink * 2) == 0 &&
           picture->w / (shrink * 2) >= want_w && picture->h / (shrink * 2) >= want_h)
        shrink *= 2;
    return shrink;
}

static bool is_ink(const struct jpeg_decompress_struct *codec)
{
    return codec->jpeg_color_space == JCS_CMYK || codec->jpeg_color_space == JCS_YCCK;
}

static void configure(struct jpeg_decompress_struct *codec, stk__pixels target, bool coarse)
{
    codec->scale_num = 1;
    codec->scale_denom = codec->image_width / (unsigned)target.w;
    codec->dct_method = coarse ? JDCT_IFAST : JDCT_ISLOW;
    codec->do_fancy_upsampling = !coarse;
    codec->out_color_space = target.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (is_ink(codec)) codec->out_color_space = JCS_CMYK;
}

/* c * k / 255, rounded */
static unsigned mix_ink(unsigned c, unsigned k)
{
    const unsigned product = c * k + 128;
    return (product + (product >> 8)) >> 8;
}

/* Adobe's programs store inks upside down (255: none), which is what RGB needs. */
static void print_row(const uint8_t *inks, uint8_t *to, stk__pixels target, bool adobe)
{
    const unsigned turn = adobe ? 0 : 255;
    for (int32_t x = 0; x < target.w; x++, inks += 4, to += target.channels) {
        const unsigned k = inks[3] ^ turn;
        const unsigned r = mix_ink(inks[0] ^ turn, k), g = mix_ink(inks[1] ^ turn, k);
        const unsigned b = mix_ink(inks[2] ^ turn, k);
        if (target.channels == 1) {
            to[0] = stk__luma(r, g, b);
            continue;
        }
        to[0] = (uint8_t)r;
        to[1] = (uint8_t)g;
        to[2] = (uint8_t)b;
    }
}

static void read_ink_rows(stk__jpeg_state *state, stk__pixels target)
{
    struct jpeg_decompress_struct *codec = &state->codec;
    for (int32_t y = 0; y < target.h; y++) {
        JSAMPROW row = state->rows.data;
        jpeg_read_scanlines(codec, &row, 1);
        print_row(row, stk__pixels_row(target, y), target, codec->saw_Adobe_marker);
    }
}

static void read_rows(stk__jpeg_state *state, stk__pixels target)
{
    struct jpeg_decompress_struct *codec = &state->codec;
    JSAMPROW rows[ROWS_AT_ONCE];
    while (codec->output_scanline < codec->output_height) {
        const int32_t y = (int32_t)codec->output_scanline;
        const int32_t count = target.h - y < ROWS_AT_ONCE ? target.h - y : ROWS_AT_ONCE;
        for (int32_t i = 0; i < count; i++)
            rows[i] = stk__pixels_row(target, y + i);
        jpeg_read_scanlines(codec, rows, (JDIMENSION)count);
    }
}

static stk_status decode_rows(stk__jpeg_state *state, stk__pixels target, bool coarse, stk_error *error)
{
    state->ready.data = NULL;
    state->odd = false;
    if (setjmp(state->jump)) return stk__jpeg_report(state, false, state->odd ? NULL : error);
    configure(&state->codec, target, coarse);
    jpeg_start_decompress(&state->codec);
    stk__jpeg_check_scans(state);
    const bool taken = !state->alone && stk__jpeg_huffman_take(state);
    stk__jpeg_tables_require(&state->codec);
    assert(state->codec.output_width == (JDIMENSION)target.w);
    assert(state->codec.output_height == (JDIMENSION)target.h);
    if (is_ink(&state->codec))
        read_ink_rows(state, target);
    else
        read_rows(state, target);
    state->walkable = !taken && stk__jpeg_huffman_prepare(state);
    jpeg_finish_decompress(&state->codec);
    return STK_OK;
}

static stk_status decode_alone(stk__jpeg_state *state, stk__encoded bytes, stk__pixels target, bool coarse,
                               stk_error *error)
{
    STK__TRY(open_bytes(state, bytes, error));
    state->alone = true;
    const stk_status status = decode_rows(state, target, coarse, error);
    state->alone = false;
    return status;
}

/* Are bytes too many behind the image what an encoder has added, or data of blocks that were passed over? */
static stk_status check_tail(stk__jpeg_state *state, stk__encoded bytes, stk_error *error)
{
    const size_t at = state->header_bytes;
    if (!state->left_over || !state->walkable) return STK_OK;
    if (stk__jpeg_huffman_walk(state, bytes.data + at, bytes.size_bytes - at)) return STK_OK;
    if (setjmp(state->jump)) return stk__jpeg_report(state, false, error);
    stk__jpeg_refuse_tail(state);
    return STK_OK;
}

static stk_status decode_image(void *memory, stk__encoded bytes, const stk__picture *picture,
                               stk__pixels target, stk_error *error)
{
    stk__jpeg_state *state = memory;
    if (!is_open(state, bytes)) {
        STK__TRY(open_bytes(state, bytes, error));
        STK__TRY(check_kind(state, error));
    }
    if (state->codec.image_width != (JDIMENSION)picture->w ||
        state->codec.image_height != (JDIMENSION)picture->h)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the header belongs to another image");
    if (is_ink(&state->codec)) STK__TRY(stk__buffer_reserve(&state->rows, (size_t)target.w * 4, error));
    state->ticks = 0;
    state->deadline = stk__deadline_start(state->limits);
    stk_status status = decode_rows(state, target, picture->coarse, error);
    if (state->odd) status = decode_alone(state, bytes, target, picture->coarse, error);
    return status == STK_OK ? check_tail(state, bytes, error) : status;
}

static const char *get_warning(const void *memory)
{
    const stk__jpeg_state *state = memory;
    return state->accepted;
}

static const char *const extensions[] = {"jpg", "jpeg", "jpe", "jfif", NULL};
static const uint8_t magic[] = {0xFF, 0xD8, 0xFF};

const stk__format_ops stk__format_jpeg = {
    .number = STK_FORMAT_JPEG,
    .name = "JPEG",
    .extensions = extensions,
    .magic = magic,
    .magic_bytes = sizeof magic,
    .create = create_state,
    .destroy = destroy_state,
    .header = read_header,
    .shrink = choose_shrink,
    .image = decode_image,
    .warning = get_warning,
};
