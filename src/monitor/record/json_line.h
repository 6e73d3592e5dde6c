/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines writer: one object per line, into a buffer that only grows, so that writing a line allocates
 * nothing once it is large enough. */
#ifndef STK_MONITOR_JSON_LINE_H
#define STK_MONITOR_JSON_LINE_H

#include "core/memory.h"
#include "stoker/monitor.h"

#include <stdio.h>

typedef struct stk__json_line {
    stk__buffer text; /* stk__buffer_fini when done */
    bool comma;       /* before the next value */
    bool failed;      /* out of memory: the line is incomplete */
    int digits;       /* of real numbers; 0: as many as round-trip exactly */
} stk__json_line;

void stk__line_start(stk__json_line *line); /* a new line: an object is open */
/* Closes the object and writes the line. False: out of memory, or the write failed. */
bool stk__line_finish(stk__json_line *line, FILE *file);

/* key is NULL in arrays. */
void stk__line_open(stk__json_line *line, const char *key, char bracket); /* '{' or '[' */
void stk__line_close(stk__json_line *line, char bracket);                 /* '}' or ']' */
void stk__line_real(stk__json_line *line, const char *key, double value); /* null if it is not finite */
void stk__line_whole(stk__json_line *line, const char *key, int64_t value);
void stk__line_bool(stk__json_line *line, const char *key, bool value);
void stk__line_text(stk__json_line *line, const char *key, const char *text); /* invalid UTF-8 as '?' */
void stk__line_null(stk__json_line *line, const char *key);
void stk__line_reading(stk__json_line *line, const char *key, stk_reading reading); /* null if unknown */

#endif
