/* SPDX-License-Identifier: Apache-2.0 */
/* PTX executed: an interpreter of what NVRTC makes of the kernel source, so that the output of the GPU's
 * compiler front end is compared with the reference without a GPU.
 *
 * Warps of 32 lanes run in lock step. Whatever is not known exactly (an instruction, a modifier, a directive)
 * is refused with its line; so is what a GPU would not forgive (addresses outside all ranges, misaligned
 * ones, barriers that not all threads reach, races in shared memory). Memory of the device is memory of the
 * test at made-up addresses. */
#ifndef PTX_H
#define PTX_H

#include "core/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_LANES = 32, PTX_MOST_RANGES = 16 };

/* What an instruction is for; --count adds up by it. */
#define PTX_CLASS_LIST(X)                                                                                    \
    X(INTEGER, "integer")                                                                                    \
    X(FLOAT, "float")                                                                                        \
    X(CONVERT, "convert")                                                                                    \
    X(COMPARE, "compare")                                                                                    \
    X(PREDICATE, "predicate")                                                                                \
    X(MOVE, "move, select")                                                                                  \
    X(GLOBAL, "global memory")                                                                               \
    X(SHARED, "shared memory")                                                                               \
    X(OTHER, "param, local, const")                                                                          \
    X(FLOW, "flow, barrier")

typedef enum ptx_class {
#define PTX_CLASS_ENUM(id, name) PTX_CLASS_##id,
    PTX_CLASS_LIST(PTX_CLASS_ENUM)
#undef PTX_CLASS_ENUM
        PTX_CLASSES
} ptx_class;

extern const char *const ptx_class_names[PTX_CLASSES];

/* A range of the device's memory, which is the test's own. */
typedef struct ptx_range {
    uint64_t address; /* of the device */
    uint8_t *host;
    size_t size_bytes;
    bool writable;
} ptx_range;

typedef struct ptx_memory {
    ptx_range ranges[PTX_MOST_RANGES];
    int count;
} ptx_memory;

/* Gives the range an address: divisible by 64 and just before a multiple of 2^32, which 32 bits cannot reach.
 * No bytes: an address that must not be used. */
uint64_t ptx_memory_map(ptx_memory *memory, void *host, size_t size_bytes, bool writable);

typedef struct ptx_instruction ptx_instruction; /* ptx_code.h */
typedef struct ptx_module ptx_module;

typedef struct ptx_kernel {
    char name[64];
    const ptx_module *module;
    ptx_instruction *code;
    uint32_t code_count;
    uint32_t slot_count; /* registers, special registers and constants */
    stk__buffer registers, constants, symbols, labels, tables, instructions;
    uint32_t group[3]; /* threads of a block, as declared */
    size_t parameter_bytes, shared_bytes, local_bytes;
} ptx_kernel;

struct ptx_module {
    ptx_kernel *kernels;
    uint32_t kernel_count;
    stk__buffer kernel_memory, symbols, data; /* data: variables of the module */
};

/* All zero at first. The text is read during the call only; messages say "NAME:LINE". */
stk_status ptx_module_load(ptx_module *module, const char *text, const char *name, stk_error *error);
void ptx_module_fini(ptx_module *module);
ptx_kernel *ptx_module_find(ptx_module *module, const char *name); /* NULL: no such kernel */

/* What runs kernels; keeps its memory for the next launch. All zero at first. */
typedef struct ptx_machine {
    ptx_memory memory;
    uint64_t most_instructions; /* of one warp; 0: 4 million. More: it does not end */
    bool backwards;             /* blocks and warps in the opposite order */
    stk__buffer registers, shared, local, owners;
    uint64_t epoch; /* barriers and blocks so far */
} ptx_machine;

stk_status ptx_machine_launch(ptx_machine *machine, ptx_kernel *kernel, const uint32_t blocks[3],
                              const void *parameters, stk_error *error);
void ptx_machine_fini(ptx_machine *machine);

/* How often instructions of a class were executed since the module was loaded: by threads, and by warps. */
typedef struct ptx_count {
    uint64_t threads, warps;
} ptx_count;

void ptx_kernel_count(const ptx_kernel *kernel, ptx_count counts[PTX_CLASSES]);

#endif
