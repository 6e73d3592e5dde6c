/* SPDX-License-Identifier: Apache-2.0 */
/* Who is held to the bits of the reference. To add one: a row in contestants.c. */
#ifndef CONTESTANTS_H
#define CONTESTANTS_H

#include "device/cpu/augment_pass.h"

typedef struct contestant {
    const char *name;
    const char *(*why_not)(void); /* it is not on this machine; NULL: it is */
    stk__augment_kernel run;
    bool slow;             /* not worth a line of --bench */
    bool converts_by_f16c; /* float to half by the CPU's instruction */
} contestant;

const contestant *check_contestants(size_t *count);
/* Closes what contestants have opened. */
void check_contestants_close(void);

/* False on a CPU that rounds float to half in another way than IEEE 754 says, as bochs 2.7 does: there the
 * halves of those who use its instruction prove nothing. */
bool check_f16c_is_right(void);

stk_status check_augment_lanes16(const stk__augment_block *block, const stk__augment_source *source,
                                 const stk__augment_target *target, stk__buffer *scratch, stk_error *error);
/* The kernel source as plain C, by OpenCL and by CUDA. */
stk_status check_augment_host_build(const stk__augment_block *block, const stk__augment_source *source,
                                    const stk__augment_target *target, stk__buffer *scratch,
                                    stk_error *error);
stk_status check_augment_opencl(const stk__augment_block *block, const stk__augment_source *source,
                                const stk__augment_target *target, stk__buffer *scratch, stk_error *error);
const char *check_opencl_why_not(void);
stk_status check_augment_cuda(const stk__augment_block *block, const stk__augment_source *source,
                              const stk__augment_target *target, stk__buffer *scratch, stk_error *error);
const char *check_cuda_why_not(void);
void check_devices_close(void);

#endif
