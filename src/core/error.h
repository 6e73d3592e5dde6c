/* SPDX-License-Identifier: Apache-2.0 */
/* Filling stk_error and forwarding statuses. */
#ifndef STK_CORE_ERROR_H
#define STK_CORE_ERROR_H

#include "stoker/status.h"

#include <stdbool.h>
#include <stddef.h>

#define STK__PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Returns early with the status of a failed call. */
#define STK__TRY(call)                                                                                       \
    do {                                                                                                     \
        stk_status try_status_ = (call);                                                                     \
        if (try_status_ != STK_OK) return try_status_;                                                       \
    } while (0)

void stk__error_clear(stk_error *error);

/* Sets code and message (place, hint and damage are cleared) and returns code: `return stk__fail(...)`. */
stk_status stk__fail(stk_error *error, stk_status code, const char *format, ...) STK__PRINTF(3, 4);

/* The same for a damaged sample: code is STK_ERROR_SAMPLE. */
stk_status stk__damaged(stk_error *error, stk_damage damage, const char *format, ...) STK__PRINTF(3, 4);

/* For failed system calls: the message gets ": No such file or directory" from error_number appended. */
stk_status stk__fail_errno(stk_error *error, int error_number, const char *format, ...) STK__PRINTF(3, 4);

/* A place into room for less: it keeps its end. */
void stk__place_copy(char *to, size_t room, const char *place);

/* Added after one of the above; place keeps its end when it is too long. */
void stk__error_place(stk_error *error, const char *format, ...) STK__PRINTF(2, 3);
void stk__error_hint(stk_error *error, const char *format, ...) STK__PRINTF(2, 3);

/* "%llu sample%s": the s of a number of things in a message. */
static inline const char *stk__plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

stk_status stk__fail_memory(stk_error *error, unsigned long long size_bytes, const char *what);

#endif
