/* SPDX-License-Identifier: Apache-2.0 */
/* A frame in the Prometheus text exposition format: base units, unknown values left out. */
#ifndef STK_MONITOR_PROMETHEUS_TEXT_H
#define STK_MONITOR_PROMETHEUS_TEXT_H

#include "core/memory.h"
#include "stoker/monitor.h"

/* Replaces what text holds; it only grows. dcgm: also the names and units of dcgm-exporter. */
stk_status stk__prometheus_text_write(stk__buffer *text, const stk_monitor_frame *frame, bool dcgm,
                                      stk_error *error);

#endif
