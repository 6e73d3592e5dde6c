/* SPDX-License-Identifier: Apache-2.0 */
/* For every image format: a decoder that has seen other files and a new one come to the same verdict and the
 * same pixels; every pixel is written and nothing beside; a failure has its class; what a strict decoder
 * takes, a lenient one takes too, with the same pixels. */
#include "fuzz_decode.h"

#include "fuzz.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_BYTES = 13, AROUND_BYTES = 64 };

const stk__limits fuzz_limits = {
    .bytes = 1 << 20, .pixels = FUZZ_PIXELS_MOST, .scans = 20, .warnings = 0, .time_s = 60};

fuzz_target fuzz_target_make(int32_t w, int32_t h, int32_t channels, uint8_t poison)
{
    const size_t pitch = (size_t)w * (size_t)channels + GAP_BYTES;
    fuzz_target made = {.size_bytes = pitch * (size_t)h + 2 * AROUND_BYTES, .poison = poison};
    made.memory = malloc(made.size_bytes);
    assert(made.memory);
    memset(made.memory, poison, made.size_bytes);
    made.pixels = (stk__pixels){made.memory + AROUND_BYTES, pitch, w, h, channels};
    return made;
}

static void check_poison(const fuzz_target *target, const uint8_t *from, const uint8_t *to)
{
    for (; from < to; from++)
        assert(*from == target->poison);
}

void fuzz_target_check(const fuzz_target *target)
{
    const stk__pixels p = target->pixels;
    const size_t row = (size_t)p.w * (size_t)p.channels;
    check_poison(target, target->memory, p.data);
    for (int32_t y = 0; y < p.h; y++)
        check_poison(target, stk__pixels_row(p, y) + row, stk__pixels_row(p, y) + p.pitch_bytes);
    check_poison(target, stk__pixels_row(p, p.h), target->memory + target->size_bytes);
}

void fuzz_target_free(fuzz_target *target)
{
    free(target->memory);
}

void fuzz_target_compare(const fuzz_target *a, const fuzz_target *b)
{
    assert(a->poison != b->poison);
    const size_t row = (size_t)a->pixels.w * (size_t)a->pixels.channels;
    for (int32_t y = 0; y < a->pixels.h; y++)
        assert(memcmp(stk__pixels_row(a->pixels, y), stk__pixels_row(b->pixels, y), row) == 0);
}

/* --- decoders ------------------------------------------------------------------------------------------ */

static stk__decoder *make_decoder(int64_t warnings)
{
    stk__decoder *decoder = NULL;
    stk__limits limits = fuzz_limits;
    limits.warnings = warnings;
    const stk_status status = stk__decoder_create(&decoder, &limits, NULL);
    assert(status == STK_OK);
    return decoder;
}

/* What is to be made of a file. */
typedef struct job {
    stk__encoded bytes;
    stk__picture picture; /* as the header says */
    int32_t w, h, channels;
    bool mask;
} job;

static stk_status decode(stk__decoder *decoder, const job *j, fuzz_target *target, stk_error *error)
{
    static const stk__mask_options options = {.ignore = 255, .orientation = 1};
    const stk_status status =
        j->mask ? stk__decode_mask(decoder, j->bytes, &j->picture, &options, target->pixels, error)
                : stk__decode_image(decoder, j->bytes, &j->picture, target->pixels, error);
    if (status != STK_OK) fuzz_check_damage(status, error);
    fuzz_target_check(target);
    return status;
}

static bool has_same_end(stk_status a, const stk_error *a_error, stk_status b, const stk_error *b_error)
{
    const bool same = a == b && (a == STK_OK || (a_error->damage == b_error->damage &&
                                                 strcmp(a_error->message, b_error->message) == 0));
    if (!same) fprintf(stderr, "'%s' and '%s'\n", a_error->message, b_error->message);
    return same;
}

/* By two decoders, into different poisons. Returns the status of the first. */
static stk_status decode_twice(stk__decoder *one, stk__decoder *two, const job *j)
{
    stk_error first = {0}, second = {0};
    fuzz_target a = fuzz_target_make(j->w, j->h, j->channels, 0xA5);
    fuzz_target b = fuzz_target_make(j->w, j->h, j->channels, 0x5A);
    const stk_status status = decode(one, j, &a, &first);
    const stk_status again = decode(two, j, &b, &second);
    assert(has_same_end(status, &first, again, &second));
    if (status == STK_OK) fuzz_target_compare(&a, &b);
    fuzz_target_free(&a);
    fuzz_target_free(&b);
    return status;
}

/* A damage for the strict decoder may be forgiven, but then all pixels are there, and always the same. */
static void decode_leniently(stk__decoder *strict, stk__decoder *lenient, const job *j, stk_status status)
{
    stk__picture picture;
    stk_error error = {0};
    const stk_status header = stk__decode_header(lenient, j->bytes, NULL, &picture, &error);
    assert(header == STK_OK && picture.w == j->picture.w && picture.h == j->picture.h);
    decode_twice(status == STK_OK ? strict : lenient, lenient, j);
}

static void decode_all(stk__decoder *used, stk__decoder *fresh, stk__decoder *lenient, job j)
{
    const bool swaps = stk__orientation_swaps(j.picture.orientation);
    j.w = swaps ? j.picture.h : j.picture.w;
    j.h = swaps ? j.picture.w : j.picture.h;
    j.channels = j.picture.channels;
    const stk_status status = decode_twice(used, fresh, &j);
    decode_leniently(used, lenient, &j, status);
    j.channels = 4 - j.channels; /* 1 and 3 */
    decode_twice(used, fresh, &j);
    j.w = (j.w + 1) / 2;
    j.h = j.h > 3 ? j.h / 3 : 5;
    decode_twice(fresh, used, &j);
    j.channels = 1;
    j.mask = true;
    decode_twice(used, fresh, &j);
    j.w = j.picture.w;
    j.h = j.picture.h;
    decode_twice(used, fresh, &j);
}

static void check_picture(const stk__picture *picture)
{
    assert(picture->format && picture->w > 0 && picture->h > 0);
    assert((int64_t)picture->w * picture->h <= FUZZ_PIXELS_MOST);
    assert(picture->channels == 1 || picture->channels == 3);
    assert(picture->orientation >= 1 && picture->orientation <= 8);
}

static bool decode_file(stk__decoder *used, stk__decoder *lenient, stk__encoded bytes, const char *extension)
{
    stk__decoder *fresh = make_decoder(0);
    job j = {.bytes = bytes};
    stk_error first = {0}, second = {0};
    stk__picture again;
    const stk_status status = stk__decode_header(used, bytes, extension, &j.picture, &first);
    const stk_status other = stk__decode_header(fresh, bytes, extension, &again, &second);
    assert(has_same_end(status, &first, other, &second));
    if (status == STK_OK) {
        check_picture(&j.picture);
        decode_all(used, fresh, lenient, j);
    } else {
        fuzz_check_damage(status, &first);
    }
    stk__decoder_destroy(&fresh);
    return status == STK_OK;
}

static stk__decoder *used, *lenient;

static void destroy_decoders(void)
{
    stk__decoder_destroy(&used);
    stk__decoder_destroy(&lenient);
}

bool fuzz_decode(const char *extension, const uint8_t *data, size_t size)
{
    if (!used) {
        fuzz_limit_memory(64 << 20);
        used = make_decoder(0);
        lenient = make_decoder(1 << 30);
        atexit(destroy_decoders);
    }
    return decode_file(used, lenient, (stk__encoded){data, size}, extension);
}
