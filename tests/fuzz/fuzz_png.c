/* Any bytes as a PNG file: what fuzz_decode.c asks for, and the two ways from compressed data to pixels
 * compared: where both end well the pixels are equal, where one refuses the other does, but for what
 * `is_known` names. */
#include "fuzz.h"
#include "fuzz_decode.h"

#include "decode/png.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static stk__png_state state = {.limits = &fuzz_limits};

static void fini_state(void)
{
    libdeflate_free_decompressor(state.inflater);
    stk__buffer_fini(&state.joined);
    stk__buffer_fini(&state.raw);
    stk__buffer_fini(&state.row);
}

static stk_status decode_by(bool simple, stk__encoded bytes, const stk__png_sink *sink, stk_error *error)
{
    const stk_status status = simple ? stk__png_decode_simple(&state, sink, error)
                                     : stk__png_decode_any(&state, bytes, sink, error);
    if (status != STK_OK) fuzz_check_damage(status, error);
    return status;
}

/* libspng stops behind the last row: it does not look at what follows, neither more rows, nor the end of the
 * compressed data, nor its check value. zlib, which is behind it, refuses what libdeflate takes: the two
 * codes of lengths that mean nothing (taken for 258), and distances beyond the window that the head
 * announces; there the check value vouches for the rows. */
static bool is_known(stk_status simple, const stk_error *by_simple, stk_status any, const stk_error *by_any)
{
    if (simple == STK_OK) return any == STK_ERROR_SAMPLE && strstr(by_any->message, "IDAT stream error");
    return any == STK_OK &&
           (by_simple->damage == STK_DAMAGE_BAD_CHECKSUM || strstr(by_simple->message, "has not the size") ||
            strstr(by_simple->message, "cannot be inflated"));
}

static void compare_paths(stk__encoded bytes, const stk__png *png, bool ids, int channels)
{
    fuzz_target a = fuzz_target_make(png->w, png->h, channels, 0xA5);
    fuzz_target b = fuzz_target_make(png->w, png->h, channels, 0x5A);
    stk_error first = {0}, second = {0};
    const stk__png_sink to_a = {.png = png, .target = a.pixels, .ids = ids};
    const stk__png_sink to_b = {.png = png, .target = b.pixels, .ids = ids};
    const stk_status simple = decode_by(true, bytes, &to_a, &first);
    const stk_status any = decode_by(false, bytes, &to_b, &second);
    fuzz_target_check(&a);
    fuzz_target_check(&b);
    const bool agree = simple == any || is_known(simple, &first, any, &second);
    if (!agree) fprintf(stderr, "'%s' and '%s'\n", first.message, second.message);
    assert(agree);
    if (simple == STK_OK && any == STK_OK) fuzz_target_compare(&a, &b);
    fuzz_target_free(&a);
    fuzz_target_free(&b);
}

static void compare(stk__encoded bytes)
{
    stk__png png;
    stk_error error = {0};
    if (!state.inflater) {
        state.inflater = libdeflate_alloc_decompressor();
        atexit(fini_state);
    }
    const stk_status status = stk__png_read_chunks(bytes, &png, &error);
    if (status != STK_OK) {
        fuzz_check_damage(status, &error);
        return;
    }
    assert(png.data_count > 0 && png.end_span.data);
    if (!stk__png_is_simple(&png)) return;
    compare_paths(bytes, &png, true, 1);
    compare_paths(bytes, &png, false, 1);
    compare_paths(bytes, &png, false, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size, 64);
    if (fuzz_decode("png", bytes, size)) compare((stk__encoded){bytes, size});
    free(bytes);
    return 0;
}
