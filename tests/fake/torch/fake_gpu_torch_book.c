/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors lie where, and what PyTorch makes of that. */
#include "fake_gpu_torch.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *book; /* lock: a tree of fake_thing */
static long size;  /* lock */

static int compare(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const fake_thing *)a)->key, y = (uintptr_t)((const fake_thing *)b)->key;
    return x < y ? -1 : x > y;
}

static fake_thing *find(const void *key)
{
    const fake_thing wanted = {.key = key};
    void *node = key ? tfind(&wanted, &book, compare) : NULL;
    return node ? *(fake_thing **)node : NULL;
}

void fake_put(fake_thing thing)
{
    pthread_mutex_lock(&lock);
    fake_thing *known = find(thing.key);
    if (!known) {
        known = malloc(sizeof *known);
        if (!known) abort();
        *known = thing;
        if (!tsearch(known, &book, compare)) abort();
        size++;
    }
    *known = thing;
    pthread_mutex_unlock(&lock);
}

bool fake_take(const void *key, fake_thing *thing)
{
    pthread_mutex_lock(&lock);
    fake_thing *known = find(key);
    if (known) {
        *thing = *known;
        tdelete(known, &book, compare);
        free(known);
        size--;
    }
    pthread_mutex_unlock(&lock);
    return known != NULL;
}

bool fake_look(const void *key, fake_thing *thing)
{
    pthread_mutex_lock(&lock);
    const fake_thing *known = find(key);
    if (known) *thing = *known;
    pthread_mutex_unlock(&lock);
    return known != NULL;
}

long fake_book_size(void)
{
    pthread_mutex_lock(&lock);
    const long now = size;
    pthread_mutex_unlock(&lock);
    return now;
}

static const void *pointer_at(uint64_t value)
{
    return (const void *)(uintptr_t)value; /* NOLINT: as PyTorch has it */
}

fake_call fake_judge(const char *name, const char *overload, const uint64_t *stack)
{
    fake_call call = {.name = name, .overload = overload, .number_only = true, .host_argument = -1};
    for (int i = 0; i < STACK; i++) {
        fake_thing thing;
        if (!fake_take(pointer_at(stack[i]), &thing)) continue;
        if (thing.cell && !fake_take(pointer_at(*(const uint64_t *)thing.key), &thing)) continue;
        call.gpus |= thing.gpus;
        call.host |= thing.host;
        if (thing.host && call.host_argument < 0) call.host_argument = i;
        if (thing.host && !thing.number) call.number_only = false;
        if (i == 2) call.gpu_value = thing.gpus != 0;
    }
    return call;
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

bool fake_is_mixed(const fake_call *call)
{
    /* Operators of two tensors that take a number of the host beside a tensor of the GPU. */
    static const char *const take_numbers[] = {
        "aten::add",          "aten::sub",         "aten::mul", "aten::div",  "aten::eq",
        "aten::ne",           "aten::lt",          "aten::le",  "aten::gt",   "aten::ge",
        "aten::maximum",      "aten::minimum",     "aten::pow", "aten::lerp", "aten::masked_fill_",
        "aten::floor_divide", "aten::bitwise_and", NULL};
    if (call->gpus & (call->gpus - 1)) return strcmp(call->name, "aten::copy_") != 0;
    if (!call->gpus || !call->host) return false;
    if (strcmp(call->name, "aten::copy_") == 0) return false;
    if (strcmp(call->name, "aten::_foreach_addcmul_") == 0) return call->host_argument != 3;
    return !call->number_only || !is_listed(call->name, take_numbers);
}

bool fake_syncs(const fake_call *call)
{
    static const char *const always[] = {"aten::item",
                                         "aten::_local_scalar_dense",
                                         "aten::nonzero",
                                         "aten::bincount",
                                         "aten::masked_select",
                                         "aten::unique",
                                         NULL};
    if (strcmp(call->name, "aten::copy_") == 0) return call->gpus && call->host;
    if (strcmp(call->name, "aten::masked_fill_") == 0) return call->gpu_value;
    return call->gpus && is_listed(call->name, always);
}

int fake_results(const char *name)
{
    if (strncmp(name, "aten::_foreach_", 15) == 0 || strncmp(name, "aten::_fused_", 13) == 0) return 0;
    if (strncmp(name, "aten::native_batch_norm", 23) == 0) return 3;
    if (strcmp(name, "aten::convolution_backward") == 0) return 3;
    if (fake_has_cell(name)) return 3;
    if (strcmp(name, "aten::max") == 0) return 2;
    return strcmp(name, "aten::max_pool2d_with_indices") == 0 ? 2 : 1;
}
