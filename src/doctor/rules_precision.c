/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about settings that a program asks for and does not get: mixed precision, TF32, compilation, memory
 * formats. All but those of torch.compile are for NVIDIA GPUs only. Pure functions. */
#include "doctor/rule_parts.h"

#include <string.h>

/* NVIDIA compute capabilities: tensor cores for f16, for bf16 and TF32. */
#define CAPABILITY_F16  7.0
#define CAPABILITY_BF16 8.0
/* Some forward calls (a loss, an evaluation) are outside of autocast on purpose. */
#define AUTOCAST_SHARE 0.9
/* GradScaler starts at 65536 and halves at overflows; below 1 small gradients become 0 in f16. */
#define LOSS_SCALE 1.0
/* An overflow now and then is how the scale finds its place. */
#define SCALER_SKIPS 0.05
/* torch.compile gives up on a function after 8 recompilations (torch._dynamo.config.recompile_limit). */
enum { MANY_RECOMPILES = 8, MANY_GRAPH_BREAKS = 4, LEAST_STEPS = 8 };

#define MODEL_DEPENDS "depends on how much of the GPU's time is in matrix products and convolutions"

static bool has_trained(const stk__doctor_facts *facts)
{
    return facts->e->hook_started == STK_YES && facts->steps >= LEAST_STEPS;
}

static bool is_f16(const stk__torch_evidence *t)
{
    return strstr(t->autocast_dtype, "float16") && !strstr(t->autocast_dtype, "bfloat16");
}

static stk__tristate amp_off(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts) || isnan(t->compute_capability)) return STK_UNSURE;
    if (t->autocasts || t->autocasts_off || t->compute_capability < CAPABILITY_F16) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "no autocast in %.0f steps: %s (compute capability %.1f) computes in f32", facts->steps,
                      t->gpu_name[0] ? t->gpu_name : "the GPU", t->compute_capability);
    stk__finding_advises(
        f,
        "with torch.autocast(\"cuda\", dtype=torch.%s): around forward and loss%s; 0 entries "
        "were counted",
        t->compute_capability >= CAPABILITY_BF16 ? "bfloat16" : "float16",
        t->compute_capability >= CAPABILITY_BF16 ? "" : ", and a GradScaler");
    stk__finding_number(f, "autocasts", 0);
    stk__finding_number(f, "compute_capability", t->compute_capability);
    stk__finding_gain_unknown(f, MODEL_DEPENDS);
    return STK_YES;
}

static stk__tristate amp_not_active(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts)) return STK_UNSURE;
    if (!t->autocasts_off || t->autocasts > t->autocasts_off) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_CRIT,
        "autocast was entered %llu times with enabled=%s: mixed precision is in the code but not "
        "active",
        (unsigned long long)t->autocasts_off, t->autocast_value[0] ? t->autocast_value : "False");
    stk__finding_advises(f,
                         "pass enabled=True; often a setting is a bool where the code compares with a word "
                         "(amp: true against \"fp16\"): autocast was seen off %llu times",
                         (unsigned long long)t->autocasts_off);
    stk__finding_number(f, "autocasts", (double)t->autocasts);
    stk__finding_number(f, "autocasts_off", (double)t->autocasts_off);
    stk__finding_gain_unknown(f, MODEL_DEPENDS);
    return STK_YES;
}

static stk__tristate amp_partial(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts) || isnan(t->autocast_share)) return STK_UNSURE;
    if (!t->autocasts || t->autocasts <= t->autocasts_off || t->autocast_share >= AUTOCAST_SHARE)
        return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "%.0f %% of the model's forward calls in training run inside of "
                      "autocast",
                      100 * t->autocast_share);
    stk__finding_advises(f,
                         "put the whole forward and the loss into one autocast block: %.0f %% were outside",
                         100 * (1 - t->autocast_share));
    stk__finding_number(f, "autocast_share", t->autocast_share);
    stk__finding_gain_unknown(f, MODEL_DEPENDS);
    return STK_YES;
}

static stk__tristate amp_unsupported(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts) || isnan(t->compute_capability)) return STK_UNSURE;
    const double needed = is_f16(t) ? CAPABILITY_F16 : CAPABILITY_BF16;
    if (t->autocasts <= t->autocasts_off || !t->autocast_dtype[0] || t->compute_capability >= needed)
        return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "autocast uses %s; compute capability %.1f has no tensor cores for it (%.1f needed)",
                      t->autocast_dtype, t->compute_capability, needed);
    stk__finding_advises(
        f,
        t->compute_capability >= CAPABILITY_F16
            ? "dtype=torch.float16 with a GradScaler: this GPU (%.1f) has tensor cores for that"
            : "train in f32: on this GPU (%.1f) autocast saves memory but no time",
        t->compute_capability);
    stk__finding_number(f, "compute_capability", t->compute_capability);
    stk__finding_number(f, "compute_capability_needed", needed);
    stk__finding_gain_unknown(f, MODEL_DEPENDS);
    return STK_YES;
}

static stk__tristate loss_scale_collapsed(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts)) return STK_UNSURE;
    if (isnan(t->scale_last)) return STK_NO; /* no GradScaler */
    const double skipped = (double)t->scaler_skips / facts->steps;
    if (t->scale_last >= LOSS_SCALE && skipped < SCALER_SKIPS) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_CRIT,
                      "the loss scale fell from %.4g to %.4g; %llu of %.0f steps were skipped for overflow",
                      t->scale_first, t->scale_last, (unsigned long long)t->scaler_skips, facts->steps);
    stk__finding_advises(
        f,
        "dtype=torch.bfloat16 without a GradScaler, or find the layer that overflows: the scale "
        "%.4g lets small gradients vanish",
        t->scale_last);
    stk__finding_number(f, "scale_first", t->scale_first);
    stk__finding_number(f, "scale_last", t->scale_last);
    stk__finding_number(f, "skipped_share", skipped);
    stk__finding_gain(f, fmin(skipped, 0.9), "skipped steps become steps");
    return STK_YES;
}

static stk__tristate tf32_off(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts) || t->tf32_matmul == STK_UNSURE || isnan(t->compute_capability))
        return STK_UNSURE;
    const bool half = t->autocasts > t->autocasts_off; /* what is left in f32 is little */
    if (half || t->compute_capability < CAPABILITY_BF16 || t->tf32_matmul == STK_YES) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO,
                      "f32 matrix products run without TF32 (convolutions: %s) on compute capability %.1f",
                      t->tf32_cudnn == STK_NO ? "off" : "on", t->compute_capability);
    stk__finding_advises(
        f, "torch.set_float32_matmul_precision(\"high\"): the switch was read at run time; loss "
           "curves rarely change, compare one");
    stk__finding_number(f, "tf32_matmul", 0);
    stk__finding_number(f, "compute_capability", t->compute_capability);
    stk__finding_gain_unknown(f, MODEL_DEPENDS);
    return STK_YES;
}

static stk__tristate channels_last_off(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    const bool half = t->autocasts > t->autocasts_off;
    if (!has_trained(facts) || t->convolutions == STK_UNSURE ||
        (t->convolutions == STK_YES && t->channels_last_model == STK_UNSURE))
        return STK_UNSURE;
    const bool model = t->channels_last_model == STK_YES, input_off = t->channels_last_input == STK_NO;
    /* Without tensor cores it makes little difference; with the model alone inputs are converted each step.
     */
    if (t->convolutions == STK_NO || (model && !input_off) || (!model && !half)) return STK_NO;
    if (!model)
        stk__finding_says(
            f, STK_DOCTOR_INFO,
            "convolutions in mixed precision, weights not in channels_last: tensor cores want NHWC, "
            "each call converts");
    else
        stk__finding_says(
            f, STK_DOCTOR_INFO,
            "weights are in channels_last, inputs are not: the first layer converts them each step");
    stk__finding_advises(f, "%s: strides were read at run time",
                         model ? "images.to(device, memory_format=torch.channels_last)"
                               : "model.to(memory_format=torch.channels_last), the same for the images");
    stk__finding_number(f, "channels_last_model", model);
    stk__finding_number(f, "channels_last_input", !input_off);
    stk__finding_gain_unknown(f, MODEL_DEPENDS);
    return STK_YES;
}

static stk__tristate cudnn_benchmark_off(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts) || t->cudnn_benchmark == STK_UNSURE || t->convolutions == STK_UNSURE ||
        t->fixed_shapes == STK_UNSURE)
        return STK_UNSURE;
    if (t->cudnn_benchmark == STK_YES || t->convolutions == STK_NO || t->fixed_shapes == STK_NO ||
        t->deterministic == STK_YES)
        return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO,
                      "cudnn.benchmark is off, though all %.0f steps have one shape of convolutions",
                      facts->steps);
    stk__finding_advises(
        f, "torch.backends.cudnn.benchmark = True: shapes were seen to be fixed, so cuDNN searches "
           "once");
    stk__finding_number(f, "cudnn_benchmark", 0);
    stk__finding_number(f, "steps", facts->steps);
    stk__finding_gain_unknown(f, "depends on which algorithm cuDNN's heuristics chose");
    return STK_YES;
}

static stk__tristate deterministic_on(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (facts->e->torch.deterministic == STK_UNSURE) return STK_UNSURE;
    if (facts->e->torch.deterministic == STK_NO) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO,
                      "deterministic algorithms are on: some operations run slower variants");
    stk__finding_advises(
        f, "torch.use_deterministic_algorithms(False), unless the same bits are needed: the switch "
           "was read at run time");
    stk__finding_number(f, "deterministic", 1);
    stk__finding_gain_unknown(f, "depends on which operations have slower variants");
    return STK_YES;
}

/* --- torch.compile, on any device ------------------------------------------------------------------------
 */

static stk__tristate compile_not_called(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (!has_trained(facts)) return STK_UNSURE;
    if (!t->compiles || t->compiled_calls || t->compile_failures) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "torch.compile was called %llu times, but what it returned ran in none of %.0f steps",
                      (unsigned long long)t->compiles, facts->steps);
    stk__finding_advises(
        f, "call what torch.compile returns: model = torch.compile(model); 0 compiled calls were "
           "counted");
    stk__finding_number(f, "compiles", (double)t->compiles);
    stk__finding_number(f, "compiled_calls", 0);
    stk__finding_gain_unknown(f, "depends on the model");
    return STK_YES;
}

static stk__tristate compile_failed(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (facts->e->hook_started != STK_YES) return STK_UNSURE;
    if (!t->compile_failures) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "torch.compile failed %llu times; the code runs uncompiled",
                      (unsigned long long)t->compile_failures);
    stk__finding_advises(
        f,
        "run 2 steps with TORCH_LOGS=dynamo to see the line, and keep it out of the compiled part "
        "(torch.compiler.disable): %llu failures were counted",
        (unsigned long long)t->compile_failures);
    stk__finding_number(f, "compile_failures", (double)t->compile_failures);
    stk__finding_gain_unknown(f, "depends on the model");
    return STK_YES;
}

static stk__tristate compile_recompiles(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (facts->e->hook_started != STK_YES) return STK_UNSURE;
    if (t->recompiles < MANY_RECOMPILES) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "torch.compile recompiled %llu times in %.0f steps; after 8 of one function it gives up",
        (unsigned long long)t->recompiles, facts->steps);
    stk__finding_advises(
        f,
        "keep shapes fixed (drop_last=True, padding) or dynamic=True; TORCH_LOGS=recompiles names "
        "the guard: %llu were counted",
        (unsigned long long)t->recompiles);
    stk__finding_number(f, "recompiles", (double)t->recompiles);
    stk__finding_number(f, "steps", facts->steps);
    stk__finding_gain_unknown(f, "the time of compiling is not measured apart");
    return STK_YES;
}

static stk__tristate graph_breaks(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__torch_evidence *t = &facts->e->torch;
    if (facts->e->hook_started != STK_YES) return STK_UNSURE;
    if (t->graph_breaks < MANY_GRAPH_BREAKS) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "the compiled code is cut at %llu graph breaks",
                      (unsigned long long)t->graph_breaks);
    stk__finding_advises(
        f,
        "TORCH_LOGS=graph_breaks names the lines; often print, .item() or NumPy in forward: %llu "
        "were counted",
        (unsigned long long)t->graph_breaks);
    stk__finding_number(f, "graph_breaks", (double)t->graph_breaks);
    stk__finding_gain_unknown(f, "depends on the model");
    return STK_YES;
}

const stk__doctor_rule stk__rules_precision[] = {
    {"amp_not_active", "mixed precision is declared but not active", true,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_NO_SPEEDUP | STK_SYMPTOM_MEMORY, "entries of autocast (hook)",
     amp_not_active},
    {"amp_off", "no mixed precision", true, STK_SYMPTOM_NO_SPEEDUP | STK_SYMPTOM_MEMORY,
     "entries of autocast, compute capability (hook)", amp_off},
    {"amp_partial", "mixed precision covers a part of the forward", true,
     STK_SYMPTOM_NO_SPEEDUP | STK_SYMPTOM_MEMORY, "forward calls inside of autocast (hook)", amp_partial},
    {"amp_unsupported", "this GPU has no tensor cores for the autocast type", true, STK_SYMPTOM_NO_SPEEDUP,
     "autocast dtype, compute capability (hook)", amp_unsupported},
    {"loss_scale_collapsed", "the loss scale has collapsed", true, STK_SYMPTOM_NO_SPEEDUP,
     "GradScaler (hook)", loss_scale_collapsed},
    {"tf32_off", "TF32 is off", true, STK_SYMPTOM_NO_SPEEDUP, "torch.backends (hook)", tf32_off},
    {"channels_last_off", "convolutions not in channels_last", true, STK_SYMPTOM_NO_SPEEDUP,
     "strides of weights and inputs (hook)", channels_last_off},
    {"cudnn_benchmark_off", "cuDNN does not search for the fastest algorithm", true, STK_SYMPTOM_NO_SPEEDUP,
     "torch.backends.cudnn, shapes of batches (hook)", cudnn_benchmark_off},
    {"deterministic_on", "deterministic algorithms are on", true, STK_SYMPTOM_NO_SPEEDUP,
     "torch.are_deterministic_algorithms_enabled (hook)", deterministic_on},
    {"compile_not_called", "the compiled model is not what runs", false,
     STK_SYMPTOM_COMPILE | STK_SYMPTOM_NO_SPEEDUP, "calls of compiled modules (hook)", compile_not_called},
    {"compile_failed", "torch.compile fails", false, STK_SYMPTOM_COMPILE | STK_SYMPTOM_NO_SPEEDUP,
     "torch._dynamo counters (hook)", compile_failed},
    {"compile_recompiles", "torch.compile compiles again and again", false,
     STK_SYMPTOM_COMPILE | STK_SYMPTOM_NO_SPEEDUP, "torch._dynamo counters (hook)", compile_recompiles},
    {"graph_breaks", "the compiled graph is cut in pieces", false,
     STK_SYMPTOM_COMPILE | STK_SYMPTOM_NO_SPEEDUP, "torch._dynamo counters (hook)", graph_breaks},
    {0}};
