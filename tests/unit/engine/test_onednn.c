/* SPDX-License-Identifier: Apache-2.0 */
/* The engine onednn: opening it or not, what it says of itself, convolution against plain loops, curves. What
 * it computes at large is the business of tests/engine. argv[1]: the fake library. */
#include "onednn_rig.h"

#include "engine/onednn/onednn_api.h"
#include "engine/onednn/onednn_exp.h"

#include <math.h>
#include <stdio.h>

static const char *fake_path;

static void expect_refusal(const char *path, const char *message)
{
    stk_error error = {0};
    stk__engine *engine;
    setenv("STOKER_ONEDNN", path, 1);
    const stk_status status = stk__engine_open(&engine, &(stk__engine_options){.name = "onednn"}, &error);
    unsetenv("STOKER_ONEDNN");
    assert_int_equal(status, STK_ERROR_UNSUPPORTED);
    assert_null(engine);
    assert_non_null(strstr(error.message, message));
    assert_string_equal(error.hint, "unset STOKER_ONEDNN to search the default locations");
}

/* Before the first that succeeds: the library is opened once per process. */
static void a_library_that_is_no_use_is_told(void **state)
{
    (void)state;
    expect_refusal("/nowhere/libdnnl.so", "STOKER_ONEDNN=/nowhere/libdnnl.so cannot be opened: ");
    expect_refusal("libm.so.6", "the oneDNN library lacks 'dnnl_version'");
    setenv("FAKE_ONEDNN_MAJOR", "3", 1);
    expect_refusal(fake_path, "unsupported oneDNN 3.14.1: this build needs 2.x");
    setenv("FAKE_ONEDNN_MAJOR", "2", 1);
    expect_refusal(fake_path, "the oneDNN library lacks 'dnnl_get_effective_cpu_isa'");
}

static stk__engine *open_engine(int threads)
{
    stk_error error = {0};
    stk__engine *engine;
    const stk__engine_options options = {.name = "onednn", .threads = threads};
    if (stk__engine_open(&engine, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return engine;
}

static void it_says_what_it_is(void **state)
{
    (void)state;
    stk__engine *engine = open_engine(2);
    const stk__engine_info *info = stk__engine_describe(engine);
    assert_string_equal(info->name, "onednn");
    assert_memory_equal(info->version, "oneDNN 2.", strlen("oneDNN 2."));
    assert_non_null(strchr(info->version, ','));
    assert_int_equal(info->threads, 2);
    assert_string_equal(getenv("OMP_WAIT_POLICY"), "passive");
    assert_null(strstr(info->note, "OpenMP"));
    stk__engine_close(&engine);
}

static void hidden_tiles_are_seen(void **state)
{
    (void)state;
    const uint32_t tile = 1u << 24, bf16 = 1u << 22, int8 = 1u << 25, others = ~(tile | bf16 | int8);
    assert_true(stk__onednn_hidden_tiles(0x1c, tile | bf16 | int8));
    assert_true(stk__onednn_hidden_tiles(0x16, bf16));
    assert_true(stk__onednn_hidden_tiles(0x07, int8));
    assert_true(stk__onednn_hidden_tiles(0x0d, tile | others));
    assert_false(stk__onednn_hidden_tiles(0x1d, tile | bf16 | int8));
    assert_false(stk__onednn_hidden_tiles(0x20, ~0u));
    assert_false(stk__onednn_hidden_tiles(0x16, others));
    assert_false(stk__onednn_hidden_tiles(0, 0));
}

/* One visit of a convolution: output value, input value, weight. */
typedef void (*visit_function)(const rig *r, int64_t y, int64_t x, int64_t w, double *sums);

static void visit_all(const rig *r, visit_function visit, double *sums)
{
    const stk__op_spec *s = &r->op->spec;
    const int64_t *in = s->input[0].dim, *out = r->op->form.output.dim, *k = r->op->form.param[0].shape.dim;
    for (int64_t y = 0; y < stk__shape_count(&r->op->form.output); y++)
        for (int64_t i = 0; i < k[1] * k[2] * k[3]; i++) {
            const int64_t o = y % out[3], c = i / (k[2] * k[3]);
            const int64_t h = y / (out[3] * out[2]) % out[1] * s->stride[0] - s->pad[0] + i / k[3] % k[2];
            const int64_t w = y / out[3] % out[2] * s->stride[1] - s->pad[1] + i % k[3];
            if (h < 0 || h >= in[1] || w < 0 || w >= in[2]) continue;
            const int64_t n = y / (out[1] * out[2] * out[3]);
            visit(r, y, ((n * in[1] + h) * in[2] + w) * in[3] + c, o * k[1] * k[2] * k[3] + i, sums);
        }
}

static double at(const stk__tensor *tensor, int64_t i)
{
    return (double)((const float *)tensor->memory)[i];
}

static void visit_y(const rig *r, int64_t y, int64_t x, int64_t w, double *sums)
{
    sums[y] += at(r->x[0], x) * at(r->param[0], w);
}

static void visit_dx(const rig *r, int64_t y, int64_t x, int64_t w, double *sums)
{
    sums[x] += at(r->dy, y) * at(r->param[0], w);
}

static void visit_dweight(const rig *r, int64_t y, int64_t x, int64_t w, double *sums)
{
    sums[w] += at(r->dy, y) * at(r->x[0], x);
}

static void expect_sums(const rig *r, visit_function visit, const stk__tensor *got)
{
    static double sums[1 << 16];
    const int64_t count = stk__shape_count(&got->desc.shape);
    assert_true(count <= (int64_t)(sizeof sums / sizeof sums[0]));
    memset(sums, 0, sizeof sums);
    visit_all(r, visit, sums);
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(sums[i] - at(got, i)) < 1e-4)) /* sums of some hundred products of numbers in +-1 */
            fail_msg("value %lld is %g, not %g", (long long)i, at(got, i), sums[i]);
}

static void check_conv(const stk__op_spec *spec, int threads)
{
    rig r;
    stk_error error = {0};
    stk__engine *engine = open_engine(threads);
    if (rig_open(&r, engine, spec, &error) != STK_OK) fail_msg("%s", error.message);
    rig_fill_all(&r);
    memset(r.param[1]->memory, 0, r.param[1]->size_bytes);
    if (rig_run(&r, &error) != STK_OK) fail_msg("%s", error.message);
    expect_sums(&r, visit_y, r.y);
    expect_sums(&r, visit_dx, r.dx[0]);
    expect_sums(&r, visit_dweight, r.dparam[0]);
    rig_close(&r);
    stk__engine_close(&engine);
}

static void convolution_is_that_of_plain_loops(void **state)
{
    (void)state;
    const stk__op_spec spec = {.kind = STK_OP_CONV,
                               .input = {{4, {2, 11, 9, 5}}},
                               .channels = 16,
                               .kernel = {3, 3},
                               .stride = {2, 1},
                               .pad = {1, 1}};
    check_conv(&spec, 1);
    check_conv(&spec, 2);
}

/* oneDNN alone computes these weights' gradients wrongly on AVX2 (see must_gather). */
static void strided_1x1_of_few_channels_is_right(void **state)
{
    (void)state;
    const stk__op_spec spec = {.kind = STK_OP_CONV,
                               .input = {{4, {3, 18, 20, 2}}},
                               .channels = 72,
                               .kernel = {1, 1},
                               .stride = {2, 2}};
    stk__op_spec padded = spec;
    padded.pad[0] = 1;
    padded.input[0] = (stk__shape){4, {2, 10, 40, 6}};
    padded.channels = 15;
    check_conv(&spec, 2);
    check_conv(&padded, 2);
}

/* Bit patterns between two floats of one sign. */
static int64_t ulps(float a, float b)
{
    int32_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return llabs((int64_t)bits[0] - bits[1]);
}

static void curves_are_near_the_true_ones(void **state)
{
    (void)state;
    for (double x = -86.9; x < 87.9; x += 0.00073) {
        const float f = (float)x;
        assert_true(ulps(stk__exp(f), (float)exp((double)f)) <= 2);
        assert_true(ulps(stk__tanh(f), (float)tanh((double)f)) <= 3);
        assert_true(fabs((double)stk__sigmoid(f) - 1 / (1 + exp(-(double)f))) < 2e-7);
    }
    assert_true(stk__exp(-1000) < 2e-38f && stk__exp(-1000) >= 0);
    assert_true(stk__exp(1000) > 1e38f);
    assert_float_equal(stk__exp(0), 1, 0);
    assert_true(isnan(stk__exp(NAN)) && isnan(stk__tanh(NAN)) && isnan(stk__sigmoid(NAN)));
    assert_float_equal(stk__tanh(1e-20f), 1e-20f, 0);
}

/* Sums of a loss do not depend on how many threads made them. */
static void a_loss_is_the_same_for_all_numbers_of_threads(void **state)
{
    (void)state;
    double sums[3][STK_LOSS_SUMS];
    const stk__op_spec spec = {.kind = STK_OP_CROSS_ENTROPY, .input = {{4, {1, 50, 60, 5}}}};
    for (int threads = 1; threads <= 3; threads++) {
        rig r;
        stk_error error = {0};
        stk__engine *engine = open_engine(threads);
        if (rig_open(&r, engine, &spec, &error) != STK_OK) fail_msg("%s", error.message);
        rig_fill(r.x[0], 3);
        assert_int_equal(rig_run(&r, &error), STK_OK);
        memcpy(sums[threads - 1], r.y->memory, sizeof sums[0]);
        rig_close(&r);
        stk__engine_close(&engine);
    }
    assert_true(sums[0][0] > 0);
    assert_float_equal(sums[0][1], 3000, 0);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    assert_memory_equal(sums[0], sums[2], sizeof sums[0]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_no_use_is_told),
        cmocka_unit_test(it_says_what_it_is),
        cmocka_unit_test(hidden_tiles_are_seen),
        cmocka_unit_test(convolution_is_that_of_plain_loops),
        cmocka_unit_test(strided_1x1_of_few_channels_is_right),
        cmocka_unit_test(curves_are_near_the_true_ones),
        cmocka_unit_test(a_loss_is_the_same_for_all_numbers_of_threads),
    };
    if (argc < 2) return 1;
    fake_path = argv[1];
    unsetenv("OMP_WAIT_POLICY");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
