/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the kernel source in a PTX file, run on batches. */
#ifndef PTX_RIG_H
#define PTX_RIG_H

#include "device/kernel/launch.h"
#include "ptx/ptx.h"

/* All zero at first. */
typedef struct ptx_rig {
    ptx_module module;
    ptx_machine machine;
    ptx_kernel *grey, *augment, *mix, *dropout, *gather, *round;
    stk__buffer text, samples;
} ptx_rig;

stk_status ptx_rig_open(ptx_rig *rig, const char *path, stk_error *error);
void ptx_rig_close(ptx_rig *rig);

/* As a CUDA device does it: stk_grey where it is needed, then stk_augment. */
stk_status ptx_rig_augment(ptx_rig *rig, const stk__augment_batch *batch, stk_error *error);

/* What stk_mix works on. mask2 may be NULL. */
typedef struct ptx_mixing {
    const stk__augment_batch *batch;
    const stk__kernel_mix *mixes;
    uint32_t count;
    void *mask2;
} ptx_mixing;

stk_status ptx_rig_mix(ptx_rig *rig, const ptx_mixing *mixing, stk_error *error);

/* What stk_gather works on: host addresses, in all. */
typedef struct ptx_gathering {
    const stk__kernel_gather *sources; /* [count]; their values lie in `images` and `masks` */
    uint32_t count;
    const stk__buffer *images, *masks; /* size_bytes of each */
    const uint8_t *table;              /* [256] */
    stk__buffer *arena;                /* size_bytes */
    uint32_t *wrong;                   /* [count][2] */
} ptx_gathering;

stk_status ptx_rig_gather(ptx_rig *rig, const ptx_gathering *gathering, stk_error *error);

/* stk_round, with the work's pointers into host memory. */
stk_status ptx_rig_round(ptx_rig *rig, const stk__kernel_round_work *work, uint32_t samples,
                         stk_error *error);

/* stk_dropout, with the work's pointers into host memory. */
stk_status ptx_rig_dropout(ptx_rig *rig, const stk__kernel_dropout_work *work, stk_error *error);

#endif
