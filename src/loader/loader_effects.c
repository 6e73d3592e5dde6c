/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader has to say about settings that are in effect other than requested. */
#include "loader/pump.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The setting as it was asked for; "" when it was left at zero, that is: to us. */
static void print_requested(const stk_loader *loader, const char *name, char *text, size_t size)
{
    const struct {
        const stk__option_table *table;
        const void *options;
    } sections[] = {{&stk__loader_options, loader->asked}, {stk__augment_options(), loader->asked_augment}};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const stk__option_table *table = sections[i].table;
        const size_t length = strlen(table->section);
        if (!sections[i].options || strncmp(name, table->section, length) != 0) continue;
        for (size_t k = 0; k < table->count; k++) {
            const stk__option *option = &table->options[k];
            if (strcmp(option->name, name + length + 1) == 0 &&
                !stk__option_is_zero(option, sections[i].options))
                stk__option_print(option, sections[i].options, text, size);
        }
    }
}

void stk__loader_note(stk_loader *loader, const char *name, const char *in_effect, const char *why, ...)
{
    if (loader->effect_count == STK_LOADER_EFFECTS) return;
    stk_loader_effect *effect = &loader->effects[loader->effect_count++];
    effect->name = name;
    print_requested(loader, name, effect->requested, sizeof effect->requested);
    snprintf(effect->in_effect, sizeof effect->in_effect, "%s", in_effect);
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(effect->why, sizeof effect->why, why, arguments);
    va_end(arguments);
}

void stk__loader_note_number(stk_loader *loader, const char *name, uint64_t value, const char *why)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    stk__loader_note(loader, name, text, "%s", why);
}

static void note_constants(stk_loader *loader, const stk_loader_options *asked)
{
    if (asked->pin_memory == STK_SWITCH_ON && !stk__loader_partner(loader))
        stk__loader_note(loader, "data.pin_memory", "false",
                         "batches are not copied to a GPU, so pinned memory is not needed");
    if (asked->persistent_workers == STK_SWITCH_OFF)
        stk__loader_note(loader, "data.persistent_workers", "true",
                         "workers are threads and always persistent");
}

typedef struct use {
    const char *name;
    bool asked, of_use;
    const char *why;
} use;

static void note_useless(stk_loader *loader, const use *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].asked && !rows[i].of_use)
            stk__loader_note(loader, rows[i].name, "", "not used here: %s", rows[i].why);
}

static bool is_given(const double triple[3])
{
    return triple[0] != 0 || triple[1] != 0 || triple[2] != 0;
}

/* What means nothing for such a data set. */
static void note_data(stk_loader *loader, const stk_loader_options *asked)
{
    const stk__source_info *info = &loader->source->info;
    const char *const no_images = "there are no images", *const no_masks = "there are no masks";
    const bool pairs = info->folder && info->masks;
    const char *const no_folder = "the data set is not a folder of images",
                      *const no_pairs = "the data set is not a folder of images and masks";
    const use rows[] = {
        {"data.layout", asked->layout && asked->layout != STK_LAYOUT_LIST, info->folder, no_folder},
        {"data.images", asked->images, pairs, no_pairs},
        {"data.masks", asked->masks, pairs, no_pairs},
        {"data.mask_suffix", asked->mask_suffix, info->folder, no_folder},
        {"data.mask_prefix", asked->mask_prefix, info->folder, no_folder},
        {"data.sequence_length", asked->sequence_length, info->window_rows && !info->called,
         info->called ? "stk_dataset.window_rows says it" : "the data set is not a time series"},
        {"data.columns", asked->columns, strcmp(loader->source->ops->name, "list") == 0,
         "the data set is not a list"},
        {"data.image_size", asked->image_size[0], info->images, no_images},
        {"data.channels", asked->channels, info->images, no_images},
        {"data.jpeg", asked->jpeg, info->images, no_images},
        {"data.exif", asked->exif, info->images, no_images},
        {"data.limits.pixels", asked->limit_pixels, info->images, no_images},
        {"data.limits.scans", asked->limit_scans, info->images, no_images},
        {"data.limits.warnings", asked->limit_warnings, info->images, no_images},
        {"data.limits.time", asked->limit_time_s > 0, info->images, no_images},
        {"data.dtype", asked->dtype, info->images, no_images},
        {"data.axes", asked->axes, info->images, no_images},
        {"data.mean", is_given(asked->mean), info->images, no_images},
        {"data.std", is_given(asked->std), info->images, no_images},
        {"data.mask_dtype", asked->mask_dtype, info->masks, no_masks},
        {"data.mask_map", asked->mask_map, info->masks, no_masks},
        {"data.mask_colors", asked->mask_colors, info->masks, no_masks},
        {"data.mask_frame", asked->mask_frame, info->masks || info->point_count,
         "there are neither masks nor points"},
        {"data.num_classes", asked->num_classes, info->masks, no_masks},
    };
    note_useless(loader, rows, sizeof rows / sizeof rows[0]);
}

/* What means nothing beside the other settings. */
static void note_settings(stk_loader *loader, const stk_loader_options *asked)
{
    const bool val = asked->part == STK_PART_VAL, all = asked->part == STK_PART_ALL;
    const bool chance = loader->stream.order != STK_ORDER_SEQUENTIAL ||
                        loader->recipe.policy == STK_BAD_REPLACE || loader->augments;
    const use rows[] = {
        {"data.val_root", asked->val_root, val, "only the validation set is there"},
        {"data.val_split", asked->val_split > 0, !all && !asked->val_root,
         all ? "all parts are loaded" : "the validation set is in data.val_root"},
        {"data.split_seed", asked->split_seed, loader->stream.split.held, "there is no random split"},
        {"data.seed", asked->seed, chance, "the order is sequential, without replacement or augmentation"},
        {"data.prefetch_factor", asked->prefetch_factor, loader->thread_count,
         "the calling thread loads, nothing is prefetched"},
    };
    note_useless(loader, rows, sizeof rows / sizeof rows[0]);
    if ((uint64_t)asked->limit > loader->stream.count)
        stk__loader_note_number(loader, "data.limit", loader->stream.count,
                                "the data set has no more samples");
}

void stk__loader_note_all(stk_loader *loader, const stk_loader_options *asked)
{
    note_constants(loader, asked);
    note_data(loader, asked);
    note_settings(loader, asked);
}

void stk__loader_note_pinned(stk_loader *loader, const stk_loader_options *asked)
{
    const stk__device *partner = stk__loader_partner(loader);
    int pinned = 0;
    loader->info.resident = loader->recipe.layout.store.resident;
    if (!partner || asked->pin_memory == STK_SWITCH_OFF) return;
    for (int i = 0; i < loader->slot_count; i++)
        pinned += loader->slots[i].device->pinned_bytes > 0;
    loader->info.pinned = pinned == loader->slot_count;
    if (pinned < loader->slot_count)
        stk__loader_note(loader, "data.pin_memory", "false",
                         "the driver pinned %d of %d slots; lower data.prefetch_factor or data.batch_size",
                         pinned, loader->slot_count);
    else if (asked->pin_memory == STK_SWITCH_DEFAULT)
        stk__loader_note(loader, "data.pin_memory", "true", "auto: %s copies from it", partner->info.name);
}
