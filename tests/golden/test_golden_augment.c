/* SPDX-License-Identifier: Apache-2.0 */
/* Every level against tensors that torchvision wrote (write_augment.py), with equal parameters.
 *
 * Images: within 1 level of 255 where all four taps lie inside the source: beyond, torchvision weighs the
 * border twice. Masks: identical where the source coordinate is more than 1e-3 px from the edge of a cell:
 * there float rounding decides. The blocks are made here from torchvision's formulas, not by src/augment. */
#include "core/file.h"
#include "core/npy.h"
#include "device/cpu/augment_pass.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { W = 31, H = 22, AREA = W * H };
static const double bound_levels = 1, edge_px = 1e-3, pi = 3.14159265358979323846;

typedef struct tensor {
    stk__buffer file;
    stk__npy npy;
} tensor;

static struct {
    tensor source, ids, images, masks;
    json_t *json, *cases;
} golden;

static const char *folder;
static stk__buffer scratch;

static void read_tensor(tensor *t, const char *name, char kind, int32_t item_bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(stk__file_read(path, 0, &t->file, NULL), STK_OK);
    assert_int_equal(stk__npy_parse(&t->npy, t->file.data, t->file.size_bytes, NULL), STK_OK);
    assert_int_equal(stk__npy_check_size(&t->npy, t->file.size_bytes, NULL), STK_OK);
    assert_true(t->npy.kind == kind && t->npy.item_bytes == item_bytes && !t->npy.fortran);
}

static uint8_t *data_of(const tensor *t)
{
    return t->file.data + t->npy.offset_bytes;
}

static int read_golden(void **state)
{
    (void)state;
    char path[1024];
    read_tensor(&golden.source, "source.npy", 'u', 1);
    read_tensor(&golden.ids, "ids.npy", 'u', 1);
    read_tensor(&golden.images, "images.npy", 'f', 4);
    read_tensor(&golden.masks, "masks.npy", 'u', 1);
    snprintf(path, sizeof path, "%s/augment.json", folder);
    golden.json = json_load_file(path, 0, NULL);
    golden.cases = json_object_get(golden.json, "cases");
    const uint64_t count = json_array_size(golden.cases);
    assert_true(count > 30 && golden.images.npy.shape[0] == count && golden.masks.npy.shape[0] == count);
    assert_true(golden.images.npy.shape[2] == H && golden.images.npy.shape[3] == W);
    return 0;
}

static int free_golden(void **state)
{
    (void)state;
    stk__buffer_fini(&golden.source.file);
    stk__buffer_fini(&golden.ids.file);
    stk__buffer_fini(&golden.images.file);
    stk__buffer_fini(&golden.masks.file);
    stk__buffer_fini(&scratch);
    json_decref(golden.json);
    return 0;
}

static double number_at(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

/* From the centre of the result to that of the source, both as origin. */
typedef struct centred {
    double xx, xy, x, yx, yy, y;
} centred;

/* _get_inverse_affine_matrix: shears and turns clockwise, scales, moves; then backwards. */
static centred invert_affine(double angle, const double translate[2], double scale, const double shear[2])
{
    const double turn = angle * pi / 180, sx = shear[0] * pi / 180, sy = shear[1] * pi / 180;
    const double a = cos(turn - sy) / cos(sy), b = -cos(turn - sy) * tan(sx) / cos(sy) - sin(turn);
    const double c = sin(turn - sy) / cos(sy), d = -sin(turn - sy) * tan(sx) / cos(sy) + cos(turn);
    centred m = {d / scale, -b / scale, 0, -c / scale, a / scale, 0};
    m.x = -m.xx * translate[0] - m.xy * translate[1];
    m.y = -m.yx * translate[0] - m.yy * translate[1];
    return m;
}

static void set_matrix(double matrix[6], centred m)
{
    const double made[6] = {m.xx, m.xy, m.x - m.xx * W / 2 - m.xy * H / 2 + W / 2.0 - 0.5,
                            m.yx, m.yy, m.y - m.yx * W / 2 - m.yy * H / 2 + H / 2.0 - 0.5};
    memcpy(matrix, made, sizeof made);
}

static void make_matrix(const json_t *json, double matrix[6])
{
    const json_t *affine = json_object_get(json, "affine"), *rotate = json_object_get(json, "rotate"),
                 *crop = json_object_get(json, "crop");
    const char *flip = json_string_value(json_object_get(json, "flip"));
    const double none[2] = {0, 0};
    set_matrix(matrix, (centred){1, 0, 0, 0, 1, 0});
    if (flip) set_matrix(matrix, (centred){flip[0] == 'h' ? -1 : 1, 0, 0, 0, flip[0] == 'v' ? -1 : 1, 0});
    if (rotate) set_matrix(matrix, invert_affine(-json_number_value(rotate), none, 1, none));
    if (affine) {
        const json_t *t = json_object_get(affine, "translate"), *s = json_object_get(affine, "shear");
        const double translate[2] = {number_at(t, 0), number_at(t, 1)},
                     shear[2] = {number_at(s, 0), number_at(s, 1)};
        set_matrix(matrix, invert_affine(json_number_value(json_object_get(affine, "angle")), translate,
                                         json_number_value(json_object_get(affine, "scale")), shear));
    }
    if (crop) { /* x, y, w, h */
        const double cut[6] = {number_at(crop, 2) / W,   0,
                               number_at(crop, 0) - 0.5, 0,
                               number_at(crop, 3) / H,   number_at(crop, 1) - 0.5};
        memcpy(matrix, cut, sizeof cut);
    }
}

static void make_steps(const json_t *steps, stk__augment_block *block)
{
    static const char *const names[STK_COLOUR_COUNT] = {"brightness", "contrast", "saturation",
                                                        "hue",        "gray",     "gamma"};
    block->step_count = (int32_t)json_array_size(steps);
    for (int32_t i = 0; i < block->step_count; i++) {
        const json_t *step = json_array_get(steps, (size_t)i);
        int kind = 0;
        while (kind < STK_COLOUR_COUNT &&
               strcmp(names[kind], json_string_value(json_array_get(step, 0))) != 0)
            kind++;
        assert_true(kind < STK_COLOUR_COUNT);
        block->step_kind[i] = kind;
        block->step_value[i] = (float)number_at(step, 1);
    }
}

static void make_blur(const json_t *blur, stk__augment_block *block)
{
    if (!blur) return;
    block->blur_radius = (int32_t)number_at(blur, 0) / 2;
    double weights[STK_AUGMENT_RADIUS + 1], sum = 0;
    for (int r = 0; r <= block->blur_radius; r++) {
        weights[r] = exp(-0.5 * r * r / (number_at(blur, 1) * number_at(blur, 1)));
        sum += r ? 2 * weights[r] : weights[r];
    }
    for (int r = 0; r <= block->blur_radius; r++)
        block->blur_weight[r] = (float)(weights[r] / sum);
}

static stk__augment_block make_block(const json_t *json, const double matrix[6])
{
    stk__augment_block block = {.mask_fill = (int32_t)json_integer_value(json_object_get(json, "mask_fill"))};
    for (int i = 0; i < 6; i++)
        block.matrix[i] = (float)matrix[i];
    for (size_t c = 0; c < 3; c++)
        block.fill[c] = (int32_t)number_at(json_object_get(json, "fill"), c) * STK_AUGMENT_LEVEL;
    make_steps(json_object_get(json, "steps"), &block);
    make_blur(json_object_get(json, "blur"), &block);
    const json_t *erase = json_object_get(json, "erase");
    block.erase_x = (int32_t)number_at(erase, 0);
    block.erase_y = (int32_t)number_at(erase, 1);
    block.erase_w = (int32_t)number_at(erase, 2);
    block.erase_h = (int32_t)number_at(erase, 3);
    return block;
}

typedef struct result {
    float image[3 * AREA];
    uint8_t mask[AREA];
} result;

/* Levels per unit of what is stored: 1, or 255 * std where the case is normalised. */
static void run_kernel(const json_t *json, stk__augment_kernel kernel, const stk__augment_block *block,
                       result *out, double levels[3])
{
    stk__augment_target target = {.image = out->image,
                                  .mask = out->mask,
                                  .dtype = STK_DTYPE_F32,
                                  .mask_dtype = STK_DTYPE_U8,
                                  .w = W,
                                  .h = H,
                                  .channels = 3,
                                  .planar = true};
    const bool normal = json_is_true(json_object_get(json, "normalize"));
    for (size_t c = 0; c < 3; c++) {
        const double mean = normal ? number_at(json_object_get(golden.json, "mean"), c) : 0;
        levels[c] = normal ? 255 * number_at(json_object_get(golden.json, "std"), c) : 1;
        target.scale[c] = (float)(1 / levels[c]);
        target.bias[c] = (float)(-mean * 255 / levels[c]);
    }
    const stk__augment_source source = {stk__pixels_dense(data_of(&golden.source), W, H, 3),
                                        stk__pixels_dense(data_of(&golden.ids), W, H, 1)};
    assert_int_equal(kernel(block, &source, &target, &scratch, NULL), STK_OK);
}

/* The part of the source that counts as inside: all, or the crop's box, whose edges torchvision repeats. */
typedef struct box {
    double x, y, w, h;
} box;

static box inside_of(const json_t *json)
{
    const json_t *crop = json_object_get(json, "crop");
    if (!crop) return (box){0, 0, W, H};
    return (box){number_at(crop, 0), number_at(crop, 1), number_at(crop, 2), number_at(crop, 3)};
}

static bool taps_inside(box b, double u, double v)
{
    const double near = 1e-4; /* exactly on a pixel the second tap has no weight */
    return u >= b.x - near && v >= b.y - near && u <= b.x + b.w - 1 + near && v <= b.y + b.h - 1 + near;
}

static bool off_edges(double u, double v)
{
    const double x = u + 0.5, y = v + 0.5;
    return fabs(x - round(x)) > edge_px && fabs(y - round(y)) > edge_px;
}

typedef struct tally {
    double worst;
    const char *where;
    int pixels, ids;
} tally;

static void compare(size_t number, const json_t *json, const double m[6], const result *out,
                    const double levels[3], tally *t)
{
    const float *image = (const float *)(const void *)data_of(&golden.images) + number * 3 * AREA;
    const uint8_t *mask = data_of(&golden.masks) + number * AREA;
    const char *name = json_string_value(json_object_get(json, "name"));
    for (int i = 0; i < AREA; i++) {
        const double cx = i % W + 0.5, cy = i / W + 0.5;
        const double u = m[0] * cx + m[1] * cy + m[2], v = m[3] * cx + m[4] * cy + m[5];
        if (off_edges(u, v)) {
            if (out->mask[i] != mask[i])
                fail_msg("%s: id %d instead of %d at %d, %d", name, out->mask[i], mask[i], i % W, i / W);
            t->ids++;
        }
        if (!taps_inside(inside_of(json), u, v)) continue;
        t->pixels++;
        for (int c = 0; c < 3; c++) {
            const double off =
                fabs((double)out->image[c * AREA + i] - (double)image[c * AREA + i]) * levels[c];
            if (off > bound_levels)
                fail_msg("%s: %g levels off at %d, %d, channel %d", name, off, i % W, i / W, c);
            if (off > t->worst) *t = (tally){off, name, t->pixels, t->ids};
        }
    }
}

static void check_level(stk__cpu_level level)
{
    static result out;
    const stk__augment_kernel kernel = stk__augment_at(level);
    tally all = {0};
    int ids = 0;
    if (!kernel) return;
    size_t number;
    json_t *json;
    json_array_foreach(golden.cases, number, json)
    {
        double matrix[6], levels[3];
        make_matrix(json, matrix);
        const stk__augment_block block = make_block(json, matrix);
        run_kernel(json, kernel, &block, &out, levels);
        tally one = {0};
        compare(number, json, matrix, &out, levels, &one);
        assert_true(one.pixels > AREA / 8);
        ids += one.ids; /* none where a quarter turn of odd by even lands between all cells */
        if (one.worst >= all.worst) all = one;
    }
    assert_true(ids > AREA * (int)number * 3 / 4);
    print_message("%s: largest difference %.3f levels of 255 (%s)\n", stk__cpu_level_name(level), all.worst,
                  all.where);
}

static void every_level_is_within_a_level_of_torchvision(void **state)
{
    (void)state;
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        check_level((stk__cpu_level)level);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_level_is_within_a_level_of_torchvision)};
    folder = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, read_golden, free_golden);
}
