/* safetensors: named tensors in one file: 8 bytes length, a JSON header, raw little-endian data. */
#ifndef STK_TRAIN_SAFETENSORS_H
#define STK_TRAIN_SAFETENSORS_H

#include "core/memory.h"
#include "engine/op.h"

typedef struct stk__safetensor {
    const char *name;
    stk_dtype dtype;                   /* F32, F16, BF16, I64, U8, F64 */
    stk__shape shape;                  /* up to 4 dimensions; a scalar has 0 */
    uint64_t offset_bytes, size_bytes; /* in the data part */
} stk__safetensor;

/* A file that is open for reading. Its content is checked: no overlaps, nothing outside, sizes that fit
 * shapes; hostile headers are an error, never a crash. */
typedef struct stk__safetensors stk__safetensors; /* open/close */
stk_status stk__safetensors_open(stk__safetensors **file, const char *path, stk_error *error);
void stk__safetensors_close(stk__safetensors **file);
int stk__safetensors_count(const stk__safetensors *file);
const stk__safetensor *stk__safetensors_at(const stk__safetensors *file, int index);
const stk__safetensor *stk__safetensors_find(const stk__safetensors *file, const char *name);
const char *stk__safetensors_metadata(const stk__safetensors *file, const char *key); /* NULL: none */
stk_status stk__safetensors_read(const stk__safetensors *file, const stk__safetensor *tensor, void *data,
                                 stk_error *error);

/* The header for tensors whose names, dtypes and shapes are set (offsets and sizes are filled in; order of
 * the list). Appends to text: 8 bytes, JSON padded with blanks to a multiple of 8. metadata may be NULL. */
stk_status stk__safetensors_header(stk__safetensor *tensors, int count, const char *const (*metadata)[2],
                                   int metadata_count, stk__buffer *text, stk_error *error);

#endif
