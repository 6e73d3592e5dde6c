/* SPDX-License-Identifier: Apache-2.0 */
/* Direct or Winograd? Measured with the layer's own shape when it is made, and remembered on disk. */
#include "core/clock.h"
#include "device/program_cache.h"
#include "engine/onednn/onednn_winograd.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { ROUNDS = 3, TENSORS = 8 };

/* --- what was measured before ----------------------------------------------------------------------------
 */

/* "AMD EPYC"; empty where CPUs do not say. */
static void name_cpu(char name[64])
{
    memset(name, 0, 64);
#if defined(__x86_64__)
    unsigned word[4];
    for (unsigned leaf = 0; leaf < 3; leaf++)
        if (__get_cpuid(0x80000002u + leaf, &word[0], &word[1], &word[2], &word[3]))
            memcpy(name + leaf * sizeof word, word, sizeof word);
#endif
}

stk__digest stk__onednn_tune_key(const stk__op *op, const stk__winograd_layer *l)
{
    char cpu[64], shape[160];
    name_cpu(cpu);
    snprintf(shape, sizeof shape, "%lld x %lld x %lld x %lld -> %lld%s, %d threads", (long long)l->n,
             (long long)l->h, (long long)l->w, (long long)l->c, (long long)l->k,
             op->spec.no_bias ? "" : " + bias", l->threads);
    const char *const texts[] = {
        "conv 3x3: direct or winograd", STK_VERSION, cpu, stk__cpu_level_name(stk__cpu_level_allowed()),
        op->engine->info.version,       shape};
    return stk__program_key(texts, sizeof texts / sizeof texts[0]);
}

/* The file: a 0 or 1 for each pass. */
bool stk__onednn_tune_recall(const stk__op *op, stk__onednn_winograd *w)
{
    stk__buffer file = {0};
    bool good = stk__program_load(stk__onednn_tune_key(op, &w->layer), &file) &&
                file.size_bytes == STK_WINOGRAD_PASSES;
    for (int pass = 0; good && pass < STK_WINOGRAD_PASSES; pass++)
        good = (unsigned char)file.data[pass] <= 1;
    for (int pass = 0; good && pass < STK_WINOGRAD_PASSES; pass++)
        w->uses[pass] = file.data[pass] != 0;
    stk__buffer_fini(&file);
    return good;
}

static void remember(const stk__op *op, const stk__onednn_winograd *w)
{
    unsigned char file[STK_WINOGRAD_PASSES];
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
        file[pass] = w->uses[pass];
    stk__program_save(stk__onednn_tune_key(op, &w->layer), file, sizeof file);
}

/* --- measuring -------------------------------------------------------------------------------------------
 */

/* Everything a run touches. */
typedef struct trial {
    stk__op *op;
    stk__arena *arena;
    stk__tensor *tensor[TENSORS]; /* x, dx, y, weights, dweights, scratch, bias, dbias */
} trial;

static stk_status open_trial(trial *t)
{
    const stk__op_form *form = &t->op->form;
    const stk__shape scratch = {1, {(int64_t)t->op->needs.scratch_bytes}};
    const stk__shape *const shapes[TENSORS] = {&t->op->spec.input[0], &t->op->spec.input[0], &form->output,
                                               &form->param[0].shape, &form->param[0].shape, &scratch,
                                               &form->param[1].shape, &form->param[1].shape};
    const int count = form->param_count > 1 ? TENSORS : TENSORS - 2;
    stk__tensor_desc desc[TENSORS];
    size_t offset[TENSORS + 1] = {0};
    for (int i = 0; i < count; i++) {
        desc[i] = (stk__tensor_desc){.shape = *shapes[i], .dtype = i == 5 ? STK_DTYPE_U8 : STK_DTYPE_F32};
        offset[i + 1] = offset[i] + stk__tensor_size(t->op->engine, &desc[i]);
    }
    STK__TRY(stk__arena_create(t->op->engine, offset[count], &t->arena, NULL));
    for (int i = 0; i < count; i++)
        STK__TRY(stk__tensor_create(t->op->engine, &desc[i], t->arena, offset[i], &t->tensor[i], NULL));
    return STK_OK;
}

static void close_trial(trial *t)
{
    for (int i = 0; i < TENSORS; i++)
        stk__tensor_destroy(&t->tensor[i]);
    stk__arena_destroy(&t->arena);
}

/* Nanoseconds of one pass; UINT64_MAX: it failed. All numbers are 0, which no kernel minds. */
static uint64_t run_pass(trial *t, int pass)
{
    stk__tensor *x = t->tensor[0], *dx = t->tensor[1], *none = NULL;
    stk__tensor *param[] = {t->tensor[3], t->tensor[6]}, *dparam[] = {t->tensor[4], t->tensor[7]};
    const stk__op_io io = {.x = &x,
                           .y = t->tensor[2],
                           .dy = t->tensor[2],
                           .param = param,
                           .dx = pass == STK_WINOGRAD_DATA ? &dx : &none,
                           .dparam = pass == STK_WINOGRAD_WEIGHTS ? dparam : NULL,
                           .scratch = t->tensor[5]};
    const uint64_t begin = stk__clock_ns();
    const stk_status status = pass == STK_WINOGRAD_FORWARD
                                  ? stk__onednn_conv_linear.forward(t->op, &io, NULL)
                                  : stk__onednn_conv_linear.backward(t->op, &io, NULL);
    return status == STK_OK ? stk__clock_ns() - begin : UINT64_MAX;
}

/* The faster of both; in turns, because the machine may do something else now and then. */
static bool measure(trial *t, stk__onednn_winograd *w, int pass)
{
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < 2; way++) {
            w->uses[pass] = way;
            const uint64_t ns = run_pass(t, pass);
            if (ns < best[way]) best[way] = ns;
        }
    w->uses[pass] = best[1] < best[0];
    return best[0] != UINT64_MAX;
}

void stk__onednn_tune(stk__op *op, stk__onednn_winograd *w)
{
    const stk__onednn_winograd rule = *w;
    trial t = {.op = op};
    bool good = open_trial(&t) == STK_OK;
    for (int pass = 0; good && pass < STK_WINOGRAD_PASSES; pass++)
        good = measure(&t, w, pass);
    close_trial(&t);
    if (good)
        remember(op, w);
    else
        *w = rule;
}
