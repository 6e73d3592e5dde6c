/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer calls back with each batch that is evaluated, in its own thread; a few samples are kept in
 * fixed arrays, and every evaluation begins again, so that the last one is what is written. The worst samples
 * so far have rows of the sheet; one that is worse takes the row of the best of them. */
#include "session/run_predictions.h"

#include "core/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PICTURE "predictions.png"

enum { LEGEND = 80 };

static int room_of(stk__task task)
{
    return stk__task_reads_windows(task)     ? STK_PREDICTIONS_VALUES
           : stk__eval_sheet_has_trios(task) ? STK_PREDICTIONS_PICTURES
                                             : STK_PREDICTIONS_CLASSES;
}

static int least(int room, uint64_t samples)
{
    return (uint64_t)room < samples ? room : (int)samples;
}

/* Of the sheet: samples, then the worst ones. */
static int32_t rows_of(stk__task task, const stk_loader_info *data)
{
    return least(room_of(task), data->sample_count) + least(STK_PREDICTIONS_WORST, data->sample_count);
}

/* --- looking at batches ------------------------------------------------------------------------------------
 */

static stk__kept_prediction read_sample(const stk__run_predictions *a, const stk_batch *batch,
                                        const stk_tensor *prediction, int64_t i)
{
    stk__kept_prediction kept = {.id = ((const int64_t *)batch->sample_ids.data)[i],
                                 .score =
                                     stk__sample_score(a->task, batch, prediction, i, a->sheet.ids.data)};
    if (a->task == STK_TASK_CLASSIFICATION) {
        kept.truth = (double)((const int64_t *)batch->labels.data)[i];
        kept.said = (double)stk__answer_class(prediction, i, &kept.probability);
    } else if (a->task == STK_TASK_MULTILABEL) {
        const int64_t at = i * prediction->shape[1];
        stk__label_set_print(a->data, (const float *)batch->labels.data + at, 0.5F, kept.truths,
                             sizeof kept.truths);
        stk__label_set_print(a->data, (const float *)prediction->data + at, 0, kept.labels,
                             sizeof kept.labels);
    } else if (stk__task_has_values(a->task)) {
        kept.truth = (double)((const float *)batch->labels.data)[i];
        kept.said = (double)((const float *)prediction->data)[i * prediction->strides[0]];
    }
    return kept;
}

/* Values are a curve: the first ones. Others come from all of the part, because a folder's classes follow one
 * after the other. */
static bool is_kept(const stk__run_predictions *a, uint64_t position)
{
    return a->count < a->room && (stk__task_reads_windows(a->task) ||
                                  stk__eval_sheet_picks(position, (uint64_t)a->room, a->data->sample_count));
}

static bool is_worse(const stk__run_predictions *a, double one, double other)
{
    return stk__sample_score_describe(a->task)->low ? one > other : one < other;
}

/* The row that the sample takes among the worst; NULL: it is not one of them. */
static stk__kept_prediction *find_worst(stk__run_predictions *a, double score)
{
    if (isnan(score)) return NULL;
    if (a->worst_count < STK_PREDICTIONS_WORST) {
        stk__kept_prediction *next = &a->worst[a->worst_count];
        next->row = a->room + a->worst_count++;
        return next;
    }
    stk__kept_prediction *best = &a->worst[0];
    for (int k = 1; k < STK_PREDICTIONS_WORST; k++)
        if (is_worse(a, best->score, a->worst[k].score)) best = &a->worst[k];
    return is_worse(a, score, best->score) ? best : NULL;
}

static void keep(stk__kept_prediction *place, int32_t row, const stk__kept_prediction *kept)
{
    *place = *kept;
    place->row = row;
}

static void look_at(stk__run_predictions *a, const stk_batch *batch, const stk_tensor *prediction, int64_t i)
{
    if (stk__sample_is_skipped(batch, i)) return;
    const stk__kept_prediction kept = read_sample(a, batch, prediction, i);
    const bool pictures = a->sheet.sheet.columns > 0;
    if (is_kept(a, batch->position + (uint64_t)i)) {
        const int32_t row = a->count++;
        keep(&a->samples[row], row, &kept);
        if (pictures) stk__eval_sheet_row(&a->sheet, batch, prediction, i, row);
    }
    stk__kept_prediction *worst = find_worst(a, kept.score);
    if (!worst) return;
    keep(worst, worst->row, &kept);
    if (pictures) stk__eval_sheet_row(&a->sheet, batch, prediction, i, worst->row);
}

static void look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk__run_predictions *a = context;
    if (batch->position == 0) { /* another evaluation */
        a->count = a->worst_count = 0;
        a->stats = (stk__prediction_stats){0};
    }
    stk__prediction_stats_add(&a->stats, a->task, batch, prediction);
    stk__confusion_add(&a->confusion, batch, prediction);
    for (int64_t i = 0; i < batch->count; i++)
        look_at(a, batch, prediction, i);
}

stk_status stk__run_predictions_init(stk__run_predictions *a, const stk__session *session, stk_error *error)
{
    *a = (stk__run_predictions){.task = stk__trainer_describe(session->trainer)->network->task};
    if (!session->val_loader) return STK_OK;
    a->loader = session->val_loader;
    a->data = stk_loader_describe(session->val_loader);
    a->room = least(room_of(a->task), a->data->sample_count);
    STK__TRY(stk__confusion_init(&a->confusion, session, error));
    if (!stk__task_reads_windows(a->task))
        STK__TRY(stk__eval_sheet_begin(&a->sheet, session, rows_of(a->task, a->data), error));
    stk__trainer_watch(session->trainer, look, a);
    return STK_OK;
}

void stk__run_predictions_fini(stk__run_predictions *a)
{
    stk__confusion_fini(&a->confusion);
    stk__eval_sheet_fini(&a->sheet);
}

uint64_t stk__run_predictions_bytes(const stk__session *session, stk__task task)
{
    if (!session->val_loader || stk__task_reads_windows(task)) return 0;
    const stk_loader_info *data = stk_loader_describe(session->val_loader);
    return stk__eval_sheet_bytes(task, data, rows_of(task, data));
}

/* --- files -------------------------------------------------------------------------------------------------
 */

static json_t *class_json(const stk__run_predictions *a, double number)
{
    char text[24];
    const int64_t id = (int64_t)number;
    if (id >= 0 && id < a->data->class_count && a->data->class_names)
        return stk__json_string(a->data->class_names[id]);
    snprintf(text, sizeof text, "%lld", (long long)id);
    return id < 0 ? json_null() : json_string(text);
}

static json_t *sample_json(const stk__run_predictions *a, const stk__kept_prediction *kept)
{
    char path[8192];
    const bool named = stk_loader_sample_path(a->loader, kept->id, path, sizeof path, NULL) == STK_OK;
    json_t *json = json_pack("{s:o, s:I, s:o}", "file", named ? stk__json_string(path) : json_null(),
                             "sample_id", (json_int_t)kept->id, stk__sample_score_describe(a->task)->name,
                             stk__json_number(kept->score));
    const bool windows = stk__task_reads_windows(a->task);
    if (!windows) json_object_set_new(json, "picture_row", json_integer(kept->row));
    if (a->task == STK_TASK_CLASSIFICATION) {
        json_object_set_new(json, "truth", class_json(a, kept->truth));
        json_object_set_new(json, "prediction", class_json(a, kept->said));
        json_object_set_new(json, "probability", stk__json_number(kept->probability));
    } else if (a->task == STK_TASK_MULTILABEL) {
        json_object_set_new(json, "truth", stk__json_string(kept->truths));
        json_object_set_new(json, "prediction", stk__json_string(kept->labels));
    } else if (stk__task_has_values(a->task)) {
        if (windows)
            json_object_set_new(json, "row", json_integer((json_int_t)kept->id + a->data->window_rows));
        json_object_set_new(json, "truth", stk__json_number(kept->truth));
        json_object_set_new(json, "prediction", stk__json_number(kept->said));
    }
    return json;
}

/* Colours of classes or points in the pictures; null: none. */
static json_t *legend_json(const stk__run_predictions *a)
{
    stk__sheet_entry legend[LEGEND];
    json_t *rows = json_array();
    int32_t count = 0;
    if (a->task == STK_TASK_SEGMENTATION)
        count = stk__sheet_list_classes(legend, LEGEND, a->data->class_count, a->data->class_names);
    else if (a->task == STK_TASK_POINTS)
        count = stk__eval_sheet_list_points(legend, LEGEND, a->data, STK_SYMBOL_BOX);
    for (int32_t i = 0; i < count; i++) {
        const uint8_t *rgb = legend[i].rgb;
        char colour[8];
        snprintf(colour, sizeof colour, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
        json_array_append_new(
            rows, json_pack("{s:o, s:o}", "name", stk__json_string(legend[i].text), "colour",
                            legend[i].symbol == STK_SYMBOL_BOX ? json_string(colour) : json_null()));
    }
    return rows;
}

static int by_score(const void *one, const void *other)
{
    const double a = ((const stk__kept_prediction *)one)->score,
                 b = ((const stk__kept_prediction *)other)->score;
    return a < b ? -1 : a > b;
}

/* The worst one first. */
static json_t *worst_json(stk__run_predictions *a)
{
    json_t *rows = json_array();
    const bool low = stk__sample_score_describe(a->task)->low;
    qsort(a->worst, (size_t)a->worst_count, sizeof a->worst[0], by_score);
    for (int k = 0; k < a->worst_count; k++)
        json_array_append_new(rows, sample_json(a, &a->worst[low ? a->worst_count - 1 - k : k]));
    return rows;
}

static json_t *answers_json(stk__run_predictions *a)
{
    const int columns = a->sheet.sheet.columns;
    const stk__sample_score_info *score = stk__sample_score_describe(a->task);
    json_t *samples = json_array(),
           *json = json_pack("{s:i, s:s, s:i, s:i, s:s, s:s}", "schema", 1, "task", stk__task_word(a->task),
                             "columns", columns, "rows", a->sheet.sheet.rows, "score", score->name,
                             "score_words", score->words);
    for (int i = 0; i < a->count; i++)
        json_array_append_new(samples, sample_json(a, &a->samples[i]));
    json_object_set_new(json, "score_unit", json_string(score->unit));
    json_object_set_new(json, "samples", samples);
    json_object_set_new(json, "worst", worst_json(a));
    json_object_set_new(json, "legend", legend_json(a));
    if (columns) /* where a picture lies in the sheet */
        json_object_set_new(json, "cell",
                            json_pack("{s:i, s:i, s:i}", "width_px", a->sheet.sheet.cell_w, "height_px",
                                      a->sheet.sheet.cell_h, "gap_px", STK_SHEET_GAP_PX));
    json_object_set_new(json, "picture", columns ? json_string(PICTURE) : json_null());
    return json;
}

stk_status stk__run_predictions_write(stk__run_predictions *a, stk__run_folder *folder, stk_error *error)
{
    char path[1024];
    if (!a->count) return STK_OK;
    if (a->sheet.status != STK_OK) {
        *error = a->sheet.error;
        return a->sheet.status;
    }
    stk__run_folder_file(folder, PICTURE, path, sizeof path);
    if (a->sheet.sheet.columns) STK__TRY(stk__sheet_write(&a->sheet.sheet, path, error));
    return stk__run_folder_write_json(folder, "predictions.json", answers_json(a), error);
}
