/* SPDX-License-Identifier: Apache-2.0 */
/* What contestants of all benchmarks have in common: rows, turns of their worker processes, giving up. A
 * contestant that fails has no numbers, and its rows say why: that is no failure of the benchmark. One
 * thread. */
#include "contestant.h"

#include "core/clock.h"

#include <stdio.h>

enum { LOOK_MS = 10 }; /* at the memory of processes */

static stk__bench_row *add_row(stk__contestant *c, stk__bench *bench, const char *test, const char *setting,
                               const char *unit)
{
    stk__bench_row *row = stk__bench_begin(bench, c->name, test, setting, unit);
    if (c->row_count++ == 0) c->rows = row; /* others follow it in memory */
    return row;
}

void stk__contestant_enter(stk__contestant *c, stk__bench *bench, const char *test,
                           const char *const units[STK_COLUMNS])
{
    c->row_count = 0;
    for (int i = 0; i < STK_COLUMNS; i++)
        add_row(c, bench, test, c->setting, units[i]);
    c->rows->columns = STK_COLUMNS;
    c->rows->ours = c->ours;
}

void stk__contestant_enter_rows(stk__contestant *c, stk__bench *bench, const char *test, const char *unit,
                                const char *cpu_unit)
{
    c->row_count = 0;
    add_row(c, bench, test, c->setting, unit);
    if (cpu_unit) add_row(c, bench, test, "CPU time", cpu_unit);
}

double stk__contestant_median(const stk__contestant *c, stk__column column)
{
    return stk__bench_median(&c->rows[column]);
}

void stk__contestant_tell_versions(stk__contestant *c)
{
    if (!c->ours && c->process->present)
        snprintf(c->rows->versions, sizeof c->rows->versions, "%.150s", c->process->words);
}

void stk__contestant_give_up(stk__contestant *c, const char *why)
{
    for (int i = 0; i < c->row_count; i++) {
        c->rows[i].count = 0;
        snprintf(c->rows[i].why, sizeof c->rows[i].why, "%s", why);
    }
    if (c->process) stk__worker_process_stop(c->process); /* memory and threads for the others */
}

bool stk__contestant_gave_up(const stk__contestant *c)
{
    return c->rows->why[0];
}

void stk__contestant_dismiss(stk__contestant *c, const char *why)
{
    if (c->rows->count == 0 && !stk__contestant_gave_up(c)) stk__contestant_give_up(c, why);
}

static bool send_request(stk__contestant *c, const char *request)
{
    if (stk__contestant_gave_up(c)) return false;
    if (stk__worker_process_send(c->process, request)) return true;
    stk__contestant_give_up(c, c->process->words);
    return false;
}

static bool receive_answer(stk__contestant *c, const char *word, char answer[STK_WORKER_ANSWER])
{
    if (stk__worker_process_receive(c->process, word, answer)) return true;
    stk__contestant_give_up(c, c->process->words);
    return false;
}

bool stk__contestant_ask(stk__contestant *c, const char *request, const char *word,
                         char answer[STK_WORKER_ANSWER])
{
    return send_request(c, request) && receive_answer(c, word, answer);
}

/* The most while it has not answered. */
static uint64_t watch_memory(const stk__worker_process *process, int most_s)
{
    uint64_t most = 0;
    const uint64_t until_ns = stk__clock_ns() + (uint64_t)most_s * STK_SECOND_NS;
    do {
        const uint64_t now = stk__worker_process_memory_bytes(process);
        if (now > most) most = now;
    } while (!stk__worker_process_answers(process, LOOK_MS) && stk__clock_ns() < until_ns);
    return most;
}

void stk__contestant_weigh(stk__contestant *c, const char *request, int most_s)
{
    char answer[STK_WORKER_ANSWER];
    if (!send_request(c, request)) return;
    const uint64_t most = watch_memory(c->process, most_s);
    if (!receive_answer(c, "ms", answer)) return;
    stk__bench_row *row = &c->rows[STK_COLUMN_MEMORY];
    if (most > 0)
        stk__bench_add(row, (double)most * 1e-6);
    else
        snprintf(row->why, sizeof row->why, "the kernel does not report it (smaps_rollup)");
}
