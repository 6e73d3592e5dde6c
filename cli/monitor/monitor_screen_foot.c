/* SPDX-License-Identifier: Apache-2.0 */
/* Below the GPUs: processes and host. */
#include "monitor_screen.h"

#include <math.h>
#include <string.h>

enum { CELL = 40 };

static const char *known_text(char text[CELL], const char *format, stk_reading reading, double scale)
{
    if (stk__monitor_output_knows(reading))
        snprintf(text, CELL, format, reading.value / scale);
    else
        snprintf(text, CELL, "-");
    return text;
}

static int count_processes(const stk__view *view, bool *known)
{
    int count = 0;
    *known = false;
    for (int i = 0; i < view->gpu_count; i++) {
        *known |= view->gpus[i].processes_known;
        if (view->gpus[i].processes_known) count += view->gpus[i].process_count;
    }
    return count;
}

int stk__foot_process_rows(const stk__view *view)
{
    bool known;
    const int count = count_processes(view, &known);
    return count ? count + 1 : view->gpu_count > 0;
}

static void draw_process(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu,
                         const stk_gpu_process *process)
{
    char memory[CELL], util[CELL];
    stk__pen_print(pen, place, STK_INK_PLAIN, "%3s %9d %9s %6s  %s", stk__gpu_label_of(&gpu->gpu).text,
                   process->pid, known_text(memory, "%.1f", process->memory_bytes, 1e9),
                   known_text(util, "%.0f", process->util_percent, 1), process->name);
}

/* The last row says how many more there are. */
int stk__foot_processes(const stk__pen *pen, stk__place place, int rows, const stk__view *view)
{
    bool known;
    const int count = count_processes(view, &known);
    if (rows < 1) return 0;
    if (!count) {
        stk__pen_text(pen, place, STK_INK_FAINT,
                      known ? "no process uses a GPU" : "processes: not reported by the driver");
        return 1;
    }
    if (rows == 1) {
        stk__pen_print(pen, place, STK_INK_FAINT, "%d processes on the GPUs (no room to list them)", count);
        return 1;
    }
    stk__pen_text(pen, place, STK_INK_FAINT, "GPU       pid memory GB util %  process");
    const int shown = count <= rows - 1 ? count : rows - 2;
    int row = 0;
    for (int i = 0; i < view->gpu_count; i++)
        for (int j = 0; view->gpus[i].processes_known && j < view->gpus[i].process_count && row < shown;
             j++) {
            place.y++;
            draw_process(pen, place, &view->gpus[i], &view->gpus[i].processes[j]);
            row++;
        }
    place.y++;
    if (shown < count) stk__pen_print(pen, place, STK_INK_FAINT, "and %d more", count - shown);
    return shown + 1 + (shown < count);
}

static void add(char *text, size_t room, const char *before, const char *value)
{
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", before, value);
}

static void add_pressure(char *text, size_t room, const stk_host_frame *host)
{
    char cell[CELL];
    const stk_reading *const all[] = {&host->cpu_pressure_percent, &host->io_pressure_percent,
                                      &host->memory_pressure_percent};
    static const char *const names[] = {"  pressure CPU ", " I/O ", " mem "};
    for (int i = 0; i < 3; i++)
        add(text, room, names[i], known_text(cell, "%.0f", *all[i], 1));
    add(text, room, " %", "");
}

/* The text after the CPU utilization, which is coloured. */
static void host_text(const stk_host_frame *host, char *text, size_t room)
{
    char cell[CELL];
    text[0] = '\0';
    add(text, room, ", busiest ", known_text(cell, "%.0f", host->cpu_max_percent, 1));
    add(text, room, "  memory ", known_text(cell, "%.1f", host->memory_used_bytes, 1e9));
    add(text, room, "/", known_text(cell, "%.1f GB", host->memory_total_bytes, 1e9));
    if (stk__monitor_output_knows(host->job_cpu_percent))
        add(text, room, "  job ", known_text(cell, "%.1f CPUs", host->job_cpu_percent, 100));
    if (stk__monitor_output_knows(host->job_memory_bytes))
        add(text, room, ", ", stk__cli_bytes(host->job_memory_bytes.value));
    add_pressure(text, room, host);
}

int stk__foot_host(const stk__pen *pen, stk__place place, int rows, const stk__view *view)
{
    char text[320], cell[CELL];
    const stk_reading load = view->host.cpu_percent;
    const bool busy = stk__monitor_output_knows(load) && load.value >= 90;
    host_text(&view->host, text, sizeof text);
    const int used = stk__pen_print(pen, place, busy ? STK_INK_BAD : STK_INK_PLAIN, "host: CPU %s %%",
                                    known_text(cell, "%.0f", load, 1));
    const stk__place rest = {place.y, place.x + used, place.width - used};
    if ((int)strlen(text) <= rest.width || rows < 2) {
        stk__pen_text(pen, rest, STK_INK_PLAIN, text);
        return 1;
    }
    char *pressure = strstr(text, "  pressure");
    *pressure = '\0';
    stk__pen_text(pen, rest, STK_INK_PLAIN, text);
    stk__pen_text(pen, (stk__place){place.y + 1, place.x + 6, place.width - 6}, STK_INK_PLAIN, pressure + 2);
    return 2;
}
