/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of text, the same in every locale. Strict: the whole text must be the number, without blanks.
 */
#ifndef STK_CORE_NUMBER_H
#define STK_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [+-]digits. False, and *value untouched, when text is anything else or does not fit. */
bool stk__number_whole(const char *text, size_t length, int64_t *value);

/* [+-]digits[.digits][e[+-]digits], .5 and 5. too, correctly rounded; nan, inf, infinity in any case. Values
 * too large for a double become infinite, values too small 0: callers who need finite ones check isfinite. */
bool stk__number_real(const char *text, size_t length, double *value);

#endif
