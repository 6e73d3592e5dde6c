/* SPDX-License-Identifier: Apache-2.0 */
/* Before a grid starts: a plan of each run, which also finds what a combination cannot do; and how many run
 * side by side. */
#include "grid.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/ram.h"
#include "report/run_keys.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A thread is worth having while it has so much to do in a step: below, waiting for each other costs more
 * than it brings (measured, docs/performance.md). */
#define GRAIN_FLOPS  10e9
#define MEMORY_SHARE 0.8 /* of what is free */

static double number_of(const json_t *plan, const char *name)
{
    return json_number_value(json_object_get(plan, name));
}

static void take_plan(stk__grid_run *r, const json_t *plan)
{
    size_t i;
    json_t *row;
    r->step_flops = number_of(plan, STK_RUN_KEY_STEP_FLOPS);
    r->parameters = number_of(plan, STK_RUN_KEY_PARAMETERS);
    r->memory_bytes = number_of(plan, STK_RUN_KEY_PLANNED_MEMORY);
    json_array_foreach(json_object_get(plan, STK_RUN_KEY_EFFECTS), i, row)
    {
        const char *name = json_string_value(json_object_get(row, STK_RUN_KEY_NAME_OF_EFFECT));
        if (name && strcmp(name, "train.epochs") == 0)
            r->epochs = (int64_t)number_of(row, STK_RUN_KEY_IN_EFFECT_OF_EFFECT);
    }
}

/* What the process has told: a plan, or why there is none. */
static stk_status hear_plan(stk__grid *grid, int run, int status, stk_error *error)
{
    stk__grid_run *r = &grid->runs[run];
    char settings[160];
    stk__buffer text = {0};
    const off_t size = lseek(r->told, 0, SEEK_END);
    r->state = STK_GRID_WAITING;
    STK__TRY(stk__buffer_reserve(&text, (size_t)size + 1, error));
    const ssize_t count = pread(r->told, text.data, (size_t)size, 0);
    text.data[count > 0 ? count : 0] = '\0';
    close(r->told);
    r->told = -1;
    json_t *plan = status == 0 ? json_loads((const char *)text.data, 0, NULL) : NULL;
    if (plan)
        take_plan(r, plan);
    else
        stk__grid_hear(r, status, (const char *)text.data);
    stk__buffer_fini(&text);
    json_decref(plan);
    if (plan) return STK_OK;
    stk__grid_print_settings(grid, run, settings, sizeof settings);
    stk__fail(error, status == STK_EXIT_USAGE ? STK_ERROR_CONFIG : STK_ERROR_DATA, "%s: %s", settings,
              r->error);
    stk__error_hint(error, "%s%snothing was trained", r->hint, r->hint[0] ? "; " : "");
    return error->code;
}

static void end_all(stk__grid *grid)
{
    int status;
    stk__grid_stop(grid, SIGKILL);
    for (int i = 0; i < grid->run_count; i++)
        while (grid->runs[i].pid > 0 && !stk__grid_ended(&grid->runs[i], &status))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* One look at all: *going says how many are under way. */
static stk_status look(stk__grid *grid, int *going, stk_error *error)
{
    int status;
    *going = 0;
    for (int i = 0; i < grid->run_count; i++) {
        if (grid->runs[i].pid > 0 && stk__grid_ended(&grid->runs[i], &status))
            STK__TRY(hear_plan(grid, i, status, error));
        *going += grid->runs[i].pid > 0;
    }
    return STK_OK;
}

static stk_status plan_all(stk__grid *grid, stk_error *error)
{
    const int most = stk__cpu_budget_read(NULL).cpus;
    for (int next = 0, going = 0; next < grid->run_count || going;) {
        while (next < grid->run_count && going < most) {
            const bool needed = grid->runs[next].state != STK_GRID_DONE;
            if (needed) STK__TRY(stk__grid_start(grid, next, true, error));
            going += needed;
            next++;
        }
        STK__TRY(look(grid, &going, error));
        if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        if (going) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return STK_OK;
}

stk_status stk__grid_plan(stk__grid *grid, stk_error *error)
{
    const stk_status status = plan_all(grid, error);
    if (status != STK_OK) end_all(grid);
    return status;
}

/* --- side by side ----------------------------------------------------------------------------------------
 */

typedef struct demand {
    int todo;
    double flops, memory_bytes; /* of the largest */
    int threads;                /* asked for by the user; 0: not */
} demand;

static int whole(const char *text)
{
    return text ? atoi(text) : 0;
}

static demand measure(const stk__grid *grid)
{
    demand d = {.threads = whole(json_string_value(json_object_get(grid->settings, "run.threads")))};
    for (int a = 0; a < grid->axis_count; a++)
        for (int v = 0; strcmp(grid->axes[a].name, "run.threads") == 0 && v < grid->axes[a].count; v++)
            if (whole(grid->axes[a].values[v]) > d.threads) d.threads = whole(grid->axes[a].values[v]);
    for (int i = 0; i < grid->run_count; i++) {
        const stk__grid_run *r = &grid->runs[i];
        if (r->state == STK_GRID_DONE) continue;
        d.todo++;
        if (r->step_flops > d.flops) d.flops = r->step_flops;
        if (r->memory_bytes > d.memory_bytes) d.memory_bytes = r->memory_bytes;
    }
    return d;
}

static int most_in_memory(const demand *d)
{
    const stk__ram ram = stk__ram_read(NULL);
    if (!ram.known || d->memory_bytes <= 0) return d->todo;
    const double most = MEMORY_SHARE * (double)ram.available_bytes / d->memory_bytes;
    return most < 1 ? 1 : most > d->todo ? d->todo : (int)most;
}

/* Threads that a run can use well. */
static int threads_worth(const demand *d, int cpus)
{
    const double worth = d->threads ? d->threads : d->flops / GRAIN_FLOPS;
    return worth < 1 ? 1 : worth > cpus ? cpus : (int)worth;
}

void stk__grid_choose_jobs(stk__grid *grid, int64_t asked)
{
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    const demand d = measure(grid);
    if (!d.todo) return; /* as it was */
    const int each = threads_worth(&d, budget.cpus), most = most_in_memory(&d);
    int jobs = asked ? (int)(asked < STK_GRID_RUNS ? asked : STK_GRID_RUNS) : budget.cpus / each;
    const int by_cpus = jobs;
    if (!asked && jobs > most) jobs = most;
    if (jobs > d.todo) jobs = d.todo;
    if (jobs < 1) jobs = 1;
    grid->jobs = jobs;
    grid->threads = jobs > 1 ? (budget.cpus / jobs > 1 ? budget.cpus / jobs : 1) : 0;
    grid->workers = grid->threads > 3 ? grid->threads / 2 : grid->threads ? 1 : 0;
    if (asked)
        snprintf(grid->why, sizeof grid->why, "set by --jobs (%s)", budget.why);
    else if (d.threads)
        snprintf(grid->why, sizeof grid->why, "run.threads=%d of %s", d.threads, budget.why);
    else if (jobs < by_cpus && jobs == most && jobs < d.todo)
        snprintf(grid->why, sizeof grid->why, "%s a run, and no more memory is free",
                 stk__cli_bytes(d.memory_bytes));
    else
        snprintf(grid->why, sizeof grid->why, "%.3g GFLOP a step %s for %s", d.flops * 1e-9,
                 each < budget.cpus ? "is little" : "is enough", budget.why);
}
