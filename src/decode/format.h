/* SPDX-License-Identifier: Apache-2.0 */
/* What a file format has to offer. A new decoder is one source file with a stk__format_ops, its number here,
 * and a few lines elsewhere: the list is in README.md of this folder. */
#ifndef STK_DECODE_FORMAT_H
#define STK_DECODE_FORMAT_H

#include "decode/decode.h"

typedef enum stk__format_number {
    STK_FORMAT_JPEG,
    STK_FORMAT_PNG,
    STK_FORMAT_NPY,
    STK_FORMAT_PARTS, /* no file: a mask of several files (image/part_bundle.h) */
    STK_FORMAT_COUNT
} stk__format_number;

struct stk__format_ops {
    stk__format_number number; /* of its state in a decoder: found without a search, for header and pixels */
    const char *name;
    const char *const *extensions; /* lower case, ends with NULL */
    const uint8_t *magic;          /* how every file of this format starts */
    size_t magic_bytes;

    /* One state per decoder; limits outlive it. Functions that are NULL need no state. */
    stk_status (*create)(void **state, const stk__limits *limits, stk_error *error);
    void (*destroy)(void *state);

    /* Fills w, h, channels, depth_bits and orientation. The front checks sizes against the limits. */
    stk_status (*header)(void *state, stk__encoded bytes, stk__picture *picture, stk_error *error);

    /* By how much the decoder itself can shrink (1, 2, 4, 8) so that w x h is a whole number of pixels and
     * not below want_w x want_h. NULL: not at all. */
    int (*shrink)(const stk__picture *picture, int32_t want_w, int32_t want_h);

    /* Every pixel as stored (not turned), target.w = picture->w / shrink, target.channels 1 or 3. */
    stk_status (*image)(void *state, stk__encoded bytes, const stk__picture *picture, stk__pixels target,
                        stk_error *error);

    /* Ids as stored, target.channels 1. NULL: this format cannot hold a mask. */
    stk_status (*mask)(void *state, stk__encoded bytes, const stk__picture *picture, stk__pixels target,
                       stk_error *error);

    /* Of the image that was decoded last: what the decoder said about it and accepted. NULL: formats without
     * warnings. */
    const char *(*warning)(const void *state);
};

extern const stk__format_ops stk__format_jpeg;
extern const stk__format_ops stk__format_png;
extern const stk__format_ops stk__format_npy;
extern const stk__format_ops stk__format_parts;

/* Its state decodes each part by the decoder that it belongs to. */
void stk__parts_set_decoder(void *state, stk__decoder *decoder);

/* Limit on the CPU time of the thread that decodes, which asks now and then, not per pixel: a process that
 * was stopped neither fails nor changes the stream. That clock is a system call, so it is asked only when a
 * sixteenth of the limit has passed on the wall's: the limit is kept to that. */
typedef struct stk__deadline {
    uint64_t look_ns; /* stk__clock_ns */
    uint64_t end_ns;  /* stk__clock_thread_ns; 0: not known yet */
    double time_s;
} stk__deadline;

stk__deadline stk__deadline_start(const stk__limits *limits);
bool stk__deadline_passed(stk__deadline *deadline);
stk_status stk__deadline_fail(const stk__deadline *deadline, stk_error *error);

/* The luma of ITU-R BT.601, as in JPEG. */
static inline uint8_t stk__luma(unsigned r, unsigned g, unsigned b)
{
    return (uint8_t)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
}

#endif
