/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of one process from /proc/PID: stat, schedstat and io. Each is a pair of readings with its own
 * times, so that a look that is left out, a file that may not be read and an end between two looks change
 * which time is averaged, never the rate. One thread. */
#include "doctor/process_record.h"

#include "monitor/host/host_proc.h"

#include <stdio.h>
#include <string.h>

void stk__process_record_begin(stk__process_record *record, int32_t pid, const stk__process_stat *stat,
                               uint64_t begin_ns, uint64_t now_ns)
{
    *record = (stk__process_record){
        .pid = pid,
        .parent = stat->parent,
        .first_parent = stat->parent,
        .start_ticks = stat->start_ticks,
        .first_ns = begin_ns ? begin_ns : now_ns,
        .last_ns = now_ns,
        .alive = true,
        .began = begin_ns != 0,
        .swap_bytes = NAN,
        .torch = STK_UNSURE,
        .pin_thread = STK_UNSURE,
        .kind = STK_PROCESS_HELPER,
    };
    memcpy(record->name, stat->name, sizeof record->name);
    for (int i = 0; begin_ns && i < STK_PROCESS_COUNTERS; i++)
        record->counters[i] = stk__counter_from(begin_ns);
}

static const char *read_text(const stk__process_record *record, const char *root, const char *name,
                             char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/%s", root, (int)record->pid, name);
    const char *got = stk__host_text(&file, text);
    stk__host_file_close(&file);
    return got;
}

/* "26886954 94090075 101": nanoseconds on a CPU and runnable without one, of the main thread. */
static void read_schedule(stk__process_record *record, const char *root, char *text, uint64_t now_ns)
{
    const char *at = read_text(record, root, "schedstat", text);
    uint64_t run_ns, delay_ns;
    if (!at || !stk__host_number(&at, &run_ns) || !stk__host_number(&at, &delay_ns)) return;
    stk__counter_put(&record->counters[STK_COUNT_MAIN_CPU], (double)run_ns * 1e-9, now_ns);
    stk__counter_put(&record->counters[STK_COUNT_RUN_DELAY], (double)delay_ns * 1e-9, now_ns);
}

/* Of other users' processes it may not be read. */
static void read_io(stk__process_record *record, const char *root, char *text, uint64_t now_ns)
{
    static const struct {
        const char *key;
        stk__process_counter counter;
    } lines[] = {{"rchar: ", STK_COUNT_READ}, {"read_bytes: ", STK_COUNT_DISK}};
    const char *io = read_text(record, root, "io", text);
    for (size_t i = 0; io && i < sizeof lines / sizeof *lines; i++) {
        const char *at = stk__host_line(io, lines[i].key);
        uint64_t bytes;
        if (at && stk__host_number(&at, &bytes))
            stk__counter_put(&record->counters[lines[i].counter], (double)bytes, now_ns);
    }
}

void stk__process_record_look(stk__process_record *record, const char *root, const stk__process_stat *stat,
                              char *text, uint64_t now_ns)
{
    if (strcmp(record->name, stat->name) != 0) record->facts_ns = 0; /* exec, or it was named */
    memcpy(record->name, stat->name, sizeof record->name);
    record->parent = stat->parent;
    record->threads = stat->threads;
    record->rss_bytes = stat->rss_bytes;
    record->last_ns = now_ns;
    record->looks++;
    record->disk_looks += stat->state == 'D';
    stk__counter_put(&record->counters[STK_COUNT_CPU], stat->cpu_s, now_ns);
    stk__counter_put(&record->counters[STK_COUNT_FAULTS], (double)stat->major_faults, now_ns);
    read_schedule(record, root, text, now_ns);
    read_io(record, root, text, now_ns);
}

stk__process_evidence stk__process_record_evidence(const stk__process_record *record)
{
    stk__process_evidence e = {
        .pid = record->pid,
        .parent = record->parent,
        .trainer = record->trainer,
        .kind = record->kind,
        .ended = !record->alive,
        .seen_s = (double)(record->last_ns - record->first_ns) * 1e-9,
        .disk_wait_share = record->looks ? (double)record->disk_looks / (double)record->looks : NAN,
        .rss_bytes = record->rss_bytes,
        .swap_bytes = record->swap_bytes,
        .threads = record->threads,
        .pin_thread = record->pin_thread,
    };
    double *const rates[STK_PROCESS_COUNTERS] = {
        [STK_COUNT_CPU] = &e.cpu_share,
        [STK_COUNT_MAIN_CPU] = &e.main_thread_share,
        [STK_COUNT_RUN_DELAY] = &e.run_delay_share,
        [STK_COUNT_DISK] = &e.read_bytes_per_s,
        [STK_COUNT_READ] = &e.read_all_bytes_per_s,
        [STK_COUNT_FAULTS] = &e.major_faults_per_s,
    };
    for (int i = 0; i < STK_PROCESS_COUNTERS; i++)
        *rates[i] = stk__counter_per_s(&record->counters[i]);
    snprintf(e.name, sizeof e.name, "%s", record->command[0] ? record->command : record->name);
    return e;
}
