/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a .npy file (versions 1, 2 and 3): what the array is and where its bytes start. */
#ifndef STK_CORE_NPY_H
#define STK_CORE_NPY_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum { STK_NPY_MAGIC_BYTES = 6, STK_NPY_DIMS = 4 };

typedef struct stk__npy {
    char kind;          /* 'f' float, 'i' integer, 'u' unsigned, 'b' boolean */
    int32_t item_bytes; /* 1, 2, 4 or 8; little endian */
    bool fortran;       /* first index runs fastest */
    int32_t ndim;       /* 0 to STK_NPY_DIMS */
    uint64_t shape[STK_NPY_DIMS];
    size_t offset_bytes; /* of the first item in the file */
    uint64_t data_bytes; /* item_bytes * product of shape; fits 63 bits */
} stk__npy;

bool stk__npy_match(const uint8_t *data, size_t size_bytes); /* the magic is there */

/* Reads the header. data may be just the beginning of a file, as long as the whole header is in it. Damages:
 * truncated (more bytes are needed), bad_header, unsupported (big endian, other kinds, more dimensions). */
stk_status stk__npy_parse(stk__npy *npy, const uint8_t *data, size_t size_bytes, stk_error *error);

/* The header of an image of u8, [h w] or [h w channels]: so many bytes, which its pixels follow. */
enum { STK_NPY_IMAGE_BYTES = 128 };
void stk__npy_write_image(uint8_t out[STK_NPY_IMAGE_BYTES], int32_t h, int32_t w, int32_t channels);

/* A file of size_bytes must hold exactly this array: damage truncated or corrupt otherwise. */
stk_status stk__npy_check_size(const stk__npy *npy, uint64_t size_bytes, stk_error *error);

#endif
