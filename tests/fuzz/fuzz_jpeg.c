/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JPEG file: see fuzz_decode.c. Its orientation is found the same in any place of memory. With
 * our Huffman decoder and by libjpeg alone: the same pixels and accepted warning, or the same damage, word
 * for word. */
#include "fuzz.h"
#include "fuzz_decode.h"

#include "decode/exif.h"
#include "decode/jpeg.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FORGIVEN = 5 };

static stk__limits lenient;
static void *states[2][2]; /* strict or lenient, ours or alone */

static void free_states(void)
{
    for (int i = 0; i < 4; i++)
        stk__format_jpeg.destroy(states[i / 2][i % 2]);
}

static void make_states(void)
{
    lenient = fuzz_limits;
    lenient.warnings = FORGIVEN;
    for (int i = 0; i < 4; i++) {
        const stk_status status =
            stk__format_jpeg.create(&states[i / 2][i % 2], i / 2 ? &lenient : &fuzz_limits, NULL);
        assert(status == STK_OK);
        ((stk__jpeg_state *)states[i / 2][i % 2])->alone = i % 2;
    }
    atexit(free_states);
}

static bool is_same(const stk_status *status, const stk_error *error)
{
    return status[0] == status[1] && error[0].damage == error[1].damage &&
           strcmp(error[0].message, error[1].message) == 0;
}

static void compare_ways(void *const *ways, stk__encoded bytes, int channels, bool coarse)
{
    stk_status status[2];
    stk_error error[2] = {{0}, {0}};
    stk__picture picture[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++)
        status[i] = stk__format_jpeg.header(ways[i], bytes, &picture[i], &error[i]);
    assert(is_same(status, error) && picture[0].w == picture[1].w && picture[0].h == picture[1].h);
    if (status[0] != STK_OK || (int64_t)picture[0].w * picture[0].h > FUZZ_PIXELS_MOST) return;
    fuzz_target target[2];
    for (int i = 0; i < 2; i++) {
        picture[i].coarse = coarse;
        target[i] = fuzz_target_make(picture[i].w, picture[i].h, channels, i ? 0xA5 : 0x5A);
        status[i] = stk__format_jpeg.image(ways[i], bytes, &picture[i], target[i].pixels, &error[i]);
        fuzz_target_check(&target[i]);
    }
    assert(is_same(status, error));
    if (status[0] == STK_OK)
        assert(stk__format_jpeg.warning(ways[0]) == stk__format_jpeg.warning(ways[1])); /* constants */
    if (status[0] == STK_OK) fuzz_target_compare(&target[0], &target[1]);
    for (int i = 0; i < 2; i++)
        fuzz_target_free(&target[i]);
}

/* The tag is looked for in exactly these bytes: the sanitizer watches their end. */
static void check_orientation(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_copy(data, size, 0);
    const stk__orientation found = stk__exif_orientation((stk__encoded){exact, size});
    assert(found >= 1 && found <= 8);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size, 64);
    if (!states[0][0]) make_states();
    fuzz_decode("jpg", bytes, size);
    for (int channels = 1; channels <= 3; channels += 2)
        for (int i = 0; i < 2; i++)
            compare_ways(states[i], (stk__encoded){bytes, size}, channels, channels == 1);
    check_orientation(data, size);
    free(bytes);
    return 0;
}
