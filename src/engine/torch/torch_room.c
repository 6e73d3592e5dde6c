/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what PyTorch's operators allocate for themselves: pieces of one block, sorted by their places; a
 * new one takes the first gap that is large enough. There are few at a time. Any thread, under one lock. */
#include "engine/torch/torch_room.h"

#include "core/align.h"
#include "core/memory.h"

#include <pthread.h>
#include <string.h>

enum { PIECES = 64, ALIGN_BYTES = 64 /* of PyTorch's own memory */ };

typedef struct piece {
    size_t from, size_bytes;
} piece;

static struct {
    pthread_mutex_t lock;
    int users;
    char *memory; /* NULL: there is none yet */
    size_t size_bytes;
    piece pieces[PIECES]; /* in use, by place */
    int count;
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void release_memory(void)
{
    if (room.memory) stk__unmap(room.memory, room.size_bytes);
    room.memory = NULL;
    room.size_bytes = 0;
}

void stk__torch_room_open(void)
{
    pthread_mutex_lock(&room.lock);
    room.users++;
    pthread_mutex_unlock(&room.lock);
}

void stk__torch_room_close(void)
{
    pthread_mutex_lock(&room.lock);
    if (--room.users == 0 && !room.count) release_memory();
    pthread_mutex_unlock(&room.lock);
}

stk_status stk__torch_room_grow(size_t size_bytes, stk_error *error)
{
    stk_status status = STK_OK;
    pthread_mutex_lock(&room.lock);
    if (size_bytes > room.size_bytes && !room.count) {
        release_memory();
        room.memory = stk__map(size_bytes);
        if (room.memory) room.size_bytes = size_bytes;
        if (!room.memory) status = stk__fail_memory(error, size_bytes, "what PyTorch's operators need");
    }
    pthread_mutex_unlock(&room.lock);
    return status;
}

/* Puts a piece before number `at`. */
static void *insert(int at, size_t from, size_t size_bytes)
{
    memmove(&room.pieces[at + 1], &room.pieces[at], (size_t)(room.count - at) * sizeof room.pieces[0]);
    room.pieces[at] = (piece){from, size_bytes};
    room.count++;
    return room.memory + from;
}

static void *take(size_t size_bytes)
{
    size_t from = 0;
    int at = 0;
    if (!room.memory || room.count == PIECES) return NULL;
    for (; at < room.count && room.pieces[at].from < from + size_bytes; at++)
        from = room.pieces[at].from + room.pieces[at].size_bytes;
    return from + size_bytes <= room.size_bytes ? insert(at, from, size_bytes) : NULL;
}

void *stk__torch_room_take(size_t size_bytes)
{
    pthread_mutex_lock(&room.lock);
    void *memory = take(stk__align_up(size_bytes, ALIGN_BYTES));
    pthread_mutex_unlock(&room.lock);
    return memory;
}

bool stk__torch_room_has(const void *memory)
{
    pthread_mutex_lock(&room.lock);
    const char *at = memory;
    const bool has = room.memory && at >= room.memory && at < room.memory + room.size_bytes;
    pthread_mutex_unlock(&room.lock);
    return has;
}

size_t stk__torch_room_give(const void *memory)
{
    size_t size_bytes = 0;
    pthread_mutex_lock(&room.lock);
    for (int i = 0; i < room.count && !size_bytes; i++) {
        if (room.memory + room.pieces[i].from != (const char *)memory) continue;
        size_bytes = room.pieces[i].size_bytes;
        room.count--;
        memmove(&room.pieces[i], &room.pieces[i + 1], (size_t)(room.count - i) * sizeof room.pieces[0]);
    }
    pthread_mutex_unlock(&room.lock);
    return size_bytes;
}
