/* SPDX-License-Identifier: Apache-2.0 */
/* What a network answers, as pictures: the image, the truth, the prediction; masks over the image, points as
 * crosses. */
#ifndef STK_SESSION_EVAL_SHEET_H
#define STK_SESSION_EVAL_SHEET_H

#include "session/session.h"
#include "session/sheet.h"

typedef struct stk__eval_sheet {
    stk__task task;
    double mean[3], std[3]; /* of the images, to undo them */
    stk__sheet sheet;
    int32_t drawn;       /* rows */
    stk__buffer picture; /* u8 */
    stk__buffer ids;     /* u8 */
    stk_status status;   /* the first failure */
    stk_error error;
} stk__eval_sheet;

/* Begins a sheet of `rows` samples; STK_ERROR_UNSUPPORTED for tasks whose answers are no pictures. */
stk_status stk__eval_sheet_init(stk__eval_sheet *sheet, const stk__session *session, int32_t rows,
                                stk_error *error);
/* The same for any task with images, `columns` cells a row. */
stk_status stk__eval_sheet_begin(stk__eval_sheet *sheet, const stk__session *session, int32_t columns,
                                 int32_t rows, stk_error *error);
void stk__eval_sheet_fini(stk__eval_sheet *sheet);

/* A stk__trainer_look: draws the batch until the sheet is full. */
void stk__eval_sheet_look(void *sheet, const stk_batch *batch, const stk_tensor *prediction);

/* What a prediction means. */
stk__pixels stk__answer_ids(const stk_tensor *prediction, int64_t i, uint8_t *ids); /* the largest logit */
/* As op.h defines it: the largest cell of map k, and its offset; in pixels of a picture of that size. */
void stk__answer_point(const stk_tensor *maps, int64_t i, int64_t k, stk__pixels picture, double at[2]);
void stk__answer_cross(stk__pixels picture, double x, double y, int colour);
/* Draws only image i of the batch, in the first column of the next row; a full sheet stays as it is. */
void stk__eval_sheet_picture(stk__eval_sheet *sheet, const stk_batch *batch, int64_t i);

#endif
