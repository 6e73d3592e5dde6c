/* SPDX-License-Identifier: Apache-2.0 */
/* Where a training step of a shipped network goes: ms a step for each kind of operation and action, medians
 * over the steps (with --cpu the least), on the engine onednn.
 *
 *     step_profile [unet|locator|resnet|lstm|hrnet_w18 …] [--steps N] [--threads N] [--conv direct|winograd]
 *                  [--cpu] [--apart] [--recompute] [--brief]
 *
 * --cpu: CPU time of all threads, of each row in its cheapest step: on a busy machine others take caches and
 * memory away in the rest; --apart: operations are not
 * fused;
 * --recompute: as with train.gradient_checkpointing; --brief: only the time of a step, without spans (they
 * cost a little). */
#include "core/clock.h"
#include "core/random.h"
#include "train/pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ROWS = 64, STEPS_MOST = 200, SPANS = 4096 };

typedef struct example {
    const char *name;
    stk__shape input, target;
    stk_dtype target_dtype;
    stk__op_kind loss;
    stk__network_setting facts[7];
    int64_t values; /* targets are 0 … values-1 */
} example;

static const example examples[] = {
    {"unet",
     {4, {4, 256, 256, 3}},
     {3, {4, 256, 256}},
     STK_DTYPE_U8,
     STK_OP_CROSS_ENTROPY,
     {{"image_h", 256}, {"image_w", 256}, {"image_c", 3}, {"num_classes", 19}},
     19},
    {"locator",
     {4, {16, 160, 320, 3}},
     {3, {16, 2, 3}},
     STK_DTYPE_F32,
     STK_OP_POINTS,
     {{"image_h", 160}, {"image_w", 320}, {"image_c", 3}, {"points", 2}},
     160},
    {"resnet",
     {4, {32, 128, 128, 1}},
     {1, {32}},
     STK_DTYPE_I64,
     STK_OP_CROSS_ENTROPY,
     {{"image_h", 128}, {"image_w", 128}, {"image_c", 1}, {"num_classes", 10}},
     10},
    {"hrnet_w18",
     {4, {1, 256, 256, 3}},
     {3, {1, 256, 256}},
     STK_DTYPE_U8,
     STK_OP_CROSS_ENTROPY,
     {{"image_h", 256}, {"image_w", 256}, {"image_c", 3}, {"num_classes", 19}},
     19},
    {"lstm", {3, {256, 60, 3}}, {1, {256}}, STK_DTYPE_F32, STK_OP_MSE, {{"features", 3}, {"window", 60}}, 2},
};

typedef struct settings {
    int steps, threads;
    const char *conv; /* NULL: auto */
    bool apart, brief, recompute, cpu;
} settings;

typedef struct bench {
    stk__engine *engine;
    stk__network *network;
    stk__arena *data, *arena;
    stk__pass *pass;
    stk__model *model;
    stk__pass_feed feed;
    stk__update update;
    stk__trace trace;
} bench;

typedef struct row {
    char what[64];
    double ms[STEPS_MOST];
} row;

static void must(stk_status status, const stk_error *error)
{
    if (status == STK_OK) return;
    fprintf(stderr, "step_profile: %s\n", error->message);
    exit(1);
}

static stk__tensor *make_tensor(bench *b, stk__shape shape, stk_dtype dtype, size_t *offset)
{
    const stk__tensor_desc desc = {.shape = shape, .dtype = dtype};
    stk__tensor *tensor;
    stk_error error;
    must(stk__tensor_create(b->engine, &desc, b->data, *offset, &tensor, &error), &error);
    *offset += stk__tensor_size(b->engine, &desc);
    return tensor;
}

static void fill(stk__tensor *tensor, int64_t values)
{
    stk_tensor view;
    stk_error error;
    must(stk__tensor_map(tensor, &view, &error), &error);
    for (int64_t i = 0; i < stk__shape_count(&tensor->desc.shape); i++) {
        const uint32_t word = stk__random_draw((stk__random_at){.seed = 7, .draw = (uint32_t)i}).word[0];
        const float unit = stk__random_unit(word);
        if (view.dtype == STK_DTYPE_F32) ((float *)view.data)[i] = unit * (float)values;
        if (view.dtype == STK_DTYPE_U8) ((uint8_t *)view.data)[i] = (uint8_t)(word % (uint32_t)values);
        if (view.dtype == STK_DTYPE_I64) ((int64_t *)view.data)[i] = (int64_t)(word % (uint32_t)values);
    }
    must(stk__tensor_unmap(tensor, &view, true, &error), &error);
}

static void make_data(bench *b, const example *e)
{
    size_t offset = 0;
    stk_error error;
    must(stk__arena_create(b->engine, 64 << 20, &b->data, &error), &error);
    b->feed = (stk__pass_feed){.input = make_tensor(b, e->input, STK_DTYPE_F32, &offset), .seed = 1};
    b->feed.target[STK_LOSS_TARGET] = make_tensor(b, e->target, e->target_dtype, &offset);
    b->feed.loss_sums = make_tensor(b, (stk__shape){1, {STK_LOSS_SUMS}}, STK_DTYPE_F64, &offset);
    stk__tensor *ids = make_tensor(b, (stk__shape){1, {e->input.dim[0]}}, STK_DTYPE_I64, &offset);
    b->feed.sample_ids = ids;
    fill(b->feed.input, 1);
    fill(b->feed.target[STK_LOSS_TARGET], e->values);
    fill(ids, 1000);
}

static stk__conv conv_of(const char *word)
{
    if (!word) return STK_CONV_AUTO;
    return strcmp(word, "direct") == 0 ? STK_CONV_DIRECT : STK_CONV_WINOGRAD;
}

/* Of all threads: what other processes take does not count. */
static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void start(bench *b, const example *e, const settings *s)
{
    stk_error error = {0};
    const stk__engine_options options = {.name = "onednn", .threads = s->threads, .conv = conv_of(s->conv)};
    const stk__network_request asked = {.name = e->name, .facts = e->facts, .fact_count = 4};
    *b = (bench){0};
    must(stk__engine_open(&b->engine, &options, &error), &error);
    stk__network_request request = asked;
    while (request.fact_count > 0 && !e->facts[request.fact_count - 1].name)
        request.fact_count--;
    must(stk__network_read(&b->network, &request, &error), &error);
    make_data(b, e);
    const stk__pass_request pass = {.engine = b->engine,
                                    .network = b->network,
                                    .input = e->input,
                                    .training = true,
                                    .fuse = !s->apart,
                                    .recompute = s->recompute,
                                    .loss = {.kind = e->loss},
                                    .metric = {.kind = e->loss}};
    must(stk__pass_create(&b->pass, &pass, &error), &error);
    const stk__model_options model = {.training = true, .first = true, .second = true, .seed = 1};
    must(stk__model_create(&b->model, b->engine, b->network, stk__pass_forms(b->pass), &model, &error),
         &error);
    must(stk__arena_create(b->engine, stk__pass_size(b->pass), &b->arena, &error), &error);
    must(stk__pass_bind(b->pass, b->model, b->arena, &error), &error);
    b->update = (stk__update){.param = b->model->params,
                              .grad = b->model->grads,
                              .first = b->model->firsts,
                              .second = b->model->seconds,
                              .leave_grad = true,
                              .lr = 1e-4,
                              .weight_decay = 0.01,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .max_grad_norm = 1};
    must(stk__trace_init(&b->trace, SPANS, &error), &error);
    if (s->cpu) b->trace.clock_ns = cpu_ns;
    if (!s->brief) stk__pass_trace(b->pass, &b->trace);
}

static void finish(bench *b)
{
    stk__tensor *ids = (stk__tensor *)(uintptr_t)b->feed.sample_ids;
    stk__tensor_destroy(&ids);
    stk__tensor_destroy(&b->feed.input);
    stk__tensor_destroy(&b->feed.target[STK_LOSS_TARGET]);
    stk__tensor_destroy(&b->feed.loss_sums);
    stk__pass_destroy(&b->pass);
    stk__model_destroy(&b->model);
    stk__arena_destroy(&b->arena);
    stk__arena_destroy(&b->data);
    stk__network_destroy(&b->network);
    stk__engine_close(&b->engine);
    stk__trace_fini(&b->trace);
}

static void count(row *rows, const char *what, const char *action, double ms, int step)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s%s", what, *action ? ", " : "", action);
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].what[0] && strcmp(rows[i].what, text) != 0) continue;
        memcpy(rows[i].what, text, sizeof text);
        rows[i].ms[step] += ms;
        return;
    }
}

static const char *word_of(const bench *b, const char *layer)
{
    const stk__pass_report *report = stk__pass_describe(b->pass);
    for (int i = 0; i < report->row_count; i++)
        if (report->rows[i].layer == layer) return report->rows[i].word;
    return "loss";
}

/* Returns ms. */
static double run_step(bench *b, row *rows, int step)
{
    stk_error error = {0};
    uint64_t (*const now_ns)(void) = b->trace.clock_ns ? b->trace.clock_ns : stk__clock_ns;
    const uint64_t from = stk__clock_ns();
    b->trace.count = 0;
    b->update.step++;
    must(stk__pass_forward(b->pass, &b->feed, &error), &error);
    must(stk__pass_backward(b->pass, &b->feed, &error), &error);
    const uint64_t behind = now_ns();
    must(stk__engine_update(b->engine, &b->update, &error), &error);
    must(stk__engine_sync(b->engine, &error), &error);
    const uint64_t to = now_ns();
    for (size_t i = 0; step >= 0 && i < b->trace.count; i++) {
        const stk__trace_span *span = &b->trace.spans[i];
        count(rows, word_of(b, span->name), span->action, (double)(span->to_ns - span->from_ns) / 1e6, step);
    }
    if (step >= 0) count(rows, "update", "", (double)(to - behind) / 1e6, step);
    return (double)(stk__clock_ns() - from) / 1e6;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int number)
{
    qsort(values, (size_t)number, sizeof *values, compare);
    return values[number / 2];
}

static void print_rows(row *rows, int steps, bool least)
{
    double sum = 0, products = 0;
    for (int i = 0; i < ROWS && rows[i].what[0]; i++) {
        const double middle = median(rows[i].ms, steps); /* sorts */
        if (!least) rows[i].ms[0] = middle;
        sum += rows[i].ms[0];
        if (strstr(rows[i].what, "conv") || strstr(rows[i].what, "linear") || strstr(rows[i].what, "lstm"))
            products += rows[i].ms[0];
    }
    for (int done = 0; done < ROWS; done++) {
        int most = -1;
        for (int i = 0; i < ROWS && rows[i].what[0]; i++)
            if (rows[i].ms[0] >= 0 && (most < 0 || rows[i].ms[0] > rows[most].ms[0])) most = i;
        if (most < 0) break;
        if (rows[most].ms[0] >= 0.05)
            printf("  %-32s %8.2f ms %5.1f %%\n", rows[most].what, rows[most].ms[0],
                   100 * rows[most].ms[0] / sum);
        rows[most].ms[0] = -1;
    }
    printf("  %-32s %8.2f ms %5.1f %%\n", "all but products", sum - products, 100 * (sum - products) / sum);
}

static void profile(const example *e, const settings *s)
{
    static row rows[ROWS];
    static double ms[STEPS_MOST], cpu[STEPS_MOST];
    bench b;
    memset(rows, 0, sizeof rows);
    start(&b, e, s);
    run_step(&b, rows, -1);
    for (int i = 0; i < s->steps; i++) {
        const uint64_t from = cpu_ns();
        ms[i] = run_step(&b, rows, i);
        cpu[i] = (double)(cpu_ns() - from) / 1e6;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const stk__pass_report *report = stk__pass_describe(b.pass);
    printf("%s %.2f ms a step, %.2f ms of CPU, %.1f GFLOP, activations %.1f MB, peak %.1f MB\n", e->name,
           median(ms, s->steps), median(cpu, s->steps), report->step_flops / 1e9,
           (double)report->activation_bytes / 1e6, (double)usage.ru_maxrss * 1024 / 1e6);
    if (!s->brief) print_rows(rows, s->steps, s->cpu);
    fflush(stdout);
    finish(&b);
}

int main(int count_of, char **arguments)
{
    settings s = {.steps = 7, .threads = 2};
    bool any = false;
    for (int i = 1; i < count_of; i++) {
        const char *next = i + 1 < count_of ? arguments[i + 1] : "1";
        if (strcmp(arguments[i], "--steps") == 0) s.steps = atoi(next) < STEPS_MOST ? atoi(next) : STEPS_MOST;
        if (strcmp(arguments[i], "--threads") == 0) s.threads = atoi(next);
        if (strcmp(arguments[i], "--conv") == 0) s.conv = next;
        s.apart |= strcmp(arguments[i], "--apart") == 0;
        s.recompute |= strcmp(arguments[i], "--recompute") == 0;
        s.cpu |= strcmp(arguments[i], "--cpu") == 0;
        s.brief |= strcmp(arguments[i], "--brief") == 0;
        for (size_t k = 0; k < sizeof examples / sizeof examples[0]; k++)
            any |= strcmp(arguments[i], examples[k].name) == 0;
    }
    for (size_t k = 0; k < sizeof examples / sizeof examples[0]; k++) {
        bool asked = !any;
        for (int i = 1; i < count_of; i++)
            asked |= strcmp(arguments[i], examples[k].name) == 0;
        if (asked) profile(&examples[k], &s);
    }
    return 0;
}
