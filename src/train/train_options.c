/* SPDX-License-Identifier: Apache-2.0 */
/* The sections model, loss, train, optimizer and run, described once: parser, help, checks and effects come
 * from these tables. */
#include "train/train_settings.h"

#include "engine/engine.h"
#include "train/network/network.h"

#include <stdlib.h>

/* The default; SGD has none. 0 cannot be the row's default, because it means "not given". */
#define ADAMW_WEIGHT_DECAY "0.01"

#define TABLE(what, name, key, others)                                                                       \
    const stk__option_table stk__##what##_options_table = {.section = key,                                   \
                                                           .section_aliases = others,                        \
                                                           .options = name,                                  \
                                                           .count = sizeof name / sizeof name[0],            \
                                                           .struct_bytes = sizeof(stk__##what##_settings)}

/* clang-format off */
#define FIELD(name) offsetof(stk__model_settings, name)
static const stk__option model_table[] = {
    {.name = "name", .type = STK_OPTION_TEXT, .offset = FIELD(name), .choices = stk__network_choices, .help = "network architecture; unset = the one that fits the data"},
    {.name = "file", .type = STK_OPTION_TEXT, .offset = FIELD(file), .help = "network file (YAML) of your own; docs/networks.md describes the format"},
    {.name = "weights", .type = STK_OPTION_TEXT, .offset = FIELD(weights), .help = "pretrained weights: a .safetensors file, a checkpoint or the folder of a run (its best checkpoint); tensors that match by name and shape are loaded"},
    {.name = "freeze", .type = STK_OPTION_TEXT, .offset = FIELD(freeze), .help = "freeze layers, so that they are not trained: names or beginnings of names, * matches anything"},
    {.name = "width", .type = STK_OPTION_INT, .offset = FIELD(width), .least = 1, .most = 4096, .help = "network width: channels of the first level", .tunable = true},
    {.name = "depth", .type = STK_OPTION_INT, .offset = FIELD(depth), .least = 1, .most = 64, .help = "network depth: levels, or blocks per level"},
    {.name = "hidden", .type = STK_OPTION_INT, .offset = FIELD(hidden), .least = 1, .most = 8192, .help = "hidden size (units) of an LSTM", .tunable = true},
    {.name = "layers", .type = STK_OPTION_INT, .offset = FIELD(layers), .least = 1, .most = 4, .help = "number of LSTM layers"},
    {.name = "num_classes", .type = STK_OPTION_INT, .offset = FIELD(num_classes), .least = 2, .most = 256, .help = "number of classes to predict; unset = those of the data"},
    {.name = "options", .type = STK_OPTION_TEXT, .offset = FIELD(options), .map = true, .help = "options of your own network file, such as {blocks: 3}"},
};
#undef FIELD

#define FIELD(name) offsetof(stk__loss_settings, name)
static const stk__option loss_table[] = {
    {.name = "name", .type = STK_OPTION_WORD, .offset = FIELD(name), .choices = "auto|cross_entropy=ce|l1=mae|mse=l2|smooth_l1=huber|points|bce", .help = "loss function; auto = chosen by the task; bce: multi-label, binary cross-entropy of sigmoids (BCEWithLogitsLoss)"},
    {.name = "label_smoothing", .type = STK_OPTION_NUMBER, .offset = FIELD(label_smoothing), .least = 0, .most = 0.99, .help = "label smoothing: share of the target spread over all classes"},
    {.name = "class_weights", .type = STK_OPTION_TEXT, .offset = FIELD(class_weights), .help = "class weights of the loss: one number per class, such as [1, 2, 0.5]; stoker stats prints some"},
    {.name = "ignore_index", .type = STK_OPTION_TEXT, .offset = FIELD(ignore_index), .fallback = "255", .help = "class id that loss and metric ignore, or none"},
};
#undef FIELD

#define FIELD(name) offsetof(stk__train_settings, name)
static const stk__option train_table[] = {
    {.name = "epochs", .type = STK_OPTION_INT, .offset = FIELD(epochs), .least = 1, .most = 1e6, .fallback = "10", .help = "number of epochs (passes over the training set)"},
    {.name = "amp", .aliases = "use_amp", .type = STK_OPTION_WORD, .offset = FIELD(amp), .choices = "auto|true=yes=on=1|false=no=off=0=f32=fp32|bf16=bfloat16|fp16=f16=float16|bf16!=bfloat16!|fp16!=f16!=float16!", .help = "mixed precision (AMP): activations in 16 bits; true = bf16 or fp16 where that is faster; with ! also where it is not"},
    {.name = "amp_growth_interval", .type = STK_OPTION_INT, .offset = FIELD(amp_growth_interval), .least = 1, .most = 1e9, .fallback = "2000", .unit = "steps", .help = "loss scale growth interval (fp16): steps without overflow after which the loss scale is doubled"},
    {.name = "amp_scale_floor", .type = STK_OPTION_NUMBER, .offset = FIELD(amp_scale_floor), .least = 1e-6, .most = 65536, .fallback = "1", .help = "minimum loss scale (fp16); it starts at 65536 and is halved when gradients overflow"},
    {.name = "amp_max_skips", .type = STK_OPTION_INT, .offset = FIELD(amp_max_skips), .least = 1, .most = 1e6, .fallback = "25", .unit = "steps", .help = "maximum number of skipped steps in a row (fp16 overflow); then the run ends and names the layer"},
    {.name = "compile", .aliases = "compile_model", .type = STK_OPTION_SWITCH, .offset = FIELD(compile), .help = "compile the network: fuse operations before the first step"},
    {.name = "compile_mode", .type = STK_OPTION_WORD, .offset = FIELD(compile_mode), .choices = "default|reduce-overhead|max-autotune", .help = "compile mode as in torch.compile: reduce-overhead uses CUDA graphs, max-autotune measures convolution algorithms (cudnn.benchmark on GPUs)"},
    {.name = "conv", .type = STK_OPTION_WORD, .offset = FIELD(conv), .choices = "auto|direct|winograd", .help = "convolution algorithm of 3x3 convolutions"},
    {.name = "channels_last", .type = STK_OPTION_SWITCH, .offset = FIELD(channels_last), .help = "channels last memory format (NHWC): the channels of a pixel lie together"},
    {.name = "tf32", .type = STK_OPTION_SWITCH, .offset = FIELD(tf32), .help = "allow TF32 matrix products and convolutions on tensor cores (NVIDIA Ampere, sm_80, and newer); auto = on"},
    {.name = "deterministic", .type = STK_OPTION_SWITCH, .offset = FIELD(deterministic), .fallback = "false", .help = "deterministic algorithms on GPUs, as torch.use_deterministic_algorithms(warn_only=True): slower; gradients of bilinear resizing stay nondeterministic"},
    {.name = "gradient_accumulation_steps", .aliases = "accumulation", .type = STK_OPTION_INT, .offset = FIELD(accumulation), .least = 1, .most = 65536, .fallback = "1", .help = "gradient accumulation: number of batches whose gradients are added up before an optimizer step"},
    {.name = "gradient_checkpointing", .type = STK_OPTION_SWITCH, .offset = FIELD(gradient_checkpointing), .fallback = "false", .help = "gradient checkpointing (activation checkpointing): keep fewer activations and recompute the rest; less memory, more time"},
    {.name = "max_grad_norm", .type = STK_OPTION_NUMBER, .offset = FIELD(max_grad_norm), .least = 0, .most = 1e9, .help = "gradient clipping: clip the global gradient norm to this value (as clip_grad_norm_); 0 = off"},
    {.name = "log_interval", .type = STK_OPTION_INT, .offset = FIELD(log_interval), .least = 1, .most = 1e9, .fallback = "10", .unit = "steps", .help = "log interval: how often loss and metric are logged"},
    {.name = "eval_interval", .type = STK_OPTION_INT, .offset = FIELD(eval_interval), .least = 1, .most = 1e6, .fallback = "1", .unit = "epochs", .help = "evaluation interval: how often the validation set is evaluated"},
    {.name = "checkpoint_interval", .type = STK_OPTION_INT, .offset = FIELD(checkpoint_interval), .least = 1, .most = 1e6, .fallback = "1", .unit = "epochs", .help = "checkpoint interval: how often a checkpoint is saved"},
    {.name = "keep", .type = STK_OPTION_INT, .offset = FIELD(keep), .least = 1, .most = 1e6, .fallback = "3", .help = "number of checkpoints to keep: the newest ones and the best"},
    {.name = "metric", .type = STK_OPTION_TEXT, .offset = FIELD(metric), .help = "validation metric that chooses the best checkpoint; unset = the task's own: miou, error_px, top1, map (mean average precision), r2"},
    {.name = "early_stop", .type = STK_OPTION_INT, .offset = FIELD(early_stop), .least = 0, .most = 1e6, .unit = "evaluations", .help = "early stopping patience: end when the metric has not improved for this many evaluations; 0 = off"},
    {.name = "ema", .type = STK_OPTION_NUMBER, .offset = FIELD(ema), .least = 0, .most = 0.999999, .help = "EMA decay (moving average of the weights); the average is evaluated; 0 = off"},
    {.name = "detect_nan", .aliases = "detect_anomaly", .type = STK_OPTION_SWITCH, .offset = FIELD(detect_nan), .fallback = "false", .help = "detect NaN and infinity (anomaly detection) at every step, not only at log_interval and evaluation: loss, gradients and weights; slower"},
    {.name = "non_blocking", .type = STK_OPTION_SWITCH, .offset = FIELD(non_blocking), .help = "asynchronous copies of batches to the GPU while it computes"},
    {.name = "use_gpu_augmentation", .type = STK_OPTION_SWITCH, .offset = FIELD(use_gpu_augmentation), .help = "GPU augmentation where augment.device=auto finds best; false = CPU; alone: preset standard"},
};
#undef FIELD

#define FIELD(name) offsetof(stk__optimizer_settings, name)
static const stk__option optimizer_table[] = {
    {.name = "name", .type = STK_OPTION_WORD, .offset = FIELD(name), .choices = "adamw|sgd", .help = "optimizer (AdamW, or SGD with momentum)"},
    {.name = "lr", .aliases = "learning_rate", .type = STK_OPTION_NUMBER, .offset = FIELD(lr), .least = 1e-12, .most = 1e3, .fallback = "0.001", .help = "learning rate", .tunable = true},
    {.name = "weight_decay", .type = STK_OPTION_NUMBER, .offset = FIELD(weight_decay), .least = 0, .most = 1, .help = "weight decay (decoupled in AdamW, L2 in SGD); unset = " ADAMW_WEIGHT_DECAY " for adamw, 0 for sgd"},
    {.name = "betas", .type = STK_OPTION_PAIR, .offset = FIELD(betas), .least = 0, .most = 0.999999, .fallback = "0.9,0.999", .help = "AdamW decay rates of the first and second moment"},
    {.name = "eps", .type = STK_OPTION_NUMBER, .offset = FIELD(eps), .least = 1e-20, .most = 1, .fallback = "1e-8", .help = "AdamW epsilon: added to the denominator, against division by 0"},
    {.name = "momentum", .type = STK_OPTION_SHARE, .offset = FIELD(momentum), .fallback = "0.9", .help = "SGD momentum"},
    {.name = "fused", .type = STK_OPTION_SWITCH, .offset = FIELD(fused), .help = "fused optimizer: update all weights in one pass"},
    {.name = "schedule", .type = STK_OPTION_WORD, .offset = FIELD(schedule), .choices = "constant|cosine|step|one_cycle=onecycle=one-cycle", .help = "learning rate schedule (scheduler)"},
    {.name = "warmup", .type = STK_OPTION_INT, .offset = FIELD(warmup), .least = 0, .most = 1e9, .unit = "steps", .help = "learning rate warmup: it rises linearly over this many steps"},
    {.name = "step_size", .type = STK_OPTION_INT, .offset = FIELD(step_size), .least = 1, .most = 1e6, .fallback = "30", .unit = "epochs", .help = "learning rate, schedule step: epochs between two decays"},
    {.name = "gamma", .type = STK_OPTION_NUMBER, .offset = FIELD(gamma), .least = 1e-6, .most = 1, .fallback = "0.1", .help = "learning rate, schedule step: decay factor"},
};
#undef FIELD

#define FIELD(name) offsetof(stk__run_settings, name)
static const stk__option run_table[] = {
    {.name = "preset", .type = STK_OPTION_WORD, .offset = FIELD(preset), .choices = "none|best|memory_limited=memory-limited|debug", .bare = true, .help = "preset: settings that go together; single keys override it"},
    {.name = "device", .type = STK_OPTION_TEXT, .offset = FIELD(device), .fallback = "auto", .bare = true, .help = "device to train on: auto (a GPU if PyTorch 2.10 or newer can use it, else cpu), cpu, cuda:N (needs PyTorch)"},
    {.name = "engine", .type = STK_OPTION_TEXT, .offset = FIELD(engine), .fallback = "auto", .help = "compute engine: auto, onednn, torch (your own PyTorch), reference"},
    {.name = "threads", .type = STK_OPTION_INT, .offset = FIELD(threads), .least = 0, .most = 64, .help = "number of CPU threads of the engine; 0 = all CPUs this process may use"},
    {.name = "monitor_interval", .type = STK_OPTION_INT, .offset = FIELD(monitor_interval), .least = 0, .most = 1e6, .unit = "epochs", .help = "GPU monitor interval: how often the GPU's state is printed; 0 = never"},
    {.name = "name", .type = STK_OPTION_TEXT, .offset = FIELD(name), .help = "name of the run; unset = network and data"},
    {.name = "dir", .type = STK_OPTION_TEXT, .offset = FIELD(dir), .fallback = "runs", .help = "output directory: each new run gets a folder in it"},
    {.name = "resume", .type = STK_OPTION_SWITCH, .offset = FIELD(resume), .help = "resume the run in --run DIR from its last checkpoint"},
    {.name = "force", .type = STK_OPTION_SWITCH, .offset = FIELD(force), .help = "train even if a check refuses it: the planned memory is more than is available (out of memory may kill it), or nothing counted in an epoch or evaluation"},
};
#undef FIELD
/* clang-format on */

TABLE(model, model_table, "model", NULL);
TABLE(loss, loss_table, "loss", NULL);
TABLE(train, train_table, "train", "training");
TABLE(optimizer, optimizer_table, "optimizer", "optimiser");
TABLE(run, run_table, "run", NULL);

/* The values of the reports of situation S0. */
static const stk__preset_value best[] = {
    {"data.batch_size", "32"},
    {"data.num_workers", "4"},
    {"train.use_gpu_augmentation", "true"},
    {"train.amp", "true"},
    {"augment.horizontal_flip_prob", "0.5"},
    {"augment.rotation_degrees", "15"},
    {"augment.brightness", "0.2"},
    {"augment.contrast", "0.2"},
    {NULL, NULL},
};
static const stk__preset_value memory_limited[] = {
    {"data.batch_size", "16"},
    {"data.num_workers", "2"},
    {"train.use_gpu_augmentation", "true"},
    {"train.amp", "true"},
    {"augment.horizontal_flip_prob", "0.5"},
    {NULL, NULL},
};
static const stk__preset_value debug[] = {
    {"data.batch_size", "8"},
    {"data.num_workers", "0"},
    {"train.use_gpu_augmentation", "false"},
    {"train.amp", "false"},
    {NULL, NULL},
};

double stk__optimizer_weight_decay(const stk__optimizer_settings *settings)
{
    if (settings->weight_decay != 0) return settings->weight_decay < 0 ? 0 : settings->weight_decay;
    return settings->name == STK_OPTIMIZER_ADAMW ? strtod(ADAMW_WEIGHT_DECAY, NULL) : 0;
}

const stk__preset_value *stk__run_preset_values(stk__run_preset preset)
{
    static const stk__preset_value none[] = {{NULL, NULL}};
    static const stk__preset_value *const values[] = {none, best, memory_limited, debug};
    return values[preset];
}

const char *stk__run_preset_expects(stk__run_preset preset)
{
    static const char *const texts[] = {NULL, "85-95 %", "75-85 %", NULL};
    return texts[preset];
}
