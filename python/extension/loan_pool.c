/* SPDX-License-Identifier: Apache-2.0 */
/* A few blocks of memory that came back, oldest first. A fork may leave the lock taken in the child, so
 * nobody waits for it: who does not get it takes new memory, or frees what it has. Threads: any. */
#include "loan_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A loop holds a batch while the next one is made: images and masks of one batch wait here. */
enum { KEPT = 4, ALIGN = 64, LOOSE = 4 /* a block is not used for less than this part of it */ };

struct stk__loan_pool {
    atomic_int refs; /* its owner, and every loan that is out */
    pthread_mutex_t lock;
    stk__loan *kept[KEPT]; /* (lock) */
    int count;
};

stk__loan_pool *stk__loan_pool_create(void)
{
    stk__loan_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    atomic_init(&pool->refs, 1);
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void stk__loan_pool_release(stk__loan_pool *pool)
{
    if (!pool || atomic_fetch_sub(&pool->refs, 1) != 1) return;
    for (int i = 0; i < pool->count; i++)
        free(pool->kept[i]);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static stk__loan *remove_at(stk__loan_pool *pool, int place)
{
    stk__loan *loan = pool->kept[place];
    memmove(&pool->kept[place], &pool->kept[place + 1],
            (size_t)(--pool->count - place) * sizeof(stk__loan *));
    return loan;
}

/* NULL: none that fits. */
static stk__loan *find_kept(stk__loan_pool *pool, size_t bytes)
{
    stk__loan *found = NULL;
    if (pthread_mutex_trylock(&pool->lock) != 0) return NULL;
    for (int i = 0; !found && i < pool->count; i++)
        if (pool->kept[i]->room_bytes >= bytes && pool->kept[i]->room_bytes / LOOSE <= bytes)
            found = remove_at(pool, i);
    pthread_mutex_unlock(&pool->lock);
    return found;
}

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static const size_t head = (sizeof(stk__loan) + sizeof(stk_batch) + ALIGN - 1) / ALIGN * ALIGN;

/* Large ones in huge pages, as batches of a loader are: the pass writes to many places at once. */
static stk__loan *allocate(size_t *room)
{
    enum { HUGE = 2 << 20 };
    if (*room < HUGE) return aligned_alloc(ALIGN, head + *room);
    const size_t whole = (head + *room + HUGE - 1) / HUGE * HUGE;
    stk__loan *loan = aligned_alloc(HUGE, whole);
    if (loan) madvise(loan, whole, MADV_HUGEPAGE); /* best effort */
    *room = whole - head;
    return loan;
}

stk__loan *stk__loan_pool_take(stk__loan_pool *pool, const stk_tensor *like)
{
    const size_t bytes = padded((size_t)stk_tensor_bytes(like));
    stk__loan *loan = find_kept(pool, bytes);
    size_t room = loan ? loan->room_bytes : bytes;
    if (!loan) loan = allocate(&room);
    if (!loan) return NULL;
    memset(loan, 0, head);
    atomic_init(&loan->refs, 1);
    atomic_fetch_add(&pool->refs, 1);
    loan->pool = pool;
    loan->room_bytes = room;
    loan->batch = (stk_batch *)(loan + 1);
    loan->batch->images = *like;
    loan->batch->images.data = (uint8_t *)loan + head;
    return loan;
}

/* More than two of the largest is not kept: a program that has ended a stage does not pay for it forever. */
static bool is_too_much(const stk__loan_pool *pool)
{
    size_t sum = 0, largest = 0;
    for (int i = 0; i < pool->count; i++) {
        const size_t room = pool->kept[i]->room_bytes;
        sum += room;
        if (room > largest) largest = room;
    }
    return pool->count == KEPT || sum > 2 * largest;
}

void stk__loan_pool_give(stk__loan_pool *pool, stk__loan *loan)
{
    if (pthread_mutex_trylock(&pool->lock) == 0) {
        while (pool->count && is_too_much(pool))
            free(remove_at(pool, 0));
        pool->kept[pool->count++] = loan;
        pthread_mutex_unlock(&pool->lock);
    } else {
        free(loan);
    }
    stk__loan_pool_release(pool);
}
