/* SPDX-License-Identifier: Apache-2.0 */
/* What training would do with these masks: the rules of loader/mask_decision.h, over all of them instead of a
 * fixed set. Where 255 is the foreground of two classes its pixels count as class 1; what training would
 * refuse becomes a finding; so do masks of images with an EXIF orientation that do not agree. After the last
 * batch; one thread. */
#include "session/stats/data_stats.h"

#include "loader/mask_decision.h"

#include <stdio.h>
#include <string.h>

static void fill_survey(const stk__data_stats *stats, stk__mask_survey *survey)
{
    survey->part_count = survey->chosen = survey->looked = stats->masks;
    survey->indexed = stats->files[STK_FIELD_MASK].palette;
    survey->ids.beside_255 = stats->beside_ignored;
    survey->ids.empty = stats->all_zero.count;
    memcpy(survey->ids.pixels, stats->mask_pixels, sizeof survey->ids.pixels);
    memcpy(survey->ids.masks, stats->mask_samples, sizeof survey->ids.masks);
}

static void take_foreground(stk__data_stats *stats)
{
    stats->mask_pixels[1] = stats->mask_pixels[STK_DATA_IGNORED];
    stats->mask_samples[1] = stats->mask_samples[STK_DATA_IGNORED];
    stats->mask_pixels[STK_DATA_IGNORED] = stats->mask_samples[STK_DATA_IGNORED] = 0;
    stats->no_class = stats->all_zero;
    stats->masks_binary = true;
}

/* The first one. */
static void keep_refusal(stk__data_stats *stats, const stk_error *refusal)
{
    if (stats->masks_refused[0]) return;
    snprintf(stats->masks_refused, sizeof stats->masks_refused, "%s", refusal->message);
    snprintf(stats->masks_hint, sizeof stats->masks_hint, "%s", refusal->hint);
}

stk_status stk__data_frames_judge(stk__data_stats *stats, const stk_loader *loader, stk_mask_frame frame,
                                  stk_error *error)
{
    const stk__mask_given given = {.frame = frame, .ignore_index = -1};
    const stk__survey_options options = {.most = STK_SURVEY_SAMPLES, .both_parts = true, .frames_only = true};
    if (!stats->masks || !stats->files[STK_FIELD_IMAGE].turned) return STK_OK;
    struct {
        stk__mask_survey survey;
        stk__mask_decision decision;
        stk_error refusal;
    } *look = stk__alloc(sizeof *look);
    if (!look) return stk__fail_memory(error, sizeof *look, "a look at the masks");
    const stk_status status = stk__mask_survey_run(loader, options, &look->survey, error);
    if (status == STK_OK &&
        stk__mask_decide_frame(&look->survey, &given, &look->decision, &look->refusal) != STK_OK)
        keep_refusal(stats, &look->refusal);
    stk__free(look);
    return status;
}

/* Whether the masks of the fixed set agree about what an index means. */
stk_status stk__data_palettes_judge(stk__data_stats *stats, const stk_loader *loader, const char *mask_map,
                                    stk_error *error)
{
    const stk__mask_given given = {.map = mask_map};
    const stk__survey_options options = {.most = STK_SURVEY_SAMPLES, .both_parts = true};
    if (stats->masks_mapped || stats->files[STK_FIELD_MASK].palette < 2) return STK_OK;
    struct {
        stk__mask_survey survey;
        stk_error refusal;
    } *look = stk__alloc(sizeof *look);
    if (!look) return stk__fail_memory(error, sizeof *look, "a look at the masks");
    const stk_status status = stk__mask_survey_run(loader, options, &look->survey, error);
    if (status == STK_OK && stk__mask_decide_palettes(&look->survey, &given, &look->refusal) != STK_OK)
        keep_refusal(stats, &look->refusal);
    stk__free(look);
    return status;
}

stk_status stk__data_masks_judge(stk__data_stats *stats, const char *mask_map, stk_error *error)
{
    const stk__mask_given given = {
        .map = mask_map, .class_count = stats->info.class_count, .ignore_index = -1};
    if (!stats->masks || stats->masks_mapped) return STK_OK;
    struct {
        stk__mask_survey survey;
        stk__mask_decision decision;
        stk_error refusal;
    } *look = stk__alloc(sizeof *look);
    if (!look) return stk__fail_memory(error, sizeof *look, "a look at the masks");
    fill_survey(stats, &look->survey);
    if (stk__mask_decide(&look->survey, &given, &look->decision, &look->refusal) != STK_OK) {
        keep_refusal(stats, &look->refusal);
    } else if (strcmp(look->decision.map, STK_DATA_BINARY_MAP) == 0) {
        take_foreground(stats);
    }
    stk__free(look);
    return STK_OK;
}
