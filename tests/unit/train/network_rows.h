/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of networks that must be refused, and how. */
#ifndef TEST_NETWORK_ROWS_H
#define TEST_NETWORK_ROWS_H

#include "network_helpers.h"

#define LAYERS HEAD "layers:\n"

typedef struct error_row {
    const char *text;
    const char *place; /* line:column */
    const char *message;
    const char *hint; /* NULL: none */
} error_row;

static inline void check_refused(const stk__network_request *request, const char *place, const char *message,
                                 const char *hint)
{
    stk__network *network = (stk__network *)(void *)&network; /* must be overwritten */
    stk_error error = {0};
    const stk_status status = stk__network_read(&network, request, &error);
    if (status != STK_ERROR_CONFIG || strcmp(error.place, place) || strcmp(error.message, message) ||
        strcmp(error.hint, hint ? hint : ""))
        fail_msg("%s\ngives %d: %s (%s; %s)", request->text ? request->text : "", (int)status, error.message,
                 error.place, error.hint);
    assert_null(network);
    assert_int_equal(error.code, status);
    assert_int_equal(stk__network_read(&network, request, NULL), status);
}

static inline void check_rows(const error_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char place[64];
        snprintf(place, sizeof place, "text:%s", rows[i].place);
        check_refused(&(stk__network_request){.text = rows[i].text}, place, rows[i].message, rows[i].hint);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(rows)[0])

#endif
