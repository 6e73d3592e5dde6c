/* SPDX-License-Identifier: Apache-2.0 */
/* The library's log: one process-wide sink with a level, called under a lock, so that messages of several
 * threads do not mix. Without a sink nothing is written. */
#include "core/logger.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below and each call of sink */
static stk_log_sink sink;
static void *sink_context;
static stk_log_level most_verbose;

void stk_log_set(stk_log_sink new_sink, void *context, stk_log_level most)
{
    pthread_mutex_lock(&lock);
    sink = new_sink;
    sink_context = context;
    most_verbose = most;
    pthread_mutex_unlock(&lock);
}

void stk__log(stk_log_level level, const char *format, ...)
{
    pthread_mutex_lock(&lock);
    if (sink && level <= most_verbose) {
        char line[1024];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        sink(sink_context, level, line);
    }
    pthread_mutex_unlock(&lock);
}
