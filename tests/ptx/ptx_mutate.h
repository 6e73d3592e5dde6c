/* SPDX-License-Identifier: Apache-2.0 */
/* Changes one instruction into a relative, so that a test can show that it would see a wrong one. */
#ifndef PTX_MUTATE_H
#define PTX_MUTATE_H

#include "ptx/ptx_code.h"

typedef struct ptx_mutation {
    ptx_kernel *kernel;
    ptx_instruction *at; /* NULL: the instruction that was drawn has no relative or was not executed */
    ptx_run run;         /* the other one */
    const char *instead;
} ptx_mutation;

/* One of all instructions of the kernels, by the number of the draw. */
ptx_mutation ptx_mutation_draw(ptx_kernel *const kernels[], size_t count, uint32_t draw);

/* Into the relative; the second time back again. */
void ptx_mutation_swap(ptx_mutation *mutation);

#endif
