/* SPDX-License-Identifier: Apache-2.0 */
/* Help can be searched: every option of every table has the term that a user of PyTorch would grep for, in
 * one line of the help at 80 columns. An option without a row here fails: a new option needs its term. */
#include "augment/operation.h"
#include "core/config.h"
#include "loader/loader_open.h"
#include "pack/pack.h"
#include "train/train_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>

typedef struct row {
    const char *option, *term;
} row;

static const row rows[] = {
    {"data.root", "data set"},
    {"data.root", "WebDataset"},
    {"data.val_root", "validation set"},
    {"data.part", "split"},
    {"data.part", "test set"},
    {"data.layout", "folder"},
    {"data.layout", "train/val/test"},
    {"data.images", "folder of the images"},
    {"data.masks", "segmentation masks"},
    {"data.mask_suffix", "suffix"},
    {"data.mask_prefix", "prefix"},
    {"data.train_list", "training samples"},
    {"data.val_list", "held out for validation"},
    {"data.test_list", "held out for testing"},
    {"data.val_split", "validation split"},
    {"data.val_split", "fraction"},
    {"data.split_seed", "random seed"},
    {"data.limit", "number of samples"},
    {"data.columns", "columns of a list"},
    {"data.columns", "multi-label"},
    {"data.columns", "regression"},
    {"data.columns", "key points"},
    {"data.image_size", "image size"},
    {"data.image_size", "resize"},
    {"data.channels", "channels"},
    {"data.channels", "RGB"},
    {"data.num_classes", "number of classes"},
    {"data.mask_map", "class id"},
    {"data.mask_colors", "RGB masks"},
    {"data.mask_frame", "EXIF orientation"},
    {"data.flip_pairs", "left-right"},
    {"data.flip_pairs", "flip"},
    {"data.jpeg", "JPEG decoding"},
    {"data.exif", "EXIF orientation"},
    {"data.dtype", "data type"},
    {"data.axes", "memory layout"},
    {"data.axes", "channels last"},
    {"data.mask_dtype", "data type"},
    {"data.mean", "normalization mean"},
    {"data.std", "normalization"},
    {"data.std", "standard deviation"},
    {"data.sequence_length", "sequence length"},
    {"data.sequence_length", "time series"},
    {"data.batch_size", "batch size"},
    {"data.num_workers", "worker threads"},
    {"data.prefetch_factor", "prefetch"},
    {"data.cache", "cache"},
    {"data.pin_memory", "pin memory"},
    {"data.pin_memory", "pinned memory"},
    {"data.pin_memory", "page-locked"},
    {"data.persistent_workers", "worker threads"},
    {"data.drop_last", "drop the last incomplete batch"},
    {"data.shuffle", "shuffle"},
    {"data.order", "sample order"},
    {"data.seed", "random seed"},
    {"data.on_bad_sample", "corrupt"},
    {"data.timeout", "timeout"},
    {"data.rank", "distributed rank"},
    {"data.ranks", "world size"},
    {"data.limits.bytes", "maximum file size"},
    {"data.limits.pixels", "maximum image size"},
    {"data.limits.scans", "progressive JPEG"},
    {"data.limits.warnings", "decoder warnings"},
    {"data.limits.time", "maximum time"},
    {"data.limits.memory", "maximum memory"},

    {"augment.preset", "augmentation preset"},
    {"augment.schedule", "augmentation schedule"},
    {"augment.device", "augmentation device"},
    {"augment.fill", "fill color"},
    {"augment.mask_fill", "class id"},
    {"augment.crop", "random resized crop"},
    {"augment.crop_ratio", "aspect ratio"},
    {"augment.crop_prob", "probability of a random resized crop"},
    {"augment.scale", "random scaling"},
    {"augment.scale_prob", "probability of random scaling"},
    {"augment.shear", "random shear"},
    {"augment.shear_prob", "probability of random shear"},
    {"augment.rotation_degrees", "random rotation"},
    {"augment.rotation_prob", "probability of random rotation"},
    {"augment.translate", "random translation"},
    {"augment.translate_prob", "probability of random translation"},
    {"augment.horizontal_flip_prob", "random horizontal flip"},
    {"augment.horizontal_flip_prob", "hflip"},
    {"augment.vertical_flip_prob", "random vertical flip"},
    {"augment.vertical_flip_prob", "vflip"},
    {"augment.jitter_prob", "probability of color jitter"},
    {"augment.jitter_prob", "ColorJitter"},
    {"augment.jitter_order", "color jitter"},
    {"augment.brightness", "brightness jitter"},
    {"augment.brightness_prob", "probability of brightness jitter"},
    {"augment.contrast", "contrast jitter"},
    {"augment.contrast_prob", "probability of contrast jitter"},
    {"augment.saturation", "saturation jitter"},
    {"augment.saturation_prob", "probability of saturation jitter"},
    {"augment.hue", "hue jitter"},
    {"augment.hue_prob", "probability of hue jitter"},
    {"augment.gamma", "gamma correction"},
    {"augment.gamma_prob", "probability of gamma correction"},
    {"augment.gray_prob", "probability of converting to grayscale"},
    {"augment.gray_prob", "RandomGrayscale"},
    {"augment.blur_kernel", "Gaussian blur"},
    {"augment.blur_kernel", "kernel size"},
    {"augment.blur_sigma", "Gaussian blur"},
    {"augment.blur_sigma", "standard deviation"},
    {"augment.blur_prob", "probability of Gaussian blur"},
    {"augment.noise_std", "Gaussian noise"},
    {"augment.noise_std", "standard deviation"},
    {"augment.noise_prob", "probability of Gaussian noise"},
    {"augment.erase_prob", "probability of random erasing"},
    {"augment.erase_scale", "random erasing"},
    {"augment.erase_ratio", "random erasing"},
    {"augment.erase_ratio", "aspect ratio"},
    {"augment.mixup_alpha", "mixup"},
    {"augment.mixup_prob", "probability of mixup"},
    {"augment.cutmix_alpha", "cutmix"},
    {"augment.cutmix_prob", "probability of cutmix"},

    {"model.name", "network architecture"},
    {"model.file", "network"},
    {"model.weights", "pretrained weights"},
    {"model.weights", "safetensors"},
    {"model.freeze", "freeze"},
    {"model.width", "network width"},
    {"model.depth", "network depth"},
    {"model.hidden", "hidden size"},
    {"model.layers", "LSTM layers"},
    {"model.num_classes", "number of classes"},
    {"model.options", "network"},

    {"loss.name", "loss function"},
    {"loss.name", "binary cross-entropy"},
    {"loss.name", "BCEWithLogitsLoss"},
    {"loss.name", "multi-label"},
    {"loss.label_smoothing", "label smoothing"},
    {"loss.class_weights", "class weights"},
    {"loss.ignore_index", "ignore"},

    {"train.epochs", "number of epochs"},
    {"train.amp", "mixed precision"},
    {"train.amp", "AMP"},
    {"train.amp_growth_interval", "loss scale"},
    {"train.amp_scale_floor", "loss scale"},
    {"train.amp_max_skips", "skipped steps"},
    {"train.compile", "compile"},
    {"train.compile_mode", "torch.compile"},
    {"train.compile_mode", "CUDA graphs"},
    {"train.conv", "convolution algorithm"},
    {"train.channels_last", "channels last"},
    {"train.channels_last", "memory format"},
    {"train.tf32", "TF32"},
    {"train.deterministic", "deterministic algorithms"},
    {"train.gradient_accumulation_steps", "gradient accumulation"},
    {"train.gradient_checkpointing", "gradient checkpointing"},
    {"train.gradient_checkpointing", "activation checkpointing"},
    {"train.max_grad_norm", "clip the global gradient norm"},
    {"train.max_grad_norm", "gradient clipping"},
    {"train.max_grad_norm", "clip_grad"},
    {"train.log_interval", "log interval"},
    {"train.eval_interval", "evaluation interval"},
    {"train.eval_interval", "validation"},
    {"train.checkpoint_interval", "checkpoint interval"},
    {"train.keep", "checkpoints to keep"},
    {"train.metric", "validation metric"},
    {"train.metric", "mean average precision"},
    {"train.early_stop", "early stopping"},
    {"train.early_stop", "patience"},
    {"train.detect_nan", "NaN"},
    {"train.detect_nan", "anomaly detection"},
    {"train.ema", "EMA"},
    {"train.ema", "moving average of the weights"},
    {"train.non_blocking", "asynchronous"},
    {"train.use_gpu_augmentation", "GPU augmentation"},

    {"optimizer.name", "optimizer"},
    {"optimizer.name", "SGD"},
    {"optimizer.lr", "learning rate"},
    {"optimizer.weight_decay", "weight decay"},
    {"optimizer.weight_decay", "L2"},
    {"optimizer.betas", "AdamW"},
    {"optimizer.betas", "first and second moment"},
    {"optimizer.eps", "epsilon"},
    {"optimizer.momentum", "SGD momentum"},
    {"optimizer.fused", "fused optimizer"},
    {"optimizer.schedule", "learning rate schedule"},
    {"optimizer.warmup", "warmup"},
    {"optimizer.step_size", "learning rate"},
    {"optimizer.gamma", "learning rate"},
    {"optimizer.gamma", "decay factor"},

    {"run.preset", "preset"},
    {"run.device", "device"},
    {"run.engine", "compute engine"},
    {"run.threads", "CPU threads"},
    {"run.monitor_interval", "GPU monitor"},
    {"run.name", "name of the run"},
    {"run.dir", "output directory"},
    {"run.resume", "resume"},
    {"run.force", "out of memory"},

    {"pack.layout", "folder"},
    {"pack.images", "folder of the images"},
    {"pack.masks", "segmentation masks"},
    {"pack.mask_suffix", "suffix"},
    {"pack.mask_prefix", "prefix"},
    {"pack.mask_colors", "RGB masks"},
    {"pack.mask_colors", "class ids"},
    {"pack.train_list", "training samples"},
    {"pack.val_list", "held out for validation"},
    {"pack.test_list", "held out for testing"},
    {"pack.shard_bytes", "maximum shard size"},
    {"pack.shard_samples", "samples per shard"},
    {"pack.columns", "columns of a list"},
    {"pack.on_bad_sample", "corrupt"},
    {"pack.num_workers", "worker threads"},
    {"pack.timeout", "timeout"},
    {"pack.limits.bytes", "maximum file size"},
    {"pack.limits.pixels", "maximum image size"},
    {"pack.limits.scans", "progressive JPEG"},
    {"pack.limits.warnings", "decoder warnings"},
    {"pack.limits.time", "maximum time"},
};

enum { ROWS = sizeof rows / sizeof rows[0], TABLES = 8, COLUMNS = 80 };

static const stk__option_table *const *all_tables(void)
{
    static const stk__option_table *tables[TABLES];
    tables[0] = &stk__loader_options;
    tables[1] = stk__augment_options();
    tables[2] = &stk__model_options_table;
    tables[3] = &stk__loss_options_table;
    tables[4] = &stk__train_options_table;
    tables[5] = &stk__optimizer_options_table;
    tables[6] = &stk__run_options_table;
    tables[7] = &stk__pack_options;
    return tables;
}

/* "section.option" as one word, for the first word of what a line of help continues. */
static bool is_option(const char *full, const char *section, const char *line)
{
    const size_t length = strlen(section), name = strcspn(line, " ");
    return strncmp(full, section, length) == 0 && full[length] == '.' && strlen(full + length + 1) == name &&
           strncmp(full + length + 1, line, name) == 0;
}

/* Does one line of the option's help contain the term, as `stoker train --help | grep -i TERM` sees it? A
 * section's title begins in column 0, an option's name in column 2, what continues its help further right. */
static bool help_has(char *help, const row *wanted)
{
    char section[32] = "", line[256];
    bool inside = false;
    for (const char *at = help; *at; at += strcspn(at, "\n") + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (line[0] != ' ') snprintf(section, sizeof section, "%.*s", (int)strcspn(line, ",; "), line);
        if (strspn(line, " ") == 2) inside = is_option(wanted->option, section, line + strspn(line, " "));
        const size_t indent = strspn(line, " ");
        const char *words =
            line + indent + (indent == 2 ? strcspn(line + indent, " ") : 0); /* not the name */
        if (inside && strcasestr(words, wanted->term)) return true;
    }
    return false;
}

static void help_contains_each_term_in_one_line(void **state)
{
    (void)state;
    stk__buffer help = {0};
    assert_int_equal(stk__config_help(all_tables(), TABLES, COLUMNS, &help, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&help, "", 1, NULL), STK_OK);
    int missing = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (!help_has((char *)help.data, &rows[i])) {
            print_message("the help of %s does not contain '%s'\n", rows[i].option, rows[i].term);
            missing++;
        }
    stk__buffer_fini(&help);
    assert_int_equal(missing, 0);
}

static bool has_row(const char *section, const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (is_option(rows[i].option, section, name)) return true;
    return false;
}

static void every_option_has_a_term(void **state)
{
    (void)state;
    int missing = 0;
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; i < all_tables()[t]->count; i++) {
            const char *section = all_tables()[t]->section, *name = all_tables()[t]->options[i].name;
            if (has_row(section, name)) continue;
            print_message("%s.%s has no term in this test\n", section, name);
            missing++;
        }
    assert_int_equal(missing, 0);
}

static void probabilities_say_so_first(void **state)
{
    (void)state;
    int checked = 0;
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; i < all_tables()[t]->count; i++) {
            const stk__option *option = &all_tables()[t]->options[i];
            const size_t length = strlen(option->name);
            if (length < 5 || strcmp(option->name + length - 5, "_prob") != 0) continue;
            checked++;
            assert_memory_equal(option->help, "probability of ", strlen("probability of "));
        }
    assert_true(checked >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_contains_each_term_in_one_line),
        cmocka_unit_test(every_option_has_a_term),
        cmocka_unit_test(probabilities_say_so_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
