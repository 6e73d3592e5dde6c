/* What of the settings is in effect other than asked for, and why. */
#include "train/trainer_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void note(stk__trainer *t, const char *name, const char *in_effect, const char *why, bool quiet)
{
    assert(t->effect_count < STK_TRAINER_EFFECTS);
    stk__trainer_effect *effect = &t->effects[t->effect_count++];
    effect->name = name;
    effect->quiet = quiet;
    snprintf(effect->in_effect, sizeof effect->in_effect, "%s", in_effect);
    snprintf(effect->why, sizeof effect->why, "%s", why);
}

void stk__trainer_note(stk__trainer *t, const char *name, const char *in_effect, const char *why)
{
    note(t, name, in_effect, why, false);
}

void stk__trainer_note_if_asked(stk__trainer *t, const char *name, const char *in_effect, const char *why)
{
    note(t, name, in_effect, why, true);
}

/* Mixed precision, compilation and what only GPUs have. */
static void tell_engine(stk__trainer *t, const stk__trainer_setup *setup)
{
    const stk__engine_info *engine = t->info.engine;
    char text[64];
    snprintf(text, sizeof text, "%s", engine->name);
    if (engine->note[0] || !setup->run->engine || strcmp(setup->run->engine, engine->name) != 0)
        stk__trainer_note_if_asked(t, "run.engine", text,
                                   engine->note[0] ? engine->note : "the best that is here");
    snprintf(text, sizeof text, "%d", engine->threads);
    if (setup->run->threads != engine->threads)
        stk__trainer_note(t, "run.threads", text,
                          setup->run->threads ? "this engine has no more" : "all CPUs this process may use");
    stk__trainer_note_if_asked(t, "run.device", "cpu", "no engine of this program uses a GPU yet");
    if (setup->train->amp != STK_AMP_OFF)
        stk__trainer_note_if_asked(t, "train.amp", "f32",
                                   engine->bf16 ? "this engine computes in float32 only, so far"
                                                : "this CPU has no bf16: float32 is its fastest");
    stk__trainer_note_if_asked(t, "train.compile", "false", "this engine runs its operations one by one");
    stk__trainer_note_if_asked(t, "train.compile_mode", "", "nothing is compiled here");
    if (setup->train->conv != 1)
        stk__trainer_note_if_asked(t, "train.conv", "direct", "the only algorithm of this engine");
    if (setup->train->channels_last != STK_SWITCH_ON)
        stk__trainer_note_if_asked(t, "train.channels_last", "true", "this engine knows nothing else");
    stk__trainer_note_if_asked(t, "train.tf32", "", "only NVIDIA GPUs have it");
    stk__trainer_note_if_asked(t, "train.non_blocking", "",
                               "nothing is copied: batches are used where they lie");
    if (setup->optimizer->fused != STK_SWITCH_ON)
        stk__trainer_note_if_asked(t, "optimizer.fused", "true",
                                   "all weights are always updated in one pass");
}

static void tell_optimizer(stk__trainer *t, const stk__trainer_setup *setup)
{
    const stk__optimizer_settings *o = setup->optimizer;
    const bool adamw = o->name == STK_OPTIMIZER_ADAMW;
    char text[32];
    snprintf(text, sizeof text, "%g", t->update.weight_decay);
    if (o->weight_decay == 0)
        stk__trainer_note(t, "optimizer.weight_decay", text, adamw ? "usual for adamw" : "usual for sgd");
    if (adamw) stk__trainer_note_if_asked(t, "optimizer.momentum", "", "adamw has betas instead");
    if (!adamw) {
        stk__trainer_note_if_asked(t, "optimizer.betas", "", "sgd has momentum instead");
        stk__trainer_note_if_asked(t, "optimizer.eps", "", "sgd does not divide");
    }
    if (o->schedule != STK_SCHEDULE_STEP) {
        stk__trainer_note_if_asked(t, "optimizer.step_size", "", "belongs to schedule step");
        stk__trainer_note_if_asked(t, "optimizer.gamma", "", "belongs to schedule step");
    }
    if (o->schedule == STK_SCHEDULE_ONE_CYCLE)
        stk__trainer_note_if_asked(t, "optimizer.warmup", "", "schedule one_cycle has its own");
}

static void tell_loss(stk__trainer *t)
{
    const stk__task task = t->network->task;
    const bool classes = task == STK_TASK_SEGMENTATION || task == STK_TASK_CLASSIFICATION;
    if (classes) return;
    stk__trainer_note_if_asked(t, "loss.label_smoothing", "", "there are no classes here");
    stk__trainer_note_if_asked(t, "loss.ignore_index", "", "there are no classes here");
}

static void tell_evaluation(stk__trainer *t)
{
    static const char *const names[] = {"train.eval_interval", "train.early_stop"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !t->val.next; i++)
        stk__trainer_note_if_asked(t, names[i], "",
                                   "there is no validation part (data.val_split, data.val_root)");
    if (!t->val.next)
        stk__trainer_note_if_asked(t, "train.metric", "", "there is no validation part to measure it on");
}

void stk__trainer_tell_effects(stk__trainer *t, const stk__trainer_setup *setup)
{
    tell_engine(t, setup);
    tell_optimizer(t, setup);
    tell_loss(t);
    tell_evaluation(t);
}
