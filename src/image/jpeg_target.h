/* SPDX-License-Identifier: Apache-2.0 */
/* Where libjpeg writes to: a buffer that grows. */
#ifndef STK_IMAGE_JPEG_TARGET_H
#define STK_IMAGE_JPEG_TARGET_H

#include "core/memory.h"

#include <stdio.h> /* jpeglib.h needs FILE */
#include <jpeglib.h>

typedef struct stk__jpeg_target {
    struct jpeg_destination_mgr manager; /* first: codec->dest is its address */
    size_t first_bytes;                  /* room to begin with */
    stk__buffer *file;                   /* its bytes are replaced; size_bytes is set at the end */
    stk_error *error;
    stk_status status; /* after error_exit: STK_ERROR_MEMORY and *error when the buffer could not grow */
} stk__jpeg_target;

/* Fills the manager in; file and error are the caller's to set before each picture. */
void stk__jpeg_target_init(stk__jpeg_target *target, size_t first_bytes);

#endif
