/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to whoever set a sink (stoker/runtime.h). The library itself never prints. */
#ifndef STK_CORE_LOGGER_H
#define STK_CORE_LOGGER_H

#include "core/error.h"
#include "stoker/runtime.h"

void stk__log(stk_log_level level, const char *format, ...) STK__PRINTF(2, 3);

#endif
