/* SPDX-License-Identifier: Apache-2.0 */
/* 512 x 512 RGB with a mask of bytes to float32, channel after channel: what a worker does for a sample.
 * Sources and targets change from run to run, as in a batch, so they come from memory and go there.
 * Contestants take turns; medians of the thread's own time. */
#include "check/check_bench.h"

#include "check/contestants.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 512, AREA = SIDE * SIDE, SAMPLES = 16, TURNS = 15, MOST = 8 };

typedef struct memory {
    uint8_t *images, *masks, *ids;
    float *targets;
    stk__buffer scratch;
} memory;

typedef struct bench_case {
    const char *name;
    float degrees;
    bool flip;
    int steps[4], step_count;
    int blur_radius;
    float noise_std;
} bench_case;

static const bench_case cases[] = {
    {.name = "identity"},
    {.name = "flip", .flip = true},
    {.name = "flip_colour",
     .flip = true,
     .steps = {STK_COLOUR_BRIGHTNESS, STK_COLOUR_SATURATION},
     .step_count = 2},
    {.name = "rotation", .degrees = 9},
    {.name = "standard",
     .degrees = 9,
     .flip = true,
     .steps = {STK_COLOUR_BRIGHTNESS, STK_COLOUR_CONTRAST},
     .step_count = 2},
    {.name = "strong_all",
     .degrees = 14,
     .flip = true,
     .steps = {STK_COLOUR_BRIGHTNESS, STK_COLOUR_CONTRAST, STK_COLOUR_SATURATION, STK_COLOUR_HUE},
     .step_count = 4,
     .blur_radius = 1,
     .noise_std = 7},
    {.name = "noise", .noise_std = 7},
    {.name = "blur3", .blur_radius = 1},
    {.name = "blur7", .blur_radius = 3},
    {.name = "brightness", .steps = {STK_COLOUR_BRIGHTNESS}, .step_count = 1},
    {.name = "contrast", .steps = {STK_COLOUR_CONTRAST}, .step_count = 1},
    {.name = "hue", .steps = {STK_COLOUR_HUE}, .step_count = 1},
    {.name = "gamma", .steps = {STK_COLOUR_GAMMA}, .step_count = 1},
};

static stk__augment_block block_of(const bench_case *c)
{
    static const float values[STK_COLOUR_COUNT] = {1.1f, 0.9f, 1.15f, 0.05f, 1, 1.3f};
    const float angle = c->degrees * 0.0174532925f, cosine = cosf(angle), sine = sinf(angle);
    const float side = c->flip ? -1 : 1, half = SIDE / 2;
    stk__augment_block b = {.matrix = {side * cosine, -sine, 0, side * sine, cosine, 0},
                            .mask_fill = 255,
                            .step_count = c->step_count,
                            .blur_radius = c->blur_radius,
                            .blur_weight = {0.4f, 0.2f, 0.07f, 0.03f},
                            .noise_std = c->noise_std};
    b.matrix[2] = half - (b.matrix[0] + b.matrix[1]) * half - 0.5f;
    b.matrix[5] = half - (b.matrix[3] + b.matrix[4]) * half - 0.5f;
    for (int s = 0; s < c->step_count; s++) {
        b.step_kind[s] = c->steps[s];
        b.step_value[s] = values[c->steps[s]];
    }
    return b;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run_once(memory *m, const stk__augment_block *block, stk__augment_kernel kernel, int sample)
{
    const stk__augment_source source = {
        stk__pixels_dense(m->images + (size_t)sample * AREA * 3, SIDE, SIDE, 3),
        stk__pixels_dense(m->masks + (size_t)sample * AREA, SIDE, SIDE, 1)};
    const stk__augment_target target = {.image = m->targets + (size_t)sample * AREA * 3,
                                        .mask = m->ids + (size_t)sample * AREA,
                                        .dtype = STK_DTYPE_F32,
                                        .mask_dtype = STK_DTYPE_U8,
                                        .w = SIDE,
                                        .h = SIDE,
                                        .channels = 3,
                                        .planar = true,
                                        .scale = {0.017f, 0.018f, 0.017f},
                                        .bias = {-2.1f, -2, -1.8f}};
    const double start = now_ns();
    kernel(block, &source, &target, &m->scratch, NULL);
    return now_ns() - start;
}

/* What a kernel without warp has to move, moved by memcpy: half of it is read, half of it written. */
static double copy_once(memory *m, int sample)
{
    const size_t bytes = (size_t)AREA * (3 + 12 + 1 + 1) / 2;
    const double start = now_ns();
    memcpy(m->targets + (size_t)sample * AREA * 3, m->targets + (size_t)((sample + 7) % SAMPLES) * AREA * 3,
           bytes);
    return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, TURNS, sizeof *times, compare);
    return times[TURNS / 2];
}

static void print_row(const char *name, const char *who, double ns, double reference_ns)
{
    printf("%-12s %-8s %8.2f ns/px %8.3f ms/sample %7.1fx\n", name, who, ns / AREA, ns / 1e6,
           reference_ns / ns);
}

static void bench_one(memory *m, const bench_case *c)
{
    static double times[MOST + 2][TURNS];
    size_t count;
    const contestant *const all = check_contestants(&count);
    const stk__augment_block block = block_of(c);
    for (int turn = -1; turn < TURNS; turn++) { /* the first one warms up */
        const int slot = turn < 0 ? 0 : turn, sample = slot % SAMPLES;
        times[MOST][slot] = run_once(m, &block, stk__augment_c, (sample + 1) % SAMPLES);
        times[MOST + 1][slot] = copy_once(m, (sample + 2) % SAMPLES);
        for (size_t i = 0; i < count && i < MOST; i++)
            if (!all[i].slow && !all[i].why_not())
                times[i][slot] = run_once(m, &block, all[i].run, (sample + 3 + (int)i) % SAMPLES);
    }
    const double reference_ns = median(times[MOST]);
    print_row(c->name, "c", reference_ns, reference_ns);
    for (size_t i = 0; i < count && i < MOST; i++)
        if (!all[i].slow && !all[i].why_not())
            print_row(c->name, all[i].name, median(times[i]), reference_ns);
    print_row(c->name, "memcpy", median(times[MOST + 1]), reference_ns);
}

void check_bench(const char *only)
{
    memory m = {.images = malloc((size_t)SAMPLES * AREA * 3),
                .masks = malloc((size_t)SAMPLES * AREA),
                .ids = malloc((size_t)SAMPLES * AREA),
                .targets = aligned_alloc(64, (size_t)SAMPLES * AREA * 3 * sizeof(float))};
    if (m.images && m.masks && m.ids && m.targets) {
        for (size_t i = 0; i < (size_t)SAMPLES * AREA * 3; i++)
            m.images[i] = (uint8_t)(i * 2654435761u >> 13);
        memset(m.masks, 3, (size_t)SAMPLES * AREA);
        memset(m.ids, 0, (size_t)SAMPLES * AREA);
        memset(m.targets, 0, (size_t)SAMPLES * AREA * 3 * sizeof(float));
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            if (!only || strcmp(only, cases[i].name) == 0) bench_one(&m, &cases[i]);
    }
    free(m.images);
    free(m.masks);
    free(m.ids);
    free(m.targets);
    stk__buffer_fini(&m.scratch);
}
