/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded samples kept in memory: each is copied in when it has come for the first time, and stays. What does
 * not fit into the budget is decoded again every time; nothing is thrown out for something else. Functions
 * that take a cache may be called from any thread at the same time; there is no lock. */
#ifndef STK_LOADER_CACHE_H
#define STK_LOADER_CACHE_H

#include "core/memory.h"
#include "image/pixels.h"
#include "loader/file_notes.h"

#include <stdbool.h>

/* A sample as it stands before it is augmented: upright, in the size it is decoded to, ids mapped. */
typedef struct stk__decoded {
    int32_t upright_w, upright_h; /* before it was resized: points are given in these pixels */
    stk__pixels image, mask;      /* dense; mask.data NULL: there is none */
    int turn;                     /* stk__orientation by which points become upright; 1: they are */
    stk__file_note note;          /* what is odd about its files */
} stk__decoded;

typedef struct stk__cache stk__cache;

typedef struct stk__cache_options {
    uint64_t sample_count; /* of the data set: ids are below it */
    size_t budget_bytes;
    int32_t channels; /* of all images */
    bool masks;
} stk__cache_options;

/* Reserves the whole budget and a word for each sample; memory is taken as samples come in. */
stk_status stk__cache_create(stk__cache **cache, const stk__cache_options *options, stk_error *error);
void stk__cache_destroy(stk__cache **cache);

/* False when the sample is not there, or there is no cache (NULL). */
bool stk__cache_has(const stk__cache *cache, uint64_t id);
/* The same; the pixels found are the cache's, live as long as it and must not be written. */
bool stk__cache_find(const stk__cache *cache, uint64_t id, stk__decoded *found);

/* Copies a sample in, unless it is there, another thread is doing it, or too little of the budget is left.
 * True: it was copied. */
bool stk__cache_keep(stk__cache *cache, uint64_t id, const stk__decoded *sample);

typedef struct stk__cache_use {
    uint64_t samples, bytes; /* held; bytes as taken from the budget */
} stk__cache_use;

stk__cache_use stk__cache_measure(const stk__cache *cache); /* zeroes for NULL */

/* What a sample takes from the budget. */
size_t stk__cache_sample_bytes(const stk__cache_options *options, int32_t w, int32_t h);
/* What all caches of this process may still take: memory that looks available and is not. */
uint64_t stk__cache_promised_bytes(void);
/* More of it, or with a negative number less: for a cache that is decided on but not made. */
void stk__cache_promise(int64_t bytes);

#endif
