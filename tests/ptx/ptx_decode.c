/* SPDX-License-Identifier: Apache-2.0 */
/* One statement of PTX becomes one decoded instruction: its operands are read first, then the row is found
 * that has its name and takes them. */
#include "ptx/ptx_symbols.h"

#include <stdio.h>
#include <string.h>

/* What stands behind the name. shape has the letters of the tables, 'i' for constants. */
typedef struct operands {
    char shape[24];
    int length, count; /* of shape; of slots */
    uint32_t slot[PTX_OPERANDS];
    uint64_t constant[PTX_OPERANDS]; /* where slot is PTX_NONE */
    char size[PTX_OPERANDS];         /* of registers */
    int64_t offset;
    ptx_space base_space; /* of an address by a name; PTX_GENERIC: by a register */
    char label[PTX_WORD_BYTES];
} operands;

static stk_status add_letter(const ptx_reader *reader, operands *o, char letter, stk_error *error)
{
    if (o->length + 1 >= (int)sizeof o->shape)
        return ptx_lexer_refuse(&reader->lexer, error, "too many operands");
    o->shape[o->length++] = letter;
    return STK_OK;
}

static stk_status add_slot(const ptx_reader *reader, operands *o, uint32_t slot, uint64_t constant,
                           stk_error *error)
{
    if (o->count == PTX_OPERANDS) return ptx_lexer_refuse(&reader->lexer, error, "too many operands");
    o->slot[o->count] = slot;
    o->constant[o->count++] = constant;
    return STK_OK;
}

/* [-] number; floats and addresses are their bits */
static stk_status read_number(ptx_reader *reader, uint64_t *value, stk_error *error)
{
    const bool negative = ptx_lexer_is(&reader->lexer, "-");
    if (negative) STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(ptx_lexer_take_number(&reader->lexer, value, error));
    if (negative) *value = 0 - *value;
    return STK_OK;
}

static const ptx_symbol *find_symbol(const ptx_reader *reader, const char *name)
{
    const ptx_symbol *const own = ptx_symbol_find(&reader->kernel->symbols, name);
    return own ? own : ptx_symbol_find(&reader->module->symbols, name);
}

/* A register, a constant, the address of a variable, or a label. */
static stk_status read_value(ptx_reader *reader, operands *o, stk_error *error)
{
    char word[PTX_WORD_BYTES], size = 0;
    uint64_t value = 0;
    if (reader->lexer.kind != PTX_TOKEN_WORD) {
        STK__TRY(read_number(reader, &value, error));
        STK__TRY(add_letter(reader, o, 'i', error));
        return add_slot(reader, o, PTX_NONE, value, error);
    }
    STK__TRY(ptx_lexer_take_word(&reader->lexer, word, error));
    const uint32_t slot = ptx_register_find(reader->kernel, word, &size);
    const ptx_symbol *const symbol = slot == PTX_NONE ? find_symbol(reader, word) : NULL;
    if (slot == PTX_NONE && !symbol) {
        if (word[0] == '%') return ptx_lexer_refuse(&reader->lexer, error, "unknown register '%s'", word);
        memcpy(o->label, word, sizeof o->label);
        return add_letter(reader, o, 'L', error);
    }
    STK__TRY(add_letter(reader, o, symbol ? 'i' : size, error));
    STK__TRY(add_slot(reader, o, slot, symbol ? symbol->address : 0, error));
    o->size[o->count - 1] = size;
    return STK_OK;
}

/* [register or name + number] */
static stk_status read_address(ptx_reader *reader, operands *o, stk_error *error)
{
    char word[PTX_WORD_BYTES], size = 0;
    uint64_t offset = 0;
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(ptx_lexer_take_word(&reader->lexer, word, error));
    const uint32_t slot = ptx_register_find(reader->kernel, word, &size);
    const ptx_symbol *const symbol = slot == PTX_NONE ? find_symbol(reader, word) : NULL;
    if (slot == PTX_NONE ? !symbol : size != '8' && size != '4')
        return ptx_lexer_refuse(&reader->lexer, error, "'%s' is not an address", word);
    if (symbol) o->base_space = symbol->space;
    if (ptx_lexer_is(&reader->lexer, "+")) {
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(read_number(reader, &offset, error));
    }
    o->offset = (int64_t)offset;
    STK__TRY(ptx_lexer_expect(&reader->lexer, "]", error));
    STK__TRY(add_letter(reader, o, 'a', error));
    return add_slot(reader, o, slot, symbol ? symbol->address : 0, error);
}

static stk_status read_vector(ptx_reader *reader, operands *o, stk_error *error)
{
    STK__TRY(add_letter(reader, o, '(', error));
    do {
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(read_value(reader, o, error));
    } while (ptx_lexer_is(&reader->lexer, ","));
    STK__TRY(ptx_lexer_expect(&reader->lexer, "}", error));
    return add_letter(reader, o, ')', error);
}

static stk_status read_operands(ptx_reader *reader, operands *o, stk_error *error)
{
    while (!ptx_lexer_is(&reader->lexer, ";")) {
        if (ptx_lexer_is(&reader->lexer, "["))
            STK__TRY(read_address(reader, o, error));
        else if (ptx_lexer_is(&reader->lexer, "{"))
            STK__TRY(read_vector(reader, o, error));
        else
            STK__TRY(read_value(reader, o, error));
        if (ptx_lexer_is(&reader->lexer, ";")) break;
        STK__TRY(ptx_lexer_expect(&reader->lexer, ",", error));
    }
    return STK_OK;
}

/* Constants stand for values of any size, but not for a destination. */
static bool takes(const char *pattern, const char *shape)
{
    for (size_t i = 0;; i++) {
        const char p = pattern[i], s = shape[i];
        const bool register_or_constant = strchr("248px", p) != NULL, any_size = strchr("248", s) != NULL;
        if (!p || !s) return p == s;
        if (p == s || (p == 'x' && any_size)) continue;
        if (s != 'i' || !register_or_constant || i == 0) return false;
    }
}

static const ptx_op *const tables[] = {ptx_integer_ops, ptx_bit_ops,     ptx_float_ops,
                                       ptx_convert_ops, ptx_compare_ops, ptx_move_ops};

/* The row that takes these operands; shape NULL: any. */
static const ptx_op *find_row(const char *name, const char *shape)
{
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const ptx_op *op = tables[t]; op->name; op++)
            if (strcmp(op->name, name) == 0 && (!shape || takes(op->operands, shape))) return op;
    return NULL;
}

const ptx_op *ptx_op_find(const char *name)
{
    return find_row(name, NULL);
}

static uint64_t bits_of_size(char letter)
{
    return letter == 'p' ? 1 : letter == '2' ? 0xffff : letter == '4' ? UINT32_MAX : UINT64_MAX;
}

/* Every operand gets a slot: constants those of their value, cut to the size the row has. */
static stk_status place_operands(ptx_reader *reader, const operands *o, const char *pattern,
                                 ptx_instruction *at, stk_error *error)
{
    int i = 0;
    for (const char *p = pattern; *p; p++) {
        if (strchr("()L", *p)) continue;
        at->slot[i] = o->slot[i];
        if (o->slot[i] == PTX_NONE)
            STK__TRY(
                ptx_constant_slot(reader->kernel, o->constant[i] & bits_of_size(*p), &at->slot[i], error));
        i++;
    }
    at->keep = bits_of_size(o->size[0]);
    at->offset = o->offset;
    if (!o->label[0]) return STK_OK;
    ptx_branch branch = {.pc = PTX_NONE};
    memcpy(branch.name, o->label, sizeof branch.name);
    at->target = (uint32_t)(reader->kernel->tables.size_bytes / sizeof branch);
    return stk__buffer_append(&reader->kernel->tables, &branch, sizeof branch, error);
}

static stk_status refuse(const ptx_reader *reader, const char *name, const operands *o, bool known,
                         stk_error *error)
{
    const char *const why = ptx_float_refusal(name);
    if (known) return ptx_lexer_refuse(&reader->lexer, error, "'%s' does not take '%s'", name, o->shape);
    return ptx_lexer_refuse(&reader->lexer, error, "unknown instruction '%s'%s%s", name, why ? ": " : "",
                            why ? why : "");
}

/* An address by a name is one of that name's space; registers hold what is loaded or stored, those of a
 * vector have one size. */
static bool is_sound(const ptx_instruction *at, const operands *o)
{
    if (o->base_space != PTX_GENERIC && o->base_space != at->space) return false;
    if (at->unused && strncmp(at->name, "ld.", 3) != 0) return false;
    if (at->flow == PTX_BARRIER) return o->constant[0] == 0; /* the one barrier that there is */
    for (int i = 0; i < o->count && at->value_bytes; i++) {
        if (!o->size[i]) continue;
        if (bits_of_size(o->size[i]) >> (8 * at->value_bytes - 1) == 0) return false;
        if (o->shape[0] == '(' && o->size[i] != o->size[0]) return false;
    }
    return true;
}

stk_status ptx_instruction_read(ptx_reader *reader, const char *name, uint32_t guard, bool guard_not,
                                stk_error *error)
{
    operands o = {.base_space = PTX_GENERIC};
    ptx_instruction at = {.guard = guard, .guard_not = guard_not, .line = reader->lexer.token_line};
    at.unused = reader->used ? ~reader->used : 0;
    reader->used = 0;
    const char *pattern = NULL;
    const bool known = ptx_op_find(name) != NULL;
    STK__TRY(read_operands(reader, &o, error));
    snprintf(at.name, sizeof at.name, "%s", name);
    const ptx_op *const op = find_row(name, o.shape);
    if (op) {
        at.run = op->run;
        at.class = op->class;
        at.flow = op->flow;
        pattern = op->operands;
    } else if (known || !ptx_memory_decode(name, &at, &pattern) || !takes(pattern, o.shape)) {
        return refuse(reader, name, &o, known || pattern, error);
    }
    STK__TRY(place_operands(reader, &o, pattern, &at, error));
    if (!is_sound(&at, &o)) return ptx_lexer_refuse(&reader->lexer, error, "'%s' with these operands", name);
    STK__TRY(ptx_lexer_expect(&reader->lexer, ";", error));
    return stk__buffer_append(&reader->kernel->instructions, &at, sizeof at, error);
}

static stk_status find_target(const ptx_reader *reader, ptx_branch *branch, ptx_label **label,
                              stk_error *error)
{
    *label = ptx_label_find(&reader->kernel->labels, branch->name);
    if (!*label)
        return ptx_lexer_refuse(&reader->lexer, error, "no label or name '%s' in '%s'", branch->name,
                                reader->kernel->name);
    branch->pc = (*label)->pc;
    return STK_OK;
}

stk_status ptx_branches_resolve(ptx_reader *reader, stk_error *error)
{
    ptx_kernel *const kernel = reader->kernel;
    ptx_branch *const branches = (ptx_branch *)(void *)kernel->tables.data;
    kernel->code = (ptx_instruction *)(void *)kernel->instructions.data;
    kernel->code_count = (uint32_t)(kernel->instructions.size_bytes / sizeof *kernel->code);
    ptx_label *label;
    for (size_t i = 0; i < kernel->tables.size_bytes / sizeof *branches; i++)
        STK__TRY(find_target(reader, &branches[i], &label, error));
    for (uint32_t pc = 0; pc < kernel->code_count; pc++) {
        ptx_instruction *const at = &kernel->code[pc];
        if (at->flow != PTX_BRANCH && at->flow != PTX_BRANCH_TABLE) continue;
        STK__TRY(find_target(reader, &branches[at->target], &label, error));
        if ((at->flow == PTX_BRANCH_TABLE) != (label->table_count > 0))
            return ptx_lexer_refuse(&reader->lexer, error, "'%s' is not what a branch needs", label->name);
        at->target = label->table_count ? label->table : label->pc;
        at->target_count = label->table_count;
    }
    return STK_OK;
}
