/* SPDX-License-Identifier: Apache-2.0 */
/* A small batch for tests of arguments and values, and what a refusal must say. */
#ifndef LEVEL_BATCH_H
#define LEVEL_BATCH_H

#include "augmenter_helpers.h"

/* A batch of levels that differ everywhere. */
enum { N = 4, H = 9, W = 11, C = 3, AREA = H * W };

static inline uint8_t level_at(int64_t n, int64_t y, int64_t x, int64_t c)
{
    return (uint8_t)(n * 67 + y * 31 + x * 7 + c * 101 + y * x * c);
}

/* Dense u8 NHWC with masks; results f32. */
static inline stk_augment_io levels_new(void)
{
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = N;
    io.images = TENSOR(STK_DTYPE_U8, N, H, W, C);
    io.masks = TENSOR(STK_DTYPE_U8, N, H, W);
    uint8_t *image = io.images.data, *mask = io.masks.data;
    for (int64_t i = 0; i < N * AREA; i++) {
        for (int64_t c = 0; c < C; c++)
            *image++ = level_at(i / AREA, i % AREA / W, i % W, c);
        *mask++ = level_at(i / AREA, i % AREA / W, i % W, 0) % 6;
    }
    io.out_images = TENSOR(STK_DTYPE_F32, N, H, W, C);
    io.out_masks = TENSOR(STK_DTYPE_U8, N, H, W);
    return io;
}

static inline void expect_refusal(stk_augmenter *augmenter, const stk_augment_io *io, stk_status status,
                                  const char *message)
{
    stk_error error = {0};
    assert_int_equal(stk_augmenter_apply(augmenter, io, &error), status);
    if (!strstr(error.message, message)) fail_msg("'%s' is not in '%s'", message, error.message);
    assert_int_equal(error.code, status);
}

#endif
