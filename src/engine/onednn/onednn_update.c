/* SPDX-License-Identifier: Apache-2.0 */
/* All parameters at once: AdamW and SGD as PyTorch computes them, clipping, zeroing of gradients; averages.
 */
#include "engine/onednn/onednn_engine.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 14 }; /* values */

typedef struct update_run {
    const stk__update *update;
    const stk__onednn_loops *loops;
    double *partial; /* a sum of squares for each group of chunks */
    int64_t group;   /* chunks of a group */
    stk__adamw_numbers adamw;
    float factor, lr, decay, momentum; /* SGD; factor: of the gradients */
} update_run;

/* A chunk of a tensor. */
typedef struct piece {
    size_t tensor;
    int64_t first, last;
} piece;

static int64_t chunks_of(const stk__tensor *tensor)
{
    return (stk__shape_count(&tensor->desc.shape) + CHUNK - 1) / CHUNK;
}

static piece find_piece(const stk__tensor_list *list, int64_t chunk)
{
    size_t i = 0;
    for (int64_t chunks; chunk >= (chunks = chunks_of(list->tensor[i])); i++)
        chunk -= chunks;
    const int64_t count = stk__shape_count(&list->tensor[i]->desc.shape), first = chunk * CHUNK;
    return (piece){i, first, first + CHUNK < count ? first + CHUNK : count};
}

static int64_t count_chunks(const stk__tensor_list *list)
{
    int64_t chunks = 0;
    for (size_t i = 0; i < list->count; i++)
        chunks += chunks_of(list->tensor[i]);
    return chunks;
}

static void square_chunks(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const update_run *run = context;
    double sum = 0;
    for (int64_t chunk = first; chunk < last; chunk++) {
        const piece p = find_piece(&run->update->grad, chunk);
        sum += run->loops->sum_squares(stk__floats(run->update->grad.tensor[p.tensor]) + p.first,
                                       p.last - p.first);
    }
    run->partial[first / run->group] = sum;
}

static void step_adamw(const update_run *run, const piece *p)
{
    const stk__update *u = run->update;
    const stk__adamw_values values = {.param = stk__floats(u->param.tensor[p->tensor]) + p->first,
                                      .first = stk__floats(u->first.tensor[p->tensor]) + p->first,
                                      .second = stk__floats(u->second.tensor[p->tensor]) + p->first,
                                      .grad = stk__floats(u->grad.tensor[p->tensor]) + p->first};
    run->loops->adamw(&values, p->last - p->first, &run->adamw);
}

static void step_sgd(const update_run *run, const piece *p)
{
    const stk__update *u = run->update;
    float *restrict param = stk__floats(u->param.tensor[p->tensor]);
    const float *restrict grad = stk__floats(u->grad.tensor[p->tensor]);
    float *restrict first = u->first.count ? stk__floats(u->first.tensor[p->tensor]) : NULL;
    for (int64_t i = p->first; i < p->last; i++) {
        float g = grad[i] * run->factor + run->decay * param[i];
        if (first) g = first[i] = (u->step > 1 ? run->momentum * first[i] : 0) + g;
        param[i] -= run->lr * g;
    }
}

static void step_chunks(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const update_run *run = context;
    const stk__update *u = run->update;
    for (int64_t chunk = first; chunk < last; chunk++) {
        const piece p = find_piece(&u->param, chunk);
        if (u->kind == STK_OPTIMIZER_ADAMW)
            step_adamw(run, &p);
        else
            step_sgd(run, &p);
        if (u->leave_grad) continue;
        memset(stk__floats(u->grad.tensor[p.tensor]) + p.first, 0,
               (size_t)(p.last - p.first) * sizeof(float));
    }
}

/* Norm of all gradients; the sums of the groups are added in order: the same for every number of threads. */
static double measure_norm(stk__onednn *engine, update_run *run, int64_t chunks, double scale)
{
    double sum = 0;
    run->group = (chunks + STK_ONEDNN_SUMS - 1) / STK_ONEDNN_SUMS;
    stk__onednn_loop(&engine->front, chunks, run->group, square_chunks, run);
    for (int64_t i = 0; i * run->group < chunks; i++)
        sum += run->partial[i];
    return sqrt(sum) * scale;
}

static void set_numbers(update_run *run)
{
    const stk__update *u = run->update;
    const double correction1 = 1 - pow(u->beta1, (double)u->step);
    const double correction2 = 1 - pow(u->beta2, (double)u->step);
    run->adamw = (stk__adamw_numbers){.factor = run->factor,
                                      .keep = (float)(1 - u->lr * u->weight_decay),
                                      .step_size = (float)(u->lr / correction1),
                                      .root2 = (float)sqrt(correction2),
                                      .eps = (float)u->eps,
                                      .first_share = (float)(1 - u->beta1),
                                      .second_keep = (float)u->beta2,
                                      .second_share = (float)(1 - u->beta2)};
    run->lr = (float)u->lr;
    run->decay = (float)u->weight_decay;
    run->momentum = (float)u->momentum;
}

/* Sets run->factor; false: the update is to be skipped. */
static bool find_factor(stk__onednn *own, update_run *run, int64_t chunks)
{
    const stk__update *update = run->update;
    double factor = update->grad_scale != 0 ? update->grad_scale : 1;
    if (update->max_grad_norm > 0 || update->norm || update->skipped) {
        const double norm = measure_norm(own, run, chunks, fabs(factor));
        const double clip = update->max_grad_norm / (norm + 1e-6);
        if (update->skipped) *(double *)update->skipped->memory = !isfinite(norm);
        if (update->skipped && !isfinite(norm)) return false;
        if (update->max_grad_norm > 0 && !(clip >= 1)) factor *= clip;
        double *sums = update->norm ? update->norm->memory : NULL;
        if (sums) sums[0] += norm, sums[1] += 1;
    }
    run->factor = (float)factor;
    return true;
}

stk_status stk__onednn_update(stk__engine *engine, const stk__update *update, stk_error *error)
{
    stk__onednn *own = (stk__onednn *)engine;
    const int64_t chunks = count_chunks(&update->param);
    update_run run = {.update = update, .loops = own->loops, .partial = own->partial};
    if (!find_factor(own, &run, chunks)) {
        for (size_t i = 0; i < update->grad.count; i++)
            STK__TRY(stk__tensor_zero(update->grad.tensor[i], error));
        return STK_OK;
    }
    set_numbers(&run);
    stk__onednn_loop(engine, chunks, 4, step_chunks, &run);
    return STK_OK;
}

typedef struct average_run {
    const stk__tensor_list *average, *value;
    float keep, share;
} average_run;

static void average_chunks(void *context, int64_t first, int64_t last, int worker)
{
    (void)worker;
    const average_run *run = context;
    for (int64_t chunk = first; chunk < last; chunk++) {
        const piece p = find_piece(run->average, chunk);
        float *restrict average = stk__floats(run->average->tensor[p.tensor]);
        const float *restrict value = stk__floats(run->value->tensor[p.tensor]);
        for (int64_t i = p.first; i < p.last; i++)
            average[i] = average[i] * run->keep + value[i] * run->share;
    }
}

stk_status stk__onednn_average(stk__engine *engine, const stk__tensor_list *average,
                               const stk__tensor_list *value, double decay, stk_error *error)
{
    (void)error;
    average_run run = {average, value, (float)decay, (float)(1 - decay)};
    stk__onednn_loop(engine, count_chunks(average), 4, average_chunks, &run);
    return STK_OK;
}
