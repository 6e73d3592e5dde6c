/* SPDX-License-Identifier: Apache-2.0 */
/* Called back by the trainer for each batch of an evaluation, in its thread; draws until the sheet is full
 * and keeps the first failure for whoever asks later. Which samples it shows depends on their position only,
 * so two evaluations of a part have the same ones. */
#include "session/sheet/eval_sheet.h"

#include "session/sheet/eval_draw.h"
#include "session/eval_part.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GRID_COLUMNS = 6, PLOT_COLUMNS = 3, LEGEND = 80, ARM_PX = 6 };

static bool has_images(stk__task task)
{
    return !stk__task_reads_windows(task);
}

/* Everything but the sheet itself. */
static stk_status prepare(stk__eval_sheet *sheet, const stk__session *session, int32_t room, stk_error *error)
{
    const stk_loader_info *info = stk_loader_describe(session->val_loader);
    const stk_loader_options *options = &session->val_data;
    *sheet = (stk__eval_sheet){.task = stk__trainer_describe(session->trainer)->network->task,
                               .loader = session->val_loader,
                               .data = info};
    for (int c = 0; c < 3; c++) {
        sheet->mean[c] = options->mean[c];
        sheet->std[c] = options->std[c] == 0 ? 1 : options->std[c];
    }
    sheet->room = (uint64_t)room > info->sample_count ? (int32_t)info->sample_count : room;
    if (!has_images(sheet->task)) return STK_OK;
    const size_t pixels = (size_t)info->w * (size_t)info->h;
    STK__TRY(stk__buffer_reserve(&sheet->picture, pixels * (size_t)info->channels, error));
    return stk__buffer_reserve(&sheet->ids, pixels, error);
}

static stk__pixels shape_of(const stk__eval_sheet *sheet)
{
    return has_images(sheet->task) ? stk__pixels_dense(NULL, sheet->data->w, sheet->data->h, 3)
                                   : stk__pixels_dense(NULL, STK_EVAL_PLOT_W, STK_EVAL_PLOT_H, 3);
}

/* --- texts -------------------------------------------------------------------------------------------------
 */

int32_t stk__eval_sheet_list_points(stk__sheet_entry *legend, int32_t room, const stk_loader_info *data,
                                    stk__sheet_symbol symbol)
{
    int32_t n = 0;
    for (; n < data->point_count && n < room; n++) {
        legend[n] = (stk__sheet_entry){.symbol = symbol};
        stk__sheet_colour((uint8_t)(n + 1), legend[n].rgb);
        if (data->point_names)
            snprintf(legend[n].text, sizeof legend[n].text, "%s", data->point_names[n]);
        else
            snprintf(legend[n].text, sizeof legend[n].text, "point %d", (int)n);
    }
    return n;
}

static int32_t list_legend(const stk__eval_sheet *sheet, stk__sheet_entry legend[LEGEND])
{
    static const stk__sheet_entry
        points[] = {{STK_SYMBOL_RING, {110, 116, 126}, "truth"},
                    {STK_SYMBOL_CROSS, {110, 116, 126}, "prediction"}},
        classes[] = {{STK_SYMBOL_BOX, {36, 120, 56}, "right, with its probability"},
                     {STK_SYMBOL_BOX, {186, 36, 28}, "wrong; below: the true class"}},
        labels[] = {{STK_SYMBOL_BOX, {36, 120, 56}, "all labels right"},
                    {STK_SYMBOL_BOX, {186, 36, 28}, "not; below: the true labels"}},
        image_values[] = {{STK_SYMBOL_BOX, {40, 44, 52}, "predicted value; below: the true one"}},
        values[] = {{STK_SYMBOL_LINE, {110, 116, 126}, "features of the window, each by its own range"},
                    {STK_SYMBOL_RING, {47, 143, 70}, "true value"},
                    {STK_SYMBOL_CROSS, {217, 86, 15}, "prediction, by the same scale in all plots"}};
    int32_t n = 0;
    switch (sheet->task) {
    case STK_TASK_SEGMENTATION:
        return stk__sheet_list_classes(legend, LEGEND, sheet->data->class_count, sheet->data->class_names);
    case STK_TASK_POINTS:
        n = stk__eval_sheet_list_points(legend, LEGEND - 2, sheet->data, STK_SYMBOL_BOX);
        memcpy(legend + n, points, sizeof points);
        return n + 2;
    case STK_TASK_CLASSIFICATION:
        memcpy(legend, classes, sizeof classes);
        return 2;
    case STK_TASK_MULTILABEL:
        memcpy(legend, labels, sizeof labels);
        return 2;
    case STK_TASK_IMAGE_REGRESSION:
        memcpy(legend, image_values, sizeof image_values);
        return 1;
    default:
        break;
    }
    memcpy(legend, values, sizeof values);
    return 3;
}

static void print_title(const stk__eval_sheet *sheet, const stk__session *session, char *text, size_t size)
{
    char part[512];
    stk__session_print_part(session, 0, part, sizeof part);
    if ((uint64_t)sheet->room < sheet->data->sample_count)
        snprintf(text, size, "%d of %s", (int)sheet->room, strncmp(part, "all ", 4) == 0 ? part + 4 : part);
    else
        snprintf(text, size, "%s", part);
}

/* --- the sheet ---------------------------------------------------------------------------------------------
 */

static stk__sheet_form form_of_rows(const stk__eval_sheet *sheet, int32_t rows)
{
    return (stk__sheet_form){.columns = stk__eval_sheet_has_trios(sheet->task) ? STK_EVAL_COLUMNS : 1,
                             .rows = rows,
                             .shape = shape_of(sheet)};
}

stk_status stk__eval_sheet_begin(stk__eval_sheet *sheet, const stk__session *session, int32_t rows,
                                 stk_error *error)
{
    STK__TRY(prepare(sheet, session, rows, error));
    const stk__sheet_form form = form_of_rows(sheet, rows);
    return stk__sheet_init(&sheet->sheet, &form, error);
}

uint64_t stk__eval_sheet_bytes(stk__task task, const stk_loader_info *data, int32_t rows)
{
    const stk__eval_sheet sheet = {.task = task, .data = data};
    const stk__sheet_form form = form_of_rows(&sheet, rows);
    return stk__sheet_bytes(&form) + (uint64_t)data->w * (uint64_t)data->h * ((uint64_t)data->channels + 1);
}

stk_status stk__eval_sheet_init(stk__eval_sheet *sheet, const stk__session *session, int32_t count,
                                stk_error *error)
{
    static const char *const headings[STK_EVAL_COLUMNS] = {"image", "truth", "prediction"};
    stk__sheet_entry legend[LEGEND];
    char title[640];
    STK__TRY(prepare(sheet, session, count, error));
    const bool trios = stk__eval_sheet_has_trios(sheet->task);
    const int32_t most = stk__task_reads_windows(sheet->task) ? PLOT_COLUMNS : GRID_COLUMNS,
                  columns = trios                ? STK_EVAL_COLUMNS
                            : sheet->room < most ? sheet->room
                                                 : most;
    print_title(sheet, session, title, sizeof title);
    const stk__sheet_form form = {.columns = columns,
                                  .rows = trios ? sheet->room : (sheet->room + columns - 1) / columns,
                                  .shape = shape_of(sheet),
                                  .title = title,
                                  .headings = trios ? headings : NULL,
                                  .caption_lines = trios ? 1 : 2,
                                  .legend = legend,
                                  .legend_count = list_legend(sheet, legend)};
    return stk__sheet_init(&sheet->sheet, &form, error);
}

void stk__eval_sheet_fini(stk__eval_sheet *sheet)
{
    stk__sheet_fini(&sheet->sheet);
    stk__buffer_fini(&sheet->picture);
    stk__buffer_fini(&sheet->ids);
}

bool stk__eval_sheet_picks(uint64_t position, uint64_t room, uint64_t all)
{
    return all <= room || position * room % all < room;
}

void stk__eval_sheet_row(stk__eval_sheet *sheet, const stk_batch *batch, const stk_tensor *prediction,
                         int64_t i, int32_t row)
{
    if (sheet->status == STK_OK && row < sheet->sheet.rows)
        stk__eval_draw(sheet, (stk__sheet_place){0, row}, batch, prediction, i);
}

void stk__eval_sheet_look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk__eval_sheet *sheet = context;
    const bool trios = stk__eval_sheet_has_trios(sheet->task);
    for (int64_t i = 0; i < batch->count && sheet->drawn < sheet->room && sheet->status == STK_OK; i++) {
        if (!stk__eval_sheet_picks(batch->position + (uint64_t)i, (uint64_t)sheet->room,
                                   sheet->data->sample_count))
            continue;
        const int32_t columns = sheet->sheet.columns, n = sheet->drawn;
        if (stk__sample_is_skipped(batch, i)) continue; /* there is no picture of it */
        stk__eval_draw(sheet, trios ? (stk__sheet_place){0, n} : (stk__sheet_place){n % columns, n / columns},
                       batch, prediction, i);
        sheet->drawn++;
    }
}

stk_status stk__eval_sheet_write(stk__eval_sheet *sheet, const char *path, stk_error *error)
{
    if (sheet->status != STK_OK) {
        *error = sheet->error;
        return sheet->status;
    }
    if (stk__task_reads_windows(sheet->task)) stk__eval_draw_values(sheet);
    return stk__sheet_write(&sheet->sheet, path, error);
}

/* --- for others --------------------------------------------------------------------------------------------
 */

void stk__sample_name(const stk_loader *loader, const stk_batch *batch, int64_t i, char *text, size_t size)
{
    char path[8192];
    const int64_t id = ((const int64_t *)batch->sample_ids.data)[i];
    *text = '\0';
    if (stk_loader_sample_path(loader, id, path, sizeof path, NULL) != STK_OK) return;
    const char *slash = strrchr(path, '/');
    snprintf(text, size, "%s", slash && slash[1] ? slash + 1 : path);
}

void stk__label_set_print(const stk_loader_info *data, const float *row, float above, char *text, size_t size)
{
    size_t at = 0;
    snprintf(text, size, "none");
    for (int32_t c = 0; c < data->class_count && at < size; c++)
        if (row[c] > above)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", data->class_names[c]);
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
