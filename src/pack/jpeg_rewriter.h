/* Inside the rewriter: its codecs, and how libjpeg's complaints become statuses. */
#ifndef STK_PACK_JPEG_REWRITER_H
#define STK_PACK_JPEG_REWRITER_H

#include "decode/format.h"
#include "pack/jpeg_rewrite.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <jpeglib.h>

struct stk__jpeg_rewriter {
    struct jpeg_decompress_struct from, other; /* other: only for comparing */
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors; /* of all three */
    struct jpeg_progress_mgr progress;
    struct jpeg_destination_mgr target;
    jmp_buf jump; /* set by each function that calls libjpeg */
    const stk__limits *limits;
    stk__deadline deadline;
    stk__buffer *file; /* where target writes */
    stk_error *error;
    stk_status status; /* why our own callbacks jumped; STK_OK: libjpeg did */
};

/* Reads a header and, if it is within the limits, all coefficients; every component has its divisors then.
 * Jumps when it cannot. */
jvirt_barray_ptr *stk__jpeg_rewriter_read(stk__jpeg_rewriter *rewriter, struct jpeg_decompress_struct *codec,
                                          stk__encoded bytes);

/* After a jump: all codecs are put back to their beginnings, the reason becomes a status. */
stk_status stk__jpeg_rewriter_report(stk__jpeg_rewriter *rewriter, stk_error *error);

#endif
