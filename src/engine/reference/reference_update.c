/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizers in plain loops: PyTorch's AdamW and SGD over all parameters at once, with clipping by the
 * global norm, and the moving average. Computed in double, stored as float.
 *
 *     clip     g = c g,   c = min(1, max_grad_norm / (|g| + 1e-6)),   |g|^2 = sum over all parameters of g^2
 *
 *     AdamW    m = beta1 m + (1 - beta1) g                                 first moment   (exp_avg)
 *              v = beta2 v + (1 - beta2) g^2                               second moment  (exp_avg_sq)
 *              M = m / (1 - beta1^t),  V = v / (1 - beta2^t)               without the bias of their start
 *              w = (1 - lr weight_decay) w - lr M / (sqrt(V) + eps)
 *
 *     SGD      d = g + weight_decay w
 *              b = momentum b + d                                          b = d at t = 1; (momentum_buffer)
 *              w = w - lr b
 *
 * t = 1, 2, … is the step; all of them have the shape of w. Weight decay is decoupled in AdamW: it is not
 * part of g and not divided by sqrt(V). */
#include "engine/reference/reference.h"

#include <math.h>

/* Of all gradients together, before clipping. */
static double measure_norm(const stk__update *update, double grad_scale)
{
    double squares = 0;
    for (size_t t = 0; t < update->grad.count; t++) {
        const float *grad = update->grad.tensor[t]->memory;
        for (int64_t i = 0, count = stk__shape_count(&update->grad.tensor[t]->desc.shape); i < count; i++)
            squares += (double)grad[i] * grad[i];
    }
    return sqrt(squares) * fabs(grad_scale);
}

static bool is_skipped(const stk__update *update)
{
    return update->skipped && *(const double *)update->skipped->memory != 0;
}

/* What each gradient is multiplied by. A NaN norm makes them all NaN, as in PyTorch, unless the
 * update is skipped then. */
static double find_factor(const stk__update *update)
{
    const double grad_scale = update->grad_scale != 0 ? update->grad_scale : 1;
    if (update->max_grad_norm <= 0 && !update->norm && !update->skipped) return grad_scale;
    const double norm = measure_norm(update, grad_scale);
    if (update->skipped) *(double *)update->skipped->memory = !isfinite(norm);
    if (is_skipped(update)) return 0;
    if (update->norm) {
        ((double *)update->norm->memory)[0] += norm;
        ((double *)update->norm->memory)[1] += 1;
    }
    if (update->max_grad_norm <= 0) return grad_scale;
    const double clip = update->max_grad_norm / (norm + 1e-6);
    return clip > 1 ? grad_scale : grad_scale * clip;
}

static void step_adamw(const stk__update *u, float *param, double grad, float *first, float *second)
{
    const double mean = u->beta1 * *first + (1 - u->beta1) * grad;
    const double square = u->beta2 * *second + (1 - u->beta2) * grad * grad;
    const double unbias1 = 1 - pow(u->beta1, (double)u->step), unbias2 = 1 - pow(u->beta2, (double)u->step);
    const double kept = *param * (1 - u->lr * u->weight_decay);
    *first = (float)mean;
    *second = (float)square;
    *param = (float)(kept - u->lr / unbias1 * mean / (sqrt(square) / sqrt(unbias2) + u->eps));
}

/* The first step begins the momentum with the gradient itself. */
static void step_sgd(const stk__update *u, float *param, double grad, float *first)
{
    double move = grad + u->weight_decay * *param;
    if (first) {
        move = u->step == 1 ? move : u->momentum * *first + move;
        *first = (float)move;
    }
    *param = (float)(*param - u->lr * move);
}

stk_status stk__reference_update(stk__engine *engine, const stk__update *update, stk_error *error)
{
    (void)engine;
    const double factor = find_factor(update);
    for (size_t t = 0; t < update->grad.count && is_skipped(update); t++)
        STK__TRY(stk__tensor_zero(update->grad.tensor[t], error));
    for (size_t t = 0; t < update->param.count && !is_skipped(update); t++) {
        float *param = update->param.tensor[t]->memory, *grad = update->grad.tensor[t]->memory;
        float *first = update->first.count ? update->first.tensor[t]->memory : NULL;
        float *second = update->second.count ? update->second.tensor[t]->memory : NULL;
        for (int64_t i = 0, count = stk__shape_count(&update->param.tensor[t]->desc.shape); i < count; i++) {
            if (update->kind == STK_OPTIMIZER_ADAMW)
                step_adamw(update, &param[i], grad[i] * factor, &first[i], &second[i]);
            else
                step_sgd(update, &param[i], grad[i] * factor, first ? &first[i] : NULL);
            grad[i] = 0;
        }
    }
    return STK_OK;
}

stk_status stk__reference_average(stk__engine *engine, const stk__tensor_list *average,
                                  const stk__tensor_list *value, double decay, stk_error *error)
{
    (void)engine, (void)error;
    for (size_t t = 0; t < average->count; t++) {
        float *to = average->tensor[t]->memory;
        const float *from = value->tensor[t]->memory;
        for (int64_t i = 0, count = stk__shape_count(&average->tensor[t]->desc.shape); i < count; i++)
            to[i] = (float)(to[i] * decay + from[i] * (1 - decay));
    }
    return STK_OK;
}
