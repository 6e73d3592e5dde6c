/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes that may be one class by mistake: they differ in case or in surrounding blanks alone. */
#ifndef STK_SESSION_CLASS_NAMES_H
#define STK_SESSION_CLASS_NAMES_H

#include <stdint.h>

/* How many classes have a name that an earlier one has, but for case (of ASCII letters) and blanks around it;
 * pair: the first such two. 0 without memory for a list of them. */
int32_t stk__class_names_alike(const char *const *names, int32_t count, int32_t pair[2]);

#endif
