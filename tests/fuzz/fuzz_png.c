/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a PNG file: what fuzz_decode.c asks for, and libspng beside it: where both end well the pixels
 * are equal, where one refuses the other does, but for where libspng is known to be lax or strict. Its
 * orientation is looked for in its own bytes. */
#include "fuzz.h"
#include "fuzz_decode.h"

#include "../unit/decode/png_ways.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static stk__png_state state = {.limits = &fuzz_limits};

static void fini_state(void)
{
    libdeflate_free_decompressor(state.inflater);
    stk__buffer_fini(&state.joined);
    stk__buffer_fini(&state.raw);
    stk__buffer_fini(&state.row);
}

/* zlib, which is behind libspng, refuses what libdeflate takes: the two codes of lengths that mean nothing
 * (taken for 258), and distances beyond the window that the head announces; there the check value vouches for
 * the rows. */
static bool is_strict(stk_status ours, int code)
{
    return ours == STK_OK && code == SPNG_EIDAT_STREAM;
}

static void compare_ways(stk__encoded bytes, const stk__png *png, bool ids, int channels)
{
    fuzz_target a = fuzz_target_make(png->w, png->h, channels, 0xA5);
    fuzz_target b = fuzz_target_make(png->w, png->h, channels, 0x5A);
    stk_error error = {0};
    stk_status theirs;
    stk__png_sink to_a = {.png = png, .target = a.pixels, .ids = ids};
    stk__png_sink to_b = {.png = png, .target = b.pixels, .ids = ids};
    const stk_status ours = stk__png_decode(&state, &to_a, &error);
    const int code = png_decode_spng(bytes, png, &to_b, &theirs);
    if (ours != STK_OK) fuzz_check_damage(ours, &error);
    fuzz_target_check(&a);
    fuzz_target_check(&b);
    const bool agree = ours == theirs || png_spng_is_lax(code, &error) || is_strict(ours, code);
    if (!agree) fprintf(stderr, "'%s' and '%s'\n", error.message, spng_strerror(code));
    assert(agree);
    if (ours == STK_OK && theirs == STK_OK) fuzz_target_compare(&a, &b);
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
    if (png.colour != STK_PNG_RGB && png.colour != STK_PNG_RGB_ALPHA) compare_ways(bytes, &png, true, 1);
    compare_ways(bytes, &png, false, 1);
    compare_ways(bytes, &png, false, 3);
}

/* In exactly these bytes: the sanitizer watches their end. */
static void check_orientation(const uint8_t *data, size_t size)
{
    if (size < 8) return;
    uint8_t *exact = fuzz_copy(data, size, 0);
    const stk__orientation found = stk__png_orientation((stk__encoded){exact, size});
    assert(found >= 1 && found <= 8);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size, 64);
    if (fuzz_decode("png", bytes, size)) compare((stk__encoded){bytes, size});
    check_orientation(data, size);
    free(bytes);
    return 0;
}
