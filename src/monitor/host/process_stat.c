/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of /proc/PID/stat. The name stands in brackets and may hold anything: fields are counted
 * from the last bracket on. No state: any thread. */
#include "monitor/host/process_stat.h"

#include "core/text.h"
#include "monitor/host/host_proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Numbers of fields, as proc(5) counts them. */
enum {
    FIELD_PARENT = 4,
    FIELD_MAJOR_FAULTS = 12,
    FIELD_CPU = 14,        /* user, then system time */
    FIELD_WAITED_CPU = 16, /* of children, the same */
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_RSS = 24,
    FIELDS
};

bool stk__process_stat_parse(const char *text, stk__process_stat *stat)
{
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    uint64_t fields[FIELDS] = {0};
    if (!begin || !end || end < begin || strlen(end) < 4) return false;
    *stat = (stk__process_stat){.state = end[2]};
    snprintf(stat->name, sizeof stat->name, "%.*s", (int)(end - begin - 1), begin + 1);
    const char *at = end + 3; /* ") S" */
    for (int field = FIELD_PARENT; field < FIELDS; field++) {
        while (stk__is_blank(*at))
            at++;
        const bool minus = *at == '-'; /* of a terminal, a priority: none that is used */
        at += minus;
        if (!stk__host_number(&at, &fields[field])) return false;
        if (minus) fields[field] = 0;
    }
    const double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    stat->parent = (int32_t)fields[FIELD_PARENT];
    stat->major_faults = fields[FIELD_MAJOR_FAULTS];
    stat->cpu_s = (double)(fields[FIELD_CPU] + fields[FIELD_CPU + 1]) * tick_s;
    stat->waited_cpu_s = (double)(fields[FIELD_WAITED_CPU] + fields[FIELD_WAITED_CPU + 1]) * tick_s;
    stat->threads = (int64_t)fields[FIELD_THREADS];
    stat->start_ticks = fields[FIELD_START];
    stat->rss_bytes = (double)fields[FIELD_RSS] * (double)sysconf(_SC_PAGESIZE);
    return true;
}
