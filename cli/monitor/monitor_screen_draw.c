/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the full-screen view: GPUs at the largest size at which all fit, then processes, host, verdict.
 */
#include "monitor_screen.h"

#include <ncurses.h>
#include <string.h>
#include <time.h>

enum {
    TWO_COLUMNS = 160, /* from this width on */
    MOST_HEIGHT = 10,  /* of a GPU in full */
    LOW = 20,          /* rows below which processes get one at most */
    VERDICT_ROWS = 4
};

#define SO_FAR "so far: "

typedef struct layout {
    int columns, lines; /* of GPUs: side by side, below each other */
    int visible;        /* GPUs */
    int top, area;      /* rows of GPUs */
    int height;         /* of a GPU, with the gap behind it */
    int gap;
    stk__screen_size size;
    int processes_y, process_rows, host_y, host_rows, verdict_y, verdict_rows, keys_y;
} layout;

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Full size if all GPUs fit, else three rows each, else one row each with scrolling. */
static void choose_size(layout *l, int wanted_rows)
{
    l->gap = 0;
    if (l->lines * STK_FULL_HEIGHT <= l->area) {
        const int room = most(l->area - wanted_rows, l->lines * STK_FULL_HEIGHT) / l->lines;
        l->size = STK_SIZE_FULL;
        l->gap = room > STK_FULL_HEIGHT;
        l->height = least(room, MOST_HEIGHT + l->gap);
    } else if (l->lines * STK_MIDDLE_HEIGHT <= l->area) {
        l->size = STK_SIZE_MIDDLE;
        l->gap = l->lines * (STK_MIDDLE_HEIGHT + 1) <= l->area;
        l->height = STK_MIDDLE_HEIGHT + l->gap;
    } else {
        l->size = STK_SIZE_ROW;
        l->height = STK_ROW_HEIGHT;
        l->top++; /* a heading */
        l->area--;
    }
    l->visible = least(l->lines, most(l->area, 0) / l->height) * l->columns;
}

static layout make_layout(const stk__pen *pen, const stk__view *view)
{
    layout l = {.columns = pen->columns >= TWO_COLUMNS && view->gpu_count > 1 ? 2 : 1, .top = 2};
    const int wanted = stk__foot_process_rows(view), kept = least(wanted, pen->rows < LOW ? 0 : 3);
    const stk__place nowhere = {pen->rows, 0, pen->columns}; /* to count rows */
    const stk__place words = {pen->rows, 0, pen->columns - (int)strlen(SO_FAR)};
    l.verdict_rows = pen->rows < LOW ? 1 : most(1, stk__pen_wrapped(pen, words, VERDICT_ROWS, view->verdict));
    l.host_rows = pen->rows < LOW ? 1 : stk__foot_host(pen, nowhere, 2, view);
    l.keys_y = pen->rows - 1;
    l.verdict_y = l.keys_y - l.verdict_rows;
    l.host_y = l.verdict_y - l.host_rows;
    if (pen->rows < LOW) l.top = 1;
    l.area = l.host_y - l.top - kept;
    l.lines = (view->gpu_count + l.columns - 1) / l.columns;
    if (l.lines) choose_size(&l, wanted - kept);
    const int used = l.lines ? l.visible / l.columns * l.height : 0;
    l.processes_y = l.top + used + (wanted <= l.host_y - l.top - used - 1 && !l.gap);
    l.process_rows = l.host_y - l.processes_y;
    return l;
}

static void draw_head(const stk__pen *pen, const stk__view *view, const stk__screen_looks *looks,
                      const layout *l)
{
    char day[16] = "--:--:--";
    const time_t seconds = (time_t)view->clock_s;
    struct tm local;
    if (localtime_r(&seconds, &local)) strftime(day, sizeof day, "%H:%M:%S", &local);
    const stk__place place = {0, 0, pen->columns};
    int used = stk__pen_text(pen, place, STK_INK_BOLD, "stoker monitor");
    used += stk__pen_print(pen, (stk__place){0, used, pen->columns - used}, STK_INK_PLAIN, "  %s  %.0f s%s",
                           day, view->seconds,
                           looks->replay ? view->ended ? "  end of the recording" : "  recording" : "");
    if (l->visible < view->gpu_count)
        used += stk__pen_print(pen, (stk__place){0, used, pen->columns - used}, STK_INK_PLAIN,
                               "  GPUs %d to %d of %d", looks->first + 1,
                               least(looks->first + l->visible, view->gpu_count), view->gpu_count);
    if (looks->paused)
        stk__pen_text(pen, (stk__place){0, used + 2, pen->columns - used - 2}, STK_INK_NOTE, "paused");
}

static void draw_gpus(const stk__pen *pen, const stk__view *view, const layout *l, int first)
{
    const int width = (pen->columns - 3 * (l->columns - 1)) / l->columns;
    for (int column = 0; column < l->columns && l->size == STK_SIZE_ROW && l->lines; column++)
        stk__draw_row_heading(pen, (stk__place){l->top - 1, column * (width + 3), width});
    for (int i = 0; i < l->visible && first + i < view->gpu_count; i++) {
        const stk__gpu_box box = {.place = {.y = l->top + i / l->columns * l->height,
                                            .x = i % l->columns * (width + 3),
                                            .width = width},
                                  .height = l->height - l->gap,
                                  .size = l->size};
        stk__draw_gpu(pen, &box, &view->gpus[first + i]);
    }
}

static void draw_keys(const stk__pen *pen, int y, const stk__screen_looks *looks)
{
    const char *text = !looks->help ? "q quit   h help"
                       : looks->replay
                           ? "q quit   p pause   f skip to the end   j k PgUp PgDn scroll   h hide help"
                           : "q quit and summarize   p pause   j k PgUp PgDn scroll   h hide help";
    stk__pen_text(pen, (stk__place){y, 0, pen->columns - 1}, STK_INK_FAINT,
                  text); /* the last cell would scroll */
}

int stk__draw_all(const stk__pen *pen, const stk__view *view, stk__screen_looks *looks)
{
    const layout l = make_layout(pen, view);
    looks->step = l.columns;
    looks->last = l.lines * l.columns - l.visible;
    looks->first = most(0, least(looks->first, looks->last)) / l.columns * l.columns;
    erase();
    draw_head(pen, view, looks, &l);
    draw_gpus(pen, view, &l, looks->first);
    stk__foot_processes(pen, (stk__place){l.processes_y, 0, pen->columns}, l.process_rows, view);
    stk__foot_host(pen, (stk__place){l.host_y, 0, pen->columns}, l.host_rows, view);
    const int used = stk__pen_text(pen, (stk__place){l.verdict_y, 0, pen->columns}, STK_INK_BOLD, SO_FAR);
    stk__pen_wrapped(pen, (stk__place){l.verdict_y, used, pen->columns - used}, l.verdict_rows,
                     view->verdict);
    draw_keys(pen, l.keys_y, looks);
    return l.visible;
}
