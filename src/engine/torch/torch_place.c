/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator of PyTorch's for the host that puts expected results where they are to lie. It is an object of
 * C++: a table of functions, here with the entries of PyTorch's own allocator, but for the two that matter.
 * Its layout has been the same since 2.3; before anything is replaced it is compared by an entry that has a
 * name, and by a piece of memory that is allocated and given back.
 *
 * What is expected belongs to the thread that computes. Memory may come back on any thread: whether it is a
 * place of ours is seen by its address. */
#include "engine/torch/torch_place.h"

#include "core/align.h"
#include "engine/torch/torch_room.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef void (*deleter)(void *context);

/* c10::DataPtr: the pointer, who owns it, the device. */
typedef struct data_ptr {
    void *data;
    deleter delete_context; /* libstdc++ has a unique_ptr's deleter before its pointer */
    void *context;
    int8_t device_type, device_index;
} data_ptr;

/* The table of c10::Allocator. */
enum {
    TABLE_OFFSET,
    TABLE_TYPE,
    TABLE_DESTROY,
    TABLE_DELETE,
    TABLE_ALLOCATE,
    TABLE_IS_SIMPLE,
    TABLE_DELETER,
    TABLE_COPY,
    TABLE_SIZE
};
enum { NEWEST = 15, ARENAS = 64, EXPECTED = 4, SEEN = 8, LARGE_BYTES = 1 << 15 };

typedef struct allocator {
    void *const *table; /* from TABLE_DESTROY on */
} allocator;

static struct {
    pthread_mutex_t lock;
    const stk__arena *arenas[ARENAS]; /* under lock */
    int count;                        /* under lock */
    /* Since open: */
    bool open;
    const allocator *usual; /* PyTorch's */
    data_ptr (*allocate)(const allocator *self, size_t size_bytes);
    deleter delete_usual;
    int8_t device_index; /* as PyTorch's own has it */
    void *table[TABLE_SIZE];
    allocator own;
    atomic_llong held_bytes, most_bytes; /* of what PyTorch has for itself */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct expected {
    void *place;
    size_t size_bytes;
    int turn, seen;
    bool given;
    const void *others[SEEN]; /* of its size, by turn */
} expected;

static _Thread_local struct {
    bool computes; /* between begin and end */
    expected list[EXPECTED];
    int count;
} thread;

static bool is_place(const void *memory)
{
    bool found = false;
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < state.count && !found; i++) {
        const char *from = state.arenas[i]->memory;
        found = (const char *)memory >= from && (const char *)memory < from + state.arenas[i]->size_bytes;
    }
    pthread_mutex_unlock(&state.lock);
    return found;
}

/* A copy of the operator's was there, which it needs no longer: the place is the next one's. */
static void leave_place(void *memory)
{
    for (int i = 0; i < thread.count; i++) {
        expected *e = &thread.list[i];
        if (e->place != memory) continue;
        e->given = false;
        e->turn = e->seen;
    }
}

static void count(long long bytes)
{
    const long long held = atomic_fetch_add(&state.held_bytes, bytes) + bytes;
    if (held > atomic_load(&state.most_bytes))
        atomic_store(&state.most_bytes, held); /* one thread computes */
}

static void free_usual(void *memory)
{
    count(-(long long)malloc_usable_size(memory));
    state.delete_usual(memory);
}

static void leave_room(void *memory)
{
    count(-(long long)stk__torch_room_give(memory));
}

/* Of memory that comes back without its deleter: oneDNN's. */
static void give_back(void *memory)
{
    if (!memory) return;
    if (is_place(memory))
        leave_place(memory);
    else if (stk__torch_room_has(memory))
        leave_room(memory);
    else
        free_usual(memory);
}

/* What is not a result: from the room, if it is large and fits. */
static data_ptr allocate_other(size_t size_bytes)
{
    void *memory = thread.computes && size_bytes >= LARGE_BYTES ? stk__torch_room_take(size_bytes) : NULL;
    if (memory) {
        count((long long)stk__align_up(size_bytes, STK_LINE_BYTES));
        return (data_ptr){memory, leave_room, memory, 0, state.device_index};
    }
    data_ptr made = state.allocate(state.usual, size_bytes);
    if (!made.data) return made; /* of no bytes */
    count((long long)malloc_usable_size(made.data));
    made.delete_context = free_usual;
    return made;
}

/* Of one size: the first whose place is still free, else the last, to count turns. */
static expected *find_expected(size_t size_bytes)
{
    expected *found = NULL;
    for (int i = 0; i < thread.count && (!found || found->given); i++)
        if (thread.list[i].size_bytes == size_bytes) found = &thread.list[i];
    return found;
}

static data_ptr allocate(const allocator *self, size_t size_bytes)
{
    (void)self;
    expected *const e = find_expected(size_bytes);
    if (e && e->seen++ == e->turn) {
        e->given = true;
        return (data_ptr){e->place, leave_place, e->place, 0, state.device_index};
    }
    const data_ptr made = allocate_other(size_bytes);
    if (e && e->seen <= SEEN) e->others[e->seen - 1] = made.data;
    return made;
}

static deleter own_deleter(const allocator *self)
{
    (void)self;
    return give_back;
}

static void *function_at(const allocator *a, int entry)
{
    return a->table[entry - TABLE_DESTROY];
}

/* An entry of a table, and whatever else is a function, as what it is: C has no cast for that. */
static void take_function(void *symbol, void *function)
{
    memcpy(function, &symbol, sizeof symbol);
}

/* Does PyTorch's allocator look as it must? Finds what we need of it. */
static bool learn_usual(void *library, const allocator *usual)
{
    enum { PROBE_BYTES = 256 };
    deleter (*raw_deleter)(const allocator *self);
    const void *named = dlsym(library, "_ZNK3c109Allocator18is_simple_data_ptrERKNS_7DataPtrE");
    if (!named || named != function_at(usual, TABLE_IS_SIMPLE)) return false;
    take_function(function_at(usual, TABLE_ALLOCATE), &state.allocate);
    take_function(function_at(usual, TABLE_DELETER), &raw_deleter);
    state.delete_usual = raw_deleter(usual);
    if (!state.delete_usual) return false;
    const data_ptr probe = state.allocate(usual, PROBE_BYTES);
    state.device_index = probe.device_index;
    if (!probe.data || probe.context != probe.data || probe.delete_context != state.delete_usual ||
        probe.device_type != 0)
        return false; /* 256 bytes are lost; whose they are is not known */
    state.delete_usual(probe.data);
    return true;
}

static void fill_table(const allocator *usual)
{
    deleter (*const own)(const allocator *) = own_deleter;
    data_ptr (*const make)(const allocator *, size_t) = allocate;
    memcpy(state.table, usual->table - TABLE_DESTROY, sizeof state.table);
    memcpy(&state.table[TABLE_ALLOCATE], &make, sizeof make);
    memcpy(&state.table[TABLE_DELETER], &own, sizeof own);
    state.own.table = state.table + TABLE_DESTROY;
}

/* What is large lies in our arenas and in the room: malloc need not keep large pieces any more (torch_api.c),
 * and with their exact size they leave no holes. */
static void shrink_heap(void)
{
#if defined(__GLIBC__)
    if (!getenv("MALLOC_MMAP_THRESHOLD_") && !getenv("MALLOC_TRIM_THRESHOLD_"))
        mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static bool replace_usual(void *library, int minor)
{
    const allocator *(*get)(void);
    void (*set)(const allocator *allocator, uint8_t priority);
    void *const get_symbol = dlsym(library, "_ZN3c1015GetCPUAllocatorEv"),
                *const set_symbol = dlsym(library, "_ZN3c1015SetCPUAllocatorEPNS_9AllocatorEh");
    if (state.open || !get_symbol || !set_symbol || minor > NEWEST) return state.open;
    take_function(get_symbol, &get);
    take_function(set_symbol, &set);
    state.usual = get();
    if (!state.usual || !learn_usual(library, state.usual)) return false;
    fill_table(state.usual);
    set(&state.own, 0);
    state.open = get() == &state.own; /* not, if there is one of a higher priority */
    if (state.open) shrink_heap();
    return state.open;
}

bool stk__torch_place_knows(stk__torch_version version)
{
    return version.major == STK_TORCH_MAJOR && version.minor <= NEWEST;
}

bool stk__torch_place_open(void *library, int minor)
{
    pthread_mutex_lock(&state.lock);
    const bool open = replace_usual(library, minor);
    pthread_mutex_unlock(&state.lock);
    return open;
}

void stk__torch_place_add(const stk__arena *arena)
{
    pthread_mutex_lock(&state.lock);
    if (state.count < ARENAS) state.arenas[state.count++] = arena;
    pthread_mutex_unlock(&state.lock);
}

void stk__torch_place_remove(const stk__arena *arena)
{
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < state.count; i++)
        if (state.arenas[i] == arena) {
            state.arenas[i] = state.arenas[--state.count];
            break;
        }
    pthread_mutex_unlock(&state.lock);
}

void stk__torch_place_expect(void *place, size_t size_bytes, int turn)
{
    if (!state.open || !size_bytes || thread.count == EXPECTED || !is_place(place)) return;
    thread.list[thread.count++] = (expected){.place = place, .size_bytes = size_bytes, .turn = turn};
}

int stk__torch_place_arrive(const void *place, const void *data)
{
    int found = -1;
    for (int i = 0; i < thread.count; i++) {
        expected *e = &thread.list[i];
        if (e->place != place) continue;
        for (int turn = 0; turn < SEEN; turn++)
            if (data && e->others[turn] == data) found = turn;
        e->size_bytes = 0; /* nothing else may come to lie there */
    }
    return found;
}

void stk__torch_place_begin(void)
{
    thread.computes = true;
}

void stk__torch_place_end(void)
{
    thread.count = 0;
    thread.computes = false;
}

int64_t stk__torch_place_most(void)
{
    const long long held = atomic_load(&state.held_bytes), most = atomic_exchange(&state.most_bytes, held);
    return most - held;
}
