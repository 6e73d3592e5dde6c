/* SPDX-License-Identifier: Apache-2.0 */
/* bench_conv [ROUNDS [THREADS [cpu]]]: 3x3 convolutions by oneDNN's direct algorithm and by our Winograd, in
 * turns (15 rounds on 2 threads). GFLOP/s are counted as for the direct algorithm; the best of the rounds.
 * cpu: by CPU time, as if all threads had worked all the time, for machines that do something else meanwhile.
 */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAYS = 2, PASSES = 3 };

static int threads = 2;
static bool by_cpu;

static const int64_t shapes[][4] = {
    /* n, side, c, k */
    {8, 64, 64, 64},    {4, 256, 32, 32},
    {4, 128, 64, 64},   {4, 64, 128, 128},
    {4, 32, 256, 256},  {32, 32, 64, 64},
    {32, 16, 128, 128}, {32, 8, 256, 256},
    {8, 16, 512, 512},  {1, 64, 64, 64},
    {16, 8, 64, 64},    {8, 4, 256, 256},
    {4, 128, 128, 64},  /* few channels: */ {8, 64, 3, 16},
    {8, 64, 3, 64},     {8, 64, 8, 8},
    {8, 64, 8, 32},     {8, 64, 32, 8},
    {8, 64, 16, 16},    {8, 64, 16, 32},
    {8, 64, 32, 16},    {8, 64, 24, 24},
    {8, 64, 40, 40},    {8, 64, 64, 19},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* A convolution with all it reads and writes. */
typedef struct bench {
    stk__engine *engine;
    stk__op *op;
    stk__arena *arena;
    stk__tensor *x, *dx, *y, *param[2], *dparam[2], *scratch;
    size_t used_bytes;
} bench;

static void insist(stk_status status, const stk_error *error)
{
    if (status == STK_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

static stk__tensor *add_tensor(bench *b, const stk__shape *shape, stk_dtype dtype)
{
    stk_error error = {0};
    stk__tensor *made;
    const stk__tensor_desc desc = {.shape = *shape, .dtype = dtype};
    insist(stk__tensor_create(b->engine, &desc, b->arena, b->used_bytes, &made, &error), &error);
    b->used_bytes += stk__tensor_size(b->engine, &desc);
    float *values = made->memory;
    for (size_t i = 0; dtype == STK_DTYPE_F32 && i < made->size_bytes / sizeof *values; i++)
        values[i] = (float)(i * 2654435761u % 1000003) / 500000.0f - 1;
    return made;
}

static void open_bench(bench *b, const int64_t *shape, stk__conv conv)
{
    stk_error error = {0};
    const stk__engine_options options = {.name = "onednn", .threads = threads, .conv = conv};
    const stk__op_spec spec = {.kind = STK_OP_CONV,
                               .input = {{4, {shape[0], shape[1], shape[1], shape[2]}}},
                               .channels = shape[3],
                               .kernel = {3, 3},
                               .pad = {1, 1}};
    *b = (bench){0};
    insist(stk__engine_open(&b->engine, &options, &error), &error);
    insist(stk__op_create(b->engine, &spec, &b->op, &error), &error);
    const size_t pixels = (size_t)(shape[0] * shape[1] * shape[1]);
    const size_t weights = (size_t)(shape[2] * shape[3] * 9);
    const stk__shape scratch = {1, {(int64_t)stk__op_memory(b->op).scratch_bytes}};
    const size_t total = 2 * sizeof(float) * (pixels * (size_t)(shape[2] + shape[3]) + weights) +
                         (size_t)scratch.dim[0] + (1 << 16);
    insist(stk__arena_create(b->engine, total, &b->arena, &error), &error);
    b->x = add_tensor(b, &b->op->spec.input[0], STK_DTYPE_F32);
    b->dx = add_tensor(b, &b->op->spec.input[0], STK_DTYPE_F32);
    b->y = add_tensor(b, &b->op->form.output, STK_DTYPE_F32);
    for (int i = 0; i < 2; i++) {
        b->param[i] = add_tensor(b, &b->op->form.param[i].shape, STK_DTYPE_F32);
        b->dparam[i] = add_tensor(b, &b->op->form.param[i].shape, STK_DTYPE_F32);
    }
    b->scratch = add_tensor(b, &scratch, STK_DTYPE_U8);
}

static void close_bench(bench *b)
{
    stk__tensor **const tensors[] = {&b->x,        &b->dx,        &b->y,         &b->param[0],
                                     &b->param[1], &b->dparam[0], &b->dparam[1], &b->scratch};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        stk__tensor_destroy(tensors[i]);
    stk__arena_destroy(&b->arena);
    stk__op_destroy(&b->op);
    stk__engine_close(&b->engine);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(by_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return ((double)now.tv_sec * 1e9 + (double)now.tv_nsec) / (by_cpu ? threads : 1);
}

static double run_pass(bench *b, int pass)
{
    stk_error error = {0};
    stk__tensor *none[2] = {NULL, NULL};
    const stk__op_io io = {.x = &b->x,
                           .y = b->y,
                           .dy = b->y,
                           .param = b->param,
                           .dx = pass == 1 ? &b->dx : none,
                           .dparam = pass == 2 ? b->dparam : NULL,
                           .scratch = b->scratch};
    const double begin = now_ns();
    const stk_status status =
        pass ? stk__op_backward(b->op, &io, &error) : stk__op_forward(b->op, &io, &error);
    const double ns = now_ns() - begin;
    insist(status, &error);
    return b->op->form.flops / ns;
}

static void bench_shape(const int64_t *shape, int rounds)
{
    double rates[WAYS][PASSES] = {0};
    bench ways[WAYS];
    open_bench(&ways[0], shape, STK_CONV_DIRECT);
    open_bench(&ways[1], shape, STK_CONV_WINOGRAD);
    for (int round = 0; round < rounds; round++)
        for (int pass = 0; pass < PASSES; pass++)
            for (int way = 0; way < WAYS; way++) {
                const double rate = run_pass(&ways[way], pass);
                if (rate > rates[way][pass]) rates[way][pass] = rate;
            }
    printf("| %lld x %lld -> %lld, %lld x %lld |", (long long)shape[0], (long long)shape[2],
           (long long)shape[3], (long long)shape[1], (long long)shape[1]);
    for (int way = 0; way < WAYS; way++)
        printf(" %.0f / %.0f / %.0f |", rates[way][0], rates[way][1], rates[way][2]);
    printf(" %.2f / %.2f / %.2f |\n", rates[1][0] / rates[0][0], rates[1][1] / rates[0][1],
           rates[1][2] / rates[0][2]);
    fflush(stdout);
    for (int way = 0; way < WAYS; way++)
        close_bench(&ways[way]);
}

int main(int argc, char **argv)
{
    const int asked = argc > 1 ? atoi(argv[1]) : 15;
    by_cpu = argc > 3 && strcmp(argv[3], "cpu") == 0;
    if (argc > 2) threads = atoi(argv[2]);
    printf("| shape | direct: forward / data / weights | Winograd: the same | Winograd / direct |\n"
           "|---|---|---|---|\n");
    for (int i = 0; i < SHAPES; i++)
        bench_shape(shapes[i], asked < 1 ? 1 : asked);
    return 0;
}
