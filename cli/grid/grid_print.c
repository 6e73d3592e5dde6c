/* SPDX-License-Identifier: Apache-2.0 */
/* What people see of a grid: a line for each run that is under way, and at the end a table, best first. */
#include "grid.h"

#include "core/clock.h"
#include "core/json_text.h"
#include "train/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const state_words[] = {"waiting", "running", "done", "failed", "stopped"};

/* --- while it runs ---------------------------------------------------------------------------------------
 */

static int count_in(const stk__grid *grid, stk__grid_state state)
{
    int count = 0;
    for (int i = 0; i < grid->run_count; i++)
        count += grid->runs[i].state == state;
    return count;
}

void stk__grid_show_beginning(stk__grid_screen *screen, const stk__grid *grid)
{
    const int done = count_in(grid, STK_GRID_DONE), todo = grid->run_count - done;
    *screen = (stk__grid_screen){.live = isatty(STDERR_FILENO) && !stk__cli_quiet};
    if (stk__cli_quiet) return;
    fprintf(stderr, "  grid     %s", stk__cli_count((uint64_t)grid->run_count, "run"));
    for (int a = 0; a < grid->axis_count; a++) {
        fprintf(stderr, "%s%s ", a ? " x " : ": ", grid->axes[a].label);
        for (int v = 0; v < grid->axes[a].count; v++)
            fprintf(stderr, "%s%s", v ? ", " : "", grid->axes[a].values[v]);
    }
    if (done) fprintf(stderr, "; %d already done", done);
    fprintf(stderr, "\n  folder   %s\n", grid->folder);
    if (todo && grid->jobs > 1)
        fprintf(stderr, "  jobs     %d in parallel, %s each: %s\n", grid->jobs,
                stk__cli_count((uint64_t)grid->threads, "thread"), grid->why);
    else if (todo)
        fprintf(stderr, "  jobs     one after another: %s\n", grid->why);
}

static void clear(stk__grid_screen *screen)
{
    if (screen->drawn) fprintf(stderr, "\033[%dA\r\033[J", screen->drawn);
    screen->drawn = 0;
}

/* As wide as the terminal: a line that wraps could not be drawn over. */
static void draw_line(stk__grid_screen *screen, const char *text)
{
    struct winsize size = {0};
    const int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
    fprintf(stderr, "%.*s\n", width - 1, text);
    screen->drawn++;
}

void stk__grid_show(stk__grid_screen *screen, const stk__grid *grid)
{
    char settings[160], text[400];
    const uint64_t now = stk__clock_ns();
    if (!screen->live || now - screen->last_ns < STK_SECOND_NS / 5) return;
    screen->last_ns = now;
    clear(screen);
    for (int i = 0; i < grid->run_count; i++) {
        const stk__grid_run *r = &grid->runs[i];
        if (r->state != STK_GRID_RUNNING) continue;
        char loss[32] = "";
        stk__grid_print_settings(grid, i, settings, sizeof settings);
        if (!isnan(r->loss)) snprintf(loss, sizeof loss, ", loss %.4g", r->loss);
        snprintf(text, sizeof text, "  %s: epoch %lld of %lld, step %lld%s, %.0f s", settings,
                 (long long)(r->epoch > 0 ? r->epoch : 1), (long long)r->epochs, (long long)r->step, loss,
                 (double)(now - r->start_ns) * 1e-9);
        draw_line(screen, text);
    }
    snprintf(text, sizeof text, "  %d of %s done", count_in(grid, STK_GRID_DONE),
             stk__cli_count((uint64_t)grid->run_count, "run"));
    draw_line(screen, text);
}

void stk__grid_show_change(stk__grid_screen *screen, const stk__grid *grid, int run)
{
    char settings[256];
    const stk__grid_run *r = &grid->runs[run];
    if (stk__cli_quiet) return;
    clear(screen);
    stk__grid_print_settings(grid, run, settings, sizeof settings);
    if (r->state == STK_GRID_RUNNING && screen->live) return; /* it has its line */
    fprintf(stderr, "%s: %s", settings,
            r->state == STK_GRID_RUNNING ? (r->goes_on ? "resumes" : "starts") : state_words[r->state]);
    if (r->state == STK_GRID_FAILED) fprintf(stderr, ": %s", r->error);
    if (r->state == STK_GRID_DONE && !isnan(r->best)) fprintf(stderr, ", best %s %.4g", r->metric, r->best);
    if (r->state == STK_GRID_DONE) fprintf(stderr, ", %.1f s", r->wall_s);
    fprintf(stderr, "\n");
}

void stk__grid_show_end(stk__grid_screen *screen)
{
    clear(screen);
}

/* --- rank ------------------------------------------------------------------------------------------------
 */

static bool is_low(const char *metric)
{
    for (stk__task task = 0; task < STK_TASK_COUNT; task++) {
        const int value = stk__task_value(task, metric);
        if (value >= 0) return stk__task_describe(task)->low[value];
    }
    return false;
}

/* Smaller is better; without anything to evaluate on the loss of training decides. */
static double cost(const stk__grid_run *r)
{
    if (isnan(r->best)) return isnan(r->final_loss) ? INFINITY : r->final_loss;
    return is_low(r->metric) ? r->best : -r->best;
}

static const stk__grid *ranked; /* by qsort below */

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    const stk__grid_run *p = &ranked->runs[x], *q = &ranked->runs[y];
    if ((p->state == STK_GRID_DONE) != (q->state == STK_GRID_DONE)) return p->state == STK_GRID_DONE ? -1 : 1;
    if (p->state == STK_GRID_DONE && isnan(p->best) != isnan(q->best)) return isnan(p->best) ? 1 : -1;
    if (p->state == STK_GRID_DONE && cost(p) != cost(q)) return cost(p) < cost(q) ? -1 : 1;
    return x - y;
}

void stk__grid_rank(const stk__grid *grid, int order[STK_GRID_RUNS])
{
    for (int i = 0; i < grid->run_count; i++)
        order[i] = i;
    ranked = grid;
    qsort(order, (size_t)grid->run_count, sizeof order[0], compare);
}

/* --- reports ---------------------------------------------------------------------------------------------
 */

static json_t *settings_json(const stk__grid *grid, int run)
{
    json_t *settings = json_object();
    for (int a = 0; a < grid->axis_count; a++)
        json_object_set_new(settings, grid->axes[a].name, stk__json_string(stk__grid_value(grid, run, a)));
    return settings;
}

static json_t *run_json(const stk__grid *grid, int run, int rank)
{
    char path[512];
    const stk__grid_run *r = &grid->runs[run];
    const bool done = r->state == STK_GRID_DONE;
    stk__grid_path(grid, r, "", path, sizeof path);
    return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o}", "rank",
                     done ? json_integer(rank) : json_null(), "name", r->name, "state", state_words[r->state],
                     "settings", settings_json(grid, run), "best_metric", stk__json_number(r->best),
                     "best_step", done ? json_integer(r->best_step) : json_null(), "loss",
                     stk__json_number(r->final_loss), "step_ms", stk__json_number(r->step_ms),
                     "samples_per_s", stk__json_number(r->samples_per_s), "wall_s", r->wall_s, "run",
                     stk__json_string(path), "error",
                     r->state == STK_GRID_FAILED ? stk__json_string(r->error) : json_null());
}

static const char *metric_of(const stk__grid *grid)
{
    for (int i = 0; i < grid->run_count; i++)
        if (grid->runs[i].metric[0]) return grid->runs[i].metric;
    return "";
}

json_t *stk__grid_json(const stk__grid *grid)
{
    int order[STK_GRID_RUNS];
    json_t *rows = json_array();
    stk__grid_rank(grid, order);
    for (int i = 0; i < grid->run_count; i++)
        json_array_append_new(rows, run_json(grid, order[i], i + 1));
    return json_pack("{s:i, s:o, s:i, s:o, s:s, s:f, s:s, s:b, s:O, s:O, s:o}", "schema", 1, "folder",
                     stk__json_string(grid->folder), "jobs", grid->jobs, "threads",
                     grid->threads ? json_integer(grid->threads) : json_null(), "why", grid->why, "wall_s",
                     grid->wall_s, "metric", metric_of(grid), "interrupted", grid->interrupted, "settings",
                     grid->settings, "grid", grid->axes_json, "runs", rows);
}

/* --- tables ----------------------------------------------------------------------------------------------
 */

typedef struct row_text {
    char rank[16], best[32], loss[32], step_ms[32], wall_s[32], end[1024];
} row_text;

static void print_number(char text[32], double value, const char *format)
{
    snprintf(text, 32, "-");
    if (!isnan(value)) snprintf(text, 32, format, value);
}

/* rank, metric, the axes, loss, step ms, wall s, folder or error. */
static void fill_row(const stk__grid *grid, int run, row_text *text, const char *cells[STK_TABLE_COLUMNS])
{
    const stk__grid_run *r = &grid->runs[run];
    const bool done = r->state == STK_GRID_DONE, failed = r->state == STK_GRID_FAILED;
    int c = 0;
    print_number(text->best, done ? r->best : NAN, "%.4g");
    print_number(text->loss, r->final_loss, "%.4g");
    print_number(text->step_ms, r->step_ms, r->step_ms < 100 ? "%.3g" : "%.0f");
    print_number(text->wall_s, r->wall_s > 0 ? r->wall_s : NAN, "%.1f");
    if (done)
        stk__grid_path(grid, r, "", text->end, sizeof text->end);
    else
        snprintf(text->end, sizeof text->end, "%s%s%s", state_words[r->state], failed ? ": " : "",
                 failed ? r->error : "");
    cells[c++] = text->rank;
    cells[c++] = text->best;
    for (int a = 0; a < grid->axis_count; a++)
        cells[c++] = stk__grid_value(grid, run, a);
    cells[c++] = text->loss;
    cells[c++] = text->step_ms;
    cells[c++] = text->wall_s;
    cells[c] = text->end;
}

static void fit_axes(stk__table *table, const stk__grid *grid, int first)
{
    for (int a = 0; a < grid->axis_count; a++) {
        table->right[first + a] = true;
        stk__table_fit(table, first + a, grid->axes[a].label);
        for (int v = 0; v < grid->axes[a].count; v++)
            stk__table_fit(table, first + a, grid->axes[a].values[v]);
    }
}

static void print_heads(stk__table *table, const stk__grid *grid)
{
    const char *heads[STK_TABLE_COLUMNS] = {"rank", metric_of(grid)};
    static const int widths[] = {8, 8, 7};
    const int axes = grid->axis_count;
    if (!heads[1][0]) heads[1] = "metric";
    for (int a = 0; a < axes; a++)
        heads[2 + a] = grid->axes[a].label;
    heads[2 + axes] = "loss";
    heads[3 + axes] = "step ms";
    heads[4 + axes] = "wall s";
    heads[5 + axes] = "run";
    table->widths[0] = 4;
    table->widths[1] = 10;
    fit_axes(table, grid, 2);
    for (int i = 0; i < 3; i++)
        table->widths[2 + axes + i] = widths[i];
    for (int c = 0; c + 1 < table->count; c++) {
        table->right[c] = true;
        stk__table_fit(table, c, heads[c]);
    }
    stk__table_row(table, heads);
}

void stk__grid_print_table(const stk__grid *grid)
{
    int order[STK_GRID_RUNS];
    const char *cells[STK_TABLE_COLUMNS];
    row_text text;
    stk__table table;
    stk__grid_rank(grid, order);
    stk__table_init(&table, stdout, grid->axis_count + 6, 0);
    for (int i = 0; i < grid->run_count; i++) {
        fill_row(grid, i, &text, cells);
        stk__table_fit(&table, table.count - 1, text.end);
    }
    print_heads(&table, grid);
    for (int i = 0; i < grid->run_count; i++) {
        snprintf(text.rank, sizeof text.rank, "-");
        if (grid->runs[order[i]].state == STK_GRID_DONE) snprintf(text.rank, sizeof text.rank, "%d", i + 1);
        fill_row(grid, order[i], &text, cells);
        stk__table_row(&table, cells);
    }
}

void stk__grid_print_plan(const stk__grid *grid)
{
    const int axes = grid->axis_count;
    const char *cells[STK_TABLE_COLUMNS];
    char flops[32], memory[32];
    stk__table table;
    stk__table_init(&table, stdout, axes + 3, 0);
    fit_axes(&table, grid, 0);
    table.widths[axes] = table.widths[axes + 1] = 12;
    table.right[axes] = table.right[axes + 1] = true;
    for (int a = 0; a < axes; a++)
        cells[a] = grid->axes[a].label;
    cells[axes] = "parameters";
    cells[axes + 1] = "GFLOP a step";
    cells[axes + 2] = "   memory";
    stk__table_fit(&table, axes + 2, cells[axes + 2]);
    stk__table_row(&table, cells);
    for (int i = 0; i < grid->run_count; i++) {
        for (int a = 0; a < axes; a++)
            cells[a] = stk__grid_value(grid, i, a);
        snprintf(flops, sizeof flops, "%.3g", grid->runs[i].step_flops * 1e-9);
        snprintf(memory, sizeof memory, "%9s", stk__cli_bytes(grid->runs[i].memory_bytes));
        cells[axes] = stk__cli_grouped((uint64_t)grid->runs[i].parameters);
        cells[axes + 1] = flops;
        cells[axes + 2] = memory;
        stk__table_row(&table, cells);
    }
}

json_t *stk__grid_plan_json(const stk__grid *grid)
{
    json_t *rows = json_array();
    for (int i = 0; i < grid->run_count; i++) {
        const stk__grid_run *r = &grid->runs[i];
        json_array_append_new(rows, json_pack("{s:o, s:f, s:f, s:f}", "settings", settings_json(grid, i),
                                              "parameters", r->parameters, "step_flops", r->step_flops,
                                              "planned_memory_bytes", r->memory_bytes));
    }
    return json_pack("{s:i, s:o, s:i, s:s, s:o}", "schema", 1, "folder", stk__json_string(grid->folder),
                     "jobs", grid->jobs, "why", grid->why, "runs", rows);
}
