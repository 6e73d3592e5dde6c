/* SPDX-License-Identifier: Apache-2.0 */
/* What an augmenter refuses: wrong arguments and options, each named in the message, before anything is
 * written. */
#include "level_batch.h"

#include <math.h>

static const stk_augment_options strong = {.augment = "strong", .seed = 2};

static void no_count(stk_augment_io *io)
{
    io->count = 0;
}
static void many(stk_augment_io *io)
{
    io->count = 65536;
}
static void late_epoch(stk_augment_io *io)
{
    io->epoch = UINT64_C(1) << 32;
}
static void negative_id(stk_augment_io *io)
{
    static const int64_t ids[N] = {1, 2, -3, 4};
    io->ids = ids;
}
static void odd_axes(stk_augment_io *io)
{
    io->axes = (stk_axes)2;
}
static void no_images(stk_augment_io *io)
{
    io->images.dtype = STK_DTYPE_NONE;
}
static void two_ways(stk_augment_io *io)
{
    io->image_list = &io->images;
}
static void list_of_masks(stk_augment_io *io)
{
    io->mask_list = &io->masks;
}
static void doubles(stk_augment_io *io)
{
    io->images.dtype = STK_DTYPE_F64;
}
static void unknown_dtype(stk_augment_io *io)
{
    io->images.dtype = (stk_dtype)99;
}
static void on_gpu(stk_augment_io *io)
{
    io->images.device = STK_DEVICE_CUDA;
}
static void out_on_gpu(stk_augment_io *io)
{
    io->out_images.device = STK_DEVICE_CUDA;
}
static void three_axes(stk_augment_io *io)
{
    io->images.ndim = 3;
}
static void negative_ndim(stk_augment_io *io)
{
    io->images.ndim = -1;
}
static void short_batch(stk_augment_io *io)
{
    io->images.shape[0] = N - 1;
}
static void no_rows(stk_augment_io *io)
{
    io->images.shape[1] = 0;
}
static void nhwc_as_nchw(stk_augment_io *io)
{
    io->axes = STK_AXES_NCHW;
}
static void huge(stk_augment_io *io)
{
    io->images.shape[1] = INT64_C(1) << 60;
}
static void wide(stk_augment_io *io)
{
    io->images.shape[2] = 70000;
}
static void far(stk_augment_io *io)
{
    io->images.strides[0] = INT64_MAX;
}
static void no_data(stk_augment_io *io)
{
    io->images.data = NULL;
}
static void small_masks(stk_augment_io *io)
{
    io->masks.shape[2] = W - 1;
}
static void float_masks(stk_augment_io *io)
{
    io->masks.dtype = STK_DTYPE_F32;
}
static void no_out(stk_augment_io *io)
{
    io->out_images.dtype = STK_DTYPE_NONE;
}
static void no_out_masks(stk_augment_io *io)
{
    io->out_masks.dtype = STK_DTYPE_NONE;
}
static void half_out(stk_augment_io *io)
{
    io->out_images.dtype = STK_DTYPE_F16;
}
static void small_out(stk_augment_io *io)
{
    io->out_images.shape[1] = H - 1;
}
static void loose_out(stk_augment_io *io)
{
    io->out_images.strides[0]++;
}
static void crooked_out(stk_augment_io *io)
{
    io->out_images.data = (uint8_t *)io->out_images.data + 1;
}
static void no_masks(stk_augment_io *io)
{
    io->masks.dtype = STK_DTYPE_NONE;
}
static void masks_in_place(stk_augment_io *io)
{
    io->out_masks.data = io->masks.data;
}
static void images_over_masks(stk_augment_io *io)
{
    io->masks.data = (uint8_t *)io->out_images.data + N * AREA * C * 4 - 1;
}
static void masks2_of_another_type(stk_augment_io *io)
{
    io->out_masks2 = io->out_masks;
    io->out_masks2.dtype = STK_DTYPE_I64;
}
static void points_alone(stk_augment_io *io)
{
    static float at[N * 3];
    io->points = tensor_of(at, STK_DTYPE_F32, 3, (int64_t[]){N, 1, 3});
}
static void labels_alone(stk_augment_io *io)
{
    static int64_t labels[N];
    io->labels = tensor_of(labels, STK_DTYPE_I64, 1, (int64_t[]){N});
}
static void labels_of_bytes(stk_augment_io *io)
{
    static uint8_t labels[N];
    io->labels = tensor_of(labels, STK_DTYPE_U8, 1, (int64_t[]){N});
}
static void values_have_no_second(stk_augment_io *io)
{
    static float labels[N], out[N];
    static int64_t second[N];
    io->labels = tensor_of(labels, STK_DTYPE_F32, 1, (int64_t[]){N});
    io->out_labels = tensor_of(out, STK_DTYPE_F32, 1, (int64_t[]){N});
    io->out_labels2 = tensor_of(second, STK_DTYPE_I64, 1, (int64_t[]){N});
}

static const struct {
    void (*spoil)(stk_augment_io *io);
    const char *message; /* part of it */
    stk_status status;   /* 0: STK_ERROR_ARGUMENT */
} mistakes[] = {
    {no_count, "io.count is 0, not 1 to 65535", STK_OK},
    {many, "io.count is 65536", STK_OK},
    {late_epoch, "io.epoch is 4294967296", STK_OK},
    {negative_id, "io.ids[2] is -3", STK_OK},
    {odd_axes, "io.axes", STK_OK},
    {no_images, "io.images is absent", STK_OK},
    {two_ways, "io.images and io.image_list are both set", STK_OK},
    {list_of_masks, "io.mask_list is set beside io.images", STK_OK},
    {doubles, "io.images has the dtype f64, not u8 or f32", STK_OK},
    {unknown_dtype, "io.images has the dtype unknown", STK_OK},
    {on_gpu, "io.images is in the memory of a device", STK_ERROR_UNSUPPORTED},
    {out_on_gpu, "io.out_images is in the memory of a device", STK_ERROR_UNSUPPORTED},
    {three_axes, "io.images has the shape [4 9 11], not [4 ? ? ?]", STK_OK},
    {negative_ndim, "io.images has the shape []", STK_OK},
    {short_batch, "io.images has the shape [3 9 11 3], not [4 ? ? ?], by io.count", STK_OK},
    {no_rows, "io.images has the shape [4 0 11 3]", STK_OK},
    {nhwc_as_nchw, "io.images has 9 channels, not 1 or 3", STK_OK},
    {huge, "io.images has a shape or strides beyond any memory", STK_OK},
    {wide, "io.images is 9 x 70000", STK_OK},
    {far, "io.images has a shape or strides beyond any memory", STK_OK},
    {no_data, "io.images has no memory", STK_OK},
    {small_masks, "io.masks has the shape [4 9 10], not [4 9 11]", STK_OK},
    {float_masks, "io.masks has the dtype f32, not u8 or i64", STK_OK},
    {no_out, "io.out_images is absent, but needed for io.images", STK_OK},
    {no_out_masks, "io.out_masks is absent, but needed for io.masks", STK_OK},
    {half_out, "io.out_images has the dtype f16, not f32", STK_OK},
    {small_out, "io.out_images has the shape [4 8 11 3], not [4 9 11 3]", STK_OK},
    {loose_out, "io.out_images is not dense", STK_OK},
    {crooked_out, "io.out_images is not aligned", STK_OK},
    {no_masks, "io.out_masks is set, but there is nothing", STK_OK},
    {masks_in_place, "io.out_masks and io.masks share memory", STK_OK},
    {images_over_masks, "io.out_images and io.masks share memory", STK_OK},
    {masks2_of_another_type, "io.out_masks2 has the dtype i64, not u8", STK_OK},
    {points_alone, "io.out_points is absent", STK_OK},
    {labels_alone, "io.out_labels is absent", STK_OK},
    {labels_of_bytes, "io.labels has the dtype u8, not i64 or f32", STK_OK},
    {values_have_no_second, "io.out_labels2 is set, but there is nothing", STK_OK},
};

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    stk_augmenter *augmenter = augmenter_new(strong);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        stk_augment_io good = levels_new(), io = good;
        mistakes[i].spoil(&io);
        expect_refusal(augmenter, &io, mistakes[i].status ? mistakes[i].status : STK_ERROR_ARGUMENT,
                       mistakes[i].message);
        for (int64_t k = 0; k < stk_tensor_bytes(&good.out_images); k++)
            assert_int_equal(((uint8_t *)good.out_images.data)[k], 0x5a); /* nothing was begun */
        apply(augmenter, &good);
        io_free(&good);
    }
    stk_augmenter_close(&augmenter);
}

static void lists_must_agree(void **state)
{
    (void)state;
    stk_augmenter *augmenter = augmenter_new(strong);
    uint8_t pixels[2][48];
    float out[96];
    stk_tensor list[2] = {tensor_of(pixels[0], STK_DTYPE_U8, 3, (int64_t[]){4, 4, 3}),
                          tensor_of(pixels[1], STK_DTYPE_U8, 3, (int64_t[]){2, 8, 3})};
    stk_augment_io io = {.count = 2, .image_list = list};
    io.out_images = tensor_of(out, STK_DTYPE_F32, 4, (int64_t[]){2, 4, 4, 3});
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT,
                   "io.image_list has images of different sizes: 4 x 4, and [1] is 2 x 8");
    list[1] = tensor_of(pixels[1], STK_DTYPE_U8, 3, (int64_t[]){4, 4, 1});
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.image_list[1] has 1 channels, the first has 3");
    list[1].ndim = 2;
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.image_list[1] has the shape [4 4], not [? ? ?]");
    list[1] = list[0];
    io.mask_list = list;
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.mask_list[0] has the shape [4 4 3], not [4 4]");
    io.mask_list = NULL;
    io.masks = list[0];
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.masks is set beside io.image_list");
    io.masks = (stk_tensor){0};
    io.out_images.data = pixels[0];
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.out_images and io.image_list share memory");
    stk_augmenter_close(&augmenter);
}

static void mixing_needs_its_results(void **state)
{
    (void)state;
    stk_augmenter *augmenter = augmenter_new(strong);
    assert_false(stk_augmenter_mixes(augmenter));
    stk_augmenter_close(&augmenter);
    augmenter = augmenter_new((stk_augment_options){.augment = "mixup_alpha: 1"});
    assert_true(stk_augmenter_mixes(augmenter));
    stk_augment_io io = levels_new();
    int64_t labels[N] = {0}, out_labels[N];
    float at[N * 3] = {0}, moved[N * 3];
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.out_masks2 is absent, but needed for io.masks");
    io.out_masks2 = TENSOR(STK_DTYPE_U8, N, H, W);
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT,
                   "io.out_lambda is absent, but needed for mixup and cutmix");
    io.out_lambda = TENSOR(STK_DTYPE_F32, N);
    io.labels = tensor_of(labels, STK_DTYPE_I64, 1, (int64_t[]){N});
    io.out_labels = tensor_of(out_labels, STK_DTYPE_I64, 1, (int64_t[]){N});
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.out_labels2 is absent, but needed for io.labels");
    io.labels = io.out_labels = (stk_tensor){0};
    apply(augmenter, &io);
    io.points = tensor_of(at, STK_DTYPE_F32, 3, (int64_t[]){N, 1, 3});
    io.out_points = tensor_of(moved, STK_DTYPE_F32, 3, (int64_t[]){N, 1, 3});
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "mixup and cutmix do not support points");
    io.points = io.out_points = (stk_tensor){0};
    io_free(&io);
    stk_augmenter_close(&augmenter);
}

/* Counts that pairs of left and right rely on. */
static void pairs_must_exist(void **state)
{
    (void)state;
    stk_augment_options options = {.augment = "horizontal_flip_prob: 1", .flip_pairs = "0:5"};
    float set[N * 3] = {0}, out[N * 3];
    stk_augment_io io = levels_new();
    tensor_free(&io.masks);
    tensor_free(&io.out_masks);
    io.labels = tensor_of(set, STK_DTYPE_F32, 2, (int64_t[]){N, 3});
    io.out_labels = tensor_of(out, STK_DTYPE_F32, 2, (int64_t[]){N, 3});
    stk_augmenter *augmenter = augmenter_new(options);
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT,
                   "io.labels has 3 classes, but options.flip_pairs has class 5");
    stk_augmenter_close(&augmenter);
    io.labels = io.out_labels = (stk_tensor){0};
    options.point_count = 6;
    augmenter = augmenter_new(options);
    io.points = tensor_of(set, STK_DTYPE_F32, 3, (int64_t[]){N, 1, 3});
    io.out_points = tensor_of(out, STK_DTYPE_F32, 3, (int64_t[]){N, 1, 3});
    expect_refusal(augmenter, &io, STK_ERROR_ARGUMENT, "io.points has the shape [4 1 3], not [4 6 3]");
    stk_augmenter_close(&augmenter);
    io.points = io.out_points = (stk_tensor){0};
    io_free(&io);
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    static const char *const with_null[] = {"left", NULL}, *const names[] = {"left", "right"};
    static const struct {
        stk_augment_options options;
        const char *message;
    } rows[] = {
        {{.augment = "strongest"}, "strongest"},
        {{.augment = "rotation_degree: 5"}, "rotation_degree"},
        {{.augment = "preset: strong, device: cuda:0"}, "options.augment sets a device"},
        {{.image_size = {0, 5}}, "options.image_size"},
        {{.image_size = {-1, 5}}, "options.image_size"},
        {{.image_size = {65535, 65535}}, "options.image_size"},
        {{.dtype = (stk_store)9}, "options.dtype"},
        {{.axes = (stk_axes)2}, "options.axes"},
        {{.mean = {0, NAN, 0}}, "options.mean"},
        {{.std = {1, 0, 1}}, "options.std has a 0"},
        {{.std = {-1, 1, 1}}, "options.std"},
        {{.dtype = STK_STORE_U8, .mean = {0.5, 0.5, 0.5}}, "options.mean is set, but bytes"},
        {{.class_count = -1}, "options.class_count"},
        {{.point_names = names}, "options.point_names"},
        {{.class_names = with_null, .class_count = 2}, "options.class_names has NULL"},
        {{.augment = "standard", .flip_pairs = "left:up", .class_names = names, .class_count = 2},
         "options.flip_pairs has 'left:up'"},
        {{.augment = "standard", .flip_pairs = "0:2", .class_count = 2},
         "options.flip_pairs has '0:2': there are 2 classes"},
        {{.threads = -1}, "options.threads"},
        {{.timeout_s = 0.01}, "options.timeout_s"},
        {{.timeout_s = NAN}, "options.timeout_s"},
        {{.device = "gpu"}, "unknown device 'gpu'"},
        {{.device = "opencl:0", .dtype = STK_STORE_U8}, "options.dtype is u8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_error error = {0};
        stk_augmenter *augmenter = (stk_augmenter *)&error;
        assert_int_not_equal(stk_augmenter_open(&augmenter, &rows[i].options, &error), STK_OK);
        assert_null(augmenter);
        if (!strstr(error.message, rows[i].message) && !strstr(error.place, rows[i].message))
            fail_msg("'%s' is not in '%s'", rows[i].message, error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_named), cmocka_unit_test(lists_must_agree),
        cmocka_unit_test(mixing_needs_its_results),  cmocka_unit_test(pairs_must_exist),
        cmocka_unit_test(wrong_options_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
