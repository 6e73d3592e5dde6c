/* SPDX-License-Identifier: Apache-2.0 */
/* The PNG format for the decoder's front: header, image, mask. png_chunks.c reads the structure,
 * png_inflate.c the compressed data, png_filter.c and png_image.c make pixels of it. One state
 * per decoder, its buffers only grow, but for that of rows of large images (inflate_gate.h). */
#include "decode/png.h"

static void destroy_state(void *memory)
{
    stk__png_state *state = memory;
    libdeflate_free_decompressor(state->inflater);
    stk__buffer_fini(&state->joined);
    stk__buffer_fini(&state->raw);
    stk__buffer_fini(&state->row);
    stk__free(state);
}

static stk_status create_state(void **memory, const stk__limits *limits, stk_error *error)
{
    stk__png_state *state = stk__alloc(sizeof *state);
    if (!state) return stk__fail_memory(error, sizeof *state, "a PNG decoder");
    state->limits = limits;
    state->inflater = libdeflate_alloc_decompressor();
    if (!state->inflater) {
        stk__free(state);
        return stk__fail(error, STK_ERROR_MEMORY, "out of memory in the PNG decoder");
    }
    *memory = state;
    return STK_OK;
}

static bool is_colour(const stk__png *png)
{
    return png->colour == STK_PNG_RGB || png->colour == STK_PNG_RGB_ALPHA;
}

static stk_status read_header(void *memory, stk__encoded bytes, stk__picture *picture, stk_error *error)
{
    (void)memory;
    stk__png png;
    STK__TRY(stk__png_read_header(bytes, &png, error));
    picture->w = png.w;
    picture->h = png.h;
    picture->channels = is_colour(&png) || png.colour == STK_PNG_PALETTE ? 3 : 1;
    picture->indexed = png.colour == STK_PNG_PALETTE;
    picture->depth_bits = png.depth_bits;
    picture->orientation = stk__png_orientation(bytes);
    return STK_OK;
}

static stk_status decode(stk__png_state *state, stk__png_sink *sink, stk_error *error)
{
    if (sink->png->w != sink->target.w || sink->png->h != sink->target.h)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the header belongs to another image");
    return stk__png_decode(state, sink, error);
}

static stk_status decode_image(void *memory, stk__encoded bytes, const stk__picture *picture,
                               stk__pixels target, stk_error *error)
{
    (void)picture;
    stk__png png;
    STK__TRY(stk__png_read_chunks(bytes, &png, error));
    return decode(memory, &(stk__png_sink){.png = &png, .target = target}, error);
}

static stk_status decode_mask(void *memory, stk__encoded bytes, const stk__picture *picture,
                              stk__pixels target, stk_error *error)
{
    (void)picture;
    stk__png png;
    STK__TRY(stk__png_read_chunks(bytes, &png, error));
    if (is_colour(&png)) {
        stk__damaged(error, STK_DAMAGE_MASK_FORMAT, "an RGB PNG is not a mask of class ids");
        stk__error_hint(error, "store masks as PNG: 8-bit grayscale or palette");
        return STK_ERROR_SAMPLE;
    }
    return decode(memory, &(stk__png_sink){.png = &png, .target = target, .ids = true}, error);
}

static const char *const extensions[] = {"png", NULL};
static const uint8_t magic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

const stk__format_ops stk__format_png = {
    .number = STK_FORMAT_PNG,
    .name = "PNG",
    .extensions = extensions,
    .magic = magic,
    .magic_bytes = sizeof magic,
    .create = create_state,
    .destroy = destroy_state,
    .header = read_header,
    .image = decode_image,
    .mask = decode_mask,
};
