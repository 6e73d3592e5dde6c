/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, the trace and the report. Counters are atomic; the trace is one line a call of stdio, which
 * locks. */
#include "cudart_api.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_llong counts[DRY_WORDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static FILE *trace;

static const char *const names[] = {
#define DRY_NAME(name) #name,
    DRY_COUNTS(DRY_NAME)
#undef DRY_NAME
};

/* What the fake driver counted, beside: Stoker's own calls. */
static void report_driver(FILE *file)
{
    static const char *const words[] = {"copies_in", "copies_out", "kernels", "pageable_copies", "misuses"};
    const dry_driver *driver = dry_driver_open();
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        fprintf(file, ", \"driver_%s\": %lld", words[i], (long long)driver->tell(words[i]));
}

static void report(void)
{
    dry_counts now;
    int64_t all[DRY_WORDS];
    const char *path = getenv("STOKER_DRY_REPORT");
    if (trace) fclose(trace);
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    dry_read(&now);
    memcpy(all, &now, sizeof all);
    for (int i = 0; i < DRY_WORDS; i++)
        fprintf(file, "%s\"%s\": %lld", i ? ", " : "{", names[i], (long long)all[i]);
    report_driver(file);
    fputs("}\n", file);
    fclose(file);
}

static void begin(void)
{
    const char *path = getenv("STOKER_DRY_TRACE");
    if (path) trace = fopen(path, "a");
    atexit(report);
}

void dry_count(dry_word word)
{
    pthread_once(&once, begin);
    counts[word]++;
}

/* Graphs are the driver's. */
void dry_read(dry_counts *to)
{
    int64_t all[DRY_WORDS];
    const dry_driver *driver = dry_driver_open();
    for (int i = 0; i < DRY_WORDS; i++)
        all[i] = counts[i];
    memcpy(to, all, sizeof all);
    to->captures = driver->tell("captures");
    to->capture_errors = driver->tell("capture_errors");
    to->replays = driver->tell("graph_launches");
}

void dry_trace(const char *format, ...)
{
    va_list list;
    char line[512];
    pthread_once(&once, begin);
    if (!trace) return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    fprintf(trace, "%s\n", line);
}

int dry_refuse(const char *name, int code)
{
    dry_count(DRY_missing);
    dry_trace("missing %s", name);
    fprintf(stderr, "dry: nobody has written '%s' (tests/fake/cudart)\n", name);
    return code;
}
