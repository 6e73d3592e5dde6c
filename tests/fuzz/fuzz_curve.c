/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as curves: they are read, and then every mean lies between least and most and is what two halves
 * make of it; or the line is named. */
#include "fuzz.h"

#include "monitor/curve.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_metric(const stk__curves *curves, int gpu, stk_metric metric)
{
    static const double seconds[] = {0, 0.017, 1, 59.9, 3601.25};
    double value, whole, first, second;
    for (int i = 0; i + 1 < 5; i++) {
        if (!stk__curves_at(curves, gpu, metric, seconds[i], &value)) return;
        assert(value >= -1e-6 * fabs(value) - 1e-6 && !isnan(value));
        const double from = seconds[i], to = seconds[i + 1], middle = (from + to) / 2;
        assert(stk__curves_mean(curves, gpu, metric, from, to, &whole));
        assert(stk__curves_mean(curves, gpu, metric, from, middle, &first));
        assert(stk__curves_mean(curves, gpu, metric, middle, to, &second));
        if (fabs(whole) < 1e12 &&
            fabs(value) < 1e12) /* beyond, differences of integrals have no digits left */
            assert(fabs(whole - (first + second) / 2) <=
                   1e-3 * (1 + fabs(first) + fabs(second) + fabs(value)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_limit_memory(64u << 20);
    char *text = (char *)fuzz_copy(data, size, 1);
    stk__curves *curves;
    stk_error error = {0};
    const stk_status status = stk__curves_read(&curves, text, &error);
    if (status == STK_OK) {
        assert(stk__curves_gpus(curves) >= 1 && stk__curves_gpus(curves) <= STK_GPUS);
        for (int gpu = 0; gpu < stk__curves_gpus(curves); gpu++)
            for (int metric = 0; metric < STK_METRIC_COUNT; metric++)
                check_metric(curves, gpu, (stk_metric)metric);
    } else {
        fuzz_check_failure(status, &error);
        assert(strstr(error.message, "line"));
    }
    stk__curves_destroy(&curves);
    free(text);
    return 0;
}
