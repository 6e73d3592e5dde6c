/* SPDX-License-Identifier: Apache-2.0 */
/* Augmenters whose images and masks lie in the memory of a (fake) GPU: the CPU's bits in any layout, its
 * words for values that are no pixels, and nothing left when the GPU does not play along. */
#include "core/random.h"
#include "cuda_resident.h"
#include "fake_cuda_driver.h"
#include "stoker/augment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
    MOST = 5,
    SIDE = 67,
    AREA = SIDE * SIDE,
    ROOM = MOST * AREA * 3 * 4 * 4, /* f32, and gaps */
    OUT_IMAGES = MOST * AREA * 3 * 4 / 64 * 64 + 64,
    OUT_MASKS = MOST * AREA * 8,
    OUT_BYTES = OUT_IMAGES + 2 * OUT_MASKS
};

/* Memory of the caller's on one side: what is given, and results. */
typedef struct side {
    uint8_t *images, *masks, *out; /* addresses there */
    stk_device_kind kind;
} side;

/* What a batch looks like; zeros are the plainest. */
typedef struct shape {
    int64_t n, h, w, c;
    stk_dtype dtype, mask_dtype; /* mask_dtype NONE: no masks */
    bool bytes;                  /* results are u8, not f32 */
    bool planar, gaps, backwards;
    int32_t size[2];
} shape;

static shape shape_of(int64_t n, int64_t h, int64_t w, stk_dtype dtype, stk_dtype mask_dtype)
{
    return (shape){.n = n, .h = h, .w = w, .c = 3, .dtype = dtype, .mask_dtype = mask_dtype};
}

static const fake_driver *fake;
static _Alignas(64) uint8_t images[ROOM], masks[OUT_MASKS * 2 / 64 * 64 + 64], on_cpu[OUT_BYTES];
static float lambda[2][MOST];
static side here, there;
static reader r;
static double timeout_s = 60; /* the machine may be busy */

static stk__cu_pointer alloc_there(size_t bytes)
{
    stk__cu_pointer at;
    assert_int_equal(fake->cuda.cuMemAlloc_v2(&at, bytes), 0);
    return at;
}

static void begin(const char *script)
{
    fake = fake_driver_open();
    fake_driver_play("%s", script);
    reader_start(&r);
    here = (side){images, masks, on_cpu, STK_DEVICE_CPU};
    there = (side){(uint8_t *)(uintptr_t)alloc_there(sizeof images),
                   (uint8_t *)(uintptr_t)alloc_there(sizeof masks),
                   (uint8_t *)(uintptr_t)alloc_there(OUT_BYTES), STK_DEVICE_CUDA};
}

static void end(const char *where)
{
    const uint8_t *const all[] = {there.images, there.masks, there.out};
    for (int i = 0; i < 3; i++)
        assert_int_equal(fake->cuda.cuMemFree_v2((stk__cu_pointer)(uintptr_t)all[i]), 0);
    reader_end(&r);
    fake_driver_expect_nothing_left(where);
}

/* The caller's work has ended: what it gives is there. */
static void give(void)
{
    memcpy(fake->host((uint64_t)(uintptr_t)there.images), images, sizeof images);
    memcpy(fake->host((uint64_t)(uintptr_t)there.masks), masks, sizeof masks);
}

/* order: of the axes, the innermost first. */
static stk_tensor lay_out(uint8_t *memory, stk_dtype dtype, int ndim, const int64_t *lengths,
                          const int *order, const shape *s)
{
    stk_tensor tensor = {.dtype = dtype, .ndim = ndim};
    int64_t extent = 1, first = 0;
    for (int i = 0; i < ndim; i++) {
        const int axis = order[i];
        const int64_t stride = extent + (s->gaps ? i : 0);
        tensor.shape[axis] = lengths[axis];
        tensor.strides[axis] = s->backwards && axis > 0 ? -stride : stride;
        if (tensor.strides[axis] < 0) first += stride * (lengths[axis] - 1);
        extent += stride * (lengths[axis] - 1);
    }
    assert_true((size_t)(extent * stk_dtype_bytes(dtype)) <= (ndim == 4 ? sizeof images : sizeof masks));
    tensor.data = memory + first * stk_dtype_bytes(dtype);
    return tensor;
}

static stk_tensor dense(void *data, stk_dtype dtype, int ndim, const int64_t *lengths)
{
    static const int order[4][4] = {{0}, {1, 0}, {2, 1, 0}, {3, 2, 1, 0}};
    return lay_out(data, dtype, ndim, lengths, order[ndim - 1], &(shape){0});
}

static stk_augment_io io_of(const shape *s, const side *at)
{
    static const int order[] = {3, 2, 1, 0};
    const int64_t h = s->size[0] ? s->size[0] : s->h, w = s->size[0] ? s->size[1] : s->w;
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = s->n;
    io.epoch = 3;
    io.axes = s->planar ? STK_AXES_NCHW : STK_AXES_NHWC;
    io.images = lay_out(at->images, s->dtype, 4,
                        s->planar ? (int64_t[]){s->n, s->c, s->h, s->w} : (int64_t[]){s->n, s->h, s->w, s->c},
                        order, s);
    io.out_images = dense(at->out, s->bytes ? STK_DTYPE_U8 : STK_DTYPE_F32, 4, (int64_t[]){s->n, s->c, h, w});
    io.out_lambda = dense(lambda[at == &there], STK_DTYPE_F32, 1, (int64_t[]){s->n});
    io.images.device = io.out_images.device = at->kind;
    if (!s->mask_dtype) return io;
    io.masks = lay_out(at->masks, s->mask_dtype, 3, (int64_t[]){s->n, s->h, s->w}, order + 1, s);
    io.out_masks = dense(at->out + OUT_IMAGES, s->mask_dtype, 3, (int64_t[]){s->n, h, w});
    io.out_masks2 = dense(at->out + OUT_IMAGES + OUT_MASKS, s->mask_dtype, 3, (int64_t[]){s->n, h, w});
    io.masks.device = io.out_masks.device = io.out_masks2.device = at->kind;
    return io;
}

static stk_augmenter *augmenter_on(const char *device, const shape *s, const char *augment)
{
    stk_augment_options options = {.augment = augment,
                                   .axes = STK_AXES_NCHW,
                                   .dtype = s->bytes ? STK_STORE_U8 : STK_STORE_F32,
                                   .device = device,
                                   .flip_pairs = "1:2,4:200",
                                   .timeout_s = timeout_s};
    stk_augmenter *augmenter;
    stk_error error = {0};
    memcpy(options.image_size, s->size, sizeof options.image_size);
    if (stk_augmenter_open(&augmenter, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return augmenter;
}

static void fill(const shape *s, uint32_t seed)
{
    static const uint8_t ids[] = {0, 1, 2, 3, 4, 200, 255, 17};
    float *floats = (float *)(void *)images;
    int64_t *wide = (int64_t *)(void *)masks;
    for (uint32_t i = 0; i < sizeof images / 4; i += 4) {
        const stk__random draw = stk__random_draw((stk__random_at){.seed = seed, .sample = i});
        for (uint32_t k = 0; k < 4; k++)
            if (s->dtype == STK_DTYPE_F32)
                floats[i + k] = draw.word[k] % 8   ? stk__random_unit(draw.word[k])
                                : draw.word[k] & 8 ? 1
                                                   : -0.0f;
            else
                memcpy(images + 4 * (i + k), &draw.word[k], 4);
    }
    for (uint32_t i = 0; i < sizeof masks / 8; i++) {
        const uint32_t word = stk__random_draw((stk__random_at){.seed = seed + 1, .sample = i}).word[0];
        for (uint32_t k = 0; k < 8; k++)
            if (s->mask_dtype == STK_DTYPE_U8) masks[8 * i + k] = ids[word >> 3 * k & 7];
        if (s->mask_dtype == STK_DTYPE_I64) wide[i] = ids[word & 7];
    }
}

static void apply(stk_augmenter *augmenter, const stk_augment_io *io)
{
    stk_error error = {0};
    if (stk_augmenter_apply(augmenter, io, &error) != STK_OK) fail_msg("%s", error.message);
}

static void expect_the_bits(const stk_augment_io *expected, const stk_augment_io *made)
{
    const stk_tensor *const right[] = {&expected->out_images, &expected->out_masks, &expected->out_masks2},
                            *const found[] = {&made->out_images, &made->out_masks, &made->out_masks2};
    for (int i = 0; i < 3; i++) {
        r.used = 0;
        if (!right[i]->dtype) continue;
        reader_take(&r, found[i]);
        reader_wait(&r);
        assert_memory_equal(r.bytes, right[i]->data, (size_t)stk_tensor_bytes(right[i]));
    }
    assert_memory_equal(lambda[0], lambda[1], (size_t)expected->count * sizeof(float));
}

static void compare(const shape *s, const char *augment, uint32_t seed)
{
    stk_augmenter *cpu = augmenter_on(NULL, s, augment), *gpu = augmenter_on("cuda:0", s, augment);
    for (int64_t n = 1; n <= s->n; n += 2) { /* the same augmenter for batches that grow */
        shape part = *s;
        part.n = n;
        fill(s, seed + (uint32_t)n);
        give();
        const stk_augment_io expected = io_of(&part, &here), made = io_of(&part, &there);
        apply(cpu, &expected);
        apply(gpu, &made);
        expect_the_bits(&expected, &made);
    }
    stk_augmenter_close(&cpu);
    stk_augmenter_close(&gpu);
}

static void all_layouts_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {1, 67}, {7, 5}, {13, 37}, {32, 64}, {33, 31}};
    static const stk_dtype ids[] = {STK_DTYPE_NONE, STK_DTYPE_U8, STK_DTYPE_I64};
    uint32_t seed = 0;
    begin("late 50");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int k = 0; k < 24; k++) {
            const shape s = {.n = 5 - k % 3,
                             .h = sizes[i][0],
                             .w = sizes[i][1],
                             .c = k % 5 == 4 ? 1 : 3,
                             .dtype = k & 1 ? STK_DTYPE_F32 : STK_DTYPE_U8,
                             .mask_dtype = ids[k % 3],
                             .planar = k & 2,
                             .gaps = k & 4,
                             .backwards = k & 8,
                             .bytes = k % 7 < 3};
            compare(&s, k % 4 ? RESIDENT_MIXED : "preset: minimal, horizontal_flip_prob: 0.5", seed++);
        }
    end("layouts");
}

static void images_become_larger_or_are_cropped(void **state)
{
    (void)state;
    begin("late 50");
    shape grown = shape_of(3, 20, 17, STK_DTYPE_F32, STK_DTYPE_I64),
          cropped = shape_of(3, 60, 47, STK_DTYPE_U8, STK_DTYPE_U8);
    memcpy(grown.size, (int32_t[]){41, 50}, sizeof grown.size);
    memcpy(cropped.size, (int32_t[]){16, 24}, sizeof cropped.size);
    grown.planar = true;
    compare(&grown, RESIDENT_MIXED, 1);
    compare(&cropped, "preset: standard, crop: [0.3, 1]", 2);
    end("sizes");
}

/* Of different sizes. */
static void lists_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const int64_t heights[] = {9, 60, 31}, widths[] = {50, 8, 32};
    shape s = shape_of(3, 1, 1, STK_DTYPE_U8, STK_DTYPE_U8);
    memcpy(s.size, (int32_t[]){16, 24}, sizeof s.size);
    const side *const sides[] = {&here, &there};
    stk_tensor lists[2][2][3];
    stk_augment_io ios[2];
    begin("late 50");
    fill(&s, 5);
    give();
    for (int k = 0; k < 2; k++) {
        ios[k] = io_of(&s, sides[k]);
        for (int i = 0; i < 3; i++) {
            stk_tensor *image = &lists[k][0][i], *mask = &lists[k][1][i];
            *image =
                dense(sides[k]->images + i * 10007, STK_DTYPE_U8, 3, (int64_t[]){heights[i], widths[i], 3});
            *mask = dense(sides[k]->masks + i * 5003, STK_DTYPE_U8, 2, (int64_t[]){heights[i], widths[i]});
            image->device = mask->device = sides[k]->kind;
        }
        ios[k].images = ios[k].masks = (stk_tensor){0};
        ios[k].image_list = lists[k][0];
        ios[k].mask_list = lists[k][1];
    }
    static const char augment[] = "preset: standard, crop: [0.3, 1], mixup_alpha: 1";
    stk_augmenter *cpu = augmenter_on(NULL, &s, augment), *gpu = augmenter_on("cuda:0", &s, augment);
    apply(cpu, &ios[0]);
    apply(gpu, &ios[1]);
    expect_the_bits(&ios[0], &ios[1]);
    stk_error error = {0};
    lists[1][1][2].device = STK_DEVICE_CPU;
    assert_int_equal(stk_augmenter_apply(gpu, &ios[1], &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, "io.image_list[0] and io.mask_list[2] are not in the same memory");
    stk_augmenter_close(&cpu);
    stk_augmenter_close(&gpu);
    end("lists");
}

/* place: of the value among those of the tensor. */
static void spoil(const stk_tensor *tensor, const int64_t *place, const void *value)
{
    int64_t at = 0;
    for (int i = 0; i < tensor->ndim; i++)
        at += place[i] * tensor->strides[i];
    memcpy((uint8_t *)tensor->data + at * stk_dtype_bytes(tensor->dtype), value,
           (size_t)stk_dtype_bytes(tensor->dtype));
}

static void wrong_values_have_the_words_of_the_cpu(void **state)
{
    (void)state;
    static const uint32_t bad[] = {0x3f800009u, 0x7fc00000u, 0xff800000u,
                                   0xbf000000u}; /* 1 + 9 ulp, NaN, -inf, -0.5 */
    static const int64_t bad_ids[] = {256, -1, INT64_C(1) << 40, INT64_MIN};
    begin("late 50");
    for (int k = 0; k < 16; k++) {
        shape s = shape_of(4, 21, 35, STK_DTYPE_F32, STK_DTYPE_I64);
        s.planar = k & 1;
        s.gaps = k & 2;
        s.backwards = k & 4;
        stk_augmenter *cpu = augmenter_on(NULL, &s, RESIDENT_MIXED),
                      *gpu = augmenter_on("cuda:0", &s, RESIDENT_MIXED);
        const stk_augment_io expected = io_of(&s, &here), made = io_of(&s, &there);
        stk_error words = {0}, error = {0};
        fill(&s, 77);
        const int64_t sample = k % 3, y = 3 + k % 17, x = 34 - 2 * k, c = k % 3;
        for (int64_t i = sample; i < 4; i++) { /* several, of which the first counts */
            const int64_t first[] = {i, s.planar ? c : y, s.planar ? y : x, s.planar ? x : c},
                          later[] = {i, s.planar ? 2 : 20, s.planar ? 20 : 34, s.planar ? 34 : 2};
            if (k < 12) spoil(&expected.images, later, &bad[0]);
            if (k < 12) spoil(&expected.images, first, &bad[k % 4]);
            spoil(&expected.masks, (int64_t[]){i, 20, 34}, &bad_ids[0]);
            spoil(&expected.masks, (int64_t[]){i, y, x}, &bad_ids[k % 4]);
        }
        give();
        assert_int_equal(stk_augmenter_apply(cpu, &expected, &words), STK_ERROR_SAMPLE);
        assert_int_equal(stk_augmenter_apply(gpu, &made, &error), STK_ERROR_SAMPLE);
        assert_string_equal(error.message, words.message);
        assert_string_equal(error.hint, words.hint);
        assert_int_equal(error.damage, words.damage);
        char text[64];
        snprintf(text, sizeof text, "sample %d has the %s", (int)sample, k < 12 ? "value" : "id");
        assert_non_null(strstr(error.message, text));
        fill(&s, 78); /* and it goes on */
        give();
        apply(cpu, &expected);
        apply(gpu, &made);
        expect_the_bits(&expected, &made);
        stk_augmenter_close(&cpu);
        stk_augmenter_close(&gpu);
    }
    end("wrong values");
}

static void expect_refusal(stk_augmenter *augmenter, const stk_augment_io *io, stk_status status,
                           const char *message)
{
    stk_error error = {0};
    assert_int_equal(stk_augmenter_apply(augmenter, io, &error), status);
    if (!strstr(error.message, message)) fail_msg("'%s' is not in '%s'", message, error.message);
}

static void the_rest_is_refused_by_name(void **state)
{
    (void)state;
    const shape s = shape_of(2, 12, 10, STK_DTYPE_U8, STK_DTYPE_U8);
    shape small = shape_of(2, 12, 10, STK_DTYPE_U8, STK_DTYPE_NONE), bytes = s;
    memcpy(small.size, (int32_t[]){11, 10}, sizeof small.size);
    bytes.bytes = true;
    begin("gpus 2");
    stk_augmenter *gpu = augmenter_on("cuda:0", &s, "preset: minimal"),
                  *cpu = augmenter_on(NULL, &s, "preset: minimal"),
                  *less = augmenter_on("cuda:0", &small, "preset: minimal");
    const stk_augment_io good = io_of(&s, &there);
    stk_augment_io io = good;
    expect_refusal(cpu, &io, STK_ERROR_UNSUPPORTED,
                   "io.images is in the memory of a device; it must be in host memory");
    io.images.device_index = 1;
    expect_refusal(gpu, &io, STK_ERROR_ARGUMENT,
                   "io.images is in the memory of cuda:1, but options.device is cuda:0");
    io = good;
    io.masks.device = STK_DEVICE_CPU;
    expect_refusal(gpu, &io, STK_ERROR_ARGUMENT, "io.images and io.masks are not in the same memory");
    io = good;
    io.out_images.device = io.out_masks.device = io.out_masks2.device = STK_DEVICE_CPU;
    expect_refusal(gpu, &io, STK_ERROR_UNSUPPORTED,
                   "io.out_images is in host memory, but io.images is in the memory of 'cuda:0'");
    io = good;
    io.labels = dense(there.masks, STK_DTYPE_I64, 1, (int64_t[]){2});
    io.labels.device = STK_DEVICE_CUDA;
    expect_refusal(gpu, &io, STK_ERROR_UNSUPPORTED, "io.labels is in the memory of a device");
    io = good;
    io.out_images.data = io.images.data;
    expect_refusal(gpu, &io, STK_ERROR_ARGUMENT, "io.out_images and io.images share memory");
    io = io_of(&small, &there);
    expect_refusal(less, &io, STK_ERROR_UNSUPPORTED,
                   "io.images is in the memory of 'cuda:0' and larger than options.image_size: sample 0 is "
                   "12 x 10, not up to 11 x 10");
    apply(gpu, &good);
    stk_augmenter_close(&gpu);
    stk_augmenter_close(&cpu);
    gpu = augmenter_on("cuda:0", &bytes, "preset: minimal");
    io = io_of(&bytes, &here);
    expect_refusal(gpu, &io, STK_ERROR_UNSUPPORTED,
                   "io.out_images is u8 and in host memory, but 'cuda:0' makes bytes in its own memory only");
    stk_augmenter_close(&gpu);
    stk_augmenter_close(&less);
    end("refusals");
}

static const shape faulty = {
    .n = 4, .h = 21, .w = 35, .c = 3, .dtype = STK_DTYPE_F32, .mask_dtype = STK_DTYPE_I64, .planar = true};

/* Each call that this way makes fails once: clean, and the context stays. */
static void failures_leave_nothing(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemAlloc_v2",        "cuEventCreate",  "cuMemHostAlloc",
                                        "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuEventRecord",
                                        "cuMemcpyDtoHAsync_v2"};
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        int failures = 0;
        for (int use = 0; use < 6; use++) {
            const stk_augment_options options = {
                .augment = RESIDENT_MIXED, .axes = STK_AXES_NCHW, .device = "cuda:0"};
            stk_augmenter *augmenter;
            stk_error error = {0};
            char fault[96];
            begin("late 0");
            fill(&faulty, 3);
            give();
            snprintf(fault, sizeof fault, "fault %s at %ld fail 2", calls[c],
                     fake->calls(calls[c], -1) + use);
            fake_driver_add(fault);
            stk_status status = stk_augmenter_open(&augmenter, &options, &error);
            const stk_augment_io io = io_of(&faulty, &there);
            if (status == STK_OK) status = stk_augmenter_apply(augmenter, &io, &error);
            if (status != STK_OK) assert_true(error.message[0] && error.hint[0]);
            failures += status != STK_OK;
            stk_augmenter_close(&augmenter);
            end(calls[c]);
        }
        assert_true(failures >= 1);
    }
}

/* Reading a wrong value back may fail, too. */
static void a_value_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    stk_error error = {0};
    begin("late 0");
    stk_augmenter *gpu = augmenter_on("cuda:0", &faulty, RESIDENT_MIXED);
    const stk_augment_io expected = io_of(&faulty, &here), io = io_of(&faulty, &there);
    fill(&faulty, 3);
    spoil(&expected.masks, (int64_t[]){1, 2, 3}, &(int64_t){999});
    give();
    char fault[64];
    snprintf(fault, sizeof fault, "fault cuMemcpyDtoHAsync_v2 at %ld fail 2",
             fake->calls("cuMemcpyDtoHAsync_v2", -1) + 1);
    fake_driver_add(fault);
    assert_int_equal(stk_augmenter_apply(gpu, &io, &error), STK_ERROR_MEMORY);
    assert_int_equal(stk_augmenter_apply(gpu, &io, &error), STK_ERROR_SAMPLE);
    assert_non_null(
        strstr(error.message, "io.masks: sample 1 has the id 999 at row 2, column 3, not 0 to 255"));
    stk_augmenter_close(&gpu);
    end("a value");
}

static void a_gpu_that_hangs_or_is_lost_is_given_up(void **state)
{
    (void)state;
    static const char *const faults[] = {"fault kernel from 0 hang 3600", "fault copy_out from 0 hang 3600",
                                         "fault kernel from 1 lose 719",
                                         "fault cuLaunchKernel from 3 lose 700"};
    timeout_s = 2;
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
        stk_error error = {0};
        begin("late 0");
        fill(&faulty, 3);
        give();
        stk_augmenter *augmenter = augmenter_on("cuda:0", &faulty, RESIDENT_MIXED);
        const stk_augment_io io = io_of(&faulty, &there);
        if (f < 2) apply(augmenter, &io);
        fake_driver_add(faults[f]);
        stk_status status = STK_OK;
        for (int k = 0; k < 4 && status == STK_OK; k++)
            status = stk_augmenter_apply(augmenter, &io, &error);
        assert_int_equal(status == STK_ERROR_TIMEOUT, f < 2);
        assert_true(status != STK_OK && error.message[0]);
        assert_int_equal(stk_augmenter_apply(augmenter, &io, &error), status);
        assert_non_null(strstr(error.message, "is lost and no longer used"));
        stk_augmenter_close(&augmenter);
        assert_int_equal(fake->count("misuses"), 0);
        fake->release();
        fake_driver_play("late 0");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layouts_have_the_bits_of_the_cpu),
        cmocka_unit_test(images_become_larger_or_are_cropped),
        cmocka_unit_test(lists_have_the_bits_of_the_cpu),
        cmocka_unit_test(wrong_values_have_the_words_of_the_cpu),
        cmocka_unit_test(the_rest_is_refused_by_name),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(a_value_that_cannot_be_read_is_an_error),
        cmocka_unit_test(a_gpu_that_hangs_or_is_lost_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
