/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the last frame for Prometheus over HTTP. */
#ifndef STK_CLI_MONITOR_PROMETHEUS_H
#define STK_CLI_MONITOR_PROMETHEUS_H

#include "core/error.h"
#include "stoker/monitor.h"

typedef struct stk__prometheus stk__prometheus;

/* address: "127.0.0.1:9400", "[::1]:9400", ":9400" or "9400" (both on loopback); NULL: the first of these.
 * dcgm: also under the metric names of dcgm-exporter. */
stk_status stk__prometheus_open(stk__prometheus **prometheus, const char *address, bool dcgm,
                                stk_error *error);
void stk__prometheus_close(stk__prometheus **prometheus);
/* Never waits for a client. */
void stk__prometheus_publish(stk__prometheus *prometheus, const stk_monitor_frame *frame);

#endif
