/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer calls back with each batch that is evaluated, in its own thread; a few samples are kept in
 * fixed arrays, and every evaluation begins again, so that the last one is what is written. */
#include "session/run_predictions.h"

#include "core/json_text.h"

#include <math.h>
#include <stdio.h>

#define PICTURE "predictions.png"

static int room_of(stk__task task)
{
    return task == STK_TASK_REGRESSION       ? STK_PREDICTIONS_VALUES
           : task == STK_TASK_CLASSIFICATION ? STK_PREDICTIONS_CLASSES
                                             : STK_PREDICTIONS_PICTURES;
}

/* --- looking at batches --------------------------------------------------------------------------------
 */

static void keep_value(stk__run_predictions *a, const stk_batch *batch, const stk_tensor *prediction,
                       int64_t i)
{
    a->truth[a->count] = ((const float *)batch->labels.data)[i];
    a->said[a->count] = ((const float *)prediction->data)[i * prediction->strides[0]];
}

/* The largest logit, and its share by softmax. */
static void keep_class(stk__run_predictions *a, const stk_batch *batch, const stk_tensor *prediction,
                       int64_t i)
{
    const int64_t classes = prediction->shape[prediction->ndim - 1];
    const float *logits = (const float *)prediction->data + i * prediction->strides[0];
    int64_t best = 0;
    double sum = 0;
    for (int64_t c = 1; c < classes; c++)
        if (logits[c] > logits[best]) best = c;
    for (int64_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - (double)logits[best]);
    a->truth_class[a->count] = ((const int64_t *)batch->labels.data)[i];
    a->said_class[a->count] = best;
    a->said_share[a->count] = 1 / sum;
    stk__eval_sheet_picture(&a->sheet, batch, i);
}

/* A folder's classes come one after the other, so pictures of classes are taken from all of the part, at
 * equal distances. Values are a curve: the first ones. */
static bool is_kept(const stk__run_predictions *a, uint64_t sample)
{
    const uint64_t room = (uint64_t)room_of(a->task), all = a->data->sample_count;
    return a->count < room_of(a->task) &&
           (a->task == STK_TASK_REGRESSION || all <= room || sample * room % all < room);
}

static void look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk__run_predictions *a = context;
    const bool pictures = a->task == STK_TASK_SEGMENTATION || a->task == STK_TASK_POINTS;
    if (batch->position == 0) { /* another evaluation */
        a->count = a->sheet.drawn = 0;
        a->stats = (stk__prediction_stats){0};
    }
    stk__prediction_stats_add(&a->stats, a->task, batch, prediction);
    if (pictures) {
        stk__eval_sheet_look(&a->sheet, batch, prediction);
        a->count = a->sheet.drawn;
        return;
    }
    for (int64_t i = 0; i < batch->count; i++) {
        if (!is_kept(a, batch->position + (uint64_t)i)) continue;
        (a->task == STK_TASK_REGRESSION ? keep_value : keep_class)(a, batch, prediction, i);
        a->count++;
    }
}

stk_status stk__run_predictions_init(stk__run_predictions *a, const stk__session *session, stk_error *error)
{
    *a = (stk__run_predictions){.task = stk__trainer_describe(session->trainer)->network->task};
    if (!session->val_loader) return STK_OK;
    a->data = stk_loader_describe(session->val_loader);
    if (a->task == STK_TASK_CLASSIFICATION)
        STK__TRY(stk__eval_sheet_begin(&a->sheet, session, 1, STK_PREDICTIONS_CLASSES, error));
    else if (a->task != STK_TASK_REGRESSION)
        STK__TRY(stk__eval_sheet_init(&a->sheet, session, STK_PREDICTIONS_PICTURES, error));
    stk__trainer_watch(session->trainer, look, a);
    return STK_OK;
}

void stk__run_predictions_fini(stk__run_predictions *a)
{
    stk__eval_sheet_fini(&a->sheet);
}

/* --- files ---------------------------------------------------------------------------------------------
 */

static json_t *class_json(const stk__run_predictions *a, int64_t id)
{
    char text[24];
    if (id >= 0 && id < a->data->class_count && a->data->class_names)
        return stk__json_string(a->data->class_names[id]);
    snprintf(text, sizeof text, "%lld", (long long)id);
    return id < 0 ? json_null() : json_string(text);
}

static json_t *sample_json(const stk__run_predictions *a, int i)
{
    if (a->task == STK_TASK_CLASSIFICATION)
        return json_pack("{s:o, s:o, s:o}", "truth", class_json(a, a->truth_class[i]), "prediction",
                         class_json(a, a->said_class[i]), "probability", stk__json_number(a->said_share[i]));
    if (a->task == STK_TASK_REGRESSION)
        return json_pack("{s:o, s:o}", "truth", stk__json_number(a->truth[i]), "prediction",
                         stk__json_number(a->said[i]));
    return json_object();
}

static json_t *answers_json(const stk__run_predictions *a)
{
    const int columns = a->sheet.sheet.columns;
    json_t *samples = json_array(),
           *json = json_pack("{s:i, s:s, s:i, s:i}", "schema", 1, "task", stk__task_word(a->task), "columns",
                             columns, "rows", a->sheet.sheet.rows);
    for (int i = 0; i < a->count; i++)
        json_array_append_new(samples, sample_json(a, i));
    json_object_set_new(json, "samples", samples);
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
