/* SPDX-License-Identifier: Apache-2.0 */
/* fp16 and bf16 for engines that compute in float32: each operation's 16-bit inputs are widened into
 * scratch, the float32 operation runs, and results are rounded to nearest even. Copies run on the pool's
 * threads; scratch belongs to the pass. */
#include "engine/half_op.h"

#include "core/align.h"
#include "core/half.h"
#include "core/memory.h"
#include "core/pool.h"

#include <string.h>

enum { ALIGN_BYTES = 64, CHUNK = 1 << 15, BLOCK = 512 }; /* values of a pool's item; of blocks on its stack */

/* --- from type to type -----------------------------------------------------------------------------------
 */

typedef struct values {
    void *memory;
    const stk__half_loops *loops; /* NULL: f32 */
} values;

typedef struct move {
    values from, to;
    const stk__half_loops *through; /* from is rounded to this type first; NULL: not */
    bool add;                       /* to += from */
    int64_t count;
} move;

static values values_of(const stk__tensor *tensor)
{
    const stk_dtype dtype = tensor->desc.dtype;
    return (values){tensor->memory,
                    stk__dtype_is_half(dtype) ? stk__half_loops_at(dtype, tensor->engine->level) : NULL};
}

static const float *load(const values *from, int64_t at, int64_t count, float *block)
{
    if (!from->loops) return (const float *)from->memory + at;
    from->loops->widen((const uint16_t *)from->memory + at, block, count);
    return block;
}

static void store(const values *to, int64_t at, int64_t count, const float *block)
{
    if (to->loops)
        to->loops->narrow(block, (uint16_t *)to->memory + at, count);
    else
        memmove((float *)to->memory + at, block, (size_t)count * sizeof *block);
}

static void move_block(const move *m, int64_t at, int64_t count)
{
    float block[BLOCK], sum[BLOCK];
    uint16_t words[BLOCK];
    const float *from = load(&m->from, at, count, block);
    if (m->through) {
        m->through->narrow(from, words, count);
        m->through->widen(words, block, count);
        from = block;
    }
    if (m->add) {
        const float *old = load(&m->to, at, count, sum);
        for (int64_t i = 0; i < count; i++)
            sum[i] = old[i] + from[i];
        from = sum;
    }
    store(&m->to, at, count, from);
}

static void move_chunk(void *context, size_t item, int worker)
{
    (void)worker;
    const move *m = context;
    const int64_t first = (int64_t)item * CHUNK, last = first + CHUNK < m->count ? first + CHUNK : m->count;
    for (int64_t at = first; at < last; at += BLOCK)
        move_block(m, at, last - at < BLOCK ? last - at : BLOCK);
}

static void run_move(move *m, const stk__engine *engine)
{
    stk__pool_run(&(stk__pool_job){.run = move_chunk,
                                   .context = m,
                                   .count = (size_t)((m->count + CHUNK - 1) / CHUNK),
                                   .workers = engine->info.threads});
}

void stk__half_add(stk__tensor *target, const stk__tensor *source)
{
    move m = {values_of(source), values_of(target), .add = true,
              .count = stk__shape_count(&target->desc.shape)};
    run_move(&m, target->engine);
}

/* through: rounded to this type on the way; STK_DTYPE_NONE: not. */
static void copy_rounded(stk__tensor *target, const stk__tensor *source, stk_dtype through)
{
    const stk__engine *engine = target->engine;
    move m = {values_of(source), values_of(target), .count = stk__shape_count(&target->desc.shape)};
    if (through) m.through = stk__half_loops_at(through, engine->level);
    run_move(&m, engine);
}

void stk__half_copy(stk__tensor *target, const stk__tensor *source)
{
    copy_rounded(target, source, STK_DTYPE_NONE);
}

/* Memory that is not the host's is touched by its engine alone. */
static stk_status round_into(stk__tensor *target, const stk__tensor *source, stk_dtype through,
                             stk_error *error)
{
    const stk__engine_ops *ops = target->engine->ops;
    if (ops->tensor_round) return ops->tensor_round(target, source, through, error);
    copy_rounded(target, source, through);
    return STK_OK;
}

/* --- where f32 copies lie --------------------------------------------------------------------------------
 */

/* In the scratch of one pass. What is not copied has no place that counts. */
typedef struct places {
    size_t x[STK_OP_INPUTS], dx[STK_OP_INPUTS], param[STK_OP_PARAMS];
    size_t y, dy;
    size_t size_bytes;
} places;

struct stk__half_op {
    stk__op *inner; /* the same in f32; its own scratch comes first */
    bool product;
    bool apart; /* gradients of parameters need no dx and dx no x: it comes to lie in the place of x */
    places forward, backward;
};

static size_t reserve(places *p, const stk__shape *shape)
{
    const size_t offset = p->size_bytes, bytes = (size_t)stk__shape_count(shape) * sizeof(float);
    p->size_bytes += stk__align_up(bytes, ALIGN_BYTES);
    return offset;
}

static bool copies_input(const stk__op *op, int i)
{
    return op->half->product || !(op->spec.f32_inputs >> i & 1);
}

static void place_common(places *p, const stk__op *op, bool reads_x)
{
    p->size_bytes = stk__align_up(stk__op_memory(op->half->inner).scratch_bytes, ALIGN_BYTES);
    for (int i = 0; i < op->form.param_count && op->half->product; i++)
        p->param[i] = reserve(p, &op->form.param[i].shape);
    for (int i = 0; i < op->spec.inputs && reads_x; i++)
        if (copies_input(op, i)) p->x[i] = reserve(p, &op->spec.input[i]);
}

static void place_all(stk__op *op)
{
    stk__half_op *half = op->half;
    places *p = &half->forward;
    place_common(p, op, true);
    if (!op->spec.f32_output) p->y = op->form.in_place ? p->x[0] : reserve(p, &op->form.output);
    p = &half->backward;
    place_common(p, op, op->form.needs_x);
    if (!op->spec.f32_output && op->form.needs_y) p->y = reserve(p, &op->form.output);
    if (!op->spec.f32_output) p->dy = reserve(p, &op->form.output);
    for (int i = 0; i < op->spec.inputs; i++)
        if (!(op->spec.f32_inputs >> i & 1))
            p->dx[i] = half->apart                            ? p->x[i]
                       : i == 0 && op->form.gradient_in_place ? p->dy
                                                              : reserve(p, &op->spec.input[i]);
    op->needs = stk__op_memory(half->inner);
    op->needs.scratch_bytes =
        half->forward.size_bytes > p->size_bytes ? half->forward.size_bytes : p->size_bytes;
}

stk_status stk__half_op_create(stk__op *op, stk_error *error)
{
    stk__op_spec spec = op->spec;
    spec.half = STK_DTYPE_NONE;
    spec.f32_inputs = 0;
    spec.f32_output = false;
    op->half = stk__alloc(sizeof *op->half);
    if (!op->half) return stk__fail_memory(error, sizeof *op->half, "an operation");
    const stk_status status = stk__op_create(op->engine, &spec, &op->half->inner, error);
    if (status != STK_OK) {
        stk__half_op_destroy(op);
        return status;
    }
    op->half->product = stk__op_is_product(spec.kind);
    op->half->apart = op->half->product && spec.kind != STK_OP_LSTM; /* which does both at once */
    op->method = op->half->inner->method;
    place_all(op);
    return STK_OK;
}

void stk__half_op_destroy(stk__op *op)
{
    if (op->half) stk__op_destroy(&op->half->inner);
    stk__free(op->half);
    op->half = NULL;
}

bool stk__half_op_choose(stk__op *op, const char *method)
{
    const bool done = stk__op_choose(op->half->inner, method);
    op->method = op->half->inner->method;
    return done;
}

/* --- runs ------------------------------------------------------------------------------------------------
 */

/* What the f32 operation is given: the tensors themselves, or f32 copies of them in scratch. */
typedef struct op_tensors {
    const stk__op *op;
    const stk__op_io *io;
    stk__tensor x[STK_OP_INPUTS], dx[STK_OP_INPUTS], param[STK_OP_PARAMS], y, dy, scratch;
    stk__tensor *x_at[STK_OP_INPUTS], *dx_at[STK_OP_INPUTS], *param_at[STK_OP_PARAMS];
    stk__op_io inner;
} op_tensors;

static bool is_half(const stk__tensor *tensor)
{
    return stk__dtype_is_half(tensor->desc.dtype);
}

/* An f32 tensor in the scratch, of like's shape. */
static stk__tensor *make_copy(const op_tensors *h, stk__tensor *copy, const stk__tensor *like, size_t offset)
{
    *copy = *like;
    copy->desc.dtype = STK_DTYPE_F32;
    copy->place = copy->own = NULL;
    copy->memory = (char *)h->io->scratch->memory + offset;
    copy->size_bytes = (size_t)stk__shape_count(&like->desc.shape) * sizeof(float);
    return copy;
}

/* *at becomes that copy, which holds what the 16-bit operation sees of the tensor. */
static stk_status make_rounded(const op_tensors *h, stk__tensor *copy, stk__tensor **at,
                               const stk__tensor *tensor, size_t offset, stk_error *error)
{
    *at = make_copy(h, copy, tensor, offset);
    return round_into(copy, tensor, is_half(tensor) ? STK_DTYPE_NONE : h->op->spec.half, error);
}

static stk_status take_inputs(op_tensors *h, const places *p, bool reads_x, stk_error *error)
{
    const stk__op *op = h->op;
    const stk__op_io *io = h->io;
    h->inner = *io;
    h->inner.dy2 = NULL;                                                   /* the front has added it */
    if (io->scratch) h->scratch = *io->scratch;                            /* none: everything is f32 */
    h->scratch.size_bytes = stk__op_memory(op->half->inner).scratch_bytes; /* who maps it sees no more */
    h->scratch.desc.shape = (stk__shape){1, {(int64_t)h->scratch.size_bytes}};
    h->inner.scratch = h->scratch.size_bytes ? &h->scratch : NULL;
    for (int i = 0; i < op->form.param_count && op->half->product; i++)
        STK__TRY(make_rounded(h, &h->param[i], &h->param_at[i], io->param[i], p->param[i], error));
    if (op->half->product) h->inner.param = h->param_at;
    for (int i = 0; i < op->spec.inputs; i++) {
        h->x_at[i] = io->x[i];
        if (reads_x && (is_half(io->x[i]) || op->half->product))
            STK__TRY(make_rounded(h, &h->x[i], &h->x_at[i], io->x[i], p->x[i], error));
    }
    h->inner.x = h->x_at;
    return STK_OK;
}

stk_status stk__half_op_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const places *p = &op->half->forward;
    op_tensors h = {.op = op, .io = io};
    STK__TRY(take_inputs(&h, p, true, error));
    if (is_half(io->y)) h.inner.y = make_copy(&h, &h.y, io->y, p->y);
    STK__TRY(stk__op_forward(op->half->inner, &h.inner, error));
    return is_half(io->y) ? round_into(io->y, h.inner.y, STK_DTYPE_NONE, error) : STK_OK;
}

static stk_status take_gradients(op_tensors *h, const places *p, stk_error *error)
{
    const stk__op *op = h->op;
    const stk__op_io *io = h->io;
    if (op->form.needs_y && is_half(io->y)) STK__TRY(make_rounded(h, &h->y, &h->inner.y, io->y, p->y, error));
    if (is_half(io->dy)) STK__TRY(make_rounded(h, &h->dy, &h->inner.dy, io->dy, p->dy, error));
    for (int i = 0; i < op->spec.inputs && io->dx; i++) {
        const bool copied = io->dx[i] && is_half(io->dx[i]);
        h->dx_at[i] = copied ? make_copy(h, &h->dx[i], io->dx[i], p->dx[i]) : io->dx[i];
    }
    if (io->dx) h->inner.dx = h->dx_at;
    return STK_OK;
}

static bool has_any(stk__tensor *const *tensors, int count)
{
    for (int i = 0; tensors && i < count; i++)
        if (tensors[i]) return true;
    return false;
}

/* At once, or first what reads x and then what lies there. */
static stk_status run_backward(const op_tensors *h, bool learns, stk_error *error)
{
    stk__op *inner = h->op->half->inner;
    stk__op_io part = h->inner;
    if (!h->op->half->apart) return stk__op_backward(inner, &h->inner, error);
    part.dx = NULL;
    if (learns) STK__TRY(stk__op_backward(inner, &part, error));
    part = h->inner;
    part.dparam = NULL;
    return has_any(part.dx, h->op->spec.inputs) ? stk__op_backward(inner, &part, error) : STK_OK;
}

stk_status stk__half_op_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    const places *p = &op->half->backward;
    op_tensors h = {.op = op, .io = io};
    const bool learns = has_any(io->dparam, op->form.param_count);
    STK__TRY(take_inputs(&h, p, op->form.needs_x && (learns || !op->half->apart), error));
    STK__TRY(take_gradients(&h, p, error));
    STK__TRY(run_backward(&h, learns, error));
    for (int i = 0; i < op->spec.inputs && io->dx; i++)
        if (h.dx_at[i] != io->dx[i]) STK__TRY(round_into(io->dx[i], h.dx_at[i], STK_DTYPE_NONE, error));
    return STK_OK;
}
