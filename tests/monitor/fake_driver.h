/* SPDX-License-Identifier: Apache-2.0 */
/* The fake NVML in a test: STOKER_NVML names it, scripts are handed over as text. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "monitor/nvidia/nvidia_state.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static inline void *driver_symbol(const char *name)
{
    void *library = dlopen(getenv("STOKER_NVML"), RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

static inline void driver_play(const char *text)
{
    const char *(*play)(const char *);
    void *symbol = driver_symbol("fake_nvml_play");
    memcpy(&play, &symbol, sizeof play);
    const char *why = play(text);
    if (why) fail_msg("%s", why);
}

static inline void driver_release(void)
{
    void (*release)(void);
    void *symbol = driver_symbol("fake_nvml_release");
    memcpy(&release, &symbol, sizeof release);
    release();
}

static inline long driver_calls(const char *function, int gpu)
{
    long (*calls)(const char *, int);
    void *symbol = driver_symbol("fake_nvml_calls");
    memcpy(&calls, &symbol, sizeof calls);
    return calls(function, gpu);
}

/* A GPU with everything, all values constant: whatever is told must be exactly this. */
#define DRIVER_GPU                                                                                           \
    "* util_percent const 73\n* memory_busy_percent const 41\n* sm_active_percent const 66\n"                \
    "* tensor_active_percent const 33\n* dram_active_percent const 22\n* power_w const 312\n"                \
    "* power_limit_w const 400\n* memory_used_bytes const 20e9\n* memory_total_bytes const 80e9\n"           \
    "* temperature_c const 64\n* temperature_limit_c const 92\n* memory_temperature_c const 77\n"            \
    "* fan_percent const 45\n* sm_clock_mhz const 1755\n* sm_clock_max_mhz const 1980\n"                     \
    "* memory_clock_mhz const 2619\n* memory_clock_max_mhz const 2619\n* throttle const 1\n"                 \
    "* throttled_power_s const 0.25\n* throttled_heat_s const 0\n* pcie_sent_bytes_total const 1e8\n"        \
    "* pcie_received_bytes_total const 2e9\n* link_generation const 4\n* link_generation_max const 5\n"      \
    "* link_width const 8\n* link_width_max const 16\n"

/* What DRIVER_GPU tells; -1: grows, so only its rate is known. */
static const double driver_values[STK_METRIC_COUNT] = {
    [STK_METRIC_UTIL] = 73,
    [STK_METRIC_MEMORY_BUSY] = 41,
    [STK_METRIC_SM_ACTIVE] = 66,
    [STK_METRIC_TENSOR_ACTIVE] = 33,
    [STK_METRIC_DRAM_ACTIVE] = 22,
    [STK_METRIC_POWER] = 312,
    [STK_METRIC_POWER_LIMIT] = 400,
    [STK_METRIC_ENERGY] = -1,
    [STK_METRIC_MEMORY_USED] = 20e9,
    [STK_METRIC_MEMORY_TOTAL] = 80e9,
    [STK_METRIC_TEMPERATURE] = 64,
    [STK_METRIC_TEMPERATURE_LIMIT] = 92,
    [STK_METRIC_MEMORY_TEMPERATURE] = 77,
    [STK_METRIC_FAN] = 45,
    [STK_METRIC_SM_CLOCK] = 1755,
    [STK_METRIC_SM_CLOCK_MAX] = 1980,
    [STK_METRIC_MEMORY_CLOCK] = 2619,
    [STK_METRIC_MEMORY_CLOCK_MAX] = 2619,
    [STK_METRIC_THROTTLE] = 1,
    [STK_METRIC_THROTTLED_POWER] = -1,
    [STK_METRIC_THROTTLED_HEAT] = -1,
    [STK_METRIC_PCIE_SENT] = -1,
    [STK_METRIC_PCIE_RECEIVED] = -1,
    [STK_METRIC_LINK_GENERATION] = 4,
    [STK_METRIC_LINK_GENERATION_MAX] = 5,
    [STK_METRIC_LINK_WIDTH] = 8,
    [STK_METRIC_LINK_WIDTH_MAX] = 16,
};

/* Growth per second of those. */
static inline double driver_rate(int metric)
{
    switch (metric) {
    case STK_METRIC_ENERGY:
        return 312;
    case STK_METRIC_THROTTLED_POWER:
        return 0.25;
    case STK_METRIC_PCIE_SENT:
        return 1e8;
    case STK_METRIC_PCIE_RECEIVED:
        return 2e9;
    default:
        return 0;
    }
}

#endif
