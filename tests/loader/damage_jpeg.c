/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files that are damaged in one way each: cut, flipped, wrong tables, wrong sizes, missing segments.
 * The table in damage_operators.c says what each must be called. */
#include "loader/damage_bytes.h"
#include "loader/damage_operators.h"
#include "support/pictures.h"

#include "decode/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { SEED = 77, SOF0 = 0xC0, DHT = 0xC4, SOS = 0xDA, DQT = 0xDB, COM = 0xFE };

static void encode(stk__buffer *bytes, int32_t w, int32_t h, const pictures_jpeg_options *options)
{
    const stk__pixels pixels = pictures_draw(w, h, 3, SEED);
    pictures_jpeg(bytes, pixels, options);
    stk__free(pixels.data);
}

void damage_good_jpeg(stk__buffer *bytes, uint32_t seed)
{
    const stk__pixels pixels = pictures_draw(DAMAGE_W, DAMAGE_H, 3, seed);
    pictures_jpeg(bytes, pixels, &(pictures_jpeg_options){0});
    stk__free(pixels.data);
}

void make_good_jpeg(stk__buffer *bytes, int amount)
{
    (void)amount;
    damage_good_jpeg(bytes, SEED);
}

static void keep_percent(stk__buffer *bytes, int percent)
{
    bytes->size_bytes = bytes->size_bytes * (size_t)percent / 100;
}

void make_jpeg_cut(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    keep_percent(bytes, amount);
}

void make_jpeg_cut_progressive(stk__buffer *bytes, int amount)
{
    encode(bytes, DAMAGE_W, DAMAGE_H, &(pictures_jpeg_options){.progressive = true});
    keep_percent(bytes, amount);
}

void make_jpeg_cut_other_size(stk__buffer *bytes, int amount)
{
    encode(bytes, DAMAGE_W * 3, DAMAGE_H * 5, &(pictures_jpeg_options){0});
    keep_percent(bytes, amount);
}

void make_jpeg_first_bytes(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    bytes->size_bytes = (size_t)amount;
}

static size_t segment_bytes(const stk__buffer *bytes, size_t at)
{
    return 2 + ((size_t)bytes->data[at + 2] << 8 | bytes->data[at + 3]);
}

/* Where the next segment with that marker starts; 0 when there is none before the first scan's data. */
static size_t find_next(const stk__buffer *bytes, size_t at, int marker)
{
    while (bytes->data[at + 1] != marker) {
        if (bytes->data[at + 1] == SOS) return 0;
        at += segment_bytes(bytes, at);
    }
    return at;
}

static size_t find(const stk__buffer *bytes, int marker)
{
    const size_t at = find_next(bytes, 2, marker);
    assert_true(at > 0);
    return at;
}

void make_jpeg_until(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    const size_t at = find(bytes, amount);
    bytes->size_bytes = at + segment_bytes(bytes, at);
}

void make_jpeg_without_end(stk__buffer *bytes, int amount)
{
    (void)amount;
    damage_good_jpeg(bytes, SEED);
    bytes->size_bytes -= 2;
}

/* What a crash leaves of a file whose last blocks were never written. */
void make_jpeg_zero_tail(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    const size_t kept = bytes->size_bytes * (size_t)amount / 100;
    memset(bytes->data + kept, 0, bytes->size_bytes - kept);
}

static bool is_decodable(const stk__buffer *bytes)
{
    static uint8_t memory[DAMAGE_W * DAMAGE_H * 3];
    stk__decoder *decoder = NULL;
    stk__picture picture;
    const stk__encoded encoded = {bytes->data, bytes->size_bytes};
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    stk_status status = stk__decode_header(decoder, encoded, "jpg", &picture, NULL);
    const stk__pixels target = stk__pixels_dense(memory, DAMAGE_W, DAMAGE_H, 3);
    if (status == STK_OK) status = stk__decode_image(decoder, encoded, &picture, target, NULL);
    stk__decoder_destroy(&decoder);
    return status == STK_OK;
}

/* JPEG has no checksum: most flipped bits give other pixels of a valid file, which no decoder can notice. So
 * the first one from `amount` per cent of the scan's data on that is noticed is searched. */
void make_jpeg_flipped(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    const size_t scan = find(bytes, SOS), data = scan + segment_bytes(bytes, scan);
    size_t bit = (data + (bytes->size_bytes - data) * (size_t)amount / 100) * 8;
    for (; bit < (bytes->size_bytes - 2) * 8; bit++) {
        bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (!is_decodable(bytes)) return;
        bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    fail_msg("no flipped bit is noticed");
}

/* With restart markers; returns where the first is. */
static size_t encode_restarts(stk__buffer *bytes)
{
    encode(bytes, DAMAGE_W, DAMAGE_H, &(pictures_jpeg_options){.restart_rows = 1});
    size_t at = find(bytes, SOS);
    while (!(bytes->data[at] == 0xFF && bytes->data[at + 1] == 0xD0))
        at++;
    assert_true(at < bytes->size_bytes);
    return at;
}

void make_jpeg_wrong_restart(stk__buffer *bytes, int amount)
{
    const size_t at = encode_restarts(bytes);
    bytes->data[at + 1] = (uint8_t)amount;
}

/* What is left of an interval after all of its blocks: the decoder had lost its place. */
void make_jpeg_bytes_before_restart(stk__buffer *bytes, int amount)
{
    const size_t at = encode_restarts(bytes), more = (size_t)amount;
    assert_int_equal(stk__buffer_reserve(bytes, bytes->size_bytes + more + 64, NULL), STK_OK);
    memmove(bytes->data + at + more, bytes->data + at, bytes->size_bytes - at + 64);
    memset(bytes->data + at, 0x55, more);
    bytes->size_bytes += more;
}

/* More codes than a table can have. */
void make_jpeg_huffman_counts(stk__buffer *bytes, int amount)
{
    (void)amount;
    damage_good_jpeg(bytes, SEED);
    memset(bytes->data + find(bytes, DHT) + 5, 0xFF, 16);
}

/* Three codes of one bit, when there are only two. The number of all codes stays. */
void make_jpeg_huffman_codes(stk__buffer *bytes, int amount)
{
    (void)amount;
    damage_good_jpeg(bytes, SEED);
    uint8_t *counts = bytes->data + find(bytes, DHT) + 5;
    for (int moved = 0, length = 15; moved < 3; length--)
        while (counts[length] && moved < 3) {
            counts[length]--;
            moved++;
        }
    counts[0] = (uint8_t)(counts[0] + 3);
}

/* They become comments. Without Huffman tables a sequential image has the usual ones, a progressive one none.
 */
void make_jpeg_without_segments(stk__buffer *bytes, int amount)
{
    encode(bytes, DAMAGE_W, DAMAGE_H, &(pictures_jpeg_options){.progressive = amount == DHT});
    for (size_t at = find(bytes, amount); at; at = find_next(bytes, at, amount))
        bytes->data[at + 1] = COM;
}

void make_jpeg_segment_length(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    uint8_t *segment = bytes->data + find(bytes, DQT);
    segment[2] = (uint8_t)(amount >> 8);
    segment[3] = (uint8_t)amount;
}

static void set_number(stk__buffer *bytes, size_t offset, int number)
{
    uint8_t *frame = bytes->data + find(bytes, SOF0);
    frame[offset] = (uint8_t)(number >> 8);
    frame[offset + 1] = (uint8_t)number;
}

void make_jpeg_width(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    set_number(bytes, 7, amount);
}

void make_jpeg_height(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    set_number(bytes, 5, amount);
}

void make_jpeg_square(stk__buffer *bytes, int amount)
{
    make_jpeg_width(bytes, amount);
    set_number(bytes, 5, amount);
}

void make_jpeg_scans(stk__buffer *bytes, int amount)
{
    encode(bytes, DAMAGE_W, DAMAGE_H, &(pictures_jpeg_options){.scan_repeats = amount});
}

void make_jpeg_precision(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    bytes->data[find(bytes, SOF0) + 4] = (uint8_t)amount;
}

void make_jpeg_arithmetic_cut(stk__buffer *bytes, int amount)
{
    encode(bytes, DAMAGE_W, DAMAGE_H, &(pictures_jpeg_options){.arithmetic = true});
    keep_percent(bytes, amount);
}

/* It ends with EOI, as after a download that was cut off and repaired. */
void make_jpeg_last_scan(stk__buffer *bytes, int amount)
{
    (void)amount;
    encode(bytes, DAMAGE_W, DAMAGE_H, &(pictures_jpeg_options){.progressive = true});
    size_t at = bytes->size_bytes - 2;
    while (!(bytes->data[at] == 0xFF && bytes->data[at + 1] == SOS))
        at--;
    bytes->data[at + 1] = 0xD9;
    bytes->size_bytes = at + 2;
}

void make_jpeg_frame(stk__buffer *bytes, int amount)
{
    damage_good_jpeg(bytes, SEED);
    bytes->data[find(bytes, SOF0) + 1] = (uint8_t)amount;
}
