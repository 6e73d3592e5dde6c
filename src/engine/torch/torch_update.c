/* SPDX-License-Identifier: Apache-2.0 */
/* All parameters at once: PyTorch's fused AdamW and SGD, clipping, the moving average. */
#include "engine/torch/torch_call.h"

#include <math.h>

enum { PARTS = 16 };

/* Of a matrix [1 n], as [1 1]. The norms of vectors take a Scalar, that of matrices a word. */
static stk__torch_handle norm_of(stk__torch_scope *s, stk__torch_handle matrix)
{
    static const int64_t both[] = {0, 1};
    return STK_TORCH_RUN(s, "aten::linalg_matrix_norm", "str_ord", STK_TORCH_T(matrix), STK_TORCH_WORD("fro"),
                         STK_TORCH_INT_LIST(both, 2), STK_TORCH_I(true), STK_TORCH_NOTHING);
}

/* Of all gradients together: the norm of norms, some at a time, since the many-tensor _foreach_norm takes a
 * Scalar, too. */
static stk__torch_handle measure_each(stk__torch_scope *s, const stk__tensor_list *grad)
{
    const int mark = s->count;
    const stk__torch_handle total = s->engine->norm;
    stk__torch_fill(s, total, 0);
    for (size_t t = 0; t < grad->count;) {
        stk__torch_handle part[PARTS] = {total};
        size_t count = 1;
        while (count < PARTS && t < grad->count) {
            const stk__tensor *tensor = grad->tensor[t++];
            part[count++] = norm_of(s, stk__torch_rows(s, tensor, stk__shape_count(&tensor->desc.shape)));
        }
        const stk__torch_handle all =
            STK_TORCH_RUN(s, "aten::cat", "", STK_TORCH_LIST(part, count), STK_TORCH_I(1));
        stk__torch_copy(s, total, norm_of(s, all));
        stk__torch_release(s, mark);
    }
    return total;
}

/* On GPUs launches cost more than bytes: the gradients are joined first, as many as fit. */
static stk__torch_handle measure_joined(stk__torch_scope *s, const stk__tensor_list *grad)
{
    enum { MOST = 96, MOST_VALUES = 1 << 24 };
    stk__torch_handle total = NULL;
    for (size_t t = 0; t < grad->count;) {
        const int mark = s->count;
        stk__torch_handle part[MOST];
        size_t count = 0;
        for (int64_t values = 0; t < grad->count && count < MOST; t++) {
            const int64_t length = stk__shape_count(&grad->tensor[t]->desc.shape);
            if (count && values + length > MOST_VALUES) break;
            part[count++] = stk__torch_rows(s, grad->tensor[t], length);
            values += length;
        }
        const stk__torch_handle norm = norm_of(
            s, count == 1 ? part[0] /* a large one is not copied */
                          : STK_TORCH_RUN(s, "aten::cat", "", STK_TORCH_LIST(part, count), STK_TORCH_I(1)));
        if (t == grad->count && !total) return norm; /* all in one */
        if (!total) stk__torch_fill(s, s->engine->norm, 0);
        const stk__torch_handle pair[] = {s->engine->norm, norm};
        stk__torch_copy(
            s, s->engine->norm,
            norm_of(s, STK_TORCH_RUN(s, "aten::cat", "", STK_TORCH_LIST(pair, 2), STK_TORCH_I(1))));
        total = s->engine->norm;
        stk__torch_release(s, mark);
    }
    return total;
}

/* Value i of the f64 [2] that collects norms. */
static stk__torch_handle collected(stk__torch_scope *s, const stk__update *update, int64_t i)
{
    stk__torch_form form = stk__torch_dense_form(s->engine, STK_DTYPE_F64, &(stk__shape){0});
    form.offset = i;
    return stk__torch_view(s, update->norm, &form);
}

/* 1 where a number is not finite, else 0; f32 [1], as the fused steps ask for it. */
static stk__torch_handle find_broken(stk__torch_scope *s, stk__torch_handle norm)
{
    const stk__torch_handle zero_or_nan = stk__torch_multiply(s, norm, s->engine->zero);
    return STK_TORCH_RUN(s, "aten::nan_to_num", "", STK_TORCH_T(zero_or_nan), STK_TORCH_SOME_F(1),
                         STK_TORCH_NOTHING, STK_TORCH_NOTHING);
}

/* Norms are collected as long as they are good, where broken updates are left out; else all of them. */
static void collect_norm(stk__torch_scope *s, const stk__update *update, stk__torch_handle norm,
                         stk__torch_handle broken)
{
    if (broken)
        norm = STK_TORCH_RUN(s, "aten::nan_to_num", "", STK_TORCH_T(norm), STK_TORCH_SOME_F(0),
                             STK_TORCH_SOME_F(0), STK_TORCH_SOME_F(0));
    stk__torch_add(s, collected(s, update, 0), norm, 1);
    stk__torch_add(s, collected(s, update, 1), s->engine->one, 1);
    if (broken) stk__torch_add(s, collected(s, update, 1), stk__torch_sum(s, broken), -1);
}

/* The fused steps divide gradients by a tensor: engine->factor becomes 1 / (scale x clipping). false: there
 * is nothing to divide by. A NaN norm makes them all NaN, as in PyTorch. */
static bool find_divisor(stk__torch_scope *s, const stk__update *update, stk__torch_handle *broken)
{
    const double scale = update->grad_scale != 0 ? update->grad_scale : 1;
    const bool clips = update->max_grad_norm > 0;
    if (!clips) stk__torch_fill(s, s->engine->factor, 1 / scale);
    if (!clips && !update->norm && !update->skipped) return scale != 1;
    const stk__torch_handle measured =
        (stk__torch_device_is_host(&s->engine->device) ? measure_each : measure_joined)(s, &update->grad);
    if (update->skipped) {
        *broken = find_broken(s, measured);
        stk__torch_copy(s, stk__torch_rows(s, update->skipped, 1), *broken);
    }
    const stk__torch_handle norm =
        stk__torch_multiply(s, stk__torch_sum(s, measured), stk__torch_number(s, fabs(scale)));
    if (update->norm) collect_norm(s, update, norm, *broken);
    if (!clips) return scale != 1;
    stk__torch_add(s, norm, s->engine->one, 1e-6);
    const stk__torch_handle times = STK_TORCH_RUN(s, "aten::div", "Tensor", STK_TORCH_T(norm),
                                                  STK_TORCH_T(stk__torch_number(s, update->max_grad_norm)));
    const stk__torch_handle least =
        STK_TORCH_RUN(s, "aten::maximum", "", STK_TORCH_T(times), STK_TORCH_T(s->engine->one));
    stk__torch_copy(s, s->engine->factor, stk__torch_multiply(s, least, stk__torch_number(s, 1 / scale)));
    return true;
}

static void step_adamw(stk__torch_scope *s, const stk__update *u, stk__torch_handle divisor,
                       stk__torch_handle broken)
{
    stk__torch_fill(s, s->engine->step, (double)u->step);
    STK_TORCH_RUN_VOID(s, "aten::_fused_adamw_", "", STK_TORCH_ALL(u->param), STK_TORCH_ALL(u->grad),
                       STK_TORCH_ALL(u->first), STK_TORCH_ALL(u->second), STK_TORCH_LIST(NULL, 0),
                       STK_TORCH_SAME(s->engine->step, u->param.count), STK_TORCH_F(u->lr),
                       STK_TORCH_F(u->beta1), STK_TORCH_F(u->beta2), STK_TORCH_F(u->weight_decay),
                       STK_TORCH_F(u->eps), STK_TORCH_I(false), STK_TORCH_I(false),
                       STK_TORCH_T_OR_NONE(divisor), STK_TORCH_T_OR_NONE(broken));
}

static void step_sgd(stk__torch_scope *s, const stk__update *u, stk__torch_handle divisor,
                     stk__torch_handle broken)
{
    STK_TORCH_RUN_VOID(s, "aten::_fused_sgd_", "", STK_TORCH_ALL(u->param), STK_TORCH_ALL(u->grad),
                       STK_TORCH_ALL(u->first), STK_TORCH_F(u->weight_decay),
                       STK_TORCH_F(u->first.count ? u->momentum : 0), STK_TORCH_F(u->lr), STK_TORCH_F(0),
                       STK_TORCH_I(false), STK_TORCH_I(false), STK_TORCH_I(u->step == 1),
                       STK_TORCH_T_OR_NONE(divisor), STK_TORCH_T_OR_NONE(broken));
}

stk_status stk__torch_update(stk__engine *engine, const stk__update *update, stk_error *error)
{
    if (!update->param.count) return STK_OK;
    stk__torch_scope s = stk__torch_begin(engine, error);
    stk__torch_handle broken = NULL;
    const stk__torch_handle divisor = find_divisor(&s, update, &broken) ? s.engine->factor : NULL;
    if (update->kind == STK_OPTIMIZER_ADAMW)
        step_adamw(&s, update, divisor, broken);
    else
        step_sgd(&s, update, divisor, broken);
    if (!update->leave_grad) STK_TORCH_RUN_VOID(&s, "aten::_foreach_zero_", "", STK_TORCH_ALL(update->grad));
    return stk__torch_end(&s);
}

/* How many tensors from i on lie one behind the other in both lists, at the same distances. */
static size_t run_length(const stk__tensor_list *a, const stk__tensor_list *b, size_t i)
{
    size_t count = 1;
    for (; i + count < a->count; count++) {
        const stk__tensor *last = a->tensor[i + count - 1], *other = b->tensor[i + count - 1];
        const size_t size = stk__tensor_size(last->engine, &last->desc);
        if ((char *)a->tensor[i + count]->memory != (char *)last->memory + size ||
            (char *)b->tensor[i + count]->memory != (char *)other->memory + size)
            break;
    }
    return count;
}

/* On GPUs, whose many-tensor form takes as many launches as there are tensors: each run as one row of f32,
 * with what lies between its tensors. */
static void average_runs(stk__torch_scope *s, const stk__tensor_list *average, const stk__tensor_list *value,
                         double share)
{
    for (size_t i = 0, count; i < average->count; i += count) {
        const int mark = s->count;
        count = run_length(average, value, i);
        const stk__tensor *first = average->tensor[i], *last = average->tensor[i + count - 1];
        const int64_t bytes = (char *)last->memory - (char *)first->memory + (int64_t)last->size_bytes;
        const stk__shape row = {1, {bytes / (int64_t)sizeof(float)}};
        const stk__torch_handle target = stk__torch_shaped(s, first, &row);
        STK_TORCH_RUN(s, "aten::lerp", "Tensor_out", STK_TORCH_T(target),
                      STK_TORCH_T(stk__torch_shaped(s, value->tensor[i], &row)),
                      STK_TORCH_T(stk__torch_number(s, share)), STK_TORCH_T(target));
        stk__torch_release(s, mark);
    }
}

stk_status stk__torch_average(stk__engine *engine, const stk__tensor_list *average,
                              const stk__tensor_list *value, double decay, stk_error *error)
{
    if (!average->count) return STK_OK;
    stk__torch_scope s = stk__torch_begin(engine, error);
    if (!stk__torch_device_is_host(&s.engine->device)) {
        average_runs(&s, average, value, 1 - decay);
        return stk__torch_end(&s);
    }
    stk__torch_fill(&s, s.engine->factor, 1 - decay);
    STK_TORCH_RUN_VOID(&s, "aten::_foreach_lerp_", "List", STK_TORCH_ALL(*average), STK_TORCH_ALL(*value),
                       STK_TORCH_SAME(s.engine->factor, average->count));
    return stk__torch_end(&s);
}
