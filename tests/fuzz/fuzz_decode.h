/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every image format, whatever the bytes: see fuzz_decode.c. */
#ifndef TEST_FUZZ_DECODE_H
#define TEST_FUZZ_DECODE_H

#include "decode/decode.h"

enum { FUZZ_PIXELS_MOST = 1 << 14 }; /* of an image; larger ones are refused */

/* A target whose memory is filled with `poison`, with room between and around the rows. */
typedef struct fuzz_target {
    stk__pixels pixels;
    uint8_t *memory;
    size_t size_bytes;
    uint8_t poison;
} fuzz_target;

fuzz_target fuzz_target_make(int32_t w, int32_t h, int32_t channels, uint8_t poison);
/* Nothing outside of the pixels was written. */
void fuzz_target_check(const fuzz_target *target);
void fuzz_target_free(fuzz_target *target);
/* Two targets of one size and different poisons, filled by the same work: equal only if every pixel was
 * written. */
void fuzz_target_compare(const fuzz_target *a, const fuzz_target *b);

/* Limits of the decoders here: small, so that inputs stay fast. */
extern const stk__limits fuzz_limits;

/* Header, image and mask of data, as a file of this extension; true: the header is good. data is followed by
 * 64 readable bytes. */
bool fuzz_decode(const char *extension, const uint8_t *data, size_t size);

#endif
