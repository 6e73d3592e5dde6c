/* Writing one object of JSON per line without allocating: into a buffer that only grows. */
#ifndef STK_MONITOR_JSON_LINE_H
#define STK_MONITOR_JSON_LINE_H

#include "core/memory.h"
#include "stoker/monitor.h"

#include <stdio.h>

typedef struct stk__json_line {
    stk__buffer text; /* stk__buffer_fini when done */
    bool comma;       /* before the next value */
    bool failed;      /* no memory: the line is not whole */
    int digits;       /* of real numbers; 0: as many as bring the same number back */
} stk__json_line;

void stk__line_start(stk__json_line *line); /* a new line: an object is open */
/* Closes the object and writes the line. False: no memory, or file did not take it. */
bool stk__line_finish(stk__json_line *line, FILE *file);

/* key is NULL in arrays. */
void stk__line_open(stk__json_line *line, const char *key, char bracket); /* '{' or '[' */
void stk__line_close(stk__json_line *line, char bracket);                 /* '}' or ']' */
void stk__line_real(stk__json_line *line, const char *key, double value); /* null if it is not finite */
void stk__line_whole(stk__json_line *line, const char *key, int64_t value);
void stk__line_bool(stk__json_line *line, const char *key, bool value);
void stk__line_text(stk__json_line *line, const char *key, const char *text); /* what is not UTF-8 as '?' */
void stk__line_null(stk__json_line *line, const char *key);
void stk__line_reading(stk__json_line *line, const char *key, stk_reading reading); /* null if unknown */

#endif
