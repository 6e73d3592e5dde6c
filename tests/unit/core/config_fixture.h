/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables as the rooms write them, for the tests of options and settings. */
#ifndef STK_TESTS_CONFIG_FIXTURE_H
#define STK_TESTS_CONFIG_FIXTURE_H

#include "core/config.h"

#include <math.h>
#include <stddef.h>

typedef struct data_options {
    const char *root, *mask_map;
    int32_t image_size[2];
    int64_t batch_size, num_workers, prefetch_factor, seed, limit, sequence_length;
    double val_split, timeout_s;
    int pin_memory, persistent_workers, drop_last, shuffle, on_bad_sample;
    uint64_t cache_bytes;
    int64_t limits_pixels;
    uint64_t limits_bytes;
} data_options;

#define AT(field) offsetof(data_options, field)

static const stk__option data_table_options[] = {
    {.name = "root", .type = STK_OPTION_TEXT, .offset = AT(root), .help = "a folder, a list or shards"},
    {.name = "val_split",
     .type = STK_OPTION_NUMBER,
     .offset = AT(val_split),
     .most = 0.9,
     .help = "share of the samples that is held back for validation"},
    {.name = "image_size",
     .aliases = "img_size size",
     .type = STK_OPTION_SIZE2,
     .offset = AT(image_size),
     .least = 1,
     .most = 65535,
     .unit = "pixels",
     .help = "size of the images of a batch; as in the files when not given"},
    {.name = "batch_size",
     .aliases = "batch",
     .type = STK_OPTION_INT,
     .offset = AT(batch_size),
     .least = 1,
     .most = 65536,
     .fallback = "32",
     .unit = "samples",
     .help = "samples in a batch, on each rank",
     .tunable = true},
    {.name = "num_workers",
     .aliases = "workers",
     .type = STK_OPTION_COUNT,
     .offset = AT(num_workers),
     .most = 1024,
     .help = "threads that load; 0 loads in the caller's thread, auto goes by the usable CPUs",
     .tunable = true},
    {.name = "prefetch_factor",
     .type = STK_OPTION_INT,
     .offset = AT(prefetch_factor),
     .least = 1,
     .most = 64,
     .fallback = "2",
     .unit = "batches",
     .help = "batches that are prepared ahead for each worker",
     .tunable = true},
    {.name = "pin_memory", .type = STK_OPTION_SWITCH, .offset = AT(pin_memory), .help = "page-locked slots"},
    {.name = "persistent_workers",
     .type = STK_OPTION_SWITCH,
     .offset = AT(persistent_workers),
     .fallback = "true",
     .help = "keep the threads between epochs"},
    {.name = "drop_last",
     .type = STK_OPTION_SWITCH,
     .offset = AT(drop_last),
     .fallback = "false",
     .help = "leave out the last batch of an epoch when it is not full"},
    {.name = "shuffle",
     .type = STK_OPTION_SWITCH,
     .offset = AT(shuffle),
     .fallback = "true",
     .help = "a new order in every epoch"},
    {.name = "on_bad_sample",
     .type = STK_OPTION_WORD,
     .offset = AT(on_bad_sample),
     .choices = "fail=stop|replace|skip",
     .help = "what a damaged sample does"},
    {.name = "seed", .type = STK_OPTION_INT, .offset = AT(seed), .help = "start of all randomness"},
    {.name = "limit", .type = STK_OPTION_INT, .offset = AT(limit), .most = 1e12, .help = "use the first N"},
    {.name = "timeout",
     .type = STK_OPTION_SECONDS,
     .offset = AT(timeout_s),
     .least = 0.001,
     .most = 86400,
     .fallback = "30",
     .unit = "seconds",
     .help = "longest wait for one sample before the watchdog names it"},
    {.name = "cache",
     .type = STK_OPTION_BYTES,
     .offset = AT(cache_bytes),
     .help = "memory for decoded samples"},
    {.name = "mask_map",
     .type = STK_OPTION_TEXT,
     .offset = AT(mask_map),
     .map = true,
     .help = "new ids for values of the masks, such as {0: 0, 255: 1}"},
    {.name = "sequence_length",
     .type = STK_OPTION_INT,
     .offset = AT(sequence_length),
     .least = 1,
     .most = 1e6,
     .fallback = "60",
     .help = "rows in a window of a series"},
    {.name = "limits.pixels",
     .type = STK_OPTION_INT,
     .offset = AT(limits_pixels),
     .least = 1,
     .most = INFINITY,
     .fallback = "1e8",
     .help = "most pixels an image may have"},
    {.name = "limits.bytes",
     .type = STK_OPTION_BYTES,
     .offset = AT(limits_bytes),
     .least = 1,
     .most = 1e12,
     .fallback = "256M",
     .help = "most bytes a file may have"},
};

enum { DATA_COUNT = sizeof data_table_options / sizeof data_table_options[0] };

static const stk__option_table data_table = {
    "data", NULL, "train training", data_table_options, DATA_COUNT, sizeof(data_options)};
static const stk__option_table val_table = {"data.val",         NULL,       NULL,
                                            data_table_options, DATA_COUNT, sizeof(data_options)};

typedef struct run_options {
    const char *device;
    int64_t threads;
    int preset;
} run_options;

static const stk__option run_table_options[] = {
    {.name = "device",
     .type = STK_OPTION_TEXT,
     .offset = offsetof(run_options, device),
     .fallback = "auto",
     .help = "where the network runs",
     .bare = true},
    {.name = "threads",
     .type = STK_OPTION_COUNT,
     .offset = offsetof(run_options, threads),
     .help = "threads of the engine"},
    {.name = "preset",
     .type = STK_OPTION_WORD,
     .offset = offsetof(run_options, preset),
     .choices = "none|best|memory_limited|debug",
     .help = "a set of settings to start from"},
};
static const stk__option_table run_table = {"run", NULL, NULL, run_table_options, 3, sizeof(run_options)};

typedef struct augment_options {
    const char *device;
    double flip_prob, rotation_degrees, brightness, contrast;
    int preset;
} augment_options;

static const stk__option augment_table_options[] = {
    {.name = "device",
     .type = STK_OPTION_TEXT,
     .offset = offsetof(augment_options, device),
     .help = "where images are changed"},
    {.name = "horizontal_flip_prob",
     .type = STK_OPTION_NUMBER,
     .offset = offsetof(augment_options, flip_prob),
     .most = 1,
     .help = "share of the images that are mirrored"},
    {.name = "preset",
     .type = STK_OPTION_WORD,
     .offset = offsetof(augment_options, preset),
     .choices = "none|minimal|standard|strong",
     .help = "how much the images are changed"},
    {.name = "rotation_degrees",
     .type = STK_OPTION_NUMBER,
     .offset = offsetof(augment_options, rotation_degrees),
     .most = 180,
     .help = "how far the rotation goes"},
    {.name = "brightness",
     .type = STK_OPTION_NUMBER,
     .offset = offsetof(augment_options, brightness),
     .most = 1,
     .help = "how far the brightness goes"},
    {.name = "contrast",
     .type = STK_OPTION_NUMBER,
     .offset = offsetof(augment_options, contrast),
     .most = 1,
     .help = "how far the contrast goes"},
};
static const stk__option_table augment_table = {
    "augment", "gpu_augmentation", NULL, augment_table_options, 6, sizeof(augment_options)};

#endif
