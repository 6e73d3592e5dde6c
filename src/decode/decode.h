/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded bytes in, u8 pixels out. One stk__decoder per worker thread: it owns the codecs' states and
 * scratch.
 *
 * A call either fills every pixel of its target with the right value or returns a damage; never wrong pixels.
 * Nothing here reads files. Errors carry class, message and hint; the caller adds the place (path). */
#ifndef STK_DECODE_DECODE_H
#define STK_DECODE_DECODE_H

#include "core/memory.h"
#include "image/orientation.h"
#include "image/pixels.h"

#include <stdbool.h>

typedef struct stk__limits {
    uint64_t bytes;                 /* of a file */
    uint64_t pixels;                /* of an image: w * h, checked before anything is allocated */
    int64_t scans;                  /* of a progressive JPEG */
    int64_t warnings;               /* of the decoder that are forgiven; 0: each is a damage. Those that leave
                                       every pixel right are not counted */
    double time_s;                  /* for decoding one image, CPU time of its thread */
    struct stk__inflate_gate *gate; /* inflate_gate.h, the caller's; NULL: none */
} stk__limits;

extern const stk__limits stk__limits_default;

typedef struct stk__encoded {
    const uint8_t *data; /* followed by 64 readable bytes (core/file.h) */
    size_t size_bytes;
} stk__encoded;

typedef struct stk__format_ops stk__format_ops;

/* What a header says; filled before any pixel is decoded. */
typedef struct stk__picture {
    const stk__format_ops *format;
    int32_t w, h;                 /* as stored */
    int32_t channels;             /* as an image: 1 grey, 3 colour (a palette too) */
    int32_t depth_bits;           /* per channel as stored */
    stk__orientation orientation; /* 1 when there is none */
    bool indexed;                 /* a palette: as a mask, ids are its indices, not colors */
    bool misnamed;                /* the extension promises another format */
    bool coarse;                  /* may be set before decoding: faster, some levels off (JPEG alone) */
} stk__picture;

typedef struct stk__decoder stk__decoder;

stk_status stk__decoder_create(stk__decoder **decoder, const stk__limits *limits, stk_error *error);
void stk__decoder_destroy(stk__decoder **decoder);

/* The format that a file's extension promises ("jpg", any case); NULL if none. */
const stk__format_ops *stk__format_by_extension(const char *extension);
const char *stk__format_name(const stk__format_ops *format);

/* Finds the format by content, checks the header against the limits. extension: what the name promises, or
 * NULL; content of another known format is misnamed, and decoded as what it is. */
stk_status stk__decode_header(stk__decoder *decoder, stk__encoded bytes, const char *extension,
                              stk__picture *picture, stk_error *error);

/* Decodes into target: orientation applied (upright; pass picture->orientation = 1 to switch that off), then
 * resized to target.w x target.h if that differs, converted to target.channels (1 by luma, 3 by repetition;
 * alpha is dropped; 16 bits keep the high byte). Decodes straight into target when nothing has to be changed.
 */
stk_status stk__decode_image(stk__decoder *decoder, stk__encoded bytes, const stk__picture *picture,
                             stk__pixels target, stk_error *error);

/* What the decoder of this picture's format warned of when it decoded it, and accepted: a constant; NULL:
 * nothing. Right after stk__decode_image. */
const char *stk__decode_warning(const stk__decoder *decoder, const stk__picture *picture);

typedef struct stk__mask_options {
    const uint8_t *map;  /* 256 entries: id in the file -> id in the batch; NULL: as stored */
    const bool *mapped;  /* 256 entries: which ids the map knows; others are damage mask_ids; NULL: all */
    int32_t class_count; /* ids must be below it or `ignore`; 0: unchecked */
    uint8_t ignore;      /* 255 */
    stk__orientation orientation;          /* applied to the mask's own pixels; 1: none */
    const struct stk__mask_colors *colors; /* of RGB masks (mask_colors.h); NULL: they must be gray */
    bool lossy; /* the map is a threshold: JPEG, whose values are blurred, will do */
} stk__mask_options;

/* The same for a mask of ids: one channel, palettes give indices, values are never scaled, resized by
 * nearest. RGB files: by the table of colors, or r = g = b is the id. */
stk_status stk__decode_mask(stk__decoder *decoder, stk__encoded bytes, const stk__picture *picture,
                            const stk__mask_options *options, stk__pixels target, stk_error *error);

#endif
