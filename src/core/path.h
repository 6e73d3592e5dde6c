/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that somebody else wrote (lists, members of archives): cleaned, and judged before a file is opened.
 */
#ifndef STK_CORE_PATH_H
#define STK_CORE_PATH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stk__path_facts {
    size_t length;     /* of the cleaned path; 0: nothing is left of it */
    bool absolute;     /* it begins with '/' */
    bool upwards;      /* a part is "..": it may leave its folder, also by "a/../../b" */
    bool hidden;       /* a part begins with a dot: ".git", "..."; neither "." nor ".." */
    bool names_folder; /* it ends with '/', or nothing is left of it */
} stk__path_facts;

/* Copies the path without empty parts and "." (clean: length + 1 bytes, may be name itself); what else is
 * wrong with it stays in it and is told. Whoever opens the cleaned path below a folder must refuse `upwards`,
 * and `absolute` if that shall not mean "from that folder on".
 *
 *     "./a//b.jpg" -> "a/b.jpg"      "/etc/passwd" -> "etc/passwd", absolute      "a/../b" -> itself, upwards
 */
stk__path_facts stk__path_clean(const char *name, size_t length, char *clean);

#endif
