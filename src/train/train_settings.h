/* SPDX-License-Identifier: Apache-2.0 */
/* The sections model, loss, train, optimizer and run of a configuration. Zero means default; the tables in
 * train_options.c say which that is. */
#ifndef STK_TRAIN_TRAIN_SETTINGS_H
#define STK_TRAIN_TRAIN_SETTINGS_H

#include "core/option.h"

typedef struct stk__model_settings {
    const char *name;    /* of a shipped network; NULL: by the data */
    const char *file;    /* a user's own */
    const char *weights; /* to start from */
    const char *freeze;
    const char *options; /* of a user's network: "a:1,b:2" */
    int64_t width, depth, hidden, layers, num_classes;
} stk__model_settings;

typedef enum stk__loss_name {
    STK_LOSS_AUTO,
    STK_LOSS_CROSS_ENTROPY,
    STK_LOSS_L1,
    STK_LOSS_MSE,
    STK_LOSS_SMOOTH_L1,
    STK_LOSS_POINTS,
    STK_LOSS_BCE
} stk__loss_name;

typedef struct stk__loss_settings {
    int name; /* stk__loss_name */
    double label_smoothing;
    const char *class_weights; /* "1, 2, 0.5"; NULL: all alike */
    const char *ignore_index;  /* a class, or none */
} stk__loss_settings;

typedef enum stk__amp {
    STK_AMP_AUTO,
    STK_AMP_ON,
    STK_AMP_OFF,
    STK_AMP_BF16,
    STK_AMP_FP16,
    STK_AMP_BF16_FORCED, /* also where float32 is faster */
    STK_AMP_FP16_FORCED
} stk__amp;

typedef enum stk__compile_mode {
    STK_COMPILE_DEFAULT,
    STK_COMPILE_REDUCE_OVERHEAD,
    STK_COMPILE_MAX_AUTOTUNE
} stk__compile_mode;

typedef struct stk__train_settings {
    int64_t epochs;
    int amp;                                    /* stk__amp */
    int64_t amp_growth_interval, amp_max_skips; /* steps */
    double amp_scale_floor;
    int compile;      /* stk_switch, as all switches below */
    int compile_mode; /* stk__compile_mode */
    int conv;         /* stk__conv of engine.h */
    int channels_last, tf32, deterministic, non_blocking, use_gpu_augmentation, gradient_checkpointing;
    int64_t accumulation;
    double max_grad_norm;        /* 0: no clipping */
    int64_t log_interval;        /* steps */
    int64_t eval_interval;       /* epochs */
    int64_t checkpoint_interval; /* epochs */
    int64_t keep;
    const char *metric;
    int64_t early_stop; /* evaluations without a better metric; 0: never */
    double ema;         /* decay; 0: no average */
    int detect_nan;     /* stk_switch */
} stk__train_settings;

typedef enum stk__lr_schedule_kind {
    STK_SCHEDULE_CONSTANT,
    STK_SCHEDULE_COSINE,
    STK_SCHEDULE_STEP,
    STK_SCHEDULE_ONE_CYCLE
} stk__lr_schedule_kind;

typedef struct stk__optimizer_settings {
    int name; /* stk__optimizer of engine.h */
    double lr;
    double weight_decay; /* 0: the default of the optimizer; -1: none */
    double betas[2], eps;
    double momentum; /* SGD; -1: none */
    int fused;
    int schedule;      /* stk__lr_schedule_kind */
    int64_t warmup;    /* steps */
    int64_t step_size; /* epochs between the steps of `step` */
    double gamma;      /* factor of each */
} stk__optimizer_settings;

typedef enum stk__run_preset {
    STK_PRESET_NONE,
    STK_PRESET_BEST,
    STK_PRESET_MEMORY_LIMITED,
    STK_PRESET_DEBUG
} stk__run_preset;

typedef struct stk__run_settings {
    int preset; /* stk__run_preset */
    const char *device, *engine;
    int64_t threads;
    int64_t monitor_interval;
    const char *name, *dir;
    int resume;
    int force;
} stk__run_settings;

/* Weight decay in effect: what was asked for, or the optimizer's default. */
double stk__optimizer_weight_decay(const stk__optimizer_settings *settings);

extern const stk__option_table stk__model_options_table, stk__loss_options_table, stk__train_options_table,
    stk__optimizer_options_table, stk__run_options_table;

/* What a preset of run.preset sets, as "section.key", value; NULL, NULL at the end. */
typedef struct stk__preset_value {
    const char *key, *value;
} stk__preset_value;
const stk__preset_value *stk__run_preset_values(stk__run_preset preset);
const char *
stk__run_preset_expects(stk__run_preset preset); /* "85-95 %" of a GPU's time; NULL: nothing said */

#endif
