/* SPDX-License-Identifier: Apache-2.0 */
/* A JPEG rewritten without loss: its coefficients as they are, but baseline, with Huffman tables of its
 * own, in one scan, without restart markers and metadata. One rewriter per thread; it keeps its memory. */
#ifndef STK_PACK_JPEG_REWRITE_H
#define STK_PACK_JPEG_REWRITE_H

#include "decode/decode.h"

typedef struct stk__jpeg_rewriter stk__jpeg_rewriter;

stk_status stk__jpeg_rewriter_create(stk__jpeg_rewriter **rewriter, const stk__limits *limits,
                                     stk_error *error);
void stk__jpeg_rewriter_destroy(stk__jpeg_rewriter **rewriter);

/* The new bytes, followed by 64 readable ones, replace what file holds. orientation goes into an EXIF block
 * of 36 bytes when it is not 1. Adobe's marker stays where the colours depend on it. STK_ERROR_UNSUPPORTED:
 * libjpeg cannot do it for this file, or not within the limits; STK_ERROR_MEMORY. */
stk_status stk__jpeg_rewrite(stk__jpeg_rewriter *rewriter, stk__encoded bytes, stk__orientation orientation,
                             stk__buffer *file, stk_error *error);

#endif
