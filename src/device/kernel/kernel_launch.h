/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel of the kernel source is given. The same layout for host and device: 32-bit fields only, no
 * padding. Part of the kernel source, and included by the host's side of every device. */
#ifndef STK_DEVICE_KERNEL_LAUNCH_H
#define STK_DEVICE_KERNEL_LAUNCH_H

#ifndef STK_KERNEL_SOURCE
#include "device/augment_block.h"
#ifndef STK_GLOBAL
#define STK_GLOBAL
#endif
#endif

/* A group of items makes one tile of one sample: the first number of a group is the tile's column, the second
 * its row, the third the sample. */
enum {
    STK_KERNEL_TILE_W = 32,
    STK_KERNEL_TILE_H = 8,
    STK_KERNEL_GROUP = STK_KERNEL_TILE_W * STK_KERNEL_TILE_H
};

enum { STK_KERNEL_F32, STK_KERNEL_F16, STK_KERNEL_BF16, STK_KERNEL_U8 }; /* of images; U8: stk_mix alone */
enum { STK_KERNEL_MASK_NONE, STK_KERNEL_MASK_U8, STK_KERNEL_MASK_I64 };  /* ids of masks */
enum { STK_KERNEL_NOISE_OPERATION = 64 };                                /* STK_OPERATION_NOISE_PIXELS */

/* Pixels of one sample in the arena; fewer than 2^31 bytes from its first to its last. */
typedef struct stk__kernel_place {
    uint32_t offset_low, offset_high; /* bytes from the arena's start */
    uint32_t pitch_bytes;
    int32_t w, h;
} stk__kernel_place;

typedef struct stk__kernel_sample {
    stk__augment_block block;
    stk__kernel_place image, mask;
    int32_t contrast_step;        /* which step is the contrast; -1: none */
    uint32_t grey_low, grey_high; /* 0 at first; the sum of greys is grey_high * 2^12 + grey_low */
} stk__kernel_sample;

/* The same for all samples of a batch. */
typedef struct stk__kernel_launch {
    int32_t w, h, channels, planar;
    int32_t dtype, mask_dtype;
    float scale[3], bias[3];
} stk__kernel_launch;

/* The one parameter of a CUDA kernel. In OpenCL the pointers are arguments of their own. */
typedef struct stk__kernel_work {
    stk__kernel_launch launch;
    STK_GLOBAL const unsigned char *arena;
    STK_GLOBAL stk__kernel_sample *samples;
    STK_GLOBAL unsigned char *image; /* of the first sample; the others follow */
    STK_GLOBAL unsigned char *mask;
} stk__kernel_work;

/* What stk_mix does to a sample or a pair of finished ones. */
enum {
    STK_KERNEL_MIX_ALONE, /* a: its second mask is the first */
    STK_KERNEL_MIX_BLANK, /* a: pixels 0, ids 255 */
    STK_KERNEL_MIX_BLEND, /* MixUp: each is lambda of itself and the rest of the other; second mask the
                           * other's
                           */
    STK_KERNEL_MIX_PASTE  /* CutMix: the box changes places in images and masks; second mask the first */
};
typedef struct stk__kernel_mix {
    int32_t kind;
    uint32_t a, b; /* places in the batch; every place is in one entry at most */
    float lambda;
    int32_t x, y, w, h; /* of the box */
} stk__kernel_mix;

/* The one parameter of stk_mix; its groups are (column of tiles, row of tiles, entry). */
typedef struct stk__kernel_mix_work {
    stk__kernel_launch launch;
    STK_GLOBAL const stk__kernel_mix *mixes;
    STK_GLOBAL unsigned char *image; /* of the first sample; the others follow */
    STK_GLOBAL unsigned char *mask;
    STK_GLOBAL unsigned char *mask2; /* NULL: none */
} stk__kernel_mix_work;

/* What stk_gather reads: values of one image or mask of a caller's, anywhere in the device's memory, each at
 * a multiple of its size. */
enum {
    STK_KERNEL_VALUES_U8,
    STK_KERNEL_VALUES_F32, /* 0 to 1 */
    STK_KERNEL_VALUES_I64  /* 0 to 255 */
};
typedef struct stk__kernel_values {
    STK_GLOBAL const unsigned char *from;          /* the first; NULL: there are none */
    int64_t row_bytes, pixel_bytes, channel_bytes; /* from one to the next; any sign */
    uint64_t to;                                   /* where the dense bytes begin in the arena */
    int32_t kind, channels;
} stk__kernel_values;

/* A sample: mask and image have one size. */
typedef struct stk__kernel_gather {
    stk__kernel_values image, mask;
    int32_t w, h;
    int32_t swaps, unused; /* swaps: ids of the mask change sides */
} stk__kernel_gather;

/* The one parameter of stk_gather; its groups are (column of tiles, row of tiles, sample), as many as the
 * largest sample needs. */
typedef struct stk__kernel_gather_work {
    STK_GLOBAL const stk__kernel_gather *sources;
    STK_GLOBAL const unsigned char *table; /* [256] id -> id where sides change */
    STK_GLOBAL unsigned char *arena;
    /* [samples][2] of image and mask: the number of the first value that cannot be a byte, y * w * channels +
     * x * channels + channel; UINT32_MAX at first. */
    STK_GLOBAL uint32_t *wrong;
} stk__kernel_gather_work;

/* The one parameter of stk_round; its groups are (values of a sample, 1, sample). */
enum { STK_KERNEL_ROUND_VALUES = 4 * STK_KERNEL_GROUP }; /* that a group makes */
typedef struct stk__kernel_round_work {
    STK_GLOBAL const float *from; /* levels */
    STK_GLOBAL unsigned char *to;
    uint32_t length, unused; /* length: values of a sample */
} stk__kernel_round_work;

/* The one parameter of stk_dropout; its groups are (draws of a sample, every `rows`-th sample, 1). What may
 * change between two launches of one CUDA graph lies in memory. */
enum { STK_KERNEL_DROPOUT_VALUES = 4 * STK_KERNEL_GROUP }; /* that a group makes of a sample */
typedef struct stk__kernel_dropout_work {
    uint32_t samples, rows, length; /* length: values of a sample */
    uint32_t operation, threshold;  /* see engine/dropout.h */
    float scale;
    STK_GLOBAL const int64_t *ids;     /* of the samples */
    STK_GLOBAL const int64_t *numbers; /* seed, epoch */
    STK_GLOBAL float *factors;
} stk__kernel_dropout_work;

#endif
