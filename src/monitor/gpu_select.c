/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs are meant: a list like "0,1.0,GPU-8f" matched against index, part and UUID prefix, with
 * CUDA_VISIBLE_DEVICES read as CUDA does (it ends at the first entry that names nothing). */
#include "monitor/gpu_select.h"

#include "core/number.h"
#include "monitor/gpu_label.h"

#include <string.h>

enum { LEAST_ID = 5 }; /* "GPU-" alone identifies no GPU */

typedef struct item {
    const char *text;
    size_t length;
} item;

/* Without blanks around it; *list moves behind the comma, or becomes NULL. */
static item next_item(const char **list)
{
    const char *start = *list, *end = start + strcspn(start, ",");
    *list = *end ? end + 1 : NULL;
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    return (item){start, (size_t)(end - start)};
}

static bool is_meant(item it, const stk_gpu *gpu)
{
    int64_t number;
    if (stk__number_whole(it.text, it.length, &number)) return number == gpu->index;
    return it.length >= LEAST_ID && strncmp(gpu->id, it.text, it.length) == 0;
}

/* A MIG instance in the notation of the outputs: "0.1". CUDA does not know it. */
static bool is_label(item it, const stk_gpu *gpu)
{
    const stk__gpu_label label = stk__gpu_label_of(gpu);
    return strlen(label.text) == it.length && strncmp(label.text, it.text, it.length) == 0;
}

/* Of this vendor only, unless it is NULL. False: not found. */
static bool choose(item it, const char *vendor, const stk_gpu *gpus, bool *chosen, int count)
{
    bool found = false;
    for (int i = 0; i < count; i++) {
        if (vendor && strcmp(gpus[i].vendor, vendor) != 0) continue;
        if (!is_meant(it, &gpus[i]) && (vendor || !is_label(it, &gpus[i]))) continue;
        chosen[i] = found = true;
    }
    return found;
}

stk_status stk__gpu_select(const char *list, const stk_gpu *gpus, bool *chosen, int count, stk_error *error)
{
    memset(chosen, 0, (size_t)count * sizeof *chosen);
    while (list) {
        const item it = next_item(&list);
        if (choose(it, NULL, gpus, chosen, count)) continue;
        stk__fail(error, STK_ERROR_ARGUMENT, "no such GPU '%.*s'", (int)it.length, it.text);
        stk__error_hint(error, count ? "GPU indices as in nvidia-smi, or UUID prefixes, separated by commas"
                                     : "no GPU was found");
        return STK_ERROR_ARGUMENT;
    }
    return STK_OK;
}

void stk__gpu_select_cuda(const char *list, const stk_gpu *gpus, bool *chosen, int count)
{
    for (int i = 0; i < count; i++)
        chosen[i] = !list || strcmp(gpus[i].vendor, "nvidia") != 0;
    while (list)
        if (!choose(next_item(&list), "nvidia", gpus, chosen, count)) return;
}
