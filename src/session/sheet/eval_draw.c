/* SPDX-License-Identifier: Apache-2.0 */
/* One function per task: pictures first, then symbols and captions. Where a sheet has no captions, nothing is
 * written. The trainer's thread. */
#include "session/sheet/eval_draw.h"

#include "session/sheet/sheet_ink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRIP_PX = 48, MARGIN_PX = 8, BAND_PX = 6 };

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

static void draw_cell(stk__eval_sheet *sheet, stk__sheet_place place, stk__pixels picture, stk__pixels mask)
{
    if (sheet->status == STK_OK)
        sheet->status = stk__sheet_draw(&sheet->sheet, place, picture, mask, &sheet->error);
}

static void write_caption(stk__eval_sheet *sheet, stk__sheet_place place, int line, const uint8_t rgb[3],
                          const char *text)
{
    if (sheet->sheet.caption_h) stk__sheet_caption(&sheet->sheet, place, 1, line, rgb, text);
}

static void write_name(stk__eval_sheet *sheet, stk__sheet_place place, int line, const stk_batch *batch,
                       int64_t i)
{
    char name[STK_SHEET_TEXT_BYTES];
    const int32_t columns = stk__eval_sheet_has_trios(sheet->task) ? 2 : 1;
    stk__sample_name(sheet->loader, batch, i, name, sizeof name);
    stk__sheet_caption(&sheet->sheet, place, columns, line, STK_INK_SOFT, name);
}

static void write_score(stk__eval_sheet *sheet, stk__sheet_place place, double score)
{
    char text[64];
    if (isnan(score))
        snprintf(text, sizeof text, "nothing counted");
    else if (sheet->task == STK_TASK_SEGMENTATION)
        snprintf(text, sizeof text, "mIoU %.3f", score);
    else
        snprintf(text, sizeof text, "error %.3g px", score);
    write_caption(sheet, place, 0, STK_INK_TEXT, text);
}

static void draw_masks(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                       const stk_tensor *prediction, int64_t i)
{
    const stk__pixels picture = levels_of(sheet, &batch->images, i);
    const stk__pixels answer = stk__answer_ids(prediction, i, sheet->ids.data);
    const stk__pixels masks[STK_EVAL_COLUMNS] = {{0}, stk__batch_mask(batch, i), answer};
    for (int32_t c = 0; c < STK_EVAL_COLUMNS; c++)
        draw_cell(sheet, (stk__sheet_place){place.column + c, place.row}, picture, masks[c]);
}

/* Points of the truth as rings, those of the prediction as crosses; the last picture has both. */
static void draw_points(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                        const stk_tensor *prediction, int64_t i)
{
    const stk__pixels picture = levels_of(sheet, &batch->images, i);
    for (int32_t c = 0; c < STK_EVAL_COLUMNS; c++) {
        const stk__sheet_place at = {place.column + c, place.row};
        draw_cell(sheet, at, picture, (stk__pixels){0});
        const stk__pixels cell = stk__sheet_cell(&sheet->sheet, at);
        const double sx = (double)cell.w / picture.w, sy = (double)cell.h / picture.h;
        for (int64_t k = 0; c > 0 && k < batch->points.shape[1]; k++) {
            const float *truth = (const float *)batch->points.data + i * batch->points.strides[0] + k * 3;
            double said[2];
            uint8_t rgb[3];
            stk__sheet_colour((uint8_t)(k + 1), rgb);
            stk__answer_point(prediction, i, k, picture, said);
            if (truth[2] > 0) stk__ink_point(cell, truth[0] * sx, truth[1] * sy, STK_SYMBOL_RING, rgb);
            if (c == 2) stk__ink_point(cell, said[0] * sx, said[1] * sy, STK_SYMBOL_CROSS, rgb);
        }
    }
}

static void print_class(const stk__eval_sheet *sheet, int64_t id, char *text, size_t size)
{
    const stk_loader_info *data = sheet->data;
    if (data->class_names && id >= 0 && id < data->class_count)
        snprintf(text, size, "%s", data->class_names[id]);
    else
        snprintf(text, size, "class %lld", (long long)id);
}

static void draw_class(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                       const stk_tensor *prediction, int64_t i)
{
    const int64_t truth = ((const int64_t *)batch->labels.data)[i];
    char name[STK_SHEET_TEXT_BYTES], text[STK_SHEET_TEXT_BYTES + 16];
    double probability;
    draw_cell(sheet, place, levels_of(sheet, &batch->images, i), (stk__pixels){0});
    if (!sheet->sheet.caption_h) return;
    const int64_t said = stk__answer_class(prediction, i, &probability);
    const uint8_t *rgb = truth < 0 ? STK_INK_SOFT : said == truth ? STK_INK_GOOD : STK_INK_BAD;
    print_class(sheet, said, name, sizeof name);
    snprintf(text, sizeof text, "%.0f%% %s", 100 * probability, name); /* a long name is cut */
    write_caption(sheet, place, 0, rgb, text);
    print_class(sheet, truth, name, sizeof name);
    snprintf(text, sizeof text, "is %s", name);
    if (said != truth && truth >= 0)
        write_caption(sheet, place, 1, rgb, text);
    else
        write_name(sheet, place, 1, batch, i);
}

static void write_values(stk__eval_sheet *sheet, stk__sheet_place place, double truth, double said)
{
    char text[64];
    snprintf(text, sizeof text, "predicted %.5g", said);
    write_caption(sheet, place, 0, STK_INK_TEXT, text);
    snprintf(text, sizeof text, "true      %.5g", truth);
    write_caption(sheet, place, 1, STK_INK_SOFT, text);
}

static double value_at(const stk_tensor *tensor, int64_t i)
{
    return (double)((const float *)tensor->data)[i * tensor->strides[0]];
}

static void draw_value(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                       const stk_tensor *prediction, int64_t i)
{
    draw_cell(sheet, place, levels_of(sheet, &batch->images, i), (stk__pixels){0});
    write_values(sheet, place, value_at(&batch->labels, i), value_at(prediction, i));
}

static void draw_labels(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                        const stk_tensor *prediction, int64_t i)
{
    const int64_t classes = prediction->shape[1];
    const float *logits = (const float *)prediction->data + i * classes,
                *truth = (const float *)batch->labels.data + i * classes;
    char said[STK_SHEET_TEXT_BYTES], is[STK_SHEET_TEXT_BYTES + 4] = "is ";
    draw_cell(sheet, place, levels_of(sheet, &batch->images, i), (stk__pixels){0});
    if (!sheet->sheet.caption_h) return;
    stk__label_set_print(sheet->data, logits, 0, said, sizeof said);
    stk__label_set_print(sheet->data, truth, 0.5F, is + 3, sizeof is - 3);
    const bool right = strcmp(said, is + 3) == 0;
    write_caption(sheet, place, 0, right ? STK_INK_GOOD : STK_INK_BAD, said);
    if (right)
        write_name(sheet, place, 1, batch, i);
    else
        write_caption(sheet, place, 1, STK_INK_BAD, is);
}

/* --- windows and values ------------------------------------------------------------------------------------
 */

/* One feature of a window [t f] over its rows, by its own range, in a band of the plot. */
static void draw_feature(stk__pixels to, const float *rows, int64_t count, int64_t pitch,
                         const uint8_t rgb[3])
{
    double low = INFINITY, high = -INFINITY, last[2] = {NAN, NAN};
    for (int64_t t = 0; t < count; t++) {
        low = fmin(low, (double)rows[t * pitch]);
        high = fmax(high, (double)rows[t * pitch]);
    }
    for (int64_t t = 0; t < count; t++) {
        const double share = high > low ? ((double)rows[t * pitch] - low) / (high - low) : 0.5;
        const double at[2] = {count > 1 ? (double)t / (double)(count - 1) * (to.w - 1) : 0,
                              (1 - share) * (to.h - 1)};
        if (t) stk__ink_line(to, last, at, rgb);
        memcpy(last, at, sizeof last);
    }
}

static void draw_window(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                        const stk_tensor *prediction, int64_t i)
{
    static const uint8_t white[3] = {255, 255, 255};
    const stk__pixels cell = stk__sheet_cell(&sheet->sheet, place);
    const stk__pixels plot =
        stk__ink_part(cell, MARGIN_PX, MARGIN_PX, cell.w - STRIP_PX - 2 * MARGIN_PX, cell.h - 2 * MARGIN_PX);
    const stk_tensor *windows = &batch->windows;
    const float *rows = (const float *)windows->data + i * windows->strides[0];
    stk__ink_fill(cell, white);
    const int64_t features = windows->shape[2];
    const int32_t band = plot.h / features < BAND_PX ? BAND_PX : (int32_t)(plot.h / features);
    for (int64_t f = 0; f < features; f++) { /* very many overlap */
        const int32_t top = (int32_t)((plot.h - band) * f / (features > 1 ? features - 1 : 1));
        uint8_t rgb[3];
        stk__sheet_colour((uint8_t)(f % 254 + 1), rgb);
        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)(rgb[c] * 2 / 3); /* on white */
        draw_feature(stk__ink_part(plot, 0, top, plot.w, band - 1), rows + f, windows->shape[1],
                     windows->shape[2], rgb);
    }
    const double truth = value_at(&batch->labels, i), said = value_at(prediction, i);
    sheet->truth[sheet->drawn] = truth;
    sheet->said[sheet->drawn] = said;
    write_values(sheet, place, truth, said);
}

void stk__eval_draw_values(stk__eval_sheet *sheet)
{
    static const uint8_t truth_rgb[3] = {47, 143, 70}, said_rgb[3] = {217, 86, 15};
    double low = INFINITY, high = -INFINITY;
    for (int32_t n = 0; n < sheet->drawn; n++) {
        low = fmin(low, fmin(sheet->truth[n], sheet->said[n]));
        high = fmax(high, fmax(sheet->truth[n], sheet->said[n]));
    }
    for (int32_t n = 0; n < sheet->drawn; n++) {
        const stk__sheet_place place = {n % sheet->sheet.columns, n / sheet->sheet.columns};
        const stk__pixels cell = stk__sheet_cell(&sheet->sheet, place);
        const double x = cell.w - STRIP_PX / 2.0, top = 2 * MARGIN_PX, height = cell.h - 4 * MARGIN_PX;
        const double scale = high > low ? height / (high - low) : 0;
        stk__ink_line(cell, (double[2]){x, top}, (double[2]){x, top + height}, STK_INK_SOFT);
        stk__ink_point(cell, x, top + height - (sheet->truth[n] - low) * scale, STK_SYMBOL_RING, truth_rgb);
        stk__ink_point(cell, x, top + height - (sheet->said[n] - low) * scale, STK_SYMBOL_CROSS, said_rgb);
    }
}

void stk__eval_draw(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                    const stk_tensor *prediction, int64_t i)
{
    static void (*const draws[STK_TASK_COUNT])(stk__eval_sheet *, stk__sheet_place, const stk_batch *,
                                               const stk_tensor *, int64_t) = {
        [STK_TASK_SEGMENTATION] = draw_masks,     [STK_TASK_POINTS] = draw_points,
        [STK_TASK_CLASSIFICATION] = draw_class,   [STK_TASK_REGRESSION] = draw_window,
        [STK_TASK_IMAGE_REGRESSION] = draw_value, [STK_TASK_MULTILABEL] = draw_labels,
    };
    draws[sheet->task](sheet, place, batch, prediction, i);
    if (!stk__eval_sheet_has_trios(sheet->task) || !sheet->sheet.caption_h) return;
    write_name(sheet, place, 0, batch, i);
    write_score(sheet, (stk__sheet_place){place.column + 2, place.row},
                stk__sample_score(sheet->task, batch, prediction, i, sheet->ids.data));
}
