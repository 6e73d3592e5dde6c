/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a PTX text while it is read: registers, variables, labels. */
#ifndef PTX_SYMBOLS_H
#define PTX_SYMBOLS_H

#include "ptx/ptx_code.h"
#include "ptx/ptx_lex.h"

/* `.reg .b32 %r<341>` is one row: %r0 to %r340. */
typedef struct ptx_registers {
    char prefix[32];
    uint32_t first_slot, count; /* count 0: one register, the prefix is its name */
    char size;                  /* letter of the tables: 2 4 8 p */
} ptx_registers;

typedef struct ptx_constant {
    uint32_t slot;
    uint64_t value;
} ptx_constant;

/* A variable or parameter. */
typedef struct ptx_symbol {
    char name[PTX_WORD_BYTES];
    ptx_space space;
    uint64_t address; /* in its space; of a module's variable: in its data */
} ptx_symbol;

typedef struct ptx_label {
    char name[PTX_WORD_BYTES];
    uint32_t pc;
    uint32_t table, table_count; /* .branchtargets: its rows; table_count 0: a place */
} ptx_label;

/* One entry of a table of branches. */
typedef struct ptx_branch {
    char name[PTX_WORD_BYTES];
    uint32_t pc;
} ptx_branch;

/* The special registers are the first slots of every kernel. */
enum {
    PTX_SLOT_TID,
    PTX_SLOT_NTID = PTX_SLOT_TID + 3,
    PTX_SLOT_CTAID = PTX_SLOT_NTID + 3,
    PTX_SLOT_NCTAID = PTX_SLOT_CTAID + 3,
    PTX_SLOT_LANE = PTX_SLOT_NCTAID + 3,
    PTX_SPECIAL_SLOTS
};

/* Declares a register row. Slots are counted on. */
stk_status ptx_register_declare(ptx_kernel *kernel, const ptx_registers *row, stk_error *error);

/* Slot and size letter of a register or special register; PTX_NONE: no such one. */
uint32_t ptx_register_find(const ptx_kernel *kernel, const char *name, char *size);

/* The slot that holds a constant. */
stk_status ptx_constant_slot(ptx_kernel *kernel, uint64_t value, uint32_t *slot, stk_error *error);

/* Of a buffer of ptx_symbol or ptx_label; NULL: none. */
ptx_symbol *ptx_symbol_find(const stk__buffer *symbols, const char *name);
ptx_label *ptx_label_find(const stk__buffer *labels, const char *name);

/* What reads a text: the kernel is the one at hand. */
typedef struct ptx_reader {
    ptx_lexer lexer;
    ptx_module *module;
    ptx_kernel *kernel;
    uint64_t used; /* bytes of the next load, by bit; 0: all */
} ptx_reader;

/* The rest of a statement, `[@guard] name operands ;`: the token at hand is the one behind the name. guard:
 * slot of the predicate, or PTX_NONE. */
stk_status ptx_instruction_read(ptx_reader *reader, const char *name, uint32_t guard, bool guard_not,
                                stk_error *error);

/* After the last one: branches get their targets. */
stk_status ptx_branches_resolve(ptx_reader *reader, stk_error *error);

#endif
