/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU on the screen: full size, three rows, or one row. */
#include "monitor_screen.h"

#include "monitor/verdict/gpu_targets.h"

#include <math.h>
#include <string.h>

enum { CELL = 40, LABEL = 7, VALUE = 13 };

static stk__ink ink_util(stk_reading util)
{
    if (!stk__monitor_output_knows(util)) return STK_INK_PLAIN;
    return util.value >= STK_GPU_UTIL_LEAST_PERCENT  ? STK_INK_GOOD
           : util.value >= STK_GPU_UTIL_POOR_PERCENT ? STK_INK_NOTE
                                                     : STK_INK_BAD;
}

static stk__ink ink_heat(stk_reading heat)
{
    if (!stk__monitor_output_knows(heat) || heat.value < STK_GPU_WARM_C) return STK_INK_BAR;
    return heat.value < STK_GPU_HOT_C ? STK_INK_NOTE : STK_INK_BAD;
}

static const char *number_text(char text[CELL], const char *format, double value)
{
    if (isnan(value))
        snprintf(text, CELL, "-");
    else
        snprintf(text, CELL, format, value);
    return text;
}

static double value_of(stk_reading reading)
{
    return stk__monitor_output_knows(reading) ? reading.value : NAN;
}

/* "508/575" */
static const char *pair_text(char text[CELL], const char *format, stk_reading now, stk_reading most)
{
    char parts[2][CELL];
    const double scale = strcmp(format, "%.1f") == 0 ? 1e9 : 1;
    snprintf(text, CELL, "%.18s/%.18s", number_text(parts[0], format, value_of(now) / scale),
             number_text(parts[1], format, value_of(most) / scale));
    return text;
}

static stk__place move(stk__place place, int down, int right)
{
    return (stk__place){place.y + down, place.x + right, place.width - right};
}

typedef struct gauge {
    const char *label, *value, *unit;
    double share;
    stk__ink ink;
} gauge;

static void draw_gauge(const stk__pen *pen, stk__place place, const gauge *g)
{
    stk__pen_text(pen, place, STK_INK_FAINT, g->label);
    const stk__place bar = {place.y, place.x + LABEL, place.width - LABEL - VALUE - 1};
    stk__pen_bar(pen, bar, g->ink, g->share);
    char value[2 * CELL];
    snprintf(value, sizeof value, "%s %s", g->value, g->unit);
    const int letters = (int)strlen(value) - (strstr(value, "°") != NULL); /* ° has two bytes */
    const int blank = letters < VALUE ? VALUE - letters : 0;
    const stk__ink ink = g->ink == STK_INK_BAR ? STK_INK_PLAIN : g->ink;
    stk__pen_text(pen, (stk__place){place.y, place.x + place.width - VALUE + blank, VALUE - blank}, ink,
                  value);
}

static void draw_util(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    char text[CELL];
    const stk_reading util = gpu->readings[STK_METRIC_UTIL];
    draw_gauge(pen, place,
               &(gauge){"util", number_text(text, "%.0f", value_of(util)), "%", value_of(util) / 100,
                        ink_util(util)});
}

static void draw_memory(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    char text[CELL];
    const stk_reading used = gpu->readings[STK_METRIC_MEMORY_USED],
                      total = gpu->readings[STK_METRIC_MEMORY_TOTAL];
    draw_gauge(pen, place,
               &(gauge){"memory", pair_text(text, "%.1f", used, total), "GB", stk__view_share(used, total),
                        STK_INK_BAR});
}

static void draw_power(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    char text[CELL];
    const stk_reading now = gpu->readings[STK_METRIC_POWER], limit = gpu->readings[STK_METRIC_POWER_LIMIT];
    draw_gauge(pen, place,
               &(gauge){"power", pair_text(text, "%.0f", now, limit), "W", stk__view_share(now, limit),
                        STK_INK_BAR});
}

static void draw_heat(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    char text[CELL];
    const stk_reading now = gpu->readings[STK_METRIC_TEMPERATURE],
                      limit = gpu->readings[STK_METRIC_TEMPERATURE_LIMIT];
    draw_gauge(pen, place,
               &(gauge){"temp", pair_text(text, "%.0f", now, limit), stk__pen_celsius(pen),
                        stk__view_share(now, limit), ink_heat(now)});
}

/* Error state or throttle reasons; returns columns used. */
static int draw_state(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    const char *held = stk__monitor_output_throttle_words(gpu->readings[STK_METRIC_THROTTLE]);
    if (gpu->state != STK_GPU_GOOD)
        return stk__pen_print(pen, place, STK_INK_BAD, "%s%s%s", stk_gpu_state_name(gpu->state),
                              gpu->note[0] ? ": " : "", gpu->note);
    if (held[0] && strcmp(held, "none") != 0)
        return stk__pen_print(pen, place, STK_INK_BAD, "throttled: %s", held);
    return 0;
}

static void draw_title(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    int used = stk__pen_print(pen, place, STK_INK_BOLD, "GPU %s  %s%s%s", stk__gpu_label_of(&gpu->gpu).text,
                              gpu->gpu.name, gpu->gpu.part[0] ? ", " : "", gpu->gpu.part);
    used += 2;
    const int state = draw_state(pen, move(place, 0, used), gpu);
    if (!state && gpu->note[0]) stk__pen_text(pen, move(place, 0, used), STK_INK_FAINT, gpu->note);
}

typedef struct facts {
    char text[6 * CELL];
    size_t room; /* columns: what does not fit is left out */
} facts;

static void add_fact(facts *f, const char *format, double value)
{
    char fact[CELL];
    const size_t used = strlen(f->text);
    if (isnan(value)) return;
    snprintf(fact, sizeof fact, format, value);
    if (used + strlen(fact) <= f->room) snprintf(f->text + used, sizeof f->text - used, "%s", fact);
}

/* Clocks are always shown, as a dash if unknown; the rest only if the driver reports it. */
static void draw_facts(const stk__pen *pen, stk__place place, const stk__view_gpu *gpu)
{
    char sm[CELL], memory[CELL];
    const stk_reading *r = gpu->readings;
    facts f = {.room = place.width > 0 ? (size_t)place.width : 0};
    snprintf(f.text, sizeof f.text, "SM %s MHz  mem %s MHz",
             pair_text(sm, "%.0f", r[STK_METRIC_SM_CLOCK], r[STK_METRIC_SM_CLOCK_MAX]),
             pair_text(memory, "%.0f", r[STK_METRIC_MEMORY_CLOCK], r[STK_METRIC_MEMORY_CLOCK_MAX]));
    add_fact(&f, "  SM active %.0f %%", value_of(r[STK_METRIC_SM_ACTIVE]));
    add_fact(&f, "  fan %.0f %%", value_of(r[STK_METRIC_FAN]));
    add_fact(&f, "  RX %.1f GB/s", gpu->received_per_s * 1e-9);
    add_fact(&f, "  TX %.1f GB/s", gpu->sent_per_s * 1e-9);
    add_fact(&f, "  tensor %.0f %%", value_of(r[STK_METRIC_TENSOR_ACTIVE]));
    add_fact(&f, "  DRAM %.0f %%", value_of(r[STK_METRIC_DRAM_ACTIVE]));
    stk__pen_text(pen, place, STK_INK_PLAIN, f.text);
}

static void draw_full(const stk__pen *pen, const stk__gpu_box *box, const stk__view_gpu *gpu)
{
    const int half = (box->place.width - 2) / 2, trails = box->height - STK_FULL_HEIGHT + 1;
    stk__place left = box->place, right = box->place;
    left.width = right.width = half;
    right.x += box->place.width - half;
    draw_title(pen, box->place, gpu);
    draw_util(pen, move(left, 1, 0), gpu);
    draw_memory(pen, move(right, 1, 0), gpu);
    draw_power(pen, move(left, 2, 0), gpu);
    draw_heat(pen, move(right, 2, 0), gpu);
    stk__pen_text(pen, move(left, 3, 0), STK_INK_FAINT, "util");
    stk__pen_trail(pen, move(left, 3, LABEL), trails, &gpu->util);
    stk__pen_text(pen, move(right, 3, 0), STK_INK_FAINT, "power");
    stk__pen_trail(pen, move(right, 3, LABEL), trails, &gpu->power);
    draw_facts(pen, move(box->place, 3 + trails, 0), gpu);
}

static void draw_middle(const stk__pen *pen, const stk__gpu_box *box, const stk__view_gpu *gpu)
{
    const int half = (box->place.width - 2) / 2;
    stk__place left = box->place, right = box->place;
    char watts[CELL], heat[CELL], clock[CELL];
    const stk_reading *r = gpu->readings;
    left.width = right.width = half;
    right.x += box->place.width - half;
    draw_title(pen, box->place, gpu);
    draw_util(pen, move(left, 1, 0), gpu);
    draw_memory(pen, move(right, 1, 0), gpu);
    stk__pen_trail(pen, move(left, 2, LABEL), 1, &gpu->util);
    stk__pen_print(pen, move(right, 2, 0), STK_INK_PLAIN, "%s W  %s %s  SM %s MHz",
                   pair_text(watts, "%.0f", r[STK_METRIC_POWER], r[STK_METRIC_POWER_LIMIT]),
                   pair_text(heat, "%.0f", r[STK_METRIC_TEMPERATURE], r[STK_METRIC_TEMPERATURE_LIMIT]),
                   stk__pen_celsius(pen), number_text(clock, "%.0f", value_of(r[STK_METRIC_SM_CLOCK])));
}

enum { ROW_BAR_X = 4, ROW_BAR = 10, ROW_TEXT_X = 15, ROW_STATE_X = 55 };

void stk__draw_row_heading(const stk__pen *pen, stk__place place)
{
    stk__pen_text(pen, place, STK_INK_FAINT, "GPU        util %   memory GB   power W  temp SM MHz");
    stk__pen_text(pen, move(place, 0, ROW_STATE_X), STK_INK_FAINT, "util history or error");
}

static void draw_row(const stk__pen *pen, const stk__gpu_box *box, const stk__view_gpu *gpu)
{
    const stk__place place = box->place;
    char cells[5][CELL];
    const stk_reading *r = gpu->readings, util = r[STK_METRIC_UTIL];
    stk__pen_print(pen, place, STK_INK_BOLD, "%3s", stk__gpu_label_of(&gpu->gpu).text);
    stk__pen_bar(pen, (stk__place){place.y, place.x + ROW_BAR_X, ROW_BAR}, ink_util(util),
                 value_of(util) / 100);
    stk__pen_print(pen, move(place, 0, ROW_TEXT_X), STK_INK_PLAIN, "%3s %11s %9s %5s %6s",
                   number_text(cells[0], "%.0f", value_of(util)),
                   pair_text(cells[1], "%.1f", r[STK_METRIC_MEMORY_USED], r[STK_METRIC_MEMORY_TOTAL]),
                   pair_text(cells[2], "%.0f", r[STK_METRIC_POWER], r[STK_METRIC_POWER_LIMIT]),
                   number_text(cells[3], "%.0f", value_of(r[STK_METRIC_TEMPERATURE])),
                   number_text(cells[4], "%.0f", value_of(r[STK_METRIC_SM_CLOCK])));
    const stk__place rest = move(place, 0, ROW_STATE_X);
    if (rest.width > 0 && !draw_state(pen, rest, gpu)) stk__pen_trail(pen, rest, 1, &gpu->util);
}

void stk__draw_gpu(const stk__pen *pen, const stk__gpu_box *box, const stk__view_gpu *gpu)
{
    static void (*const draw[])(const stk__pen *, const stk__gpu_box *, const stk__view_gpu *) = {
        [STK_SIZE_ROW] = draw_row, [STK_SIZE_MIDDLE] = draw_middle, [STK_SIZE_FULL] = draw_full};
    draw[box->size](pen, box, gpu);
}
