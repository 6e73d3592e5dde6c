/* SPDX-License-Identifier: Apache-2.0 */
/* stoker train --grid: every combination of some settings, each trained in a folder of its own by a process
 * of its own. The folders are the truth: what is finished, and how well, is read from their run.json. */
#ifndef STK_CLI_GRID_H
#define STK_CLI_GRID_H

#include "cli.h"

#include <sys/types.h>

enum { STK_GRID_AXES = 8, STK_GRID_VALUES = 64, STK_GRID_RUNS = 512, STK_GRID_PATH_BYTES = 300 };

typedef struct stk__grid_axis {
    char name[96];     /* "model.hidden" */
    const char *label; /* "hidden": its end */
    char *text;        /* owned; the values lie in it */
    const char *values[STK_GRID_VALUES];
    int count;
} stk__grid_axis;

typedef enum stk__grid_state {
    STK_GRID_WAITING,
    STK_GRID_RUNNING,
    STK_GRID_DONE,
    STK_GRID_FAILED,
    STK_GRID_STOPPED
} stk__grid_state;

typedef struct stk__grid_run {
    char name[112]; /* of its folder: "hidden-128_sequence_length-30" */
    stk__grid_state state;
    bool goes_on; /* its folder has something to go on from */

    double step_flops; /* of the plan; 0: not planned */
    double parameters, memory_bytes;
    int64_t epochs;

    pid_t pid; /* while it runs */
    int told;  /* the plan, in memory; -1: none */
    uint64_t start_ns;
    off_t log_start; /* where its log begins this time */
    int64_t step, epoch;
    double loss; /* while it runs: of the last log */

    /* Of run.json; NAN: unknown. */
    char metric[32];
    double best, final_loss, step_ms, samples_per_s;
    int64_t best_step;
    double wall_s; /* of all goings together */
    char error[320], hint[256];
} stk__grid_run;

typedef struct stk__grid {
    const stk__arguments *arguments;
    stk__grid_axis axes[STK_GRID_AXES];
    int axis_count;
    stk__grid_run *runs; /* owned */
    int run_count;
    char folder[STK_GRID_PATH_BYTES + 1];
    int lock;
    int jobs, threads, workers; /* threads, workers of each run; 0: as it likes */
    char why[192];
    json_t *settings, *axes_json; /* what makes it this grid and no other */
    double wall_s;                /* of all goings together */
    bool interrupted;
} stk__grid;

/* What the command line says beside settings. */
typedef struct stk__grid_request {
    const char *words[STK_GRID_AXES]; /* "hidden=128,256" */
    int word_count;
    const char *folder; /* --run; NULL: by what is asked for */
    int64_t jobs;       /* < 0: not given, by the rule */
    bool plan, resume;
    int64_t stop_after, trace_steps; /* must be 0: they are for one run */
} stk__grid_request;

/* For --grid: one more word; -1, or the status to leave with. */
int stk__grid_add_axis(stk__grid_request *request, const char *word);

/* Trains the grid; the exit status. */
int stk__grid_train(const stk__arguments *arguments, stk__grid_request *request);

/* --- grid_axes.c -----------------------------------------------------------------------------------------
 */

/* "hidden=128,256" has several values; "epochs=2" and "betas=[0.9, 0.99]" have one. */
bool stk__grid_is_axis(const char *word);
/* Reads and checks the axes, and makes the runs. */
stk_status stk__grid_read(stk__grid *grid, const stk__grid_request *request, stk_error *error);
const char *stk__grid_value(const stk__grid *grid, int run, int axis);
/* "hidden=128 sequence_length=30" */
void stk__grid_print_settings(const stk__grid *grid, int run, char *text, size_t size);

/* --- grid_child.c ----------------------------------------------------------------------------------------
 */

/* Starts a run of the grid, or (plan) asks for its plan. */
stk_status stk__grid_start(stk__grid *grid, int run, bool plan, stk_error *error);
/* True: it has ended; *status is as a shell has it. */
bool stk__grid_ended(stk__grid_run *run, int *status);
void stk__grid_stop(const stk__grid *grid, int signal_number); /* all that run */
/* What it said at its end, if it failed: error and hint. text: what it wrote. */
void stk__grid_hear(stk__grid_run *run, int status, const char *text);

/* --- grid_plan.c -----------------------------------------------------------------------------------------
 */

/* Plans all runs that have not begun: nothing starts before each of them can. */
stk_status stk__grid_plan(stk__grid *grid, stk_error *error);
/* How many side by side, and why. */
void stk__grid_choose_jobs(stk__grid *grid, int64_t asked);

/* --- grid_folder.c ---------------------------------------------------------------------------------------
 */

/* Finds or makes the folder, takes its lock, and looks at what is in it. */
stk_status stk__grid_open(stk__grid *grid, const stk__grid_request *request, stk_error *error);
void stk__grid_close(stk__grid *grid);
void stk__grid_path(const stk__grid *grid, const stk__grid_run *run, const char *end, char *path,
                    size_t size);
void stk__grid_read_result(const stk__grid *grid, stk__grid_run *run);   /* of run.json */
void stk__grid_read_progress(const stk__grid *grid, stk__grid_run *run); /* of metrics.jsonl */
void stk__grid_read_log(const stk__grid *grid, stk__grid_run *run, char *text, size_t size);
stk_status stk__grid_write(const stk__grid *grid, stk_error *error); /* grid.json */

/* --- grid_print.c ----------------------------------------------------------------------------------------
 */

typedef struct stk__grid_screen {
    bool live; /* lines that are drawn again */
    int drawn;
    uint64_t last_ns;
} stk__grid_screen;

void stk__grid_show_beginning(stk__grid_screen *screen, const stk__grid *grid);
void stk__grid_show(stk__grid_screen *screen, const stk__grid *grid);
void stk__grid_show_change(stk__grid_screen *screen, const stk__grid *grid, int run);
void stk__grid_show_end(stk__grid_screen *screen);

void stk__grid_rank(const stk__grid *grid, int order[STK_GRID_RUNS]); /* best first, failed last */
json_t *stk__grid_json(const stk__grid *grid);
void stk__grid_print_table(const stk__grid *grid);
void stk__grid_print_plan(const stk__grid *grid);
json_t *stk__grid_plan_json(const stk__grid *grid);

#endif
