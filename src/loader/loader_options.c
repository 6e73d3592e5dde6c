/* SPDX-License-Identifier: Apache-2.0 */
/* The section `data` of configurations, described once: parser, help, checks and effects come from this
 * table. */
#include "loader/loader_open.h"

#include "core/nearest.h"
#include "decode/limit_options.h"
#include "source/layout_options.h"

#include <stddef.h>
#include <string.h>

/* Switches and words are written as int (core/option.h), whatever enum a field has. */
_Static_assert(sizeof(stk_switch) == sizeof(int) && sizeof(stk_part) == sizeof(int) &&
                   sizeof(stk_bad_sample) == sizeof(int) && sizeof(stk_store) == sizeof(int) &&
                   sizeof(stk_axes) == sizeof(int) && sizeof(stk_jpeg) == sizeof(int) &&
                   sizeof(stk_mask_store) == sizeof(int) && sizeof(stk_mask_frame) == sizeof(int) &&
                   sizeof(stk_layout) == sizeof(int),
               "an enum of stk_loader_options is no int");

#define FIELD(name) offsetof(stk_loader_options, name)

/* clang-format off */
static const stk__option options_table[] = {
    {.name = "root", .type = STK_OPTION_TEXT, .offset = FIELD(root), .help = "path of the data set: a folder, a list of images (.csv, .jsonl), a time series (.csv, .npy), WebDataset shards (a folder of .tar, one .tar, x-{000..012}.tar), or generated data: make:faces, make:captcha, make:gray, make:series"},
    {.name = "val_root", .type = STK_OPTION_TEXT, .offset = FIELD(val_root), .help = "path of the validation set, if it is not part of data.root"},
    {.name = "part", .type = STK_OPTION_WORD, .offset = FIELD(part), .choices = "train|val|all|test", .help = "split of the data set to load: training, validation, both, or the test set that it holds out itself"},
    STK_LAYOUT_OPTIONS(FIELD),
    {.name = "val_split", .type = STK_OPTION_NUMBER, .offset = FIELD(val_split), .least = 0, .most = 0.9, .help = "validation split: fraction of the samples held out for validation"},
    {.name = "split_seed", .type = STK_OPTION_INT, .offset = FIELD(split_seed), .help = "random seed of the validation split"},
    {.name = "limit", .type = STK_OPTION_INT, .offset = FIELD(limit), .least = 0, .most = 4294967295.0, .unit = "samples", .help = "maximum number of samples to use; 0 = all"},
    {.name = "image_size", .type = STK_OPTION_SIZE2, .offset = FIELD(image_size), .least = 1, .most = 65535, .unit = "px", .help = "image size: resize images and masks to it; unset = as stored"},
    {.name = "channels", .type = STK_OPTION_INT, .offset = FIELD(channels), .least = 0, .most = 3, .help = "number of image channels: 1 = grayscale, 3 = RGB, 0 = as found"},
    {.name = "num_classes", .type = STK_OPTION_INT, .offset = FIELD(num_classes), .least = 0, .most = 255, .help = "number of classes: class ids in masks must be below it, or 255; 0 = from classes.txt, else in training the largest id found + 1, in loading unchecked"},
    {.name = "mask_map", .type = STK_OPTION_TEXT, .offset = FIELD(mask_map), .map = true, .choices = "auto|none|threshold", .help = "class id mapping: values in mask files to class ids, such as 0:0,255:1; none = ids as stored; threshold = 128 and above is class 1, for black and white JPEG masks; auto = look at the masks first, 0/255 becomes 0/1; default: auto in training, none in loading"},
    {.name = "mask_colors", .type = STK_OPTION_TEXT, .offset = FIELD(mask_colors), .map = true, .choices = "auto|none|voc|cityscapes|camvid", .help = "colors of RGB masks and their classes: a file of lines 'r g b name', a published table, a list such as 000000:0,ff0000:1, or auto = number the colors found; default: RGB masks must be gray"},
    {.name = "mask_frame", .type = STK_OPTION_WORD, .offset = FIELD(mask_frame), .choices = "auto|stored|upright", .help = "masks and points of images with an EXIF orientation: drawn on the pixels as stored or on the upright image; auto = as the sizes of masks prove, else stop"},
    {.name = "flip_pairs", .type = STK_OPTION_TEXT, .offset = FIELD(flip_pairs), .choices = "auto|none", .map = true, .fallback = "auto", .help = "left-right pairs: classes and points that change places when a flip mirrors an image, as ids or names such as 4:5,l_ear:r_ear; auto = by their names, none = a flip keeps them"},
    {.name = "jpeg", .type = STK_OPTION_WORD, .offset = FIELD(jpeg), .choices = "exact|fast", .help = "JPEG decoding; fast = less time, but pixels differ by some levels of 255 where colors change", .tunable = true},
    {.name = "exif", .type = STK_OPTION_SWITCH, .offset = FIELD(exif), .fallback = "true", .help = "EXIF orientation of JPEG and PNG: rotate and flip images upright"},
    {.name = "dtype", .type = STK_OPTION_WORD, .offset = FIELD(dtype), .choices = "auto|u8=uint8|f32=float32|f16=float16|bf16=bfloat16", .help = "data type of images in a batch; auto = u8 as decoded, f32 when they are augmented or normalized"},
    {.name = "axes", .type = STK_OPTION_WORD, .offset = FIELD(axes), .choices = "nhwc|nchw", .help = "memory layout of images: nhwc = channels last, nchw = channels first as in PyTorch"},
    {.name = "mask_dtype", .type = STK_OPTION_WORD, .offset = FIELD(mask_dtype), .choices = "u8=uint8|i64=int64", .help = "data type of masks in a batch"},
    {.name = "mean", .type = STK_OPTION_TRIPLE, .offset = FIELD(mean), .least = -10, .most = 10, .help = "normalization mean, subtracted from images (0 to 1): one number or one per channel; stoker stats prints it"},
    {.name = "std", .type = STK_OPTION_TRIPLE, .offset = FIELD(std), .least = 0, .most = 100, .help = "normalization standard deviation, divides images after the mean is subtracted: one number or one per channel; unset = 1"},
    {.name = "sequence_length", .type = STK_OPTION_INT, .offset = FIELD(sequence_length), .least = 1, .most = 1e6, .fallback = "60", .unit = "rows", .help = "sequence length: rows in a window of a time series", .tunable = true},
    {.name = "batch_size", .type = STK_OPTION_INT, .offset = FIELD(batch_size), .least = 1, .most = 65536, .fallback = "32", .help = "batch size: samples in a batch, per rank", .tunable = true},
    {.name = "num_workers", .aliases = "workers", .type = STK_OPTION_COUNT, .offset = FIELD(num_workers), .least = 0, .most = 256, .fallback = "auto", .help = "number of worker threads that load data; 0 = load in the calling thread, for debugging", .tunable = true},
    {.name = "prefetch_factor", .type = STK_OPTION_INT, .offset = FIELD(prefetch_factor), .least = 1, .most = 64, .fallback = "2", .unit = "batches", .help = "batches to prefetch per worker", .tunable = true},
    {.name = "cache", .type = STK_OPTION_TEXT, .offset = FIELD(cache), .fallback = "none", .unit = "bytes", .help = "cache decoded images in memory, so that later epochs skip decoding: none, auto, or a size such as 8G"},
    {.name = "pin_memory", .type = STK_OPTION_SWITCH, .offset = FIELD(pin_memory), .help = "pin memory: batches that are copied to a GPU are in pinned memory (page-locked)"},
    {.name = "persistent_workers", .type = STK_OPTION_SWITCH, .offset = FIELD(persistent_workers), .help = "keep worker threads between epochs; Stoker always does"},
    {.name = "drop_last", .type = STK_OPTION_SWITCH, .offset = FIELD(drop_last), .fallback = "false", .help = "drop the last incomplete batch of an epoch"},
    {.name = "shuffle", .type = STK_OPTION_SWITCH, .offset = FIELD(shuffle), .help = "shuffle the samples every epoch; default: on for training, off for validation"},
    {.name = "order", .type = STK_OPTION_TEXT, .offset = FIELD(order), .help = "sample order: sequential, full (shuffle all), or blocks(k) (blocks of k neighbors stay together, for slow disks)"},
    {.name = "seed", .type = STK_OPTION_INT, .offset = FIELD(seed), .help = "random seed (sample order, augmentation, initial weights, dropout)"},
    {.name = "on_bad_sample", .type = STK_OPTION_WORD, .offset = FIELD(on_bad_sample), .choices = "fail|replace|skip", .help = "corrupt or unreadable sample: fail = stop and name it, replace = use another one, skip = keep its place with weight 0"},
    {.name = "timeout", .type = STK_OPTION_SECONDS, .offset = FIELD(timeout_s), .least = 0.1, .most = 86400, .fallback = "60", .unit = "s", .help = "timeout: a worker or device that hangs longer is named, and loading fails"},
    {.name = "rank", .type = STK_OPTION_INT, .offset = FIELD(rank), .least = 0, .most = 65535, .help = "distributed rank of this process: 0 to ranks - 1"},
    {.name = "ranks", .type = STK_OPTION_INT, .offset = FIELD(ranks), .least = 1, .most = 65536, .fallback = "1", .help = "distributed world size: number of processes that share every batch"},
    STK_LIMIT_OPTIONS(FIELD, 1e12, 4e9),
    {.name = "limits.memory", .type = STK_OPTION_BYTES, .offset = FIELD(limit_memory_bytes), .least = 1, .most = 1e15, .fallback = "2G", .unit = "bytes", .help = "maximum memory of all prefetched batches; and of one batch whose images keep their own size. Large PNG images count while they are decompressed: what batches leave of it, at least half"},
};
/* clang-format on */

const stk__option_table stk__loader_options = {
    .section = "data",
    .also = "train training",
    .options = options_table,
    .count = sizeof options_table / sizeof options_table[0],
    .struct_bytes = sizeof(stk_loader_options),
};

static stk_status refuse_name(const char *name, stk_error *error)
{
    stk__nearest nearest = {.word = name, .strict = true};
    for (size_t i = 0; i < stk__loader_options.count; i++)
        stk__nearest_offer(&nearest, options_table[i].name);
    stk__fail(error, STK_ERROR_CONFIG, "unknown key '%.80s' in section 'data'", name);
    if (nearest.best) stk__error_hint(error, "did you mean '%s'?", nearest.best);
    return STK_ERROR_CONFIG;
}

stk_status stk_loader_options_set(stk_loader_options *options, const char *name, const char *value,
                                  stk_error *error)
{
    if (!options || !name || !value)
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "stk_loader_options_set needs options, a name and a value");
    const stk__option *option = options_table, *end = option + stk__loader_options.count;
    while (option < end && !stk__option_is_named(option, name, strlen(name)))
        option++;
    if (option == end) return refuse_name(name, error);
    if (options->struct_size && option->offset >= options->struct_size)
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "stk_loader_options.struct_size leaves no room for data.%s", option->name);
    const stk_status status = stk__option_parse(option, value, options, error);
    if (status != STK_OK) stk__option_error_section(error, stk__loader_options.section);
    return status;
}
