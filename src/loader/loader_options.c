/* The section `data` of configurations, described once: parser, help, checks and effects come from this
 * table. */
#include "loader/loader_open.h"

#include "decode/limit_options.h"

#include <stddef.h>

/* Switches and words are written as int (core/option.h), whatever enum a field has. */
_Static_assert(sizeof(stk_switch) == sizeof(int) && sizeof(stk_part) == sizeof(int) &&
                   sizeof(stk_bad_sample) == sizeof(int) && sizeof(stk_store) == sizeof(int) &&
                   sizeof(stk_axes) == sizeof(int) && sizeof(stk_jpeg) == sizeof(int) &&
                   sizeof(stk_mask_store) == sizeof(int),
               "an enum of stk_loader_options is no int");

#define FIELD(name) offsetof(stk_loader_options, name)

/* clang-format off */
static const stk__option options_table[] = {
    {.name = "root", .type = STK_OPTION_TEXT, .offset = FIELD(root), .help = "a folder, a list (.csv, .jsonl), a series (.csv, .npy), shards (a folder of .tar, one .tar, x-{000..012}.tar), or make:faces, make:captcha, make:gray, make:series"},
    {.name = "val_root", .type = STK_OPTION_TEXT, .offset = FIELD(val_root), .help = "the validation data, if it lies elsewhere"},
    {.name = "part", .type = STK_OPTION_WORD, .offset = FIELD(part), .choices = "train|val|all", .help = "which part of the data set to load"},
    {.name = "val_split", .type = STK_OPTION_NUMBER, .offset = FIELD(val_split), .least = 0, .most = 0.9, .help = "share of the samples held back for validation"},
    {.name = "split_seed", .type = STK_OPTION_INT, .offset = FIELD(split_seed), .help = "seed of the split alone"},
    {.name = "limit", .type = STK_OPTION_INT, .offset = FIELD(limit), .least = 0, .most = 4294967295.0, .unit = "samples", .help = "use only so many samples; 0 = all"},
    {.name = "image_size", .type = STK_OPTION_SIZE2, .offset = FIELD(image_size), .least = 1, .most = 65535, .unit = "px", .help = "resize images and masks to this; unset = as stored"},
    {.name = "channels", .type = STK_OPTION_INT, .offset = FIELD(channels), .least = 0, .most = 3, .help = "1 = grey, 3 = RGB, 0 = as found"},
    {.name = "num_classes", .type = STK_OPTION_INT, .offset = FIELD(num_classes), .least = 0, .most = 255, .help = "mask ids must be below it or 255; 0 = from classes.txt, else unchecked"},
    {.name = "mask_map", .type = STK_OPTION_TEXT, .offset = FIELD(mask_map), .map = true, .help = "values in mask files to ids, such as 0:0,255:1"},
    {.name = "jpeg", .type = STK_OPTION_WORD, .offset = FIELD(jpeg), .choices = "exact|fast", .help = "fast = coarser decoding of JPEGs in less time: some levels of 255 off where colours change", .tunable = true},
    {.name = "exif", .type = STK_OPTION_SWITCH, .offset = FIELD(exif), .fallback = "true", .help = "turn images upright as their EXIF orientation says"},
    {.name = "dtype", .type = STK_OPTION_WORD, .offset = FIELD(dtype), .choices = "auto|u8=uint8|f32=float32|f16=float16|bf16=bfloat16", .help = "of images in a batch; auto = u8 as decoded, f32 when they are augmented or normalised"},
    {.name = "axes", .type = STK_OPTION_WORD, .offset = FIELD(axes), .choices = "nhwc|nchw", .help = "of images in a batch: channels last, or first as PyTorch has them"},
    {.name = "mask_dtype", .type = STK_OPTION_WORD, .offset = FIELD(mask_dtype), .choices = "u8=uint8|i64=int64", .help = "of masks in a batch"},
    {.name = "mean", .type = STK_OPTION_TRIPLE, .offset = FIELD(mean), .least = -10, .most = 10, .help = "subtracted from images (0 to 1), one number or one per channel; stoker stats prints it"},
    {.name = "std", .type = STK_OPTION_TRIPLE, .offset = FIELD(std), .least = 0, .most = 100, .help = "divides images after that, one number or one per channel; unset = 1"},
    {.name = "sequence_length", .type = STK_OPTION_INT, .offset = FIELD(sequence_length), .least = 1, .most = 1e6, .fallback = "60", .unit = "rows", .help = "length of the windows cut from a series", .tunable = true},
    {.name = "batch_size", .type = STK_OPTION_INT, .offset = FIELD(batch_size), .least = 1, .most = 65536, .fallback = "32", .help = "samples in a batch, per rank", .tunable = true},
    {.name = "num_workers", .aliases = "workers", .type = STK_OPTION_COUNT, .offset = FIELD(num_workers), .least = 0, .most = 256, .fallback = "auto", .help = "threads that load; 0 = in the caller's thread, for debugging", .tunable = true},
    {.name = "prefetch_factor", .type = STK_OPTION_INT, .offset = FIELD(prefetch_factor), .least = 1, .most = 64, .fallback = "2", .unit = "batches", .help = "finished batches that may wait, per worker", .tunable = true},
    {.name = "cache", .type = STK_OPTION_TEXT, .offset = FIELD(cache), .fallback = "none", .unit = "bytes", .help = "memory for decoded images, so that later epochs need not decode them: none, auto, or a size such as 8G"},
    {.name = "pin_memory", .type = STK_OPTION_SWITCH, .offset = FIELD(pin_memory), .help = "page-locked memory for batches that go to a GPU"},
    {.name = "persistent_workers", .type = STK_OPTION_SWITCH, .offset = FIELD(persistent_workers), .help = "keep the workers between epochs"},
    {.name = "drop_last", .type = STK_OPTION_SWITCH, .offset = FIELD(drop_last), .fallback = "false", .help = "leave out the last batch of an epoch if it is short"},
    {.name = "shuffle", .type = STK_OPTION_SWITCH, .offset = FIELD(shuffle), .help = "another order every epoch; default: on for training, off for validation"},
    {.name = "order", .type = STK_OPTION_TEXT, .offset = FIELD(order), .help = "sequential, full, or blocks(k): runs of k neighbours stay together, for slow disks"},
    {.name = "seed", .type = STK_OPTION_INT, .offset = FIELD(seed), .help = "of everything random"},
    {.name = "on_bad_sample", .type = STK_OPTION_WORD, .offset = FIELD(on_bad_sample), .choices = "fail|replace|skip", .help = "stop and name it, take another one instead, or leave its place empty with weight 0"},
    {.name = "timeout", .type = STK_OPTION_SECONDS, .offset = FIELD(timeout_s), .least = 0.1, .most = 86400, .fallback = "60", .unit = "s", .help = "what hangs longer is named and given up"},
    {.name = "rank", .type = STK_OPTION_INT, .offset = FIELD(rank), .least = 0, .most = 65535, .help = "number of this process among the ranks"},
    {.name = "ranks", .type = STK_OPTION_INT, .offset = FIELD(ranks), .least = 1, .most = 65536, .fallback = "1", .help = "processes that share every batch"},
    STK_LIMIT_OPTIONS(FIELD, 1e12, 4e9),
    {.name = "limits.memory", .type = STK_OPTION_BYTES, .offset = FIELD(limit_memory_bytes), .least = 1, .most = 1e15, .fallback = "2G", .unit = "bytes", .help = "memory of all batches that wait; and of the images in one batch that keep their own size"},
};
/* clang-format on */

const stk__option_table stk__loader_options = {
    .section = "data",
    .also = "train training",
    .options = options_table,
    .count = sizeof options_table / sizeof options_table[0],
    .struct_bytes = sizeof(stk_loader_options),
};
