/* JPEG by libjpeg-turbo. One decompressor serves all images of a decoder; libjpeg reports failures through
 * callbacks that jump back, so every entry into it is one function with its own setjmp. */
#include "decode/exif.h"
#include "decode/format.h"

#include "core/hash.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

enum { ROWS_AT_ONCE = 16, TICKS_PER_LOOK = 64 };

typedef struct jpeg_state {
    struct jpeg_decompress_struct codec; /* first: the callbacks get its address */
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    const stk__limits *limits;
    stk__deadline deadline;
    unsigned ticks;     /* progress calls since the start of an image */
    long warning_count; /* of this image */
    stk_damage damage;  /* why our own callbacks jumped; NONE: libjpeg did */

    /* The bytes whose header the codec has read and not used yet; data NULL: none. */
    stk__encoded ready;
    size_t header_bytes;
    stk__digest header_digest;

    stk__buffer rows; /* CMYK rows on their way to RGB */
} jpeg_state;

static jpeg_state *state_of(j_common_ptr codec)
{
    return (jpeg_state *)codec;
}

_Noreturn static void jump_back(j_common_ptr codec)
{
    longjmp(state_of(codec)->jump, 1);
}

_Noreturn static void jump_with(j_common_ptr codec, stk_damage damage)
{
    state_of(codec)->damage = damage;
    jump_back(codec);
}

static stk_damage classify_warning(int code)
{
    switch (code) {
    case JWRN_JPEG_EOF:
        return STK_DAMAGE_TRUNCATED;
    case JWRN_ADOBE_XFORM:
    case JWRN_NOT_SEQUENTIAL:
        return STK_DAMAGE_BAD_HEADER;
    case JWRN_JFIF_MAJOR: /* only the number of a version: no pixel depends on it */
        return STK_DAMAGE_NONE;
    default:
        return STK_DAMAGE_CORRUPT;
    }
}

static void take_message(j_common_ptr codec, int level)
{
    if (level >= 0) return; /* tracing */
    jpeg_state *state = state_of(codec);
    const stk_damage damage = classify_warning(codec->err->msg_code);
    if (damage != STK_DAMAGE_NONE && ++state->warning_count > state->limits->warnings)
        jump_with(codec, damage);
}

static void keep_silent(j_common_ptr codec)
{
    (void)codec;
}

static void watch_progress(j_common_ptr codec)
{
    jpeg_state *state = state_of(codec);
    if (state->codec.input_scan_number > state->limits->scans) jump_with(codec, STK_DAMAGE_TOO_MANY_SCANS);
    if (++state->ticks % TICKS_PER_LOOK == 0 && stk__deadline_passed(&state->deadline))
        jump_with(codec, STK_DAMAGE_TOO_SLOW);
}

static stk_damage classify_error(int code, bool in_header)
{
    switch (code) {
    case JERR_EMPTY_IMAGE:
        return STK_DAMAGE_ZERO_SIZE;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
    case JERR_WIDTH_OVERFLOW:
        return STK_DAMAGE_UNSUPPORTED;
    default:
        return in_header ? STK_DAMAGE_BAD_HEADER : STK_DAMAGE_CORRUPT;
    }
}

/* After a jump: the codec is put back to its beginning, the reason becomes a status. */
static stk_status report_jump(jpeg_state *state, bool in_header, stk_error *error)
{
    j_common_ptr codec = (j_common_ptr)&state->codec;
    const int code = state->errors.msg_code;
    char text[JMSG_LENGTH_MAX];
    state->errors.format_message(codec, text);
    const unsigned row = state->codec.output_scanline;
    jpeg_abort(codec);
    state->ready.data = NULL;
    switch (state->damage) {
    case STK_DAMAGE_NONE:
        break;
    case STK_DAMAGE_TOO_SLOW:
        return stk__deadline_fail(&state->deadline, error);
    case STK_DAMAGE_TOO_MANY_SCANS:
        stk__damaged(error, state->damage, "more than %lld scans", (long long)state->limits->scans);
        stk__error_hint(error, "raise limits.scans if such images are expected");
        return STK_ERROR_SAMPLE;
    default:
        return stk__damaged(error, state->damage, "JPEG decoder at row %u: %s", row, text);
    }
    if (code == JERR_OUT_OF_MEMORY)
        return stk__fail(error, STK_ERROR_MEMORY, "no memory for the JPEG decoder");
    return stk__damaged(error, classify_error(code, in_header), "JPEG decoder at row %u: %s", row, text);
}

/* Tables stay in the codec from image to image. An image that lacks one must not be decoded with its
 * predecessor's, so all are emptied: a Huffman table without codes fits no data, quantisation by 0 is
 * illegal. */
static void empty_tables(jpeg_state *state)
{
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        memset(state->codec.quant_tbl_ptrs[i]->quantval, 0, sizeof state->codec.quant_tbl_ptrs[i]->quantval);
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        memset(state->codec.dc_huff_tbl_ptrs[i]->bits, 0, sizeof state->codec.dc_huff_tbl_ptrs[i]->bits);
        memset(state->codec.ac_huff_tbl_ptrs[i]->bits, 0, sizeof state->codec.ac_huff_tbl_ptrs[i]->bits);
    }
}

static void alloc_tables(jpeg_state *state)
{
    j_common_ptr codec = (j_common_ptr)&state->codec;
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        state->codec.quant_tbl_ptrs[i] = jpeg_alloc_quant_table(codec);
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        state->codec.dc_huff_tbl_ptrs[i] = jpeg_alloc_huff_table(codec);
        state->codec.ac_huff_tbl_ptrs[i] = jpeg_alloc_huff_table(codec);
    }
}

static void destroy_state(void *memory)
{
    jpeg_state *state = memory;
    jpeg_destroy_decompress(&state->codec);
    stk__buffer_fini(&state->rows);
    stk__free(state);
}

static stk_status create_state(void **memory, const stk__limits *limits, stk_error *error)
{
    jpeg_state *state = stk__alloc(sizeof *state);
    if (!state) return stk__fail_memory(error, sizeof *state, "a JPEG decoder");
    state->limits = limits;
    state->codec.err = jpeg_std_error(&state->errors);
    state->errors.error_exit = jump_back;
    state->errors.emit_message = take_message;
    state->errors.output_message = keep_silent;
    state->progress.progress_monitor = watch_progress;
    if (setjmp(state->jump)) {
        destroy_state(state);
        return stk__fail(error, STK_ERROR_MEMORY, "no memory for the JPEG decoder");
    }
    jpeg_create_decompress(&state->codec);
    alloc_tables(state);
    state->codec.progress = &state->progress;
    *memory = state;
    return STK_OK;
}

/* Lets the codec read up to the first scan. */
static stk_status open_bytes(jpeg_state *state, stk__encoded bytes, stk_error *error)
{
    state->ready.data = NULL;
    state->damage = STK_DAMAGE_NONE;
    state->warning_count = 0;
    if (setjmp(state->jump)) return report_jump(state, true, error);
    jpeg_abort_decompress(&state->codec);
    empty_tables(state);
    jpeg_mem_src(&state->codec, bytes.data, bytes.size_bytes);
    jpeg_read_header(&state->codec, TRUE);
    state->ready = bytes;
    state->header_bytes = bytes.size_bytes - state->codec.src->bytes_in_buffer;
    state->header_digest = stk__digest_of(bytes.data, state->header_bytes);
    return STK_OK;
}

/* The codec stands behind the header of just these bytes, even if their buffer was refilled meanwhile. */
static bool is_open(const jpeg_state *state, stk__encoded bytes)
{
    if (state->ready.data != bytes.data || state->ready.size_bytes != bytes.size_bytes) return false;
    const stk__digest digest = stk__digest_of(bytes.data, state->header_bytes);
    return digest.high == state->header_digest.high && digest.low == state->header_digest.low;
}

static stk_status check_kind(jpeg_state *state, stk_error *error)
{
    const struct jpeg_decompress_struct *codec = &state->codec;
    const char *what = NULL;
    if (codec->arith_code) what = "arithmetic coding";
    if (codec->data_precision != 8) what = "more than 8 bits";
    if (codec->jpeg_color_space == JCS_UNKNOWN) what = "an unknown colour space";
    if (!what) return STK_OK;
    state->ready.data = NULL;
    return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "JPEG with %s", what);
}

static stk_status read_header(void *memory, stk__encoded bytes, stk__picture *picture, stk_error *error)
{
    jpeg_state *state = memory;
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

static void configure(struct jpeg_decompress_struct *codec, stk__pixels target)
{
    codec->scale_num = 1;
    codec->scale_denom = codec->image_width / (unsigned)target.w;
    codec->dct_method = JDCT_ISLOW;
    codec->do_fancy_upsampling = TRUE;
    codec->out_color_space = target.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (is_ink(codec)) codec->out_color_space = JCS_CMYK;
}

static void require_tables(struct jpeg_decompress_struct *codec)
{
    for (int i = 0; i < codec->num_components; i++)
        if (!codec->comp_info[i].quant_table || codec->comp_info[i].quant_table->quantval[0] == 0)
            ERREXIT1(codec, JERR_NO_QUANT_TABLE, codec->comp_info[i].quant_tbl_no);
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

static void read_ink_rows(jpeg_state *state, stk__pixels target)
{
    struct jpeg_decompress_struct *codec = &state->codec;
    for (int32_t y = 0; y < target.h; y++) {
        JSAMPROW row = state->rows.data;
        jpeg_read_scanlines(codec, &row, 1);
        print_row(row, stk__pixels_row(target, y), target, codec->saw_Adobe_marker);
    }
}

static void read_rows(jpeg_state *state, stk__pixels target)
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

static stk_status decode_rows(jpeg_state *state, stk__pixels target, stk_error *error)
{
    state->ready.data = NULL;
    state->ticks = 0;
    state->deadline = stk__deadline_start(state->limits);
    if (setjmp(state->jump)) return report_jump(state, false, error);
    configure(&state->codec, target);
    jpeg_start_decompress(&state->codec);
    require_tables(&state->codec);
    assert(state->codec.output_width == (JDIMENSION)target.w);
    assert(state->codec.output_height == (JDIMENSION)target.h);
    if (is_ink(&state->codec))
        read_ink_rows(state, target);
    else
        read_rows(state, target);
    jpeg_finish_decompress(&state->codec);
    return STK_OK;
}

static stk_status decode_image(void *memory, stk__encoded bytes, const stk__picture *picture,
                               stk__pixels target, stk_error *error)
{
    jpeg_state *state = memory;
    if (!is_open(state, bytes)) {
        STK__TRY(open_bytes(state, bytes, error));
        STK__TRY(check_kind(state, error));
    }
    if (state->codec.image_width != (JDIMENSION)picture->w ||
        state->codec.image_height != (JDIMENSION)picture->h)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the header belongs to another image");
    if (is_ink(&state->codec)) STK__TRY(stk__buffer_reserve(&state->rows, (size_t)target.w * 4, error));
    return decode_rows(state, target, error);
}

static const char *const extensions[] = {"jpg", "jpeg", "jpe", "jfif", NULL};
static const uint8_t magic[] = {0xFF, 0xD8, 0xFF};

const stk__format_ops stk__format_jpeg = {
    .name = "JPEG",
    .extensions = extensions,
    .magic = magic,
    .magic_bytes = sizeof magic,
    .create = create_state,
    .destroy = destroy_state,
    .header = read_header,
    .shrink = choose_shrink,
    .image = decode_image,
};
