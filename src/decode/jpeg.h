/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the JPEG decoder: its state, and how libjpeg's complaints become statuses. */
#ifndef STK_DECODE_JPEG_H
#define STK_DECODE_JPEG_H

#include "core/hash.h"
#include "decode/format.h"
#include "decode/jpeg_huffman.h"

#include <setjmp.h>

typedef struct stk__jpeg_state {
    struct jpeg_decompress_struct codec; /* first: the callbacks get its address */
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    const stk__limits *limits;
    stk__deadline deadline;
    unsigned ticks;       /* progress calls since the start of an image */
    long warning_count;   /* of this image: those that are damage */
    stk_damage damage;    /* why our own callbacks jumped; NONE: libjpeg did */
    const char *reason;   /* the same in words, a constant; NULL: libjpeg's words */
    const char *accepted; /* the first warning of this image that was no damage or permitted; NULL: none */
    bool left_over;       /* bytes too many behind a scan */
    bool walkable;        /* the Huffman decoder is prepared to look at them */
    bool alone;           /* libjpeg decodes scans, too */
    bool odd;             /* a jump from a scan that has to be decoded so */

    /* The bytes whose header the codec has read and not used yet; data NULL: none. */
    stk__encoded ready;
    size_t header_bytes;
    stk__digest header_digest;

    stk__buffer rows; /* CMYK rows on their way to RGB */
    stk__jpeg_huffman huffman;
} stk__jpeg_state;

static inline stk__jpeg_state *stk__jpeg_state_of(void *codec)
{
    return codec;
}

/* Sets the callbacks of a codec that is not created yet: nothing is printed, failures jump to state->jump. */
void stk__jpeg_listen(stk__jpeg_state *state);

/* All scans of a progressive image have been read: jumps when some are missing, unless that is permitted. */
void stk__jpeg_check_scans(stk__jpeg_state *state);

/* The bytes left over behind a scan are data: the same. */
void stk__jpeg_refuse_tail(stk__jpeg_state *state);

/* After a jump: the codec is put back to its beginning, the reason becomes a status. */
stk_status stk__jpeg_report(stk__jpeg_state *state, bool in_header, stk_error *error);

#endif
