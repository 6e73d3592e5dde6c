/* SPDX-License-Identifier: Apache-2.0 */
/* What a network answers, as pictures: masks over the image, points as symbols, classes below the image,
 * values beside a plot of the window; each beside the truth. */
#ifndef STK_SESSION_EVAL_SHEET_H
#define STK_SESSION_EVAL_SHEET_H

#include "session/sample_score.h"
#include "session/session.h"
#include "session/sheet/sheet.h"

enum { STK_EVAL_SHEET_MOST = 100 }; /* samples on a sheet */

typedef struct stk__eval_sheet {
    stk__task task;
    double mean[3], std[3]; /* of the images, to undo them */
    const stk_loader *loader;
    const stk_loader_info *data;
    stk__sheet sheet;
    int32_t room;                                                 /* samples that fit */
    int32_t drawn;                                                /* samples */
    stk__buffer picture;                                          /* u8 */
    stk__buffer ids;                                              /* u8 */
    double truth[STK_EVAL_SHEET_MOST], said[STK_EVAL_SHEET_MOST]; /* values of a regression */
    stk_status status;                                            /* the first failure */
    stk_error error;
} stk__eval_sheet;

/* Begins a sheet of up to `count` samples of the part that is evaluated, at equal distances, with headings,
 * captions and a legend. */
stk_status stk__eval_sheet_init(stk__eval_sheet *sheet, const stk__session *session, int32_t count,
                                stk_error *error);
/* The same for a task with images, without texts, one sample a row: pictures that stk__eval_sheet_row draws.
 * Masks and points: image, truth, prediction; classes: only the image. */
stk_status stk__eval_sheet_begin(stk__eval_sheet *sheet, const stk__session *session, int32_t rows,
                                 stk_error *error);
/* What that takes at most, also while it is written. */
uint64_t stk__eval_sheet_bytes(stk__task task, const stk_loader_info *data, int32_t rows);
void stk__eval_sheet_fini(stk__eval_sheet *sheet);

/* A stk__trainer_look: draws what of the batch belongs on the sheet. */
void stk__eval_sheet_look(void *sheet, const stk_batch *batch, const stk_tensor *prediction);
/* Draws sample i of the batch into that row. */
void stk__eval_sheet_row(stk__eval_sheet *sheet, const stk_batch *batch, const stk_tensor *prediction,
                         int64_t i, int32_t row);

/* What can be drawn only when all samples are known; then writes the file. */
stk_status stk__eval_sheet_write(stk__eval_sheet *sheet, const char *path, stk_error *error);

/* Which samples of a part are chosen when `room` of `all` are: the same distance lies between them. */
bool stk__eval_sheet_picks(uint64_t position, uint64_t room, uint64_t all);

/* Puts a cross on a picture as it is stored: a point of `stoker predict`. */
void stk__answer_cross(stk__pixels picture, double x, double y, int colour);
/* The last part of a sample's path, in bytes of UTF-8; empty: unknown. */
void stk__sample_name(const stk_loader *loader, const stk_batch *batch, int64_t i, char *text, size_t size);

/* Legend of points: their names or numbers. Returns the count. */
int32_t stk__eval_sheet_list_points(stk__sheet_entry *legend, int32_t room, const stk_loader_info *data,
                                    stk__sheet_symbol symbol);

/* "cat, dog": the classes of a row [classes] above a threshold; "none": none is. */
void stk__label_set_print(const stk_loader_info *data, const float *row, float above, char *text,
                          size_t size);

/* Rows of image, truth and prediction; others have one picture for a sample. */
static inline bool stk__eval_sheet_has_trios(stk__task task)
{
    return task == STK_TASK_SEGMENTATION || task == STK_TASK_POINTS;
}

#endif
