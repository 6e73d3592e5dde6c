/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision: which type the activations have, and steps that fp16 could not hold. */
#include "train/trainer_internal.h"

#include <math.h>
#include <stdio.h>

static const char *word_of(stk_dtype half)
{
    return half == STK_DTYPE_BF16 ? "bf16" : half == STK_DTYPE_F16 ? "fp16" : "f32";
}

static bool is_forced(int amp)
{
    return amp == STK_AMP_BF16_FORCED || amp == STK_AMP_FP16_FORCED;
}

static stk__half_support support_of(const stk__engine_info *engine, stk_dtype half)
{
    return half == STK_DTYPE_BF16 ? engine->bf16 : engine->f16;
}

static stk_dtype choose_type(const stk__engine_info *engine, int amp)
{
    const bool bf16 = engine->bf16 == STK_HALF_FAST, f16 = engine->f16 == STK_HALF_FAST;
    switch (amp) {
    case STK_AMP_ON:
        return bf16 ? STK_DTYPE_BF16 : f16 ? STK_DTYPE_F16 : STK_DTYPE_NONE;
    case STK_AMP_BF16:
        return bf16 ? STK_DTYPE_BF16 : STK_DTYPE_NONE;
    case STK_AMP_FP16:
        return f16 ? STK_DTYPE_F16 : STK_DTYPE_NONE;
    case STK_AMP_BF16_FORCED:
        return STK_DTYPE_BF16;
    case STK_AMP_FP16_FORCED:
        return STK_DTYPE_F16;
    default:
        return STK_DTYPE_NONE;
    }
}

stk_status stk__trainer_choose_amp(stk__trainer *t, const stk__train_settings *train, stk_error *error)
{
    const stk_dtype half = choose_type(t->info.engine, train->amp);
    if (half && support_of(t->info.engine, half) == STK_HALF_NONE) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "train.amp = '%s!': the engine %s does not support %s",
                  word_of(half), t->info.engine->name, word_of(half));
        stk__error_hint(error, "run.engine=onednn, or float32: train.amp=false");
        return STK_ERROR_UNSUPPORTED;
    }
    t->info.half = half;
    if (half == STK_DTYPE_F16)
        t->scale = (stk__loss_scale){.scale = STK_LOSS_SCALE_START,
                                     .floor = train->amp_scale_floor,
                                     .growth_good = train->amp_growth_interval,
                                     .skips_most = train->amp_max_skips};
    return STK_OK;
}

static void tell_type(stk__trainer *t, int amp)
{
    const stk__engine_info *engine = t->info.engine;
    const stk_dtype half = t->info.half;
    if (!half && amp == STK_AMP_AUTO && engine->device == STK_DEVICE_CUDA && engine->f16 == STK_HALF_FAST &&
        engine->bf16 != STK_HALF_FAST) /* sm_70 to sm_79 have neither TF32 nor bf16 */
        stk__trainer_note(t, "train.amp", "f32",
                          "this GPU has no tensor cores for f32; train.amp=fp16 uses them");
    else if (!half && amp == STK_AMP_AUTO)
        stk__trainer_note_if_asked(t, "train.amp", "f32", "mixed precision is used on request");
    else if (!half && amp != STK_AMP_OFF)
        stk__trainer_note_if_asked(t, "train.amp", "f32",
                                   engine->half_why ? engine->half_why : "this engine is not faster with it");
    else if (half && amp == STK_AMP_ON)
        stk__trainer_note_if_asked(t, "train.amp", word_of(half),
                                   engine->half_why ? engine->half_why : "this engine is faster with it");
    else if (half && is_forced(amp) && support_of(engine, half) == STK_HALF_WIDENED)
        stk__trainer_note_if_asked(t, "train.amp", half == STK_DTYPE_BF16 ? "bf16!" : "fp16!",
                                   "stored in 16 bits, computed in float32: less memory, more time");
}

void stk__trainer_tell_amp(stk__trainer *t, const stk__train_settings *train)
{
    static const char *const names[] = {"train.amp_growth_interval", "train.amp_scale_floor",
                                        "train.amp_max_skips"};
    tell_type(t, train->amp);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && t->scale.scale == 0; i++)
        stk__trainer_note_if_asked(t, names[i], "", "only fp16 uses loss scaling");
    if (t->scale.scale > 0)
        stk__trainer_note_if_asked(t, "train.detect_nan", "",
                                   "fp16 checks every step anyway, and skips it (train.amp_max_skips)");
}

/* What a skipped step has counted may be NaN, and would spoil all that is counted with it. */
static stk_status forget_sums(stk__trainer *t, stk_error *error)
{
    double sums[STK_LOSS_SUMS];
    STK__TRY(stk__tensor_read(t->loss_sums, sums, sizeof sums, error));
    if (isfinite(sums[STK_LOSS_NUMERATOR])) return STK_OK;
    STK__TRY(stk__tensor_zero(t->loss_sums, error));
    return stk__tensor_zero(t->metric_sums, error);
}

static stk_status give_up(const stk__trainer *t, stk_error *error)
{
    char where[224];
    stk__trainer_fault_text(&t->fault, where, sizeof where);
    stk__fail(error, STK_ERROR_DATA,
              "%lld steps in a row were skipped: NaN or infinite values (loss scale %g)%s",
              (long long)t->scale.skip_count, t->scale.scale, where);
    stk__error_hint(error, "train.amp=bf16 or false; or a lower optimizer.lr, train.max_grad_norm=1");
    return STK_ERROR_DATA;
}

stk_status stk__trainer_judge_step(stk__trainer *t, bool *skipped, stk_error *error)
{
    double flag = 0;
    *skipped = false;
    if (!t->skipped) return STK_OK;
    STK__TRY(stk__tensor_read(t->skipped, &flag, sizeof flag, error));
    *skipped = flag != 0;
    if (*skipped) {
        STK__TRY(stk__model_restore_buffers(t->model, error));
        STK__TRY(forget_sums(t, error));
    }
    return stk__loss_scale_step(&t->scale, *skipped) ? STK_OK : give_up(t, error);
}
