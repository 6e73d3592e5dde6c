/* SPDX-License-Identifier: Apache-2.0 */
/* Several labels per image, told by columns of 0 and 1 (-1 and 1, True and False) or by lists in cells. A
 * column with few other cells is a label all the same, and the rows of these cells are bad samples: one
 * typing error must not remove a class. One thread, while a source opens. */
#include "source/list/list_columns.h"

#include "core/number.h"

#include <string.h>
#include <strings.h>

enum { ODD_SHARE = 20, ODD_LEAST = 8 }; /* one cell in twenty; one at all, from eight filled cells on */

bool stk__flag_read(const char *cell, size_t length, int *flag)
{
    double number;
    const bool yes = length == 4 && strncasecmp(cell, "true", 4) == 0;
    const bool no = length == 5 && strncasecmp(cell, "false", 5) == 0;
    *flag = yes;
    if (yes || no) return true;
    if (!length || !stk__number_real(cell, length, &number)) return false;
    if (number != 0 && number != 1 && number != -1) return false;
    *flag = (int)number;
    return true;
}

bool stk__columns_is_picked(const stk__columns *columns)
{
    if (columns->wishes[STK_ROLE_LABEL].none) return true;
    for (int role = STK_ROLE_LABEL; role <= STK_ROLE_POINTS; role++)
        if (role != STK_ROLE_SPLIT && columns->wishes[role].name && !columns->wishes[role].none) return true;
    return false;
}

/* A column of 0 and 1 with a name: "smiling". */
static bool is_flag(const stk__columns *columns, size_t index)
{
    const stk__list_column *column = stk__columns_at(columns, index);
    const char *name = stk__columns_name(columns, index);
    const uint32_t filled = column->cells - column->missing, odd = filled - column->flags;
    const uint32_t allowed = filled / ODD_SHARE ? filled / ODD_SHARE : filled >= ODD_LEAST;
    return column->role == STK_ROLE_NONE && column->flags && odd <= allowed && *name &&
           strncmp(name, "Unnamed", 7) != 0;
}

static bool has_target(const stk__columns *columns)
{
    for (stk__role role = STK_ROLE_LABEL; role <= STK_ROLE_POINTS; role++)
        if (role != STK_ROLE_SPLIT && stk__columns_find(columns, role) >= 0) return true;
    return false;
}

/* Of JSON only the first object has been seen: keys of 0 and 1 may be anything. */
static stk_status refuse_keys(const stk__columns *columns, size_t first, size_t count, stk_error *error)
{
    stk__columns_refuse(columns, first, error,
                        "the list has %zu keys of 0 and 1 ('%.60s', …), which can be labels", count,
                        stk__columns_name(columns, first));
    stk__error_hint(
        error,
        "write them as one list of names for each image; data.columns='label=%.80s' trains on one "
        "of them; data.columns='label=none' reads the images without labels",
        stk__columns_name(columns, first));
    return STK_ERROR_DATA;
}

stk_status stk__columns_find_several(stk__columns *columns, stk_error *error)
{
    size_t count = 0, first = 0;
    bool raised = false;
    const int label = stk__columns_find(columns, STK_ROLE_LABEL);
    const bool picked = stk__columns_is_picked(columns), lists = columns->wishes[STK_ROLE_LABEL].several;
    columns->lists = label >= 0 && stk__columns_at(columns, (size_t)label)->nested && /* ["cat", "dog"] */
                     (lists || !picked);
    if (picked) return STK_OK;
    if (has_target(columns)) return STK_OK;
    for (size_t i = stk__columns_count(columns); i-- > 0;) {
        if (!is_flag(columns, i)) continue;
        first = i;
        raised |= stk__columns_at(columns, i)->raised > 0;
        count++;
    }
    if (count < 2 || !raised) return STK_OK;
    if (columns->json) return refuse_keys(columns, first, count, error);
    for (size_t i = 0; i < stk__columns_count(columns); i++)
        if (is_flag(columns, i)) stk__columns_at(columns, i)->role = STK_ROLE_LABEL;
    columns->flag_count = count;
    return STK_OK;
}
