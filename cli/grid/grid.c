/* SPDX-License-Identifier: Apache-2.0 */
/* stoker train --grid: the loop over its runs. */
#include "grid.h"

#include "core/clock.h"
#include "core/durable.h"
#include "core/folder_lock.h"
#include "session/run_start.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { LOG_BYTES = 8192 };
#define LOOK_NS    20000000L
#define PATIENCE_S 60 /* for runs that were asked to stop: a step, a checkpoint */

typedef struct grid_job {
    stk__grid grid;
    stk__grid_screen screen;
    uint64_t stop_ns; /* when they were asked to stop; 0: not yet */
} grid_job;

static stk_status note_end(grid_job *job, int run, int status, stk_error *error)
{
    static char text[LOG_BYTES];
    stk__grid *grid = &job->grid;
    stk__grid_run *r = &grid->runs[run];
    const double earlier_s = r->wall_s;
    r->wall_s += (double)(stk__clock_ns() - r->start_ns) * 1e-9;
    r->state = job->stop_ns ? STK_GRID_STOPPED : STK_GRID_FAILED;
    r->goes_on = true;
    stk__grid_read_log(grid, r, text, sizeof text);
    if (status == 0) stk__grid_read_result(grid, r); /* done, if it is */
    if (r->state == STK_GRID_FAILED) stk__grid_hear(r, status, text);
    if (job->stop_ns && status != 0 && status != STK_EXIT_INTERRUPTED) r->wall_s = earlier_s;
    stk__grid_show_change(&job->screen, grid, run);
    return stk__grid_write(grid, error);
}

static int pick(const stk__grid *grid, int *going)
{
    int next = -1;
    *going = 0;
    for (int i = grid->run_count - 1; i >= 0; i--) {
        if (grid->runs[i].state == STK_GRID_WAITING) next = i;
        *going += grid->runs[i].state == STK_GRID_RUNNING;
    }
    return next;
}

static stk_status look(grid_job *job, stk_error *error)
{
    int status;
    for (int i = 0; i < job->grid.run_count; i++) {
        stk__grid_run *r = &job->grid.runs[i];
        if (r->state != STK_GRID_RUNNING) continue;
        if (stk__grid_ended(r, &status))
            STK__TRY(note_end(job, i, status, error));
        else if (job->screen.live)
            stk__grid_read_progress(&job->grid, r);
    }
    stk__grid_show(&job->screen, &job->grid);
    return STK_OK;
}

/* Ctrl-C: each finishes its step and saves; who does not is ended. */
static void stop_runs(grid_job *job)
{
    const uint64_t now = stk__clock_ns();
    if (!job->stop_ns) {
        job->stop_ns = now;
        stk__grid_stop(&job->grid, SIGTERM);
        stk__grid_show_end(&job->screen);
        if (!stk__cli_quiet)
            fprintf(stderr, "stopping: runs finish their step and save; Ctrl-C again ends them at once\n");
    } else if (now - job->stop_ns > PATIENCE_S * STK_SECOND_NS) {
        stk__grid_stop(&job->grid, SIGKILL);
    }
}

static stk_status train_all(grid_job *job, stk_error *error)
{
    stk__grid *grid = &job->grid;
    for (;;) {
        int going, next = pick(grid, &going);
        if (atomic_load(stk__interrupt_flag())) {
            stop_runs(job);
            next = -1;
        }
        if (next < 0 && going == 0) break;
        if (next >= 0 && going < grid->jobs) {
            STK__TRY(stk__grid_start(grid, next, false, error));
            stk__grid_show_change(&job->screen, grid, next);
            continue;
        }
        STK__TRY(look(job, error));
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    grid->interrupted = job->stop_ns != 0;
    return STK_OK;
}

static stk_status make_folder(stk__grid *grid, stk_error *error)
{
    if (grid->lock < 0) {
        STK__TRY(stk__durable_folder(grid->folder, error));
        STK__TRY(stk__folder_lock_take(grid->folder, true, &grid->lock, error));
    }
    return stk__grid_write(grid, error);
}

static stk_status run_grid(grid_job *job, const stk__grid_request *request, stk_error *error)
{
    stk__grid *grid = &job->grid;
    STK__TRY(stk__grid_read(grid, request, error));
    STK__TRY(stk__grid_open(grid, request, error));
    STK__TRY(stk__grid_plan(grid, error));
    stk__grid_choose_jobs(grid, request->jobs);
    stk__grid_show_beginning(&job->screen, grid);
    if (request->plan) return STK_OK;
    STK__TRY(make_folder(grid, error));
    stk__interrupt_wait(true);
    const uint64_t start_ns = stk__clock_ns();
    const stk_status status = train_all(job, error);
    grid->wall_s += (double)(stk__clock_ns() - start_ns) * 1e-9;
    stk__grid_show_end(&job->screen);
    STK__TRY(status);
    return stk__grid_write(grid, error);
}

static int report(const stk__grid *grid, bool plan)
{
    int failed = 0;
    for (int i = 0; i < grid->run_count; i++)
        failed += grid->runs[i].state == STK_GRID_FAILED;
    if (stk__cli_json)
        stk__cli_print_json(plan ? stk__grid_plan_json(grid) : stk__grid_json(grid));
    else if (plan)
        stk__grid_print_plan(grid);
    else
        stk__grid_print_table(grid);
    if (failed && !stk__cli_quiet)
        fprintf(stderr, "stoker: %d of %s failed; their logs are next to their folders in %s\n", failed,
                stk__cli_count((uint64_t)grid->run_count, "run"), grid->folder);
    if (grid->interrupted && !stk__cli_quiet) fprintf(stderr, "interrupted; the same command resumes\n");
    return grid->interrupted ? STK_EXIT_INTERRUPTED : failed ? STK_EXIT_FAILED : STK_EXIT_GOOD;
}

int stk__grid_add_axis(stk__grid_request *request, const char *word)
{
    if (request->word_count == STK_GRID_AXES)
        return stk__cli_usage("train", "--grid takes at most %d settings", STK_GRID_AXES);
    request->words[request->word_count++] = word;
    return -1;
}

/* -1: the request can be met. */
static int check_request(stk__grid_request *request)
{
    if (request->jobs == 0) return stk__cli_usage("train", "--jobs must be 1 or more");
    if (request->stop_after) return stk__cli_usage("train", "--grid trains to the end; set train.epochs");
    if (request->trace_steps) return stk__cli_usage("train", "--trace records one run, not a --grid");
    if (request->jobs < 0) request->jobs = 0; /* by the rule */
    return -1;
}

int stk__grid_train(const stk__arguments *arguments, stk__grid_request *request)
{
    static grid_job job; /* too large for a stack */
    stk_error error;
    const int refused = check_request(request);
    if (refused >= 0) return refused;
    if (stk__run_take_resume(arguments->config, &request->resume, &error) != STK_OK)
        return stk__cli_fail(&error);
    job.grid = (stk__grid){.arguments = arguments, .lock = -1};
    const stk_status status = run_grid(&job, request, &error);
    if (status != STK_OK) stk__grid_stop(&job.grid, SIGTERM); /* and they die with us */
    const int code = status == STK_OK ? report(&job.grid, request->plan) : stk__cli_fail(&error);
    stk__grid_close(&job.grid);
    return code;
}
