/* SPDX-License-Identifier: Apache-2.0 */
/* Strides and types that mean the same pixels give the same results; values that are no pixels are refused
 * with their sample. */
#include "level_batch.h"

#include <math.h>
#include <stdio.h>

static const stk_augment_options strong = {.augment = "strong", .seed = 2};

/* A place for every value in memory with gaps; strides may be negative. */
typedef struct strided_case {
    const char *what;
    stk_dtype dtype, mask_dtype;
    stk_axes axes;
    int64_t strides[4]; /* n, h, w, c of images */
    int64_t first;      /* of them, from the start of memory */
    int64_t mask_strides[3], mask_first;
} strided_case;

static const strided_case strided[] = {
    {"floats", STK_DTYPE_F32, STK_DTYPE_I64, STK_AXES_NHWC, {AREA * C, W *C, C, 1}, 0, {AREA, W, 1}, 0},
    {"NCHW", STK_DTYPE_U8, STK_DTYPE_U8, STK_AXES_NCHW, {AREA * C, W, 1, AREA}, 0, {AREA, W, 1}, 0},
    {"floats NCHW", STK_DTYPE_F32, STK_DTYPE_U8, STK_AXES_NCHW, {AREA * C, W, 1, AREA}, 0, {AREA, W, 1}, 0},
    {"channels last", STK_DTYPE_F32, STK_DTYPE_U8, STK_AXES_NCHW, {AREA * C, W *C, C, 1}, 0, {AREA, W, 1}, 0},
    {"rows with a gap", STK_DTYPE_U8, STK_DTYPE_U8, STK_AXES_NHWC, {999, 50, C, 1}, 3, {400, 33, 1}, 5},
    {"pixels with a gap", STK_DTYPE_U8, STK_DTYPE_I64, STK_AXES_NHWC, {999, 80, 7, 2}, 0, {400, 33, 3}, 0},
    {"upside down", STK_DTYPE_U8, STK_DTYPE_U8, STK_AXES_NHWC, {999, -50, C, 1}, 700, {400, -33, 1}, 300},
    {"mirrored floats", STK_DTYPE_F32, STK_DTYPE_I64, STK_AXES_NHWC, {999, 50, -C, 1}, 80, {400, 33, -1}, 20},
    {"BGR, last first",
     STK_DTYPE_U8,
     STK_DTYPE_U8,
     STK_AXES_NHWC,
     {-999, 50, C, -1},
     3500,
     {-400, 33, 1},
     1600},
};

static void put(stk_tensor *tensor, int64_t at, uint8_t value)
{
    if (tensor->dtype == STK_DTYPE_U8) ((uint8_t *)tensor->data)[at] = value;
    if (tensor->dtype == STK_DTYPE_I64) ((int64_t *)tensor->data)[at] = value;
    if (tensor->dtype == STK_DTYPE_F32) ((float *)tensor->data)[at] = (float)value / 255;
}

static void spread(const strided_case *c, stk_augment_io *io)
{
    enum { ROOM = 6000 };
    stk_tensor images = TENSOR(c->dtype, ROOM), masks = TENSOR(c->mask_dtype, ROOM);
    for (int64_t n = 0; n < N; n++)
        for (int64_t y = 0; y < H; y++)
            for (int64_t x = 0; x < W; x++) {
                const int64_t at = c->first + n * c->strides[0] + y * c->strides[1] + x * c->strides[2];
                for (int64_t k = 0; k < C; k++)
                    put(&images, at + k * c->strides[3], level_at(n, y, x, k));
                put(&masks,
                    c->mask_first + n * c->mask_strides[0] + y * c->mask_strides[1] + x * c->mask_strides[2],
                    level_at(n, y, x, 0) % 6);
            }
    const int order[2][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}};
    const int64_t shape[4] = {N, H, W, C};
    io->axes = c->axes;
    io->images = (stk_tensor){
        .data = (uint8_t *)images.data + c->first * stk_dtype_bytes(c->dtype), .dtype = c->dtype, .ndim = 4};
    for (int i = 0; i < 4; i++) {
        io->images.shape[i] = shape[order[c->axes][i]];
        io->images.strides[i] = c->strides[order[c->axes][i]];
    }
    io->masks = (stk_tensor){.data = (uint8_t *)masks.data + c->mask_first * stk_dtype_bytes(c->mask_dtype),
                             .dtype = c->mask_dtype,
                             .ndim = 3,
                             .shape = {N, H, W},
                             .strides = {c->mask_strides[0], c->mask_strides[1], c->mask_strides[2]}};
}

static void strides_and_types_make_no_difference(void **state)
{
    (void)state;
    stk_augment_io dense = levels_new();
    apply_once(strong, &dense);
    for (size_t i = 0; i < sizeof strided / sizeof strided[0]; i++) {
        const strided_case *c = &strided[i];
        stk_augment_io io = levels_new();
        tensor_free(&io.images);
        tensor_free(&io.masks);
        spread(c, &io);
        print_message("%s\n", c->what);
        apply_once(strong, &io);
        expect_same(&io.out_images, &dense.out_images);
        expect_same(&io.out_masks, &dense.out_masks);
        io.images.data = (uint8_t *)io.images.data - c->first * stk_dtype_bytes(c->dtype);
        io.masks.data = (uint8_t *)io.masks.data - c->mask_first * stk_dtype_bytes(c->mask_dtype);
        io_free(&io);
    }
    io_free(&dense);
}

/* One row for all, as expand() makes it. */
static void strides_may_be_zero(void **state)
{
    (void)state;
    float row[W], out[N * AREA];
    stk_augment_io io = {.count = N};
    for (int i = 0; i < W; i++)
        row[i] = (float)i / 20;
    io.images = (stk_tensor){
        .data = row, .dtype = STK_DTYPE_F32, .ndim = 4, .shape = {N, H, W, 1}, .strides = {0, 0, 1, 0}};
    io.out_images = tensor_of(out, STK_DTYPE_F32, 4, (int64_t[]){N, H, W, 1});
    apply_once((stk_augment_options){0}, &io);
    for (int i = 0; i < N * AREA; i++)
        assert_true(fabsf(out[i] - (float)(int)(row[i % W] * 255 + 0.5f) / 255) < 1e-6f);
}

/* Of two samples with a wrong value the first is named, by any number of threads. */
static void wrong_values_name_their_sample(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } rows[] = {{NAN, "the value nan"},
                {1.25f, "the value 1.25"},
                {-0.5f, "the value -0.5"},
                {INFINITY, "the value inf"}};
    for (size_t i = 0; i < 4 * sizeof rows / sizeof rows[0]; i++) {
        char message[128];
        stk_augmenter *augmenter =
            augmenter_new((stk_augment_options){.augment = "strong", .threads = 1 + (int64_t)i % 2});
        stk_augment_io io = levels_new();
        tensor_free(&io.images);
        io.images = TENSOR(STK_DTYPE_F32, N, H, W, C);
        memset(io.images.data, 0, (size_t)stk_tensor_bytes(&io.images));
        float *values = io.images.data;
        values[(1 * AREA + 4 * W + 7) * C + 2] = rows[i / 4].value;
        values[3 * AREA * C] = -1;
        snprintf(message, sizeof message, "io.images: sample 1 has %s at row 4, column 7, not 0 to 1",
                 rows[i / 4].text);
        if (i % 4 > 1) { /* not as dense rows */
            io.images.shape[2] = W - 1;
            tensor_free(&io.masks);
            tensor_free(&io.out_masks);
            io.out_images.shape[2] = W - 1;
            const int64_t shape[] = {N, H, W - 1, C};
            io.out_images.strides[0] = shape[1] * shape[2] * shape[3];
            io.out_images.strides[1] = shape[2] * shape[3];
        }
        expect_refusal(augmenter, &io, STK_ERROR_SAMPLE, message);
        values[(1 * AREA + 4 * W + 7) * C + 2] = 1;
        values[3 * AREA * C] = -0.0f;
        apply(augmenter, &io);
        io_free(&io);
        stk_augmenter_close(&augmenter);
    }
}

static void wrong_ids_name_their_sample(void **state)
{
    (void)state;
    static const int64_t ids[] = {256, -1, INT64_MIN, INT64_C(1) << 40};
    stk_augmenter *augmenter = augmenter_new(strong);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char message[128];
        stk_augment_io io = levels_new();
        tensor_free(&io.masks);
        io.masks = TENSOR(STK_DTYPE_I64, N, H, W);
        memset(io.masks.data, 0, (size_t)stk_tensor_bytes(&io.masks));
        ((int64_t *)io.masks.data)[2 * AREA + 8 * W + 10] = ids[i];
        snprintf(message, sizeof message, "io.masks: sample 2 has the id %lld at row 8, column 10",
                 (long long)ids[i]);
        expect_refusal(augmenter, &io, STK_ERROR_SAMPLE, message);
        ((int64_t *)io.masks.data)[2 * AREA + 8 * W + 10] = 255;
        apply(augmenter, &io);
        io_free(&io);
    }
    stk_augmenter_close(&augmenter);
}

/* Every level comes back from its float. */
static void floats_are_read_as_levels(void **state)
{
    (void)state;
    float values[256], tripled[256];
    uint8_t out[256];
    stk_augment_io io = {.count = 1};
    for (int i = 0; i < 256; i++)
        values[i] = (float)i / 255;
    io.images = tensor_of(values, STK_DTYPE_F32, 4, (int64_t[]){1, 16, 16, 1});
    io.out_images = tensor_of(out, STK_DTYPE_U8, 4, (int64_t[]){1, 16, 16, 1});
    apply_once((stk_augment_options){.dtype = STK_STORE_U8}, &io);
    for (int i = 0; i < 256; i++)
        assert_int_equal(out[i], i);
    for (int i = 0; i < 256; i++) {
        tripled[i] = ((float)i + 0.49f) / 255;
        if (tripled[i] > 1) tripled[i] = 1;
    }
    io.images.data = tripled;
    apply_once((stk_augment_options){.dtype = STK_STORE_U8}, &io);
    for (int i = 0; i < 256; i++)
        assert_int_equal(out[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_and_types_make_no_difference),
        cmocka_unit_test(strides_may_be_zero),
        cmocka_unit_test(wrong_values_name_their_sample),
        cmocka_unit_test(wrong_ids_name_their_sample),
        cmocka_unit_test(floats_are_read_as_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
