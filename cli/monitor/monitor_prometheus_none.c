/* SPDX-License-Identifier: Apache-2.0 */
/* Built without libmicrohttpd: there is no server. */
#include "monitor_prometheus.h"

stk_status stk__prometheus_open(stk__prometheus **prometheus, const char *address, bool dcgm,
                                stk_error *error)
{
    (void)prometheus;
    (void)address;
    (void)dcgm;
    stk__fail(error, STK_ERROR_ARGUMENT,
              "--prometheus is unavailable: this program was built without libmicrohttpd");
    stk__error_hint(error, "install libmicrohttpd-dev and rebuild");
    return STK_ERROR_UNSUPPORTED;
}

void stk__prometheus_close(stk__prometheus **prometheus)
{
    (void)prometheus;
}

void stk__prometheus_publish(stk__prometheus *prometheus, const stk_monitor_frame *frame)
{
    (void)prometheus;
    (void)frame;
}
