/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of decoded samples without a lock: one atomic word per sample goes EMPTY -> FILLING -> READY
 * once and never back, and the arena is handed out by one atomic counter. Readers that see READY may read
 * without further ado; nothing is ever evicted. */
#include "loader/cache.h"

#include "core/align.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

/* The word of a sample: EMPTY, FILLING, or READY together with the offset of its entry. */
enum { EMPTY, FILLING, READY, STATE_BITS = 3 };

/* In front of a sample's pixels: image, then mask, each from a whole line on. */
typedef struct entry {
    int32_t upright_w, upright_h, w, h;
    stk__file_note note;
    int turn;
} entry;

struct stk__cache {
    stk__cache_options options;
    _Atomic uint64_t *words; /* [sample_count] */
    uint8_t *arena;          /* [budget_bytes] */
    atomic_size_t used;      /* of the arena, from its start */
    _Atomic uint64_t held;   /* samples that are ready */
};

static _Atomic uint64_t promised_bytes;

uint64_t stk__cache_promised_bytes(void)
{
    return atomic_load_explicit(&promised_bytes, memory_order_relaxed);
}

void stk__cache_promise(int64_t bytes)
{
    atomic_fetch_add_explicit(&promised_bytes, (uint64_t)bytes, memory_order_relaxed);
}

static size_t image_bytes(const stk__cache_options *options, int32_t w, int32_t h)
{
    return stk__align_up((size_t)w * (size_t)h * (size_t)options->channels, STK_LINE_BYTES);
}

size_t stk__cache_sample_bytes(const stk__cache_options *options, int32_t w, int32_t h)
{
    const size_t mask = options->masks ? stk__align_up((size_t)w * (size_t)h, STK_LINE_BYTES) : 0;
    return stk__align_up(sizeof(entry), STK_LINE_BYTES) + image_bytes(options, w, h) + mask;
}

stk_status stk__cache_create(stk__cache **out, const stk__cache_options *options, stk_error *error)
{
    *out = NULL;
    stk__cache *cache = stk__alloc(sizeof *cache);
    if (!cache) return stk__fail_memory(error, sizeof *cache, "a cache");
    cache->options = *options;
    const size_t words_bytes = options->sample_count * sizeof *cache->words;
    cache->words = stk__map(words_bytes);
    cache->arena = cache->words ? stk__map(options->budget_bytes) : NULL;
    if (!cache->arena) {
        stk__unmap((void *)cache->words, words_bytes);
        stk__free(cache);
        return stk__fail_memory(error, options->budget_bytes, "the cache");
    }
    atomic_fetch_add_explicit(&promised_bytes, options->budget_bytes, memory_order_relaxed);
    *out = cache;
    return STK_OK;
}

void stk__cache_destroy(stk__cache **pointer)
{
    stk__cache *cache = *pointer;
    if (!cache) return;
    *pointer = NULL;
    const stk__cache_options *options = &cache->options;
    atomic_fetch_sub_explicit(&promised_bytes, options->budget_bytes - atomic_load(&cache->used),
                              memory_order_relaxed);
    stk__unmap(cache->arena, options->budget_bytes);
    stk__unmap((void *)cache->words, options->sample_count * sizeof *cache->words);
    stk__free(cache);
}

/* The entry of a sample that is ready, else NULL. */
static const entry *entry_of(const stk__cache *cache, uint64_t id)
{
    assert(id < cache->options.sample_count);
    const uint64_t word = atomic_load_explicit(&cache->words[id], memory_order_acquire);
    if ((word & STATE_BITS) != READY) return NULL;
    return (const entry *)(const void *)(cache->arena + (word & ~(uint64_t)STATE_BITS));
}

bool stk__cache_has(const stk__cache *cache, uint64_t id)
{
    return cache && entry_of(cache, id);
}

/* Where the pixels of an entry of w x h lie. */
static void lay_out(const stk__cache_options *options, uint8_t *at, stk__decoded *sample)
{
    const int32_t w = sample->image.w, h = sample->image.h;
    uint8_t *image = at + stk__align_up(sizeof(entry), STK_LINE_BYTES);
    sample->image = stk__pixels_dense(image, w, h, options->channels);
    sample->mask =
        options->masks ? stk__pixels_dense(image + image_bytes(options, w, h), w, h, 1) : (stk__pixels){0};
}

bool stk__cache_find(const stk__cache *cache, uint64_t id, stk__decoded *found)
{
    const entry *at = cache ? entry_of(cache, id) : NULL;
    if (!at) return false;
    *found = (stk__decoded){at->upright_w, at->upright_h, .image = {.w = at->w, .h = at->h}, .note = at->note,
                            .turn = at->turn};
    lay_out(&cache->options, cache->arena + ((const uint8_t *)at - cache->arena), found);
    return true;
}

/* Takes bytes of the budget; false when too little is left. */
static bool take_room(stk__cache *cache, size_t bytes, size_t *offset)
{
    size_t used = atomic_load_explicit(&cache->used, memory_order_relaxed);
    do {
        if (bytes > cache->options.budget_bytes - used) return false;
    } while (!atomic_compare_exchange_weak_explicit(&cache->used, &used, used + bytes, memory_order_relaxed,
                                                    memory_order_relaxed));
    atomic_fetch_sub_explicit(&promised_bytes, bytes, memory_order_relaxed);
    *offset = used;
    return true;
}

static void copy_in(uint8_t *at, const stk__cache_options *options, const stk__decoded *sample)
{
    stk__decoded room = *sample;
    lay_out(options, at, &room);
    *(entry *)(void *)at = (entry){sample->upright_w, sample->upright_h, sample->image.w,
                                   sample->image.h,   sample->note,      sample->turn};
    memcpy(room.image.data, sample->image.data, room.image.pitch_bytes * (size_t)room.image.h);
    if (options->masks)
        memcpy(room.mask.data, sample->mask.data, room.mask.pitch_bytes * (size_t)room.mask.h);
}

bool stk__cache_keep(stk__cache *cache, uint64_t id, const stk__decoded *sample)
{
    const stk__cache_options *options = &cache->options;
    _Atomic uint64_t *word = &cache->words[id];
    uint64_t expected = EMPTY;
    size_t offset;
    assert(id < options->sample_count && sample->image.channels == options->channels);
    const size_t bytes = stk__cache_sample_bytes(options, sample->image.w, sample->image.h);
    if (!atomic_compare_exchange_strong_explicit(word, &expected, FILLING, memory_order_relaxed,
                                                 memory_order_relaxed))
        return false;
    if (!take_room(cache, bytes, &offset)) {
        atomic_store_explicit(word, EMPTY, memory_order_relaxed);
        return false;
    }
    copy_in(cache->arena + offset, options, sample);
    atomic_store_explicit(word, offset | READY, memory_order_release);
    atomic_fetch_add_explicit(&cache->held, 1, memory_order_relaxed);
    return true;
}

stk__cache_use stk__cache_measure(const stk__cache *cache)
{
    if (!cache) return (stk__cache_use){0};
    return (stk__cache_use){atomic_load_explicit(&cache->held, memory_order_relaxed),
                            atomic_load_explicit(&cache->used, memory_order_relaxed)};
}
