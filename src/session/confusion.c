/* SPDX-License-Identifier: Apache-2.0 */
/* Counts while batches come, everything else when it is asked for. With h = counts[c][c], t the sum of row c
 * (how many are c) and p the sum of column c (how many were taken for c):
 *
 *     precision = h / p    recall = h / t    IoU = h / (t + p - h)    F-score = 2 h / (t + p)
 *
 * and null where that is 0 / 0. The trainer's thread. */
#include "session/confusion.h"

#include "core/json_text.h"
#include "report/run_keys.h"
#include "session/sample_score.h"
#include "session/sheet/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SHOWN = 64, LARGEST = 20 }; /* classes of a matrix in run.json; confusions in the list */

stk_status stk__confusion_init(stk__confusion *c, const stk__session *session, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(session->trainer);
    *c = (stk__confusion){.session = session, .task = info->network->task};
    if (c->task != STK_TASK_CLASSIFICATION) return STK_OK;
    const stk__shape *output = &stk__pass_forms(info->pass)[info->network->output].output;
    c->classes = output->dim[output->ndim - 1];
    const size_t bytes = (size_t)(c->classes * c->classes) * sizeof(int64_t);
    STK__TRY(stk__buffer_reserve(&c->counts, bytes, error));
    memset(c->counts.data, 0, bytes);
    return STK_OK;
}

void stk__confusion_fini(stk__confusion *c)
{
    stk__buffer_fini(&c->counts);
}

void stk__confusion_add(stk__confusion *c, const stk_batch *batch, const stk_tensor *prediction)
{
    int64_t *counts = (int64_t *)(void *)c->counts.data;
    double probability;
    if (!counts) return;
    if (batch->position == 0) memset(counts, 0, (size_t)(c->classes * c->classes) * sizeof *counts);
    c->counted = true;
    for (int64_t i = 0; i < batch->count; i++) {
        const int64_t label = ((const int64_t *)batch->labels.data)[i];
        if (label < 0 || label >= c->classes || stk__sample_is_skipped(batch, i)) continue;
        counts[label * c->classes + stk__answer_class(prediction, i, &probability)]++;
    }
}

/* --- JSON --------------------------------------------------------------------------------------------------
 */

static json_t *name_json(const stk_loader_info *data, int64_t id)
{
    char text[32];
    if (data->class_names && id < data->class_count) return stk__json_string(data->class_names[id]);
    snprintf(text, sizeof text, "class %lld", (long long)id);
    return json_string(text);
}

/* Of masks; the background stays as it is in pictures. */
static json_t *colour_json(const stk__confusion *c, int64_t id)
{
    uint8_t rgb[3];
    char text[8];
    if (c->task != STK_TASK_SEGMENTATION || id == 0) return json_null();
    stk__sheet_colour((uint8_t)id, rgb);
    snprintf(text, sizeof text, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    return json_string(text);
}

static double quotient(int64_t a, int64_t b)
{
    return b > 0 ? (double)a / (double)b : NAN;
}

static json_t *class_json(const stk__confusion *c, const int64_t *counts, int64_t n, int64_t id)
{
    const int64_t hits = counts[id * n + id];
    int64_t truth = 0, found = 0;
    for (int64_t k = 0; k < n; k++) {
        truth += counts[id * n + k];
        found += counts[k * n + id];
    }
    json_t *row = json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o, s:o}", STK_RUN_KEY_NAME_OF_CLASS,
        name_json(stk_loader_describe(c->session->val_loader), id), STK_RUN_KEY_COLOUR_OF_CLASS,
        colour_json(c, id), STK_RUN_KEY_COUNT_OF_CLASS, (json_int_t)truth, STK_RUN_KEY_PREDICTED_OF_CLASS,
        (json_int_t)found, STK_RUN_KEY_PRECISION_OF_CLASS, stk__json_number(quotient(hits, found)),
        STK_RUN_KEY_RECALL_OF_CLASS, stk__json_number(quotient(hits, truth)), STK_RUN_KEY_F_SCORE_OF_CLASS,
        stk__json_number(quotient(2 * hits, truth + found)));
    if (c->task == STK_TASK_SEGMENTATION)
        json_object_set_new(row, STK_RUN_KEY_IOU_OF_CLASS,
                            stk__json_number(quotient(hits, truth + found - hits)));
    return row;
}

static json_t *matrix_json(const int64_t *counts, int64_t n)
{
    if (n > MOST_SHOWN) return json_null();
    json_t *rows = json_array();
    for (int64_t truth = 0; truth < n; truth++) {
        json_t *row = json_array();
        for (int64_t said = 0; said < n; said++)
            json_array_append_new(row, json_integer((json_int_t)counts[truth * n + said]));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* The largest counts beside the diagonal, by insertion: as many as are listed. Returns how many. */
static int find_largest(const int64_t *counts, int64_t n, int64_t at[LARGEST])
{
    int found = 0;
    for (int64_t k = 0; k < n * n; k++) {
        if (k / n == k % n || !counts[k]) continue;
        if (found == LARGEST && counts[at[found - 1]] >= counts[k]) continue;
        int place = found < LARGEST ? found++ : LARGEST - 1;
        for (; place > 0 && counts[at[place - 1]] < counts[k]; place--)
            at[place] = at[place - 1];
        at[place] = k;
    }
    return found;
}

static json_t *largest_json(const stk_loader_info *data, const int64_t *counts, int64_t n)
{
    int64_t at[LARGEST];
    const int found = find_largest(counts, n, at);
    json_t *rows = json_array();
    for (int i = 0; i < found; i++)
        json_array_append_new(rows, json_pack("{s:o, s:o, s:I}", STK_RUN_KEY_TRUTH_OF_CONFUSION,
                                              name_json(data, at[i] / n), STK_RUN_KEY_PREDICTION_OF_CONFUSION,
                                              name_json(data, at[i] % n), STK_RUN_KEY_COUNT_OF_CONFUSION,
                                              (json_int_t)counts[at[i]]));
    return rows;
}

json_t *stk__confusion_json(const stk__confusion *c)
{
    int64_t n = c->classes;
    const int64_t *counts = c->counted ? (const int64_t *)(const void *)c->counts.data : NULL;
    if (c->session && c->task == STK_TASK_SEGMENTATION)
        counts = stk__trainer_confusion(c->session->trainer, &n);
    if (!counts) return json_null();
    json_t *classes = json_array();
    for (int64_t id = 0; id < n; id++)
        json_array_append_new(classes, class_json(c, counts, n, id));
    return json_pack("{s:s, s:o, s:o, s:o}", STK_RUN_KEY_UNIT_OF_EVALUATION,
                     c->task == STK_TASK_SEGMENTATION ? "pixels" : "samples",
                     STK_RUN_KEY_CLASSES_OF_EVALUATION, classes, STK_RUN_KEY_CONFUSION_OF_EVALUATION,
                     matrix_json(counts, n), STK_RUN_KEY_CONFUSIONS_OF_EVALUATION,
                     largest_json(stk_loader_describe(c->session->val_loader), counts, n));
}
