/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolution: every level of this CPU, all passes, against direct sums in doubles; the same bits
 * for any number of threads; nothing written outside its memory. */
#include "engine/winograd/winograd_run.h"
#include "winograd_lanes16.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Largest difference, measured by the largest value: about twice what was seen (2.1e-6, 2.2e-6 and 2e-6). */
static const double bounds[STK_WINOGRAD_PASSES] = {4e-6, 4e-6, 4e-6};

enum { GUARD = 64 }; /* floats behind everything that is written */

typedef struct shape {
    int64_t n, h, w, c, k;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1, 1},    {1, 1, 7, 3, 5},     {2, 2, 2, 17, 15},  {1, 3, 4, 16, 16},   {1, 4, 4, 16, 32},
    {3, 5, 9, 8, 33},   {1, 6, 6, 64, 16},   {2, 8, 8, 32, 32},  {1, 13, 11, 31, 47}, {5, 7, 3, 1, 40},
    {1, 16, 16, 48, 1}, {2, 17, 23, 20, 36}, {1, 30, 30, 64, 8}, {4, 12, 20, 96, 65}, {7, 4, 5, 33, 16},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* All tensors of a layer, each with a guard behind it. */
enum { X, WEIGHTS, BIAS, DY, Y, DX, DWEIGHTS, DBIAS, SCRATCH, TENSORS };

typedef struct rig {
    stk__winograd_layer layer;
    size_t count[TENSORS]; /* floats */
    float *data[TENSORS];
} rig;

static float value_at(size_t i, int tensor)
{
    const uint32_t mixed = ((uint32_t)i * 2654435761u + (uint32_t)tensor * 40503u) ^ (uint32_t)i >> 7;
    return (float)(mixed * 2246822519u >> 8) * 0x1p-23f - 1;
}

static void open_rig(rig *r, const shape *s, const stk__winograd_kernel *kernel, int threads)
{
    const size_t pixels = (size_t)(s->n * s->h * s->w), c = (size_t)s->c, k = (size_t)s->k;
    *r = (rig){.layer = {kernel, s->n, s->h, s->w, s->c, s->k, threads},
               .count = {pixels * c, 9 * c * k, k, pixels * k, pixels * k, pixels * c, 9 * c * k, k}};
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++) {
        const size_t bytes = stk__winograd_scratch_bytes(&r->layer, (stk__winograd_pass)pass);
        assert_int_equal(bytes % 64, 0);
        if (bytes / sizeof(float) > r->count[SCRATCH]) r->count[SCRATCH] = bytes / sizeof(float);
    }
    for (int t = 0; t < TENSORS; t++) {
        const size_t floats = (r->count[t] + GUARD + 15) / 16 * 16;
        r->data[t] = aligned_alloc(64, floats * sizeof(float));
        assert_non_null(r->data[t]);
        for (size_t i = 0; i < floats; i++)
            r->data[t][i] = t == SCRATCH ? NAN : i < r->count[t] ? value_at(i, t) : 77;
    }
}

static void close_rig(rig *r)
{
    for (int t = 0; t < TENSORS; t++)
        free(r->data[t]);
}

static void run_pass(rig *r, stk__winograd_pass pass, bool add)
{
    const stk__winograd_io io = {.x = r->data[X],
                                 .weights = r->data[WEIGHTS],
                                 .bias = r->data[BIAS],
                                 .dy = r->data[DY],
                                 .y = r->data[Y],
                                 .dx = r->data[DX],
                                 .dweights = r->data[DWEIGHTS],
                                 .dbias = r->data[DBIAS],
                                 .add = add,
                                 .scratch = r->data[SCRATCH]};
    stk__winograd_run(&r->layer, pass, &io);
    for (int t = 0; t < SCRATCH; t++)
        for (size_t i = r->count[t]; i < r->count[t] + GUARD; i++)
            if (r->data[t][i] != 77) fail_msg("tensor %d is written behind its end", t);
    for (size_t i = 0; i < GUARD; i++)
        if (!isnan(r->data[SCRATCH][r->count[SCRATCH] + i])) fail_msg("scratch is written behind its end");
}

/* --- direct sums -----------------------------------------------------------------------------------------
 */

/* Which of three tensors a pass adds up: target[…] += a[…] x b[…]. */
static void visit(const rig *r, stk__winograd_pass pass, int64_t at[3], double *sums)
{
    static const int target[] = {0, 1, 2};
    static const int tensors[] = {DY, X, WEIGHTS}; /* in the order of at: of y's shape, x's, weights' */
    const int t = target[pass], a = (t + 1) % 3, b = (t + 2) % 3;
    sums[at[t]] += (double)r->data[tensors[a]][at[a]] * (double)r->data[tensors[b]][at[b]];
}

static void visit_pixel(const rig *r, stk__winograd_pass pass, int64_t pixel, double *sums)
{
    const stk__winograd_layer *l = &r->layer;
    const int64_t n = pixel / (l->h * l->w), y = pixel / l->w % l->h, x = pixel % l->w;
    for (int64_t tap = 0; tap < 9; tap++) {
        const int64_t v = y + tap / 3 - 1, u = x + tap % 3 - 1;
        if (v < 0 || u < 0 || v >= l->h || u >= l->w) continue;
        for (int64_t k = 0; k < l->k; k++)
            for (int64_t c = 0; c < l->c; c++) {
                int64_t at[3] = {pixel * l->k + k, ((n * l->h + v) * l->w + u) * l->c + c,
                                 (k * l->c + c) * 9 + tap};
                visit(r, pass, at, sums);
            }
    }
}

static double *add_directly(const rig *r, stk__winograd_pass pass, int tensor)
{
    double *sums = calloc(r->count[tensor], sizeof *sums);
    assert_non_null(sums);
    for (int64_t pixel = 0; pixel < r->layer.n * r->layer.h * r->layer.w; pixel++)
        visit_pixel(r, pass, pixel, sums);
    for (size_t i = 0; pass == STK_WINOGRAD_FORWARD && i < r->count[tensor]; i++)
        sums[i] += (double)r->data[BIAS][i % (size_t)r->layer.k];
    return sums;
}

static double distance(const float *got, const double *right, size_t count)
{
    double far = 0, most = 1e-3;
    for (size_t i = 0; i < count; i++) {
        const double away = fabs((double)got[i] - right[i]);
        most = fmax(most, fabs(right[i]));
        if (!(away <= far)) far = isnan(away) ? INFINITY : away;
    }
    return far / most;
}

static const int made[STK_WINOGRAD_PASSES] = {Y, DX, DWEIGHTS};

/* All levels, and the code of the widest on plain lanes. */
enum { KERNELS = STK_CPU_LEVELS + 1 };

static double farthest[KERNELS][STK_WINOGRAD_PASSES];

static const stk__winograd_kernel *kernel_at(int i) /* NULL: not on this CPU */
{
    return i < STK_CPU_LEVELS ? stk__winograd_at((stk__cpu_level)i) : &winograd_lanes16;
}

static const char *name_at(int i)
{
    return i < STK_CPU_LEVELS ? stk__cpu_level_name((stk__cpu_level)i) : "sixteen plain lanes";
}

static void expect_level(const shape *s, int level, double *const *right)
{
    rig r;
    open_rig(&r, s, kernel_at(level), 2);
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++) {
        run_pass(&r, (stk__winograd_pass)pass, false);
        const double far = distance(r.data[made[pass]], right[pass], r.count[made[pass]]);
        if (far > farthest[level][pass]) farthest[level][pass] = far;
        if (!(far <= bounds[pass]))
            fail_msg("%s, pass %d, %lld x %lld x %lld x %lld -> %lld: %g away (bound %g)", name_at(level),
                     pass, (long long)s->n, (long long)s->h, (long long)s->w, (long long)s->c,
                     (long long)s->k, far, bounds[pass]);
    }
    close_rig(&r);
}

static void expect_shape(const shape *s)
{
    rig r;
    double *right[STK_WINOGRAD_PASSES];
    open_rig(&r, s, &stk__winograd_c, 2);
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
        right[pass] = add_directly(&r, (stk__winograd_pass)pass, made[pass]);
    close_rig(&r);
    for (int level = 0; level < KERNELS; level++)
        if (kernel_at(level)) expect_level(s, level, right);
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
        free(right[pass]);
}

static void every_level_is_near_direct_sums(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++)
        expect_shape(&shapes[i]);
    for (int level = 0; level < KERNELS; level++)
        if (kernel_at(level))
            print_message("%s: forward %.2g, data %.2g, weights %.2g away at most\n", name_at(level),
                          farthest[level][0], farthest[level][1], farthest[level][2]);
}

/* The bias's gradient is the sum of dy; both gradients are added to what is there when asked. */
static void gradients_are_added(void **state)
{
    (void)state;
    const shape s = {3, 9, 10, 18, 21};
    for (int level = 0; level < KERNELS; level++) {
        rig r;
        double sums[21] = {0};
        if (!kernel_at(level)) continue;
        open_rig(&r, &s, kernel_at(level), 2);
        for (size_t i = 0; i < r.count[DY]; i++)
            sums[i % 21] += (double)r.data[DY][i];
        run_pass(&r, STK_WINOGRAD_WEIGHTS, false);
        for (int k = 0; k < 21; k++)
            assert_true(fabs((double)r.data[DBIAS][k] - sums[k]) < 1e-4);
        float *once = malloc((r.count[DWEIGHTS] + 21) * sizeof *once);
        assert_non_null(once);
        memcpy(once, r.data[DWEIGHTS], r.count[DWEIGHTS] * sizeof *once);
        memcpy(once + r.count[DWEIGHTS], r.data[DBIAS], sizeof *once * 21);
        run_pass(&r, STK_WINOGRAD_WEIGHTS, true);
        for (size_t i = 0; i < r.count[DWEIGHTS]; i++)
            assert_true(r.data[DWEIGHTS][i] == 2 * once[i]);
        for (size_t k = 0; k < 21; k++)
            assert_true(r.data[DBIAS][k] == 2 * once[r.count[DWEIGHTS] + k]);
        free(once);
        close_rig(&r);
    }
}

/* Large enough for several blocks of tiles, and several batches of the weights' gradient. */
static void threads_change_nothing(void **state)
{
    (void)state;
    const shape s = {3, 67, 61, 40, 56};
    rig rigs[3];
    for (int i = 0; i < 3; i++) {
        open_rig(&rigs[i], &s, stk__winograd_at(stk__cpu_level_found()), i + 1);
        for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
            run_pass(&rigs[i], (stk__winograd_pass)pass, false);
    }
    for (int i = 1; i < 3; i++)
        for (int t = Y; t <= DBIAS; t++)
            assert_memory_equal(rigs[0].data[t], rigs[i].data[t], rigs[0].count[t] * sizeof(float));
    for (int i = 0; i < 3; i++)
        close_rig(&rigs[i]);
}

/* Gradients that are not wanted are not written, and do not change the others. */
static void a_gradient_may_be_unwanted(void **state)
{
    (void)state;
    const shape s = {2, 9, 9, 16, 16};
    rig both, one;
    open_rig(&both, &s, stk__winograd_at(stk__cpu_level_found()), 2);
    open_rig(&one, &s, stk__winograd_at(stk__cpu_level_found()), 2);
    run_pass(&both, STK_WINOGRAD_WEIGHTS, false);
    stk__winograd_io io = {
        .x = one.data[X], .dy = one.data[DY], .dweights = one.data[DWEIGHTS], .scratch = one.data[SCRATCH]};
    stk__winograd_run(&one.layer, STK_WINOGRAD_WEIGHTS, &io);
    assert_memory_equal(one.data[DWEIGHTS], both.data[DWEIGHTS], both.count[DWEIGHTS] * sizeof(float));
    assert_true(one.data[DBIAS][3] == value_at(3, DBIAS));
    io.dweights = NULL;
    io.dbias = one.data[DBIAS];
    stk__winograd_run(&one.layer, STK_WINOGRAD_WEIGHTS, &io);
    assert_memory_equal(one.data[DBIAS], both.data[DBIAS], both.count[DBIAS] * sizeof(float));
    close_rig(&both);
    close_rig(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_is_near_direct_sums),
        cmocka_unit_test(gradients_are_added),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(a_gradient_may_be_unwanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
