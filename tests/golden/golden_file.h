/* SPDX-License-Identifier: Apache-2.0 */
/* Files that write_ops.py and write_training.py made, tensors on an engine's shelf, and how far the two are
 * apart. Everything here ends the test (cmocka) when it fails. */
#ifndef TESTS_GOLDEN_FILE_H
#define TESTS_GOLDEN_FILE_H

#include "engine/engine.h"
#include "train/checkpoint/safetensors.h"

#include <jansson.h>
#include <stdio.h>

typedef struct golden_file { /* open/close */
    stk__safetensors *file;
    json_t *about; /* the metadata of that name */
} golden_file;

void golden_open(golden_file *golden, const char *folder, const char *name);
void golden_close(golden_file *golden);
/* NULL: there is none of this name, which is composed as by printf. */
const stk__safetensor *golden_find(const golden_file *golden, const char *format, ...) STK__PRINTF(2, 3);

/* Tensors that live until the shelf is cleared. Those that are not read from a file hold bytes of 255: NaN,
 * so that one which nobody wrote is noticed. */
enum { GOLDEN_TENSORS = 64 };
typedef struct golden_shelf { /* init/fini */
    stk__engine *engine;
    stk__arena *arena;
    size_t used_bytes;
    stk__tensor *tensor[GOLDEN_TENSORS];
    int count;
} golden_shelf;

void golden_shelf_init(golden_shelf *shelf, stk__engine *engine);
void golden_shelf_fini(golden_shelf *shelf);
void golden_shelf_clear(golden_shelf *shelf);
stk__tensor *golden_make(golden_shelf *shelf, const stk__shape *shape, stk_dtype dtype);
stk__tensor *golden_make_bytes(golden_shelf *shelf, size_t size_bytes); /* NULL for 0 */
/* NULL for NULL. */
stk__tensor *golden_read(golden_shelf *shelf, const golden_file *golden, const stk__safetensor *tensor);
void golden_load(stk__tensor *target, const golden_file *golden, const stk__safetensor *tensor);

/* The largest deviation so far of one kind of tensor, relative L2: |ours - theirs| / |theirs|. */
typedef struct golden_tally {
    const char *kind;
    double bound, worst;
    char where[160];
    int count;
} golden_tally;

/* Counts in i64 must be equal. */
void golden_compare(golden_tally *tally, stk__tensor *ours, const golden_file *golden,
                    const stk__safetensor *theirs);
void golden_compare_numbers(golden_tally *tally, const char *where, const double *ours, const double *theirs,
                            int64_t count);
void golden_print(const golden_tally *tally);

/* False, with the reason printed, where the engine cannot be opened here; the test then returns this. */
enum { GOLDEN_SKIPPED = 77 };
bool golden_engine_is_here(const char *name);
/* Two threads. "onednn:winograd": that algorithm for all convolutions it can compute. */
stk__engine *golden_engine_open(const char *name);

/* The call must succeed; else the test ends with what the error says. */
#define GOLDEN_TRY(call) golden_must((call), &error, #call)
void golden_must(stk_status status, const stk_error *error, const char *what);

/* Numbers of a JSON object, or `otherwise`. */
double golden_number(const json_t *object, const char *key, double otherwise);

#endif
