/* SPDX-License-Identifier: Apache-2.0 */
/* What of a data set is not used, counted by reason: sources fill it while they open, the program prints it
 * before the first batch. One thread, during open. */
#include "source/source.h"

#include <stdio.h>
#include <string.h>

void stk__left_out_add(stk__source_info *info, const char *what, uint64_t count, const char *example)
{
    if (count == 0) return;
    int32_t row = 0;
    while (row < info->left_out_count &&
           strncmp(info->left_out[row].what, what, sizeof info->left_out[row].what - 1) != 0)
        row++;
    if (row == STK_LEFT_OUT_MOST) {
        what = "other";
        example = "";
        row--;
    }
    stk__left_out *out = &info->left_out[row];
    if (row == info->left_out_count) {
        info->left_out_count++;
        snprintf(out->example, sizeof out->example, "%s", example ? example : "");
    }
    snprintf(out->what, sizeof out->what, "%s", what);
    out->count += count;
}
