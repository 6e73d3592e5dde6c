/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of registers, constants and names of a kernel. */
#include "ptx/ptx_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

stk_status ptx_register_declare(ptx_kernel *kernel, const ptx_registers *row, stk_error *error)
{
    ptx_registers made = *row;
    made.first_slot = kernel->slot_count;
    kernel->slot_count += row->count ? row->count : 1;
    return stk__buffer_append(&kernel->registers, &made, sizeof made, error);
}

static uint32_t find_special(const char *name)
{
    static const struct {
        const char *name;
        uint32_t slot;
    } specials[] = {{"%tid.", PTX_SLOT_TID},
                    {"%ntid.", PTX_SLOT_NTID},
                    {"%ctaid.", PTX_SLOT_CTAID},
                    {"%nctaid.", PTX_SLOT_NCTAID}};
    if (strcmp(name, "%laneid") == 0) return PTX_SLOT_LANE;
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        const size_t length = strlen(specials[i].name);
        if (strncmp(name, specials[i].name, length) != 0) continue;
        if (name[length] >= 'x' && name[length] <= 'z' && !name[length + 1])
            return specials[i].slot + (uint32_t)(name[length] - 'x');
    }
    return PTX_NONE;
}

uint32_t ptx_register_find(const ptx_kernel *kernel, const char *name, char *size)
{
    const ptx_registers *const rows = (const ptx_registers *)(void *)kernel->registers.data;
    const size_t count = kernel->registers.size_bytes / sizeof *rows;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(rows[i].prefix);
        char *end = NULL;
        if (strncmp(name, rows[i].prefix, length) != 0) continue;
        *size = rows[i].size;
        if (rows[i].count == 0 && !name[length]) return rows[i].first_slot;
        const unsigned long number = strtoul(name + length, &end, 10);
        if (end != name + length && !*end && number < rows[i].count)
            return rows[i].first_slot + (uint32_t)number;
    }
    *size = '4';
    return find_special(name);
}

stk_status ptx_constant_slot(ptx_kernel *kernel, uint64_t value, uint32_t *slot, stk_error *error)
{
    const ptx_constant *const rows = (const ptx_constant *)(void *)kernel->constants.data;
    const size_t count = kernel->constants.size_bytes / sizeof *rows;
    for (size_t i = 0; i < count; i++) {
        *slot = rows[i].slot;
        if (rows[i].value == value) return STK_OK;
    }
    const ptx_constant made = {kernel->slot_count++, value};
    *slot = made.slot;
    return stk__buffer_append(&kernel->constants, &made, sizeof made, error);
}

ptx_symbol *ptx_symbol_find(const stk__buffer *symbols, const char *name)
{
    ptx_symbol *const rows = (ptx_symbol *)(void *)symbols->data;
    for (size_t i = 0; i < symbols->size_bytes / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

ptx_label *ptx_label_find(const stk__buffer *labels, const char *name)
{
    ptx_label *const rows = (ptx_label *)(void *)labels->data;
    for (size_t i = 0; i < labels->size_bytes / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}
