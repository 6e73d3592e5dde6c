/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, units and meanings of all metrics and states, from one table. */
#include "monitor/metric.h"

#include <string.h>

static const struct {
    const char *key, *meaning;
} metrics[] = {
#define METRIC_TEXT(id, key, meaning) {key, meaning},
    STK_METRIC_LIST(METRIC_TEXT)
#undef METRIC_TEXT
};

const char *stk_metric_key(stk_metric metric)
{
    return (unsigned)metric < STK_METRIC_COUNT ? metrics[metric].key : "unknown";
}

const char *stk_metric_meaning(stk_metric metric)
{
    return (unsigned)metric < STK_METRIC_COUNT ? metrics[metric].meaning : "unknown";
}

const char *stk_gpu_state_name(stk_gpu_state state)
{
    static const char *const names[] = {"good", "hung", "lost", "reset", "barred"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

stk_metric stk__metric_find(const char *key, size_t length)
{
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        if (strlen(metrics[i].key) == length && memcmp(metrics[i].key, key, length) == 0)
            return (stk_metric)i;
    return STK_METRIC_COUNT;
}
