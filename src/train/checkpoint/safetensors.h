/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: named tensors in one file: 8 bytes length, a JSON header, raw little-endian data.
 *
 *     stk__safetensors_open(&file, path, &error)      // everything about the header is checked here
 *     stk__safetensors_find(file, "conv1.weight")
 *     stk__safetensors_read(file, tensor, memory, &error) */
#ifndef STK_TRAIN_SAFETENSORS_H
#define STK_TRAIN_SAFETENSORS_H

#include "core/memory.h"
#include "engine/op.h"

enum { STK_SAFETENSORS_HEADER_BYTES = 100 * 1000 * 1000 }; /* no header is longer */

typedef struct stk__safetensor {
    const char *name; /* UTF-8 */
    stk_dtype dtype;  /* F32, F16, BF16, I64, U8, F64; NONE: one, or a number of dimensions, we do not have */
    stk__shape shape; /* up to 4 dimensions; a scalar has 0. Not set with NONE */
    uint64_t offset_bytes, size_bytes; /* in the data part */
} stk__safetensor;

/* A file that is open for reading. Its header is checked: names once, sizes that fit shapes, no overlaps, no
 * holes, nothing outside and nothing behind; a malformed or hostile one is STK_ERROR_DATA, never a crash. */
typedef struct stk__safetensors stk__safetensors; /* open/close */
stk_status stk__safetensors_open(stk__safetensors **file, const char *path, stk_error *error);
void stk__safetensors_close(stk__safetensors **file);
int stk__safetensors_count(const stk__safetensors *file);
const stk__safetensor *stk__safetensors_at(const stk__safetensors *file, int index); /* in order of offset */
const stk__safetensor *stk__safetensors_find(const stk__safetensors *file, const char *name); /* or NULL */
const char *stk__safetensors_metadata(const stk__safetensors *file, const char *key);         /* NULL: none */
/* size_bytes into data. */
stk_status stk__safetensors_read(const stk__safetensors *file, const stk__safetensor *tensor, void *data,
                                 stk_error *error);

/* The header for tensors whose names, dtypes and shapes are set, in the order of the list; offsets and sizes
 * are filled in. Those with larger elements come first (else STK_ERROR_ARGUMENT): PyTorch wants each one
 * aligned to its elements. Appends to text: 8 bytes, JSON padded with blanks to a multiple of 8. metadata may
 * be NULL. */
stk_status stk__safetensors_header(stk__safetensor *tensors, int count, const char *const (*metadata)[2],
                                   int metadata_count, stk__buffer *text, stk_error *error);

#endif
