/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions as rows and files: class, value, points or mask of each sample as JSON, and as PNG in the size
 * of the original, named after it. Buffers, decoder and PNG writer are kept from sample to sample: only the
 * rows take new memory. Called with each batch, in the consumer's thread; so are the caller's functions. */
#include "session/predict/predict_answer.h"

#include "session/sheet/eval_sheet.h"
#include "session/predict/predict_source.h"

#include "core/file.h"
#include "core/json_text.h"
#include "image/resize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 5 }; /* classes in a row */

stk_status stk__answers_init(stk__answers *a, const stk__limits *limits, stk_error *error)
{
    a->rows = json_array();
    if (!a->rows) return stk__fail_memory(error, 64, "the list of predictions");
    STK__TRY(stk__original_init(&a->original, a->source, limits, error));
    return stk__png_writer_create(&a->png, STK_PNG_LEVEL_QUICK, error);
}

void stk__answers_fini(stk__answers *a)
{
    stk__buffer *const buffers[] = {&a->ids, &a->mask, &a->file};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        stk__buffer_fini(buffers[i]);
    stk__original_fini(&a->original);
    stk__png_writer_destroy(&a->png);
    json_decref(a->rows);
    json_decref(a->failures);
}

void stk__answers_refuse(stk__answers *a, const char *file, const char *damage, const char *detail)
{
    if (a->on_refusal) a->on_refusal(a->context, file, damage, detail);
    if (!a->failures) a->failures = json_array();
    json_array_append_new(a->failures, json_pack("{s:o, s:s?, s:o}", "file", stk__json_string(file), "damage",
                                                 damage, "error", stk__json_string(detail)));
}

/* --- names of pictures -----------------------------------------------------------------------------------
 */

/* Of two names by their offsets in the texts. */
static int compare_names(const void *a, const void *b, void *texts)
{
    const char *const names = texts;
    return strcmp(names + *(const size_t *)a, names + *(const size_t *)b);
}

/* offsets: [count of samples], where the key of each lies in texts. */
static stk_status find_duplicates(const stk__answers *a, stk__buffer *texts, size_t *offsets,
                                  stk_error *error)
{
    const uint64_t count = a->source->info.count;
    char key[PATH_MAX];
    for (uint64_t id = 0; id < count; id++) {
        a->source->ops->key(a->source, id, key, sizeof key);
        STK__TRY(stk__buffer_text(texts, key, strlen(key), &offsets[id], error));
    }
    qsort_r(offsets, count, sizeof *offsets, compare_names, texts->data);
    for (uint64_t i = 1; i < count; i++) {
        if (compare_names(&offsets[i - 1], &offsets[i], texts->data) != 0) continue;
        stk__fail(error, STK_ERROR_CONFIG, "two of the images would write the same '%s/%s.png'", a->folder,
                  (const char *)texts->data + offsets[i]);
        stk__error_hint(error, "name a folder above both, or predict them apart, each with its own --output");
        return STK_ERROR_CONFIG;
    }
    return STK_OK;
}

stk_status stk__answers_check_names(const stk__answers *a, stk_error *error)
{
    stk__buffer texts = {0};
    const size_t size_bytes = a->source->info.count * sizeof(size_t);
    size_t *offsets = stk__alloc(size_bytes);
    if (!offsets) return stk__fail_memory(error, size_bytes, "names of pictures");
    const stk_status status = find_duplicates(a, &texts, offsets, error);
    stk__buffer_fini(&texts);
    stk__free(offsets);
    return status;
}

/* --- pictures --------------------------------------------------------------------------------------------
 */

static stk_status write_png(stk__answers *a, stk__pixels pixels, const char *path, stk_error *error)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    if (slash) STK__TRY(stk__folder_make(folder, error));
    STK__TRY(stk__png_write(a->png, pixels, &(stk__png_options){.filter = STK_PNG_BEST}, &a->file, error));
    return stk__file_write(path, a->file, STK_FILE_QUICK, error);
}

/* With its pixels where something is drawn on them. */
static stk_status open_original(stk__answers *a, uint64_t id, stk__pixels *original, stk_error *error)
{
    a->original.upright = a->upright;
    return stk__original_open(&a->original, id, a->overlay, original, error);
}

void stk__answers_path(const stk__answers *a, uint64_t id, const char *end, char path[PATH_MAX])
{
    char key[PATH_MAX];
    a->source->ops->key(a->source, id, key, sizeof key);
    snprintf(path, PATH_MAX, "%.1500s/%.2000s%s", a->folder, key, end);
}

static stk_status write_overlay(stk__answers *a, uint64_t id, stk__pixels picture, json_t *row,
                                stk_error *error)
{
    char path[PATH_MAX];
    stk__answers_path(a, id, ".overlay.png", path);
    json_object_set_new(row, "overlay", stk__json_string(path));
    return write_png(a, picture, path, error);
}

/* --- tasks -----------------------------------------------------------------------------------------------
 */

static json_t *class_json(const stk__answers *a, int64_t class_number, const char *what, double share)
{
    return json_pack("{s:I, s:s?, s:f}", "class", (json_int_t)class_number, "name",
                     stk__run_class_name(a->data, class_number), what, share);
}

/* The TOP largest of some numbers, from the largest on; those at or below 0 are left out. */
static int best_of(const double *values, int64_t count, int64_t *best)
{
    int found = 0;
    for (; found < TOP && found < count; found++) {
        int64_t at = -1;
        for (int64_t c = 0; c < count; c++) {
            bool taken = false;
            for (int i = 0; i < found; i++)
                taken |= best[i] == c;
            if (!taken && values[c] > 0 && (at < 0 || values[c] > values[at])) at = c;
        }
        if (at < 0) break;
        best[found] = at;
    }
    return found;
}

static void add_classes(const stk__answers *a, json_t *row, const double *shares, int64_t classes,
                        const char *what)
{
    int64_t best[TOP];
    const int found = best_of(shares, classes, best);
    json_t *list = json_array();
    for (int i = 0; i < found; i++)
        json_array_append_new(list, class_json(a, best[i], what, shares[best[i]]));
    json_object_set_new(row, "classes", list);
}

static stk_status answer_mask(stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, json_t *row,
                              stk_error *error)
{
    char path[PATH_MAX];
    double shares[STK_OP_CLASSES] = {0};
    stk__pixels original;
    STK__TRY(open_original(a, id, &original, error));
    const size_t count = (size_t)original.w * (size_t)original.h;
    STK__TRY(stk__buffer_reserve(&a->ids, (size_t)(p->shape[1] * p->shape[2]), error));
    STK__TRY(stk__buffer_reserve(&a->mask, count, error));
    const stk__pixels small = stk__answer_ids(p, i, a->ids.data),
                      mask = stk__pixels_dense(a->mask.data, original.w, original.h, 1);
    stk__resize_mask(small, mask);
    for (size_t at = 0; at < count; at++)
        shares[mask.data[at]] += 1 / (double)count;
    stk__answers_path(a, id, ".png", path);
    STK__TRY(write_png(a, mask, path, error));
    json_object_set_new(row, "mask", stk__json_string(path));
    json_object_set_new(row, "width", json_integer(original.w));
    json_object_set_new(row, "height", json_integer(original.h));
    add_classes(a, row, shares, p->shape[3], "share");
    for (size_t at = 0; a->overlay && at < count; at++)
        stk__sheet_tint(original.data + 3 * at, mask.data[at]);
    return a->overlay ? write_overlay(a, id, original, row, error) : STK_OK;
}

static void add_point(const stk__answers *a, json_t *list, int64_t k, const double at[2])
{
    json_array_append_new(list, json_pack("{s:I, s:s?, s:o, s:o}", "point", (json_int_t)k, "name",
                                          stk__run_point_name(a->data, k), "x", stk__json_number(at[0]), "y",
                                          stk__json_number(at[1])));
}

static stk_status answer_points(stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, json_t *row,
                                stk_error *error)
{
    stk__pixels original;
    json_t *list = json_array();
    json_object_set_new(row, "points", list);
    STK__TRY(open_original(a, id, &original, error));
    for (int64_t k = 0; k < p->shape[3] / 3; k++) {
        double at[2];
        stk__answer_point(p, i, k, original, at);
        add_point(a, list, k, at);
        if (a->overlay) stk__answer_cross(original, at[0], at[1], (int)k);
    }
    json_object_set_new(row, "width", json_integer(original.w));
    json_object_set_new(row, "height", json_integer(original.h));
    return a->overlay ? write_overlay(a, id, original, row, error) : STK_OK;
}

/* Softmax, with the largest logit taken off before exp, which could overflow. */
static void answer_class(const stk__answers *a, const stk_tensor *p, int64_t i, json_t *row)
{
    const int64_t classes = p->shape[1];
    const float *logits = (const float *)p->data + i * p->strides[0];
    double shares[STK_OP_CLASSES], sum = 0;
    float most = logits[0];
    for (int64_t c = 1; c < classes; c++)
        most = logits[c] > most ? logits[c] : most;
    for (int64_t c = 0; c < classes; c++)
        sum += shares[c] = exp((double)logits[c] - most);
    for (int64_t c = 0; c < classes; c++)
        shares[c] /= sum;
    add_classes(a, row, shares, classes, "probability");
}

/* Sigmoids above 0.5, from the most probable on. */
static void answer_labels(const stk__answers *a, const stk_tensor *p, int64_t i, json_t *row)
{
    const float *logits = (const float *)p->data + i * p->shape[1];
    bool taken[STK_OP_CLASSES] = {false};
    json_t *list = json_array();
    for (;;) {
        int64_t best = -1;
        for (int64_t c = 0; c < p->shape[1]; c++)
            if (!taken[c] && logits[c] > 0 && (best < 0 || logits[c] > logits[best])) best = c;
        if (best < 0) break;
        taken[best] = true;
        json_array_append_new(list, class_json(a, best, "probability", 1 / (1 + exp(-(double)logits[best]))));
    }
    json_object_set_new(row, "labels", list);
}

static void answer_value(const stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, json_t *row)
{
    const double value = ((const float *)p->data)[i * p->strides[0]];
    if (stk__task_reads_windows(a->task))
        json_object_set_new(row, "row", json_integer((json_int_t)stk__predict_row(a->source, id)));
    json_object_set_new(row, "value", stk__json_number(value));
}

static stk_status answer(stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, stk_error *error)
{
    char where[PATH_MAX];
    stk_status status = STK_OK;
    a->source->ops->where(a->source, id, STK_FIELD_IMAGE, where, sizeof where);
    json_t *row = json_pack("{s:o}", "file", stk__json_string(where));
    if (a->task == STK_TASK_SEGMENTATION)
        status = answer_mask(a, id, p, i, row, error);
    else if (a->task == STK_TASK_POINTS)
        status = answer_points(a, id, p, i, row, error);
    else if (a->task == STK_TASK_CLASSIFICATION)
        answer_class(a, p, i, row);
    else if (a->task == STK_TASK_MULTILABEL)
        answer_labels(a, p, i, row);
    else
        answer_value(a, id, p, i, row);
    if (a->on_row) a->on_row(a->context, id, row);
    json_array_append_new(a->rows, row);
    return status;
}

void stk__answers_look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk__answers *a = context;
    const int64_t *ids = batch->sample_ids.data;
    const float *weights = batch->weights.data;
    for (int64_t i = 0; i < batch->count && a->status == STK_OK; i++) {
        a->done++;
        if (weights[i] > 0) a->status = answer(a, (uint64_t)ids[i], prediction, i, &a->error);
    }
}

/* --- report ----------------------------------------------------------------------------------------------
 */

json_t *stk__answers_json(const stk__answers *a, const char *checkpoint)
{
    return json_pack("{s:i, s:s, s:o, s:O, s:o}", "schema", 1, "task", stk__task_word(a->task), "checkpoint",
                     stk__json_string(checkpoint), "predictions", a->rows, "failures",
                     a->failures ? json_incref(a->failures) : json_array());
}

stk_status stk__answers_write(const stk__answers *a, const char *checkpoint, stk_error *error)
{
    char path[1024];
    stk__buffer text = {0};
    if ((size_t)snprintf(path, sizeof path, "%s/predictions.json", a->folder) >= sizeof path)
        return stk__fail(error, STK_ERROR_CONFIG, "--output is too long");
    STK__TRY(stk__folder_make(a->folder, error));
    stk_status status = stk__json_text(&text, stk__answers_json(a, checkpoint), JSON_INDENT(2), error);
    if (status == STK_OK) status = stk__file_write(path, text, STK_FILE_QUICK, error);
    stk__buffer_fini(&text);
    return status;
}
