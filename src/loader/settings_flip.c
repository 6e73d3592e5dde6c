/* SPDX-License-Identifier: Apache-2.0 */
/* data.flip_pairs: which classes and points change sides in mirrored samples, by their names or as listed,
 * and what the effects say about it. Runs once, when a loader opens and its plan is known. */
#include "loader/pump.h"

#include "augment/flip_list.h"

#include <string.h>

enum { MASKS, LABELS, POINTS, KIND_COUNT };

/* What a source names are the classes of labels, if it has labels, else of masks; data.mask_colors may name
 * those of masks, too. */
static stk__flip_names name_masks(const stk_loader *loader)
{
    const stk__source_info *info = &loader->source->info;
    if (info->label != STK_LABEL_CLASS && info->label != STK_LABEL_SET && info->class_names)
        return (stk__flip_names){info->class_names, info->class_count};
    if (!loader->palette) return (stk__flip_names){0};
    return (stk__flip_names){loader->palette->name_list, loader->palette->class_count};
}

static void list_kinds(stk_loader *loader, stk__flip_kind kinds[KIND_COUNT])
{
    const stk__source_info *info = &loader->source->info;
    stk__flip *flip = &loader->recipe.flip;
    const bool labels = info->label == STK_LABEL_CLASS || info->label == STK_LABEL_SET;
    const stk__flip_names classes = {info->class_names, info->class_names ? info->class_count : 0},
                          points = {info->point_names, info->point_names ? info->point_count : 0};
    const int32_t ids = loader->recipe.mask.class_count;
    kinds[MASKS] = (stk__flip_kind){.what = "class",
                                    .there = info->masks,
                                    .names = name_masks(loader),
                                    .most = ids > 0 && ids < 256 ? ids : 256,
                                    .pairs = &flip->masks};
    kinds[LABELS] = (stk__flip_kind){.what = "class",
                                     .there = labels,
                                     .names = classes,
                                     .most = info->class_count > 0 ? info->class_count : INT32_MAX,
                                     .pairs = &flip->labels};
    kinds[POINTS] = (stk__flip_kind){.what = "point",
                                     .there = info->point_count > 0,
                                     .names = points,
                                     .most = info->point_count,
                                     .pairs = &flip->points};
    int first = MASKS; /* then labels, then points */
    while (first < POINTS && !kinds[first].there)
        first++;
    kinds[first].numbers = kinds[first].there;
}

/* ---- what the effects say ---- */

static void note_auto(stk_loader *loader, const stk__flip_kind kinds[KIND_COUNT], const char *asked)
{
    const stk__flip_kind *example = NULL;
    char text[64];
    for (int k = KIND_COUNT - 1; k >= 0; k--)
        if (kinds[k].pairs->count) example = &kinds[k];
    if (!example) {
        if (asked) stk__loader_note(loader, "data.flip_pairs", "none", "auto: no names of two sides");
        return;
    }
    const stk__flip_pair pair = example->pairs->pairs[0];
    stk__flip_print(&loader->recipe.flip, text, sizeof text);
    stk__loader_note(loader, "data.flip_pairs", text, "auto: %s names, such as %.40s and %.40s",
                     example->what, example->names.texts[pair.a], example->names.texts[pair.b]);
}

/* Names became numbers. */
static void note_list(stk_loader *loader, const char *asked)
{
    char text[64];
    stk__flip_print(&loader->recipe.flip, text, sizeof text);
    if (strcmp(text, asked) != 0)
        stk__loader_note(loader, "data.flip_pairs", text, "numbers of the classes and points listed");
}

static const char *find_useless(const stk_loader *loader, const stk__flip_kind kinds[KIND_COUNT])
{
    bool any = false;
    for (int k = 0; k < KIND_COUNT; k++)
        any = any || kinds[k].there;
    if (!loader->source->info.images) return "there are no images";
    if (!any) return "there are no classes and no points";
    if (!loader->plan || !stk__plan_mirrors(loader->plan)) return "no image is mirrored";
    return NULL;
}

stk_status stk__loader_choose_flip(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    const char *asked = loader->asked->flip_pairs; /* NULL: left to us */
    stk__flip *flip = &loader->recipe.flip;
    stk__flip_kind kinds[KIND_COUNT];
    if (strcmp(o->flip_pairs, "none") == 0) return STK_OK;
    list_kinds(loader, kinds);
    const char *useless = find_useless(loader, kinds);
    if (useless) {
        if (asked) stk__loader_note(loader, "data.flip_pairs", "", "not used here: %s", useless);
        return STK_OK;
    }
    const bool automatic = strcmp(o->flip_pairs, "auto") == 0;
    STK__TRY(
        stk__flip_list_read(&(stk__flip_list){"data.flip_pairs", kinds, KIND_COUNT}, o->flip_pairs, error));
    if (automatic)
        note_auto(loader, kinds, asked);
    else
        note_list(loader, asked);
    flip->on = flip->masks.count || flip->labels.count || flip->points.count;
    flip->by_names = flip->on && !asked;
    stk__flip_make_ids(flip);
    return STK_OK;
}

stk_status stk__loader_refuse_new_pairs(const stk_loader *loader, const char *what, stk_error *error)
{
    char text[64];
    if (!loader || !loader->recipe.flip.by_names) return STK_OK;
    stk__flip_print(&loader->recipe.flip, text, sizeof text);
    stk__fail(error, STK_ERROR_CONFIG,
              "%s was begun without data.flip_pairs, and now left and right would change places in mirrored "
              "images (%s)",
              what, text);
    stk__error_hint(
        error,
        "data.flip_pairs=none resumes as it was begun; data.flip_pairs=auto goes over to the new rule");
    return STK_ERROR_CONFIG;
}
