/* SPDX-License-Identifier: Apache-2.0 */
/* Counts who still needs a loader and its batches: plain atomic counters, because arrays are freed by other
 * frameworks from any of their threads. Threads: any. */
#include "loan.h"

#include "loan_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGN = 64 }; /* of each tensor in a copy */

stk__shared_loader *stk__shared_loader_create(stk_loader *loader)
{
    stk__shared_loader *shared = calloc(1, sizeof *shared);
    if (!shared) {
        stk_loader_close(&loader);
        return NULL;
    }
    atomic_init(&shared->refs, 1);
    shared->loader = loader;
    shared->pid = getpid();
    return shared;
}

bool stk__shared_loader_is_forked(const stk__shared_loader *shared)
{
    return getpid() != shared->pid;
}

void stk__shared_loader_retain(stk__shared_loader *shared)
{
    atomic_fetch_add(&shared->refs, 1);
}

/* In a fork's child the loader's lock may be held by a thread that does not exist there: it is left alone. */
void stk__shared_loader_release(stk__shared_loader *shared)
{
    if (!shared || atomic_fetch_sub(&shared->refs, 1) != 1) return;
    if (!stk__shared_loader_is_forked(shared)) stk_loader_close(&shared->loader);
    free(shared);
}

stk_tensor *stk__loan_tensor(stk_batch *batch, int index)
{
    stk_tensor *const tensors[STK_LOAN_TENSORS] = {
        &batch->images, &batch->masks,   &batch->labels, &batch->points,     &batch->windows,
        &batch->masks2, &batch->labels2, &batch->lambda, &batch->sample_ids, &batch->weights};
    return tensors[index];
}

stk__loan *stk__loan_create(stk__shared_loader *from, stk_batch *batch)
{
    stk__loan *loan = calloc(1, sizeof *loan);
    if (!loan) {
        stk_batch_release(batch);
        return NULL;
    }
    atomic_init(&loan->refs, 1);
    loan->from = from;
    loan->batch = batch;
    stk__shared_loader_retain(from);
    atomic_fetch_add(&from->lent, 1);
    return loan;
}

static size_t padded(const stk_tensor *tensor)
{
    return ((size_t)stk_tensor_bytes(tensor) + ALIGN - 1) / ALIGN * ALIGN;
}

stk__loan *stk__loan_copy(stk_batch *batch)
{
    const size_t head = (sizeof(stk__loan) + sizeof(stk_batch) + ALIGN - 1) / ALIGN * ALIGN;
    size_t size = head;
    for (int i = 0; i < STK_LOAN_TENSORS; i++)
        size += padded(stk__loan_tensor(batch, i));
    stk__loan *loan = aligned_alloc(ALIGN, size);
    if (loan) {
        memset(loan, 0, sizeof *loan);
        atomic_init(&loan->refs, 1);
        loan->batch = memcpy(loan + 1, batch, sizeof *batch);
        uint8_t *at = (uint8_t *)loan + head;
        for (int i = 0; i < STK_LOAN_TENSORS; i++) {
            stk_tensor *tensor = stk__loan_tensor(loan->batch, i);
            const size_t bytes = (size_t)stk_tensor_bytes(tensor);
            if (bytes) tensor->data = memcpy(at, tensor->data, bytes);
            at += padded(tensor);
        }
    }
    stk_batch_release(batch);
    return loan;
}

void stk__loan_retain(stk__loan *loan)
{
    atomic_fetch_add(&loan->refs, 1);
}

void stk__loan_release(stk__loan *loan)
{
    if (!loan || atomic_fetch_sub(&loan->refs, 1) != 1) return;
    stk__shared_loader *from = loan->from;
    if (from) {
        if (!stk__shared_loader_is_forked(from)) stk_batch_release_after(loan->batch, loan->stream);
        atomic_fetch_sub(&from->lent, 1);
        stk__shared_loader_release(from);
    }
    if (loan->pool)
        stk__loan_pool_give(loan->pool, loan);
    else
        free(loan);
}

bool stk__loan_ends_loader(const stk__loan *loan)
{
    return loan->from && atomic_load(&loan->refs) == 1 && atomic_load(&loan->from->refs) == 1;
}
