/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the PTX interpreter: decoded instructions, warps, and the tables of instructions. */
#ifndef PTX_CODE_H
#define PTX_CODE_H

#include "ptx/ptx.h"

enum { PTX_OPERANDS = 8, PTX_NONE = UINT32_MAX };

/* A space has its own addresses; a generic address of shared or local memory has its window added. */
typedef enum ptx_space {
    PTX_GENERIC,
    PTX_GLOBAL, /* and .const, which lies there */
    PTX_SHARED,
    PTX_LOCAL,
    PTX_PARAM
} ptx_space;
#define PTX_SHARED_WINDOW  (UINT64_C(1) << 56)
#define PTX_LOCAL_WINDOW   (UINT64_C(2) << 56)
#define PTX_MODULE_ADDRESS (UINT64_C(0x7f30) << 32) /* of the module's variables */
enum { PTX_FIRST_ADDRESS = 0x400 };                 /* of shared and local memory: 0 points nowhere */

typedef struct ptx_warp ptx_warp;

/* For the lanes in mask. Sets warp->fault when something cannot be. */
typedef void (*ptx_run)(const ptx_instruction *at, ptx_warp *warp, uint32_t mask);

typedef enum ptx_flow { PTX_STRAIGHT, PTX_BRANCH, PTX_BRANCH_TABLE, PTX_END, PTX_BARRIER } ptx_flow;

/* A row of a table. Its operands are letters, the destination first: a register or constant of 2, 4 or 8
 * bytes, p a predicate, x a register of any size, i a constant, L a label, a an address, ( ) around the parts
 * of a vector. Rows may share a name and differ by their operands. */
typedef struct ptx_op {
    const char *name; /* with all modifiers: nothing is ignored */
    const char *operands;
    ptx_run run;
    ptx_class class;
    ptx_flow flow;
} ptx_op;

struct ptx_instruction {
    ptx_run run;
    uint32_t guard; /* slot of the predicate; PTX_NONE: always */
    bool guard_not;
    ptx_flow flow;
    ptx_class class;
    uint32_t slot[PTX_OPERANDS]; /* in the order of the text; the base of an address too */
    uint32_t target;             /* of a branch: index of an instruction, or of a table's first row */
    uint32_t target_count;       /* of a table */
    uint64_t keep;               /* bits of the destination register */
    int64_t offset;              /* of an address */
    ptx_space space;
    uint32_t value_bytes, value_count; /* of memory */
    uint64_t unused;                   /* bytes of a load that nobody may look at, by bit */
    bool is_signed;
    uint32_t line;
    char name[48];
    uint64_t warps, threads; /* how often it was executed */
};

/* Lanes that are at the same instruction. */
typedef struct ptx_path {
    uint32_t pc, mask;
} ptx_path;

/* Who used a byte of shared memory since when: two threads without a barrier between them is a race, when one
 * of them writes. An epoch goes from barrier to barrier. */
typedef struct ptx_owner {
    uint64_t written, read;  /* epochs */
    uint32_t writer, reader; /* threads; reader PTX_NONE: several */
} ptx_owner;

struct ptx_warp {
    uint64_t (*reg)[PTX_LANES]; /* [slots]; bits above the register's size are 0 */
    ptx_path paths[PTX_LANES];  /* the one with the lowest pc is last: it runs */
    int path_count;
    uint32_t all, ended, waiting; /* lanes */
    uint32_t waiting_at;          /* the barrier's pc */
    uint64_t executed;
    const uint8_t *parameters;
    uint8_t *shared, *local; /* local: of the first lane */
    ptx_owner *owners;       /* of each byte of shared */
    const uint64_t *epoch;
    uint32_t first_thread;
    size_t parameter_bytes, shared_bytes, local_bytes;
    const ptx_memory *memory; /* the machine's and the module's */
    char fault[160];          /* empty: none */
};

/* The tables. Each ends with a row without name. */
extern const ptx_op ptx_integer_ops[], ptx_bit_ops[], ptx_float_ops[], ptx_convert_ops[], ptx_compare_ops[],
    ptx_move_ops[];

/* The first row with this name; NULL: none. */
const ptx_op *ptx_op_find(const char *name);

/* ld, st, atom and red are put together from words. false: no such instruction. */
bool ptx_memory_decode(const char *name, ptx_instruction *at, const char **operands);

/* Why this one is refused though the PTX manual has it; NULL: nothing is known of it. */
const char *ptx_float_refusal(const char *name);

#endif
