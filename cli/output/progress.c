/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line: how far work is, how fast it went in the last seconds, what is left. Fields are left out
 * by importance until the line fits the terminal. Main thread only. */
#include "cli.h"

#include "core/clock.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    MARKS_NS = 400000000,
    LEAST_SPAN_NS = 500000000,
    LEAST_EPOCH_NS = 100000000,
    LEAST_RUN_S = 2,
    MOST_BAR = 40,
    LEAST_BAR = 6,
    TEXT_BYTES = 40
};

void stk__progress_start(stk__progress *progress)
{
    *progress = (stk__progress){.on = isatty(STDERR_FILENO) && !stk__cli_quiet, .start_ns = stk__clock_ns()};
}

static double rate_until(const stk__progress *p, uint64_t now, uint64_t done)
{
    return (double)(done - p->marks[0].done) * 1e9 / (double)(now - p->marks[0].ns);
}

/* Over the last marks, so that neither the start nor a pause long ago counts, nor what was done before a
 * resume. Work that begins again (a new epoch) keeps the old rate until it has one of its own; where even
 * whole epochs are short, that of the last one. */
static void measure_rate(stk__progress *p, uint64_t now, uint64_t done)
{
    if (!p->mark_count || done < p->done) {
        if (p->mark_count && p->seen_ns >= p->marks[0].ns + LEAST_EPOCH_NS)
            p->rate = rate_until(p, p->seen_ns, p->done);
        p->marks[0].ns = now;
        p->marks[0].done = done;
        p->mark_count = 1;
    }
    p->done = done;
    p->seen_ns = now;
    if (now - p->marks[0].ns >= LEAST_SPAN_NS) p->rate = rate_until(p, now, done);
    if (now - p->marks[p->mark_count - 1].ns < MARKS_NS) return;
    if (p->mark_count == STK_PROGRESS_MARKS)
        memmove(&p->marks[0], &p->marks[1], sizeof p->marks[0] * (size_t)--p->mark_count);
    p->marks[p->mark_count].ns = now;
    p->marks[p->mark_count++].done = done;
}

/* "45 s", "12 min", "3 h 05 min" */
static const char *duration_text(double seconds)
{
    static char text[2][TEXT_BYTES]; /* the line has two of them */
    static int next;
    char *out = text[next++ % 2];
    const double minutes = seconds / 60;
    if (seconds < 99.5)
        snprintf(out, TEXT_BYTES, "%.0f s", seconds);
    else if (minutes < 99.5)
        snprintf(out, TEXT_BYTES, "%.0f min", minutes);
    else
        snprintf(out, TEXT_BYTES, "%.0f h %02d min", floor(minutes / 60), (int)fmod(minutes, 60));
    return out;
}

/* Fields behind the bar, in the order of the line. */
enum { FIELD_PERCENT, FIELD_COUNT, FIELD_RATE, FIELD_NOTE, FIELD_LEFT, FIELD_RUN, FIELDS, FIELD_BYTES = 112 };

static void write_fields(const stk__progress *p, uint64_t now, uint64_t total, char text[][FIELD_BYTES])
{
    const double run_s = (double)(now - p->start_ns) * 1e-9;
    const uint64_t run_done = p->run_done - p->run_from;
    for (int i = 0; i < FIELDS; i++)
        text[i][0] = '\0';
    if (total)
        snprintf(text[FIELD_PERCENT], FIELD_BYTES, " %3d %%", (int)(100 * (double)p->done / (double)total));
    snprintf(text[FIELD_COUNT], FIELD_BYTES, "  %s of %s", stk__cli_grouped(p->done),
             stk__cli_grouped(total));
    snprintf(text[FIELD_NOTE], FIELD_BYTES, "%s", p->note);
    if (p->rate <= 0) return;
    if (p->rate < 10)
        snprintf(text[FIELD_RATE], FIELD_BYTES, "  %.1f/s", p->rate);
    else
        snprintf(text[FIELD_RATE], FIELD_BYTES, "  %s/s", stk__cli_grouped((uint64_t)(p->rate + 0.5)));
    snprintf(text[FIELD_LEFT], FIELD_BYTES, "  %s left", duration_text((double)(total - p->done) / p->rate));
    if (p->run_total && run_done && run_s >= LEAST_RUN_S)
        snprintf(text[FIELD_RUN], FIELD_BYTES, ", run %s",
                 duration_text((double)(p->run_total - p->run_done) * run_s / (double)run_done));
}

static int fields_width(char text[][FIELD_BYTES])
{
    int width = 0;
    for (int i = 0; i < FIELDS; i++)
        width += (int)strlen(text[i]);
    return width;
}

/* Leaves out fields until the rest fits; the columns that stay for the bar, with its brackets, or 0. */
static int fit_fields(char text[][FIELD_BYTES], int room)
{
    static const int dispensable[] = {FIELD_COUNT,   FIELD_RUN,  FIELD_NOTE,
                                      FIELD_PERCENT, FIELD_LEFT, FIELD_RATE};
    for (size_t i = 0; i < sizeof dispensable / sizeof dispensable[0]; i++) {
        const int least = i == 0 ? 3 + LEAST_BAR : 0; /* counts give way to a bar */
        if (fields_width(text) + least <= room) break;
        text[dispensable[i]][0] = '\0';
    }
    const int bar = room - fields_width(text) - 3;
    return bar < LEAST_BAR ? 0 : bar < MOST_BAR ? bar : MOST_BAR;
}

static void draw_bar(int bar, uint64_t done, uint64_t total)
{
    const int full = total ? (int)((double)bar * (double)done / (double)total) : 0;
    fputs(" [", stderr);
    for (int i = 0; i < bar; i++)
        fputs(i < full ? "█" : "·", stderr);
    fputs("]", stderr);
}

void stk__progress_show(stk__progress *progress, const char *what, uint64_t done, uint64_t total)
{
    const uint64_t now = stk__clock_ns();
    char text[FIELDS][FIELD_BYTES];
    if (!progress->on || (now - progress->last_ns < STK_SECOND_NS / 10 && done < total)) return;
    const int columns = stk__cli_width(stderr);
    progress->last_ns = now;
    measure_rate(progress, now, done < total ? done : total);
    write_fields(progress, now, total, text);
    const int bar = fit_fields(text, (columns ? columns : 80) - 1 - (int)strlen(what));
    fprintf(stderr, "\r%s", what);
    if (bar) draw_bar(bar, progress->done, total);
    for (int i = 0; i < FIELDS; i++)
        fputs(text[i], stderr);
    fputs("\033[K", stderr);
}

void stk__progress_end(stk__progress *progress)
{
    if (progress->on && progress->last_ns) fputs("\r\033[K", stderr);
    progress->last_ns = 0;
}
