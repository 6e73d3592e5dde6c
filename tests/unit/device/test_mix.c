/* SPDX-License-Identifier: Apache-2.0 */
/* Blending and swapping of two finished samples. */
#include "device/cpu/augment_pass.h"
#include "device/kernel/host_build.h"
#include "device/mix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void floats_are_blended_both_ways(void **state)
{
    (void)state;
    float a[] = {1, -2, 0.5f}, b[] = {3, 4, -1};
    stk__mix_blend(a, b, 3, STK_DTYPE_F32, 0.75f);
    const float expected_a[] = {1.5f, -0.5f, 0.125f}, expected_b[] = {2.5f, 2.5f, -0.625f};
    assert_memory_equal(a, expected_a, sizeof a);
    assert_memory_equal(b, expected_b, sizeof b);
}

/* Lambda 1 gives every finite value back: the way to float and back loses nothing. */
static void small_types_are_exact_where_nothing_changes(void **state)
{
    (void)state;
    static uint16_t a[0x7c00 * 2], b[0x7c00 * 2], kept[0x7c00 * 2];
    for (int i = 0; i < 0x7c00; i++) {
        a[i] = (uint16_t)i;
        a[i + 0x7c00] = (uint16_t)(i | 0x8000);
    }
    memcpy(kept, a, sizeof a);
    stk__mix_blend(a, b, sizeof a / sizeof a[0], STK_DTYPE_F16, 1);
    kept[0x7c00] = 0; /* -0 + 0 */
    assert_memory_equal(a, kept, sizeof a);
    stk__mix_blend(a, b, sizeof a / sizeof a[0], STK_DTYPE_BF16, 1);
    assert_memory_equal(a, kept, sizeof a);
}

static void small_types_are_blended_in_float(void **state)
{
    (void)state;
    uint16_t a = stk__half_from_float(1), b = stk__half_from_float(2.5f);
    stk__mix_blend(&a, &b, 1, STK_DTYPE_F16, 0.25f);
    assert_int_equal(a, stk__half_from_float(2.125f));
    assert_int_equal(b, stk__half_from_float(1.375f));
    a = stk__bfloat_from_float(1), b = stk__bfloat_from_float(2.5f);
    stk__mix_blend(&a, &b, 1, STK_DTYPE_BF16, 0.25f);
    assert_int_equal(a, stk__bfloat_from_float(2.125f));
    assert_int_equal(b, stk__bfloat_from_float(1.375f));
}

static void bytes_are_rounded(void **state)
{
    (void)state;
    uint8_t a[] = {0, 255, 10, 1}, b[] = {255, 255, 20, 2};
    stk__mix_blend(a, b, 4, STK_DTYPE_U8, 0.75f);
    const uint8_t expected_a[] = {64, 255, 13, 1}, expected_b[] = {191, 255, 18, 2};
    assert_memory_equal(a, expected_a, sizeof a);
    assert_memory_equal(b, expected_b, sizeof b);
}

enum { W = 300, H = 5, PLANES = 2 };

static void boxes_change_places_in_every_plane(void **state)
{
    (void)state;
    static uint16_t a[PLANES * W * H], b[PLANES * W * H];
    for (int i = 0; i < PLANES * W * H; i++) {
        a[i] = (uint16_t)i;
        b[i] = (uint16_t)(i + 10000);
    }
    const stk__mix_box box = {.x = 20,
                              .y = 1,
                              .w = 270,
                              .h = 3,
                              .picture_w = W,
                              .picture_h = H,
                              .planes = PLANES,
                              .pixel_bytes = sizeof a[0]};
    stk__mix_swap(a, b, &box);
    for (int i = 0; i < PLANES * W * H; i++) {
        const int x = i % W, y = i / W % H;
        const bool inside = x >= 20 && x < 290 && y >= 1 && y < 4;
        assert_int_equal(a[i], inside ? i + 10000 : i);
        assert_int_equal(b[i], inside ? i : i + 10000);
    }
}

enum { TEXT_W = 37, TEXT_H = 11, TEXT_AREA = TEXT_W * TEXT_H, PLACES = 5 };

typedef struct text_case {
    stk_dtype dtype, mask_dtype;
    int32_t channels;
    bool planar;
} text_case;

/* Five samples with their masks, twice: mixed by the kernel source, and by hand. */
typedef struct text_memory {
    _Alignas(8) uint8_t image[PLACES][TEXT_AREA * 3 * 4];
    _Alignas(8) uint8_t mask[PLACES][TEXT_AREA * 8], mask2[PLACES][TEXT_AREA * 8];
} text_memory;

static text_memory by_text, by_hand, by_host;

static uint8_t *image_of(text_memory *m, const text_case *c, int place)
{
    return m->image[0] + (size_t)place * TEXT_AREA * (size_t)c->channels * (size_t)stk_dtype_bytes(c->dtype);
}

static uint8_t *mask_of(uint8_t *masks, const text_case *c, int place)
{
    return masks + (size_t)place * TEXT_AREA * (size_t)stk_dtype_bytes(c->mask_dtype);
}

static void fill_memory(const text_case *c)
{
    uint32_t dice = 7;
    memset(&by_text, 0x5a, sizeof by_text);
    for (int i = 0; i < PLACES * TEXT_AREA * c->channels; i++) {
        const float value = (float)(int32_t)((dice = dice * 1664525u + 1013904223u) >> 8) / 4e6f - 2;
        const uint16_t half =
            c->dtype == STK_DTYPE_F16 ? stk__half_from_float(value) : stk__bfloat_from_float(value);
        if (c->dtype == STK_DTYPE_F32)
            memcpy(by_text.image[0] + i * 4, &value, 4);
        else
            memcpy(by_text.image[0] + i * 2, &half, 2);
    }
    for (int i = 0; i < PLACES * TEXT_AREA; i++) {
        const int64_t id = (dice = dice * 1664525u + 1013904223u) >> 24;
        if (c->mask_dtype == STK_DTYPE_I64)
            memcpy(by_text.mask[0] + i * 8, &id, 8);
        else
            by_text.mask[0][i] = (uint8_t)id;
    }
    by_host = by_hand = by_text;
}

/* 0 and 1 blended, 2 and 3 cut, 4 blank or alone. */
static void mix_by_hand(const text_case *c, const stk__kernel_mix *cut, float lambda, bool blank)
{
    const size_t value_bytes = (size_t)stk_dtype_bytes(c->dtype),
                 id_bytes = (size_t)stk_dtype_bytes(c->mask_dtype), mask_bytes = TEXT_AREA * id_bytes;
    stk__mix_box box = {cut->x,
                        cut->y,
                        cut->w,
                        cut->h,
                        TEXT_W,
                        TEXT_H,
                        c->planar ? c->channels : 1,
                        value_bytes * (size_t)(c->planar ? 1 : c->channels)};
    stk__mix_blend(image_of(&by_hand, c, 0), image_of(&by_hand, c, 1), TEXT_AREA * (size_t)c->channels,
                   c->dtype, lambda);
    stk__mix_swap(image_of(&by_hand, c, 2), image_of(&by_hand, c, 3), &box);
    box.planes = 1;
    box.pixel_bytes = id_bytes;
    uint8_t *masks = by_hand.mask[0], *second = by_hand.mask2[0];
    stk__mix_swap(mask_of(masks, c, 2), mask_of(masks, c, 3), &box);
    if (blank) memset(image_of(&by_hand, c, 4), 0, TEXT_AREA * (size_t)c->channels * value_bytes);
    for (int i = 0; blank && i < TEXT_AREA; i++) {
        memset(mask_of(masks, c, 4) + (size_t)i * id_bytes, 0, id_bytes);
        mask_of(masks, c, 4)[(size_t)i * id_bytes] = 255;
    }
    memcpy(mask_of(second, c, 0), mask_of(masks, c, 1), mask_bytes);
    memcpy(mask_of(second, c, 1), mask_of(masks, c, 0), mask_bytes);
    memcpy(mask_of(second, c, 2), mask_of(masks, c, 2), 3 * mask_bytes);
}

static void mix_by_entries(const text_case *c, const stk__kernel_mix *mixes, int count)
{
    const stk__mix_batch batch = {.first = {.image = by_host.image[0],
                                            .mask = by_host.mask[0],
                                            .dtype = c->dtype,
                                            .mask_dtype = c->mask_dtype,
                                            .w = TEXT_W,
                                            .h = TEXT_H,
                                            .channels = c->channels,
                                            .planar = c->planar},
                                  .mask2 = by_host.mask2[0]};
    for (int i = 0; i < count; i++)
        stk__mix_run(&mixes[i], &batch);
}

static void check_text(const text_case *c, bool blank)
{
    const stk__kernel_mix mixes[] = {
        {.kind = STK_KERNEL_MIX_BLEND, .a = 0, .b = 1, .lambda = 0.3f},
        {.kind = STK_KERNEL_MIX_PASTE, .a = 2, .b = 3, .x = 5, .y = 2, .w = 31, .h = 6},
        {.kind = blank ? STK_KERNEL_MIX_BLANK : STK_KERNEL_MIX_ALONE, .a = 4, .b = 4},
    };
    fill_memory(c);
    const stk__kernel_mix_work work = {
        .launch = {.w = TEXT_W,
                   .h = TEXT_H,
                   .channels = c->channels,
                   .planar = c->planar,
                   .dtype = c->dtype == STK_DTYPE_F32   ? STK_KERNEL_F32
                            : c->dtype == STK_DTYPE_F16 ? STK_KERNEL_F16
                                                        : STK_KERNEL_BF16,
                   .mask_dtype = c->mask_dtype == STK_DTYPE_I64 ? STK_KERNEL_MASK_I64 : STK_KERNEL_MASK_U8},
        .mixes = mixes,
        .image = by_text.image[0],
        .mask = by_text.mask[0],
        .mask2 = by_text.mask2[0]};
    stk__host_build_mix(&work, 2, 2, 3);
    mix_by_hand(c, &mixes[1], 0.3f, blank);
    assert_memory_equal(&by_text, &by_hand, sizeof by_text);
    if (blank) return;
    mix_by_entries(c, mixes, 3);
    assert_memory_equal(&by_host, &by_text, sizeof by_text);
}

static void the_kernel_source_mixes_the_same_bits(void **state)
{
    (void)state;
    static const stk_dtype types[] = {STK_DTYPE_F32, STK_DTYPE_F16, STK_DTYPE_BF16};
    for (int i = 0; i < 3 * 2 * 2 * 2 * 2; i++) {
        const text_case c = {types[i % 3], i / 3 % 2 ? STK_DTYPE_I64 : STK_DTYPE_U8, i / 6 % 2 ? 3 : 1,
                             i / 12 % 2};
        check_text(&c, i / 24 % 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_blended_both_ways),
        cmocka_unit_test(small_types_are_exact_where_nothing_changes),
        cmocka_unit_test(small_types_are_blended_in_float),
        cmocka_unit_test(bytes_are_rounded),
        cmocka_unit_test(boxes_change_places_in_every_plane),
        cmocka_unit_test(the_kernel_source_mixes_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
