/* What a network answers, as pictures: the image, the truth, the prediction; masks over the image, points as
 * crosses. */
#ifndef STK_CLI_EVAL_SHEET_H
#define STK_CLI_EVAL_SHEET_H

#include "sheet.h"
#include "train_session.h"

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
stk_status stk__eval_sheet_init(stk__eval_sheet *sheet, const stk__cli_session *session, int32_t rows,
                                stk_error *error);
/* The same for any task with images, `columns` cells a row. */
stk_status stk__eval_sheet_begin(stk__eval_sheet *sheet, const stk__cli_session *session, int32_t columns,
                                 int32_t rows, stk_error *error);
void stk__eval_sheet_fini(stk__eval_sheet *sheet);

/* A stk__trainer_look: draws the batch until the sheet is full. */
void stk__eval_sheet_look(void *sheet, const stk_batch *batch, const stk_tensor *prediction);

/* Draws only image i of the batch, in the first column of the next row; a full sheet stays as it is. */
void stk__eval_sheet_picture(stk__eval_sheet *sheet, const stk_batch *batch, int64_t i);

#endif
