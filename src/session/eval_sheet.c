/* SPDX-License-Identifier: Apache-2.0 */
/* Called back by the trainer for each batch of an evaluation, in its thread; draws until the sheet is full
 * and keeps the first failure for whoever asks later. */
#include "session/eval_sheet.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 3, ARM_PX = 6 };

stk_status stk__eval_sheet_begin(stk__eval_sheet *sheet, const stk__session *session, int32_t columns,
                                 int32_t rows, stk_error *error)
{
    const stk_loader_info *info = stk_loader_describe(session->val_loader);
    const stk_loader_options *options = &session->val_data;
    *sheet = (stk__eval_sheet){.task = stk__trainer_describe(session->trainer)->network->task};
    for (int c = 0; c < 3; c++) {
        sheet->mean[c] = options->mean[c];
        sheet->std[c] = options->std[c] == 0 ? 1 : options->std[c];
    }
    if ((uint64_t)rows > info->sample_count) rows = (int32_t)info->sample_count;
    const size_t pixels = (size_t)info->w * (size_t)info->h;
    STK__TRY(stk__buffer_reserve(&sheet->picture, pixels * (size_t)info->channels, error));
    STK__TRY(stk__buffer_reserve(&sheet->ids, pixels, error));
    return stk__sheet_init(&sheet->sheet, columns, rows,
                           stk__pixels_dense(NULL, info->w, info->h, info->channels), error);
}

stk_status stk__eval_sheet_init(stk__eval_sheet *sheet, const stk__session *session, int32_t rows,
                                stk_error *error)
{
    const stk__task task = stk__trainer_describe(session->trainer)->network->task;
    if (task == STK_TASK_SEGMENTATION || task == STK_TASK_POINTS)
        return stk__eval_sheet_begin(sheet, session, COLUMNS, rows, error);
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "--sheet shows masks and points; this run is %s",
                     stk__task_word(task));
}

void stk__eval_sheet_fini(stk__eval_sheet *sheet)
{
    stk__sheet_fini(&sheet->sheet);
    stk__buffer_fini(&sheet->picture);
    stk__buffer_fini(&sheet->ids);
}

/* Normalised floats back to levels. */
static stk__pixels levels_of(const stk__eval_sheet *sheet, const stk_tensor *images, int64_t i)
{
    const int64_t channels = images->shape[3], count = images->strides[0];
    const float *values = (const float *)images->data + i * count;
    for (int64_t v = 0; v < count; v++) {
        const int c = (int)(v % channels);
        const double level = (values[v] * sheet->std[c] + sheet->mean[c]) * 255;
        sheet->picture.data[v] = (uint8_t)lrint(level < 0 ? 0 : level > 255 ? 255 : level);
    }
    return stk__pixels_dense(sheet->picture.data, (int32_t)images->shape[2], (int32_t)images->shape[1],
                             (int32_t)channels);
}

stk__pixels stk__answer_ids(const stk_tensor *prediction, int64_t i, uint8_t *ids)
{
    const int64_t classes = prediction->shape[3], pixels = prediction->shape[1] * prediction->shape[2];
    const float *logits = (const float *)prediction->data + i * prediction->strides[0];
    for (int64_t p = 0; p < pixels; p++, logits += classes) {
        int64_t best = 0;
        for (int64_t c = 1; c < classes; c++)
            if (logits[c] > logits[best]) best = c;
        ids[p] = (uint8_t)best;
    }
    return stk__pixels_dense(ids, (int32_t)prediction->shape[2], (int32_t)prediction->shape[1], 1);
}

static void draw_masks(stk__eval_sheet *sheet, const stk_batch *batch, const stk_tensor *prediction,
                       int64_t i)
{
    const stk__pixels picture = levels_of(sheet, &batch->images, i);
    const stk__pixels truth =
        stk__pixels_dense((uint8_t *)batch->masks.data + i * batch->masks.strides[0],
                          (int32_t)batch->masks.shape[2], (int32_t)batch->masks.shape[1], 1);
    const stk__pixels masks[COLUMNS] = {{0}, truth, stk__answer_ids(prediction, i, sheet->ids.data)};
    for (int32_t column = 0; column < COLUMNS && sheet->status == STK_OK; column++)
        sheet->status = stk__sheet_draw(&sheet->sheet, (stk__sheet_place){column, sheet->drawn}, picture,
                                        masks[column], &sheet->error);
}

/* A cross of pure red or green, one colour a point. */
void stk__answer_cross(stk__pixels picture, double x, double y, int colour)
{
    for (int arm = -ARM_PX; arm <= ARM_PX; arm++)
        for (int along = 0; along < 2; along++) {
            const int px = (int)floor(x) + (along ? arm : 0), py = (int)floor(y) + (along ? 0 : arm);
            if (px < 0 || py < 0 || px >= picture.w || py >= picture.h) continue;
            uint8_t *pixel = stk__pixels_row(picture, py) + px * picture.channels;
            for (int c = 0; c < picture.channels; c++)
                pixel[c] = c == colour % 3 || picture.channels == 1 ? 255 : 0;
        }
}

void stk__answer_point(const stk_tensor *maps, int64_t i, int64_t k, stk__pixels picture, double at[2])
{
    const int64_t h = maps->shape[1], w = maps->shape[2], channels = maps->shape[3], points = channels / 3;
    const float *cells = (const float *)maps->data + i * maps->strides[0];
    int64_t best = 0;
    for (int64_t p = 1; p < h * w; p++)
        if (cells[p * channels + k] > cells[best * channels + k]) best = p;
    const float *offset = cells + best * channels + points + 2 * k;
    at[0] = ((double)(best % w) + 0.5 + offset[0]) * picture.w / (double)w;
    at[1] = ((double)(best / w) + 0.5 + offset[1]) * picture.h / (double)h;
}

static void draw_points(stk__eval_sheet *sheet, const stk_batch *batch, const stk_tensor *prediction,
                        int64_t i)
{
    const int64_t points = batch->points.shape[1];
    for (int32_t column = 0; column < COLUMNS && sheet->status == STK_OK; column++) {
        const stk__pixels picture = levels_of(sheet, &batch->images, i);
        for (int64_t k = 0; k < points && column > 0; k++) {
            const float *truth = (const float *)batch->points.data + i * batch->points.strides[0] + k * 3;
            double at[2] = {truth[0], truth[1]};
            if (column == 2) stk__answer_point(prediction, i, k, picture, at);
            if (column == 2 || truth[2] > 0) stk__answer_cross(picture, at[0], at[1], (int)k);
        }
        sheet->status = stk__sheet_draw(&sheet->sheet, (stk__sheet_place){column, sheet->drawn}, picture,
                                        (stk__pixels){0}, &sheet->error);
    }
}

void stk__eval_sheet_picture(stk__eval_sheet *sheet, const stk_batch *batch, int64_t i)
{
    if (sheet->drawn >= sheet->sheet.rows || sheet->status != STK_OK) return;
    sheet->status = stk__sheet_draw(&sheet->sheet, (stk__sheet_place){0, sheet->drawn++},
                                    levels_of(sheet, &batch->images, i), (stk__pixels){0}, &sheet->error);
}

void stk__eval_sheet_look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk__eval_sheet *sheet = context;
    for (int64_t i = 0; i < batch->count && sheet->drawn < sheet->sheet.rows && sheet->status == STK_OK;
         i++) {
        if (sheet->task == STK_TASK_SEGMENTATION)
            draw_masks(sheet, batch, prediction, i);
        else
            draw_points(sheet, batch, prediction, i);
        sheet->drawn++;
    }
}
