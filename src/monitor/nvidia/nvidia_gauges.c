/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that are one NVML call each. */
#include "monitor/nvidia/nvidia_state.h"

#include <limits.h>
#include <stddef.h>

#define SLOW_NS (10 * STK_SECOND_NS)

typedef int (*ask_plain)(void *device, unsigned *value);
typedef int (*ask_chosen)(void *device, int choice, unsigned *value);

/* Later rows of a metric are fallbacks for earlier ones without a value. */
static const struct {
    stk_metric metric;
    size_t offset; /* of the function in stk__nvml */
    int choice;    /* -1: the function has none */
    bool slow;     /* hardly changes */
    double scale;
    unsigned least, most; /* what is believed */
    const char *what;
} rows[] = {
    {STK_METRIC_POWER, offsetof(stk__nvml, power), -1, false, 1e-3, 0, 20000000, "power"},
    {STK_METRIC_POWER_LIMIT, offsetof(stk__nvml, power_limit), -1, true, 1e-3, 1, 20000000, "power limit"},
    {STK_METRIC_TEMPERATURE, offsetof(stk__nvml, temperature), 0, false, 1, 0, 200, "temperature"},
    {STK_METRIC_TEMPERATURE_LIMIT, offsetof(stk__nvml, threshold), STK_NVML_THRESHOLD_SLOWDOWN, true, 1, 1,
     200, "temperature limit"},
    {STK_METRIC_TEMPERATURE_LIMIT, offsetof(stk__nvml, threshold), STK_NVML_THRESHOLD_GPU_MAX, true, 1, 1,
     200, "temperature limit"},
    {STK_METRIC_FAN, offsetof(stk__nvml, fan), -1, false, 1, 0, 150, "fan speed"},
    {STK_METRIC_SM_CLOCK, offsetof(stk__nvml, clock), STK_NVML_CLOCK_SM, false, 1, 0, 20000, "SM clock"},
    {STK_METRIC_SM_CLOCK_MAX, offsetof(stk__nvml, clock_max), STK_NVML_CLOCK_SM, true, 1, 1, 20000,
     "SM clock"},
    {STK_METRIC_MEMORY_CLOCK, offsetof(stk__nvml, clock), STK_NVML_CLOCK_MEMORY, false, 1, 0, 100000,
     "memory clock"},
    {STK_METRIC_MEMORY_CLOCK_MAX, offsetof(stk__nvml, clock_max), STK_NVML_CLOCK_MEMORY, true, 1, 1, 100000,
     "memory clock"},
    {STK_METRIC_LINK_GENERATION, offsetof(stk__nvml, link_generation), -1, false, 1, 1, 16, "PCIe link"},
    {STK_METRIC_LINK_GENERATION_MAX, offsetof(stk__nvml, link_generation_max), -1, true, 1, 1, 16,
     "PCIe link"},
    {STK_METRIC_LINK_WIDTH, offsetof(stk__nvml, link_width), -1, false, 1, 1, 64, "PCIe link"},
    {STK_METRIC_LINK_WIDTH_MAX, offsetof(stk__nvml, link_width_max), -1, true, 1, 1, 64, "PCIe link"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };
_Static_assert(ROWS <= STK_ASK_COUNT - STK_ASK_GAUGES, "room for every row");

static bool is_there(const stk__nvml *nvml, size_t offset)
{
    void *function;
    memcpy(&function, (const char *)nvml + offset, sizeof function);
    return function;
}

static int call(const stk__nvml *nvml, int row, void *device, unsigned *value)
{
    const void *place = (const char *)nvml + rows[row].offset;
    if (rows[row].choice < 0) {
        ask_plain plain;
        memcpy(&plain, place, sizeof plain);
        return plain(device, value);
    }
    ask_chosen chosen;
    memcpy(&chosen, place, sizeof chosen);
    return chosen(device, rows[row].choice, value);
}

static void read_row(stk__nvidia_state *s, int row)
{
    stk_reading *reading = &s->frame->readings[rows[row].metric], *slow = &s->slow[row];
    const int ask = STK_ASK_GAUGES + row;
    if (rows[row].slow && slow->known == STK_KNOWN && s->now_ns < slow->when_ns + SLOW_NS) {
        *reading = *slow;
        return;
    }
    const bool there = is_there(s->nvml, rows[row].offset);
    unsigned value = UINT_MAX;
    if (stk__nvidia_may(s, ask, there) &&
        stk__nvidia_heard(s, ask, call(s->nvml, row, s->device, &value), rows[row].what) &&
        value >= rows[row].least && value <= rows[row].most) {
        stk__nvidia_told(s, rows[row].metric, value * rows[row].scale);
        *slow = *reading;
    }
    stk__nvidia_missing(s, rows[row].metric, ask, there);
}

void stk__nvidia_read_gauges(stk__nvidia_state *s)
{
    for (int i = 0; i < ROWS; i++)
        if (s->frame->state == STK_GPU_GOOD && s->frame->readings[rows[i].metric].known != STK_KNOWN)
            read_row(s, i);
}
