/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with masks: the settings as given, or, where the opener asks for it (training) or a setting
 * says auto, by a look at them before anything is loaded. One thread, while a loader opens. */
#include "loader/mask_decision.h"
#include "decode/mask_palette.h"
#include "loader/pump.h"

#include <stdio.h>
#include <string.h>

static bool says(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* What a source counts are the classes of labels, if it has labels; of masks nothing is known then. */
static int32_t named_classes(const stk__source_info *info)
{
    return info->label == STK_LABEL_CLASS || info->label == STK_LABEL_SET ? 0 : info->class_count;
}

/* Generated masks are known to be what they are called. */
static bool is_to_be_looked_at(const stk_loader *loader, const stk__loader_setup *setup,
                               const stk_loader_options *o)
{
    const bool made = strcmp(loader->source->ops->name, "made") == 0;
    return loader->source->info.masks && ((setup->look && !setup->look->verify && !made) ||
                                          says(o->mask_map, "auto") || says(o->mask_colors, "auto"));
}

static stk_status read_palette(stk_loader *loader, const char *text, stk_error *error)
{
    if (!text || says(text, "none") || says(text, "auto") || !loader->source->info.masks) return STK_OK;
    if (!loader->palette) loader->palette = stk__alloc(sizeof *loader->palette);
    if (!loader->palette) return stk__fail_memory(error, sizeof *loader->palette, "the colors of masks");
    return stk__mask_palette_read(loader->palette, text, error);
}

static void note_decision(stk_loader *loader, const stk__mask_decision *d)
{
    static const char *const frames[] = {"auto", "stored", "upright"};
    if (d->count_why[0])
        stk__loader_note_number(loader, "data.num_classes", (uint64_t)d->class_count, d->count_why);
    if (d->map_why[0]) stk__loader_note(loader, "data.mask_map", d->map, "%s", d->map_why);
    if (d->colors_why[0]) stk__loader_note(loader, "data.mask_colors", d->colors, "%s", d->colors_why);
    if (d->frame_why[0]) stk__loader_note(loader, "data.mask_frame", frames[d->frame], "%s", d->frame_why);
}

static stk_status refuse_id(const stk_loader *loader, int id, uint64_t sample, stk_error *error)
{
    char path[4096];
    loader->source->ops->where(loader->source, sample, STK_FIELD_MASK, path, sizeof path);
    stk__fail(error, STK_ERROR_DATA, "the mask has class id %d, which is not below the number of classes: %d",
              id, loader->recipe.mask.class_count);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "set data.num_classes=%d, or data.mask_map", id + 1);
    return STK_ERROR_DATA;
}

/* Training masks of 0 and 1, these of 0 and 255: everything but the background would be ignored. */
static stk_status check_white(const stk_loader *loader, const stk__survey_ids *ids, stk_error *error)
{
    if (loader->asked->mask_map || loader->recipe.mask.map || loader->palette || !ids->masks[255] ||
        loader->recipe.mask.class_count != 2)
        return STK_OK;
    for (int value = 1; value < 255; value++)
        if (ids->masks[value]) return STK_OK;
    char path[4096];
    loader->source->ops->where(loader->source, ids->first[255], STK_FIELD_MASK, path, sizeof path);
    stk__fail(
        error, STK_ERROR_DATA,
        "the masks of the validation part have the values 0 and 255 only, those of the training part do not: "
        "255 is ignored");
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "data.val.mask_map=0:0,255:1 if 255 is class 1, or data.val.mask_map=none");
    return STK_ERROR_DATA;
}

/* Samples that a policy leaves out are left to it. */
static stk_status verify(stk_loader *loader, stk_error *error)
{
    const stk__recipe *recipe = &loader->recipe;
    if (recipe->policy != STK_BAD_FAIL || !recipe->mask.class_count) return STK_OK;
    stk__mask_survey *survey = stk__alloc(sizeof *survey);
    if (!survey) return stk__fail_memory(error, sizeof *survey, "a look at the masks");
    stk_status status =
        stk__mask_survey_run(loader, (stk__survey_options){.most = STK_SURVEY_SAMPLES}, survey, error);
    for (int value = 255; value >= 0 && status == STK_OK; value--) {
        const int id = recipe->mask.map ? recipe->mask_map[value] : value;
        if (survey->ids.masks[value] && id != recipe->mask.ignore && id >= recipe->mask.class_count)
            status = refuse_id(loader, id, survey->ids.first[value], error);
    }
    if (status == STK_OK) status = check_white(loader, &survey->ids, error);
    stk__free(survey);
    return status;
}

static stk_status look(stk_loader *loader, const stk__loader_setup *setup, stk_loader_options *o,
                       stk_error *error)
{
    stk__mask_decision *d = &loader->masks;
    const int64_t asked = o->num_classes ? o->num_classes : setup->look ? setup->look->class_count : 0;
    const stk__mask_given given = {.map = o->mask_map   ? o->mask_map
                                          : setup->look ? "auto"
                                                        : "none",
                                   .colors = o->mask_colors,
                                   .color_classes = loader->palette ? loader->palette->class_count : 0,
                                   .frame = o->mask_frame,
                                   .class_count =
                                       asked ? (int32_t)asked : named_classes(&loader->source->info),
                                   .ignore_index = setup->look ? setup->look->ignore_index : -1};
    stk__mask_survey *survey = stk__alloc(sizeof *survey);
    if (!survey) return stk__fail_memory(error, sizeof *survey, "a look at the masks");
    stk_status status = stk__mask_survey_run(
        loader, (stk__survey_options){.most = STK_SURVEY_SAMPLES, .both_parts = setup->look != NULL}, survey,
        error);
    if (status == STK_OK) status = stk__mask_decide(survey, &given, d, error);
    if (status == STK_OK && setup->look && setup->look->keep) *setup->look->keep = *survey;
    stk__free(survey);
    STK__TRY(status);
    note_decision(loader, d);
    if (d->map[0])
        o->mask_map = d->map;
    else if (says(o->mask_map, "auto"))
        o->mask_map = NULL;
    if (d->colors[0]) o->mask_colors = d->colors;
    o->mask_frame = d->frame;
    o->num_classes = d->class_count;
    return read_palette(loader, d->colors[0] ? d->colors : NULL, error);
}

stk_status stk__loader_choose_masks(stk_loader *loader, const stk__loader_setup *setup, stk_loader_options *o,
                                    stk_error *error)
{
    stk__recipe *recipe = &loader->recipe;
    stk__mask_map map;
    STK__TRY(read_palette(loader, o->mask_colors, error));
    if (!says(o->mask_map, "auto"))
        STK__TRY(stk__mask_map_read(&map, o->mask_map ? o->mask_map : "none", error));
    if (is_to_be_looked_at(loader, setup, o)) STK__TRY(look(loader, setup, o, error));
    STK__TRY(
        stk__mask_map_read(&map, o->mask_map && !says(o->mask_map, "auto") ? o->mask_map : "none", error));
    if (map.on) {
        memcpy(recipe->mask_map, map.to, sizeof recipe->mask_map);
        memcpy(recipe->mask_mapped, map.known, sizeof recipe->mask_mapped);
        recipe->mask.map = recipe->mask_map;
        recipe->mask.mapped = recipe->mask_mapped;
    }
    recipe->mask.lossy = map.lossy;
    recipe->mask.colors = loader->palette ? &loader->palette->colors : NULL;
    recipe->frame = (stk__mask_frame_rule){.frame = o->mask_frame, .any_aspect = o->image_size[0] != 0};
    recipe->mask.class_count = (int32_t)o->num_classes;
    if (!o->num_classes) recipe->mask.class_count = named_classes(&loader->source->info);
    if (!recipe->mask.class_count && loader->palette) recipe->mask.class_count = loader->palette->class_count;
    return setup->look && setup->look->verify && loader->source->info.masks ? verify(loader, error) : STK_OK;
}

void stk__loader_describe_masks(stk_loader *loader)
{
    const stk__source_info *source = &loader->source->info;
    stk_loader_info *info = &loader->info;
    const bool named = named_classes(source) >= loader->recipe.mask.class_count;
    info->class_count = loader->recipe.mask.class_count;
    info->class_names = NULL;
    if (!info->class_count) return;
    if (named)
        info->class_names = source->class_names;
    else if (loader->palette && loader->palette->class_count >= info->class_count)
        info->class_names = loader->palette->name_list;
}

const stk__mask_decision *stk__loader_masks(const stk_loader *loader)
{
    return loader && loader->masks.looked ? &loader->masks : NULL;
}

int stk__loader_color_class(const stk_loader *loader, uint32_t color)
{
    const stk__mask_colors *colors = loader && loader->palette ? &loader->palette->colors : NULL;
    const int index = colors ? stk__mask_colors_find(colors, color) : -1;
    return index < 0 ? -1 : colors->id[index];
}
