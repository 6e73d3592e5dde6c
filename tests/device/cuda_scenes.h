/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does with a CUDA device, from open to close, so that tests can break it anywhere. */
#ifndef TEST_CUDA_SCENES_H
#define TEST_CUDA_SCENES_H

#include "device/device.h"

typedef struct scene {
    const char *name;
    const char *script; /* of the fake, for a GPU that makes the scene take its way */
    bool cold;          /* kernels are built anew each time */
    stk_status (*play)(stk_error *error);
} scene;

extern const scene scenes[]; /* the last has no name */

void scenes_begin(void); /* a batch with contrast and masks; a folder for programs */
void scenes_end(void);
void scenes_spoil(void);     /* rubbish into the target of the batch */
bool scenes_are_right(void); /* the target has the reference's bits */
const stk__augment_batch *scenes_batch(void);
void scenes_forget_programs(void); /* as if no kernels had ever been built */
bool scenes_lost(void);            /* the last scene ended with a device that is lost */

#endif
