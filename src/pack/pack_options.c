/* SPDX-License-Identifier: Apache-2.0 */
/* The section `pack`, described once: parser, help, checks and effects come from this table. */
#include "pack/pack.h"

#include "decode/limit_options.h"
#include "source/layout_options.h"

#define FIELD(name) offsetof(stk__pack_settings, name)

/* clang-format off */
static const stk__option options_table[] = {
    {.name = "shard_bytes", .type = STK_OPTION_BYTES, .offset = FIELD(shard_bytes), .least = 1024, .most = 1e15, .fallback = "256M", .unit = "bytes", .help = "maximum shard size; a sample larger than that gets a shard of its own"},
    {.name = "shard_samples", .type = STK_OPTION_INT, .offset = FIELD(shard_samples), .least = 0, .most = 4294967295.0, .unit = "samples", .help = "maximum number of samples per shard; 0 = no limit"},
    {.name = "on_bad_sample", .type = STK_OPTION_WORD, .offset = FIELD(on_bad_sample), .choices = "fail|skip", .help = "corrupt sample: fail = stop and name it, skip = leave it out and list it in ledger.jsonl"},
    {.name = "num_workers", .aliases = "workers", .type = STK_OPTION_COUNT, .offset = FIELD(num_workers), .least = 0, .most = 256, .fallback = "auto", .help = "number of worker threads; the bytes written do not depend on it; 0 = in the writing thread"},
    {.name = "timeout", .type = STK_OPTION_SECONDS, .offset = FIELD(timeout_s), .least = 0.1, .most = 86400, .fallback = "60", .unit = "s", .help = "timeout: a sample that hangs longer is named, and packing fails"},
    {.name = "mask_colors", .type = STK_OPTION_TEXT, .offset = FIELD(mask_colors), .map = true, .choices = "none|voc|cityscapes|camvid", .help = "colors of RGB masks, which are stored as class ids: a file of lines 'r g b name', a published table, or a list such as 000000:0,ff0000:1; default: RGB masks must be gray"},
    STK_LAYOUT_OPTIONS(FIELD),
    STK_LIMIT_OPTIONS(FIELD, 4e9, 2e9),
};
/* clang-format on */

const stk__option_table stk__pack_options = {
    .section = "pack",
    .also = "data", /* hints about a data set name its settings */
    .options = options_table,
    .count = sizeof options_table / sizeof options_table[0],
    .struct_bytes = sizeof(stk__pack_settings),
};
