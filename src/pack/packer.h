/* SPDX-License-Identifier: Apache-2.0 */
/* One sample at a time from a source to tar blocks: image and mask rewritten, decoded and compared; class,
 * value and points as text. One packer per thread; it keeps its memory. */
#ifndef STK_PACK_PACKER_H
#define STK_PACK_PACKER_H

#include "decode/decode.h"
#include "pack/jpeg_rewrite.h"
#include "image/png_write.h"
#include "source/source.h"

typedef struct stk__packer {
    const stk__source *source;
    const stk__limits *limits;
    const struct stk__mask_colors *colors; /* of RGB masks, the owner's; NULL: they must be gray */
    stk__decoder *decoder;
    stk__jpeg_rewriter *jpeg;
    stk__png_writer *masks;
    stk__buffer bytes;         /* as the source has them */
    stk__buffer file;          /* as they are packed */
    stk__buffer before, after; /* their pixels */
    stk__buffer text;          /* of points */
} stk__packer;

/* A packed sample. Its owner empties and uses it again. */
typedef struct stk__packed {
    stk__buffer tar;
    uint64_t source_bytes, stored_bytes; /* of image and mask: as they were, as they are packed */
    bool kept; /* a JPEG that is stored as it was, because it cannot be rewritten with the same pixels */
} stk__packed;

/* Zeroed before. source and limits outlive it. On failure nothing is left. */
stk_status stk__packer_init(stk__packer *packer, const stk__source *source, const stk__limits *limits,
                            stk_error *error);
void stk__packer_fini(stk__packer *packer); /* accepts a zeroed one */

/* STK_ERROR_SAMPLE: the sample is bad, with class, message and place as in a loader's ledger. */
stk_status stk__packer_pack(stk__packer *packer, uint64_t id, stk__packed *packed, stk_error *error);

#endif
