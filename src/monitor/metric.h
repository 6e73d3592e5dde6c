/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics by name and by kind. */
#ifndef STK_MONITOR_METRIC_H
#define STK_MONITOR_METRIC_H

#include "stoker/monitor.h"

#include <stddef.h>

/* STK_METRIC_COUNT when there is none of that name. */
stk_metric stk__metric_find(const char *key, size_t length);

/* Monotonic counters: energy, throttling time, bytes over PCIe. */
static inline bool stk__metric_grows(stk_metric metric)
{
    return metric == STK_METRIC_ENERGY || metric == STK_METRIC_THROTTLED_POWER ||
           metric == STK_METRIC_THROTTLED_HEAT || metric == STK_METRIC_PCIE_SENT ||
           metric == STK_METRIC_PCIE_RECEIVED;
}

/* A share of time or of something: 0 to 100. */
static inline bool stk__metric_is_percent(stk_metric metric)
{
    return metric <= STK_METRIC_DRAM_ACTIVE || metric == STK_METRIC_FAN;
}

#endif
