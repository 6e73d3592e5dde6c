/* SPDX-License-Identifier: Apache-2.0 */
/* How the answer to one sample is drawn into the cells of a sheet; eval_sheet.c decides which and where. */
#ifndef STK_SESSION_EVAL_DRAW_H
#define STK_SESSION_EVAL_DRAW_H

#include "session/sheet/eval_sheet.h"

enum { STK_EVAL_COLUMNS = 3, STK_EVAL_PLOT_W = 256, STK_EVAL_PLOT_H = 144 }; /* image, truth, prediction */

/* Draws sample i from that place on; the first failure stays in sheet->status. */
void stk__eval_draw(stk__eval_sheet *sheet, stk__sheet_place place, const stk_batch *batch,
                    const stk_tensor *prediction, int64_t i);

/* The values of a regression beside their windows, all by the same scale. */
void stk__eval_draw_values(stk__eval_sheet *sheet);

#endif
