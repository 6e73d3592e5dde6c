/* SPDX-License-Identifier: Apache-2.0 */
/* What of the settings is in effect other than asked for, and why. */
#include "train/trainer_internal.h"

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

static void tell_fusion(stk__trainer *t, const stk__trainer_setup *setup)
{
    const int fused = t->info.report->fused_layers;
    char why[64];
    snprintf(why, sizeof why, "%d relus are fused into the layers before them", fused);
    if (fused)
        stk__trainer_note_if_asked(t, "train.compile", "true", why);
    else if (setup->train->compile != STK_SWITCH_OFF)
        stk__trainer_note_if_asked(t, "train.compile", "false",
                                   t->info.engine->fuses ? "this network has nothing to fuse"
                                                         : "this engine runs its operations one by one");
}

/* Of the layers that can be computed in more than one way: how many there are, and how many are Winograd's in
 * some pass. */
typedef struct conv_count {
    int all, winograd;
} conv_count;

static conv_count count_convolutions(const stk__trainer *t)
{
    conv_count count = {0};
    for (int i = 0; i < t->info.report->row_count; i++) {
        const char *method = t->info.report->rows[i].method;
        count.all += *method != 0;
        count.winograd += strncmp(method, "winograd", strlen("winograd")) == 0;
    }
    return count;
}

static void tell_convolutions(stk__trainer *t, const stk__train_settings *train)
{
    const conv_count count = count_convolutions(t);
    const bool measured = stk__train_tunes(train) && train->conv == STK_CONV_AUTO && count.all > 0;
    char why[128];
    snprintf(why, sizeof why, "winograd in %d of %d convolutions, where it is faster %s", count.winograd,
             count.all, measured ? "as measured here" : "by rules from measurements");
    if (count.all == 0 && train->conv != STK_CONV_DIRECT)
        stk__trainer_note_if_asked(
            t, "train.conv", "direct",
            "no convolution here has another algorithm: winograd needs 3x3, stride 1 and onednn");
    else if (train->conv == STK_CONV_AUTO) /* a resumed run reads this and must choose alike */
        stk__trainer_note_if_asked(t, "train.conv", count.winograd ? "auto" : "direct",
                                   count.winograd ? why : "faster for all convolutions here");
    if (train->compile_mode == STK_COMPILE_REDUCE_OVERHEAD)
        stk__trainer_choose_graphs(t, train);
    else if (t->info.engine->measures)
        stk__trainer_note_if_asked(t, "train.compile_mode", "max-autotune",
                                   "cuDNN measures its algorithms at the first run of each shape");
    else
        stk__trainer_note_if_asked(
            t, "train.compile_mode", measured ? "max-autotune" : "",
            measured ? "3x3 convolutions were measured, now or before; a resumed run keeps its own"
                     : "there is nothing to choose here");
}

/* Where it computes, and what only GPUs have. */
static void tell_device(stk__trainer *t, const stk__trainer_setup *setup)
{
    const stk__engine_info *engine = t->info.engine;
    char name[16];
    if (engine->device == STK_DEVICE_CPU) {
        note(t, "run.device", "cpu", engine->gpu_why[0] ? engine->gpu_why : "there is no usable GPU",
             !engine->gpu_why[0]);
        stk__trainer_note_if_asked(t, "train.tf32", "", "only NVIDIA GPUs support it");
        stk__trainer_note_if_asked(t, "train.deterministic", "true", "CPU training is always deterministic");
        stk__trainer_note_if_asked(t, "train.non_blocking", "",
                                   "nothing is copied: batches are used in place");
        return;
    }
    snprintf(name, sizeof name, "cuda:%d", engine->device_index);
    stk__trainer_note_if_asked(t, "run.device", name, "the GPU that PyTorch uses");
    stk__trainer_note_if_asked(t, "train.tf32", engine->tf32 ? "true" : "false",
                               engine->tf32 ? "convolutions and matrix products"
                               : setup->train->tf32 == STK_SWITCH_OFF
                                   ? "as requested, in PyTorch's settings"
                                   : "this GPU does not support it, or this PyTorch cannot set it");
    stk__trainer_note_if_asked(t, "train.deterministic", engine->deterministic ? "true" : "false",
                               engine->deterministic ? "PyTorch's deterministic algorithms, where it has them"
                               : setup->train->deterministic == STK_SWITCH_ON
                                   ? "this PyTorch cannot set it"
                                   : "sums of some operators depend on the order of threads");
    const bool beside = t->feed.resident && t->feed.pinned;
    stk__trainer_note_if_asked(
        t, "train.non_blocking", beside ? "true" : "false",
        beside ? "batches are made in the GPU's memory while it computes"
        : t->feed.resident
            ? "batches are made in the GPU's memory while it computes, but copies from slots that are not "
              "pinned wait (data.pin_memory)"
            : "batches come in host memory: the network's stream copies them");
}

/* Mixed precision, compilation and what only GPUs have. */
static void tell_engine(stk__trainer *t, const stk__trainer_setup *setup)
{
    const stk__engine_info *engine = t->info.engine;
    char text[64];
    snprintf(text, sizeof text, "%s", engine->name);
    if (engine->note[0] || !setup->run->engine || strcmp(setup->run->engine, engine->name) != 0)
        stk__trainer_note_if_asked(t, "run.engine", text,
                                   engine->note[0] ? engine->note : "the best that is available");
    snprintf(text, sizeof text, "%d", engine->threads);
    if (setup->run->threads != engine->threads)
        stk__trainer_note(t, "run.threads", text,
                          setup->run->threads ? "this engine uses no more" : "all CPUs this process may use");
    stk__trainer_tell_amp(t, setup->train);
    tell_fusion(t, setup);
    tell_convolutions(t, setup->train);
    if (setup->train->channels_last != STK_SWITCH_ON)
        stk__trainer_note_if_asked(t, "train.channels_last", "true", "this engine supports nothing else");
    tell_device(t, setup);
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
        stk__trainer_note(t, "optimizer.weight_decay", text, adamw ? "default for adamw" : "default for sgd");
    if (adamw) stk__trainer_note_if_asked(t, "optimizer.momentum", "", "adamw uses betas instead");
    if (!adamw) {
        stk__trainer_note_if_asked(t, "optimizer.betas", "", "sgd uses momentum instead");
        stk__trainer_note_if_asked(t, "optimizer.eps", "", "sgd has no epsilon");
    }
    if (o->schedule != STK_SCHEDULE_STEP) {
        stk__trainer_note_if_asked(t, "optimizer.step_size", "", "used by schedule step only");
        stk__trainer_note_if_asked(t, "optimizer.gamma", "", "used by schedule step only");
    }
    if (o->schedule == STK_SCHEDULE_ONE_CYCLE)
        stk__trainer_note_if_asked(t, "optimizer.warmup", "", "schedule one_cycle has its own warmup");
}

static void tell_loss(stk__trainer *t)
{
    if (t->network->task == STK_TASK_MULTILABEL)
        stk__trainer_note_if_asked(t, "loss.ignore_index", "", "images have any number of classes");
    if (stk__task_has_classes(t->network->task)) return;
    stk__trainer_note_if_asked(t, "loss.label_smoothing", "", "this task has no classes");
    stk__trainer_note_if_asked(t, "loss.ignore_index", "", "this task has no classes");
}

static void tell_evaluation(stk__trainer *t)
{
    static const char *const names[] = {"train.eval_interval", "train.early_stop"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !t->val.next; i++)
        stk__trainer_note_if_asked(t, names[i], "",
                                   "there is no validation set (data.val_split, data.val_root)");
    if (!t->val.next)
        stk__trainer_note_if_asked(t, "train.metric", "", "there is no validation set to measure it on");
}

void stk__trainer_tell_effects(stk__trainer *t, const stk__trainer_setup *setup)
{
    tell_engine(t, setup);
    tell_optimizer(t, setup);
    tell_loss(t);
    tell_evaluation(t);
}
