/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of pictures: each output row is a mixture of input rows, then of its columns. The gradient goes
 * the same way back: every value of dx gathers what it has given, so that no two threads write one place. */
#include "core/memory.h"
#include "engine/onednn/onednn_engine.h"

#include <math.h>
#include <string.h>

/* A value of the result along one axis = sum of share x source over entries start[i] … start[i + 1] - 1. */
typedef struct mixture {
    int64_t length;  /* of the result */
    int32_t *start;  /* [length + 1] */
    int32_t *source; /* [entries] */
    float *share;
} mixture;

typedef struct resize {
    mixture there[2], back[2]; /* h, w; from x to y, and from dy to dx */
    void *memory;              /* of all tables */
} resize;

/* Where output place `out` comes from: share of low, the rest of the next. */
static int64_t look_up(const stk__op_spec *spec, int axis, int64_t out, double *low_share)
{
    const int64_t from = spec->input[0].dim[1 + axis], to = spec->size[axis];
    *low_share = 1;
    if (spec->resize == STK_RESIZE_NEAREST) return (2 * out + 1) * from / (2 * to);
    const double centre = ((double)out + 0.5) * (double)from / (double)to - 0.5;
    const int64_t low = centre > 0 ? (int64_t)centre : 0;
    if (centre > 0 && low + 1 < from) *low_share = 1 - (centre - (double)low);
    return low;
}

static void fill_there(const stk__op_spec *spec, int axis, mixture *there)
{
    int32_t entries = 0;
    for (int64_t out = 0; out < there->length; out++) {
        double low_share;
        const int64_t low = look_up(spec, axis, out, &low_share);
        there->start[out] = entries;
        there->source[entries] = (int32_t)low;
        there->share[entries++] = (float)low_share;
        if (low_share == 1) continue;
        there->source[entries] = (int32_t)low + 1;
        there->share[entries++] = (float)(1 - low_share);
    }
    there->start[there->length] = entries;
}

/* The transpose of there. */
static void fill_back(const mixture *there, mixture *back)
{
    const int32_t entries = there->start[there->length];
    for (int32_t i = 0; i < entries; i++)
        back->start[there->source[i] + 1]++;
    for (int64_t i = 0; i < back->length; i++)
        back->start[i + 1] += back->start[i];
    for (int64_t out = 0; out < there->length; out++)
        for (int32_t i = there->start[out]; i < there->start[out + 1]; i++) {
            const int32_t at = back->start[there->source[i]]++;
            back->source[at] = (int32_t)out;
            back->share[at] = there->share[i];
        }
    memmove(back->start + 1, back->start, (size_t)back->length * sizeof *back->start);
    back->start[0] = 0;
}

/* Bytes of one mixture's tables; with memory they are laid there. */
static size_t lay(mixture *m, int64_t entries, char *memory)
{
    size_t total = 0;
    const size_t start = stk__onednn_reserve(&total, (size_t)(m->length + 1) * sizeof *m->start);
    const size_t source = stk__onednn_reserve(&total, (size_t)entries * sizeof *m->source);
    const size_t share = stk__onednn_reserve(&total, (size_t)entries * sizeof *m->share);
    if (memory) {
        m->start = (void *)(memory + start);
        m->source = (void *)(memory + source);
        m->share = (void *)(memory + share);
    }
    return total;
}

static stk_status create(stk__op *op, stk_error *error)
{
    const int64_t *in = op->spec.input[0].dim, *out = op->form.output.dim;
    resize *own = op->own = stk__alloc(sizeof *own);
    if (!own) return stk__fail_memory(error, sizeof *own, "a layer");
    size_t total = 0;
    for (int a = 0; a < 2; a++) {
        own->there[a].length = out[1 + a];
        own->back[a].length = in[1 + a];
        total += lay(&own->there[a], 2 * out[1 + a], NULL) + lay(&own->back[a], 2 * out[1 + a], NULL);
    }
    char *memory = own->memory = stk__alloc(total);
    if (!memory) return stk__fail_memory(error, total, "tables of a resize");
    for (int a = 0; a < 2; a++) {
        memory += lay(&own->there[a], 2 * out[1 + a], memory);
        memory += lay(&own->back[a], 2 * out[1 + a], memory);
        fill_there(&op->spec, a, &own->there[a]);
        fill_back(&own->there[a], &own->back[a]);
    }
    const int64_t widest = in[2] > out[2] ? in[2] : out[2]; /* one row a thread */
    op->needs.scratch_bytes = (size_t)(op->engine->info.threads * widest * in[3]) * sizeof(float);
    return STK_OK;
}

static void destroy(stk__op *op)
{
    stk__free(((resize *)op->own)->memory);
}

typedef struct resize_run {
    const mixture *rows, *columns;
    const float *source; /* [n source_h source_w c] */
    float *target;       /* [n rows->length columns->length c] */
    float *line;         /* scratch: one row of source a worker */
    int64_t source_h, source_w, c, line_length;
} resize_run;

/* target [length] = or += share x source; the first one sets. */
static void mix(float *restrict target, const float *restrict source, int64_t length, float share, bool first)
{
    if (first)
        for (int64_t i = 0; i < length; i++)
            target[i] = source[i] * share;
    else
        for (int64_t i = 0; i < length; i++)
            target[i] += source[i] * share;
}

/* Mixes entries of one result; without any it is 0 (input that a smaller output has left out). */
static void mix_entries(const mixture *m, int64_t at, const float *source, int64_t length, float *target)
{
    if (m->start[at] == m->start[at + 1]) memset(target, 0, (size_t)length * sizeof *target);
    for (int32_t i = m->start[at]; i < m->start[at + 1]; i++)
        mix(target, source + m->source[i] * length, length, m->share[i], i == m->start[at]);
}

static void resize_rows(void *context, int64_t first, int64_t last, int worker)
{
    const resize_run *run = context;
    const int64_t wide = run->source_w * run->c, length = run->columns->length * run->c;
    float *line = run->line + worker * run->line_length;
    for (int64_t row = first; row < last; row++) {
        const int64_t n = row / run->rows->length, at = row % run->rows->length;
        mix_entries(run->rows, at, run->source + n * run->source_h * wide, wide, line);
        float *target = run->target + row * length;
        for (int64_t i = 0; i < run->columns->length; i++)
            mix_entries(run->columns, i, line, run->c, target + i * run->c);
    }
}

static void run_resize(const stk__op *op, resize_run *run, const stk__shape *source, const stk__op_io *io)
{
    run->source_h = source->dim[1];
    run->source_w = source->dim[2];
    run->c = source->dim[3];
    run->line = stk__onednn_at(io->scratch, 0);
    run->line_length = (int64_t)(op->needs.scratch_bytes / sizeof(float)) / op->engine->info.threads;
    stk__onednn_loop(op->engine, source->dim[0] * run->rows->length, 4, resize_rows, run);
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const resize *own = op->own;
    resize_run run = {.rows = &own->there[0],
                      .columns = &own->there[1],
                      .source = stk__floats(io->x[0]),
                      .target = stk__floats(io->y)};
    run_resize(op, &run, &op->spec.input[0], io);
    return STK_OK;
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    (void)error;
    const resize *own = op->own;
    if (!stk__floats_at(io->dx, 0)) return STK_OK;
    resize_run run = {.rows = &own->back[0],
                      .columns = &own->back[1],
                      .source = stk__floats(io->dy),
                      .target = stk__floats(io->dx[0])};
    run_resize(op, &run, &op->form.output, io);
    return STK_OK;
}

const stk__onednn_kind stk__onednn_resize = {create, destroy, forward, backward};
