/* SPDX-License-Identifier: Apache-2.0 */
/* A PTX text as a whole: directives, variables, kernels with their registers and labels. */
#include "ptx/ptx_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `.b32` and its like; size: the letter of registers. */
static const struct type {
    const char *word;
    char size;
    uint32_t bytes;
} types[] = {{".pred", 'p', 0}, {".b8", 0, 1},    {".u8", 0, 1},    {".s8", 0, 1},    {".b16", '2', 2},
             {".u16", '2', 2},  {".s16", '2', 2}, {".b32", '4', 4}, {".u32", '4', 4}, {".s32", '4', 4},
             {".f32", '4', 4},  {".b64", '8', 8}, {".u64", '8', 8}, {".s64", '8', 8}};

static stk_status read_type(ptx_reader *reader, const struct type **type, stk_error *error)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ptx_lexer_is(&reader->lexer, types[i].word)) {
            *type = &types[i];
            return ptx_lexer_next(&reader->lexer, error);
        }
    return ptx_lexer_refuse(&reader->lexer, error, "unknown type '%s'", reader->lexer.word);
}

/* .reg TYPE %name<count>, %other; */
static stk_status read_registers(ptx_reader *reader, stk_error *error)
{
    const struct type *type = NULL;
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(read_type(reader, &type, error));
    if (!type || !type->size) return ptx_lexer_refuse(&reader->lexer, error, "no type of registers");
    for (;;) {
        char name[PTX_WORD_BYTES], size;
        ptx_registers row = {.size = type->size};
        uint64_t count = 0;
        STK__TRY(ptx_lexer_take_word(&reader->lexer, name, error));
        if (strlen(name) >= sizeof row.prefix || ptx_register_find(reader->kernel, name, &size) != PTX_NONE)
            return ptx_lexer_refuse(&reader->lexer, error, "'%s' is too long or there already", name);
        memcpy(row.prefix, name, strlen(name) + 1);
        if (ptx_lexer_is(&reader->lexer, "<")) {
            STK__TRY(ptx_lexer_next(&reader->lexer, error));
            STK__TRY(ptx_lexer_take_number(&reader->lexer, &count, error));
            STK__TRY(ptx_lexer_expect(&reader->lexer, ">", error));
            if (count < 1 || count > 1 << 16)
                return ptx_lexer_refuse(&reader->lexer, error, "%llu registers", (unsigned long long)count);
        }
        row.count = (uint32_t)count;
        STK__TRY(ptx_register_declare(reader->kernel, &row, error));
        if (!ptx_lexer_is(&reader->lexer, ",")) return ptx_lexer_expect(&reader->lexer, ";", error);
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
    }
}

typedef struct variable {
    ptx_symbol symbol;
    const struct type *type;
    uint64_t align, count;
} variable;

/* [.align N] TYPE [.ptr .align N] name [count], behind the space. */
static stk_status read_variable(ptx_reader *reader, variable *v, stk_error *error)
{
    uint64_t ignored;
    *v = (variable){.count = 1};
    if (ptx_lexer_is(&reader->lexer, ".align")) {
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(ptx_lexer_take_number(&reader->lexer, &v->align, error));
    }
    STK__TRY(read_type(reader, &v->type, error));
    while (ptx_lexer_is(&reader->lexer, ".ptr") || ptx_lexer_is(&reader->lexer, ".global"))
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
    if (ptx_lexer_is(&reader->lexer, ".align")) { /* of what a pointer points to */
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(ptx_lexer_take_number(&reader->lexer, &ignored, error));
    }
    STK__TRY(ptx_lexer_take_word(&reader->lexer, v->symbol.name, error));
    if (ptx_lexer_is(&reader->lexer, "[")) {
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(ptx_lexer_take_number(&reader->lexer, &v->count, error));
        STK__TRY(ptx_lexer_expect(&reader->lexer, "]", error));
    }
    if (!v->align) v->align = v->type->bytes;
    if (v->type->bytes == 0 || v->count < 1 || v->count > 1 << 20 || v->align > 256 ||
        (v->align & (v->align - 1)))
        return ptx_lexer_refuse(&reader->lexer, error, "variable '%s' has no possible size", v->symbol.name);
    return STK_OK;
}

/* The next place in a space of so many bytes so far. */
static uint64_t place(const variable *v, size_t *used)
{
    const size_t at = (*used + (size_t)v->align - 1) & ~((size_t)v->align - 1);
    *used = at + (size_t)v->count * v->type->bytes;
    return at;
}

static stk_status read_parameters(ptx_reader *reader, stk_error *error)
{
    STK__TRY(ptx_lexer_expect(&reader->lexer, "(", error));
    while (ptx_lexer_is(&reader->lexer, ".param")) {
        variable v;
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(read_variable(reader, &v, error));
        v.symbol.space = PTX_PARAM;
        v.symbol.address = place(&v, &reader->kernel->parameter_bytes);
        STK__TRY(stk__buffer_append(&reader->kernel->symbols, &v.symbol, sizeof v.symbol, error));
        if (!ptx_lexer_is(&reader->lexer, ",")) break;
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
    }
    return ptx_lexer_expect(&reader->lexer, ")", error);
}

/* .shared or .local, inside a kernel. */
static stk_status read_own_variable(ptx_reader *reader, ptx_space space, size_t *used, stk_error *error)
{
    variable v;
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(read_variable(reader, &v, error));
    v.symbol.space = space;
    v.symbol.address = PTX_FIRST_ADDRESS + place(&v, used);
    STK__TRY(stk__buffer_append(&reader->kernel->symbols, &v.symbol, sizeof v.symbol, error));
    return ptx_lexer_expect(&reader->lexer, ";", error);
}

/* `= {1, 2}` or `= 1`: the rest is 0. */
static stk_status read_initial(ptx_reader *reader, const variable *v, uint8_t *data, stk_error *error)
{
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    const bool list = ptx_lexer_is(&reader->lexer, "{");
    for (uint64_t i = 0; list || i == 0; i++) {
        uint64_t value;
        if (i > 0 && !ptx_lexer_is(&reader->lexer, ",")) break;
        if (list || i > 0) STK__TRY(ptx_lexer_next(&reader->lexer, error));
        const bool negative = ptx_lexer_is(&reader->lexer, "-");
        if (negative) STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(ptx_lexer_take_number(&reader->lexer, &value, error));
        if (i == v->count) return ptx_lexer_refuse(&reader->lexer, error, "too many initial values");
        if (negative) value = 0 - value;
        memcpy(data + i * v->type->bytes, &value, v->type->bytes);
    }
    return list ? ptx_lexer_expect(&reader->lexer, "}", error) : STK_OK;
}

/* .global or .const, of the module. */
static stk_status read_module_variable(ptx_reader *reader, stk_error *error)
{
    variable v;
    stk__buffer *const data = &reader->module->data;
    size_t used = data->size_bytes;
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(read_variable(reader, &v, error));
    const uint64_t at = place(&v, &used);
    STK__TRY(stk__buffer_reserve(data, used, error));
    memset(data->data + data->size_bytes, 0, used - data->size_bytes);
    data->size_bytes = used;
    v.symbol.space = PTX_GLOBAL;
    v.symbol.address = PTX_MODULE_ADDRESS + at;
    if (ptx_lexer_is(&reader->lexer, "=")) STK__TRY(read_initial(reader, &v, data->data + at, error));
    STK__TRY(stk__buffer_append(&reader->module->symbols, &v.symbol, sizeof v.symbol, error));
    return ptx_lexer_expect(&reader->lexer, ";", error);
}

/* label: .branchtargets A, B; */
static stk_status read_table(ptx_reader *reader, ptx_label *label, stk_error *error)
{
    label->table = (uint32_t)(reader->kernel->tables.size_bytes / sizeof(ptx_branch));
    do {
        ptx_branch branch = {.pc = PTX_NONE};
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(ptx_lexer_take_word(&reader->lexer, branch.name, error));
        STK__TRY(stk__buffer_append(&reader->kernel->tables, &branch, sizeof branch, error));
        label->table_count++;
    } while (ptx_lexer_is(&reader->lexer, ","));
    return ptx_lexer_expect(&reader->lexer, ";", error);
}

static stk_status read_label(ptx_reader *reader, const char *name, stk_error *error)
{
    ptx_label label = {.pc = (uint32_t)(reader->kernel->instructions.size_bytes / sizeof(ptx_instruction))};
    snprintf(label.name, sizeof label.name, "%s", name);
    if (ptx_label_find(&reader->kernel->labels, name))
        return ptx_lexer_refuse(&reader->lexer, error, "label '%s' is there twice", name);
    STK__TRY(ptx_lexer_expect(&reader->lexer, ":", error));
    if (ptx_lexer_is(&reader->lexer, ".branchtargets")) STK__TRY(read_table(reader, &label, error));
    return stk__buffer_append(&reader->kernel->labels, &label, sizeof label, error);
}

static stk_status read_guarded(ptx_reader *reader, stk_error *error)
{
    char name[PTX_WORD_BYTES], size = 0;
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    const bool guard_not = ptx_lexer_is(&reader->lexer, "!");
    if (guard_not) STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(ptx_lexer_take_word(&reader->lexer, name, error));
    const uint32_t guard = ptx_register_find(reader->kernel, name, &size);
    if (guard == PTX_NONE || size != 'p')
        return ptx_lexer_refuse(&reader->lexer, error, "'%s' is not a predicate", name);
    STK__TRY(ptx_lexer_take_word(&reader->lexer, name, error));
    return ptx_instruction_read(reader, name, guard, guard_not, error);
}

/* Advice for the assembler, and which bytes of the next load are used: the others must not matter. */
static stk_status read_pragma(ptx_reader *reader, stk_error *error)
{
    ptx_lexer *const lexer = &reader->lexer;
    static const char mask[] = "\"used_bytes_mask ";
    const bool masked = strncmp(lexer->word, mask, strlen(mask)) == 0;
    if (masked) reader->used = strtoull(lexer->word + strlen(mask), NULL, 0);
    if (masked ? !reader->used : !ptx_lexer_is(lexer, "\"nounroll\""))
        return ptx_lexer_refuse(lexer, error, "unknown pragma %s", lexer->word);
    STK__TRY(ptx_lexer_next(lexer, error));
    return ptx_lexer_expect(lexer, ";", error);
}

static stk_status read_statement(ptx_reader *reader, stk_error *error)
{
    char word[PTX_WORD_BYTES];
    ptx_lexer *const lexer = &reader->lexer;
    if (ptx_lexer_is(lexer, "@")) return read_guarded(reader, error);
    if (ptx_lexer_is(lexer, ".reg")) return read_registers(reader, error);
    if (ptx_lexer_is(lexer, ".shared"))
        return read_own_variable(reader, PTX_SHARED, &reader->kernel->shared_bytes, error);
    if (ptx_lexer_is(lexer, ".local"))
        return read_own_variable(reader, PTX_LOCAL, &reader->kernel->local_bytes, error);
    STK__TRY(ptx_lexer_take_word(lexer, word, error));
    if (ptx_lexer_is(lexer, ":")) return read_label(reader, word, error);
    if (strcmp(word, ".pragma") == 0) return read_pragma(reader, error);
    return ptx_instruction_read(reader, word, PTX_NONE, false, error);
}

/* Statements in braces, which may stand in braces again. */
static stk_status read_body(ptx_reader *reader, stk_error *error)
{
    int depth = 0;
    do {
        const bool opens = ptx_lexer_is(&reader->lexer, "{"), closes = ptx_lexer_is(&reader->lexer, "}");
        depth += opens - closes;
        if (opens || closes)
            STK__TRY(ptx_lexer_next(&reader->lexer, error));
        else
            STK__TRY(read_statement(reader, error));
    } while (depth > 0);
    return ptx_branches_resolve(reader, error);
}

/* Numbers behind a directive: `256, 1, 1` */
static stk_status read_numbers(ptx_reader *reader, uint32_t numbers[3], stk_error *error)
{
    for (int i = 0; i < 3; i++) {
        uint64_t number;
        STK__TRY(ptx_lexer_next(&reader->lexer, error));
        STK__TRY(ptx_lexer_take_number(&reader->lexer, &number, error));
        numbers[i] = (uint32_t)number;
        if (!ptx_lexer_is(&reader->lexer, ",")) break;
    }
    return STK_OK;
}

/* The size of a block must be declared: it is the one that is launched. */
static stk_status read_limits(ptx_reader *reader, stk_error *error)
{
    uint32_t ignored[3];
    uint32_t *const group = reader->kernel->group;
    group[0] = 0;
    group[1] = group[2] = 1;
    while (!ptx_lexer_is(&reader->lexer, "{")) {
        if (ptx_lexer_is(&reader->lexer, ".maxntid") || ptx_lexer_is(&reader->lexer, ".reqntid"))
            STK__TRY(read_numbers(reader, group, error));
        else if (ptx_lexer_is(&reader->lexer, ".minnctapersm"))
            STK__TRY(read_numbers(reader, ignored, error));
        else
            return ptx_lexer_refuse(&reader->lexer, error, "unknown directive '%s'", reader->lexer.word);
    }
    if (group[0] < 1 || (uint64_t)group[0] * group[1] * group[2] > 1024)
        return ptx_lexer_refuse(&reader->lexer, error, "'%s' says no size of its blocks",
                                reader->kernel->name);
    return STK_OK;
}

static stk_status read_entry(ptx_reader *reader, stk_error *error)
{
    char name[PTX_WORD_BYTES];
    ptx_module *const module = reader->module;
    STK__TRY(ptx_lexer_next(&reader->lexer, error));
    STK__TRY(ptx_lexer_take_word(&reader->lexer, name, error));
    STK__TRY(stk__buffer_append(&module->kernel_memory, &(ptx_kernel){.slot_count = PTX_SPECIAL_SLOTS},
                                sizeof(ptx_kernel), error));
    module->kernels = (ptx_kernel *)(void *)module->kernel_memory.data;
    reader->kernel = &module->kernels[module->kernel_count++];
    snprintf(reader->kernel->name, sizeof reader->kernel->name, "%.60s", name);
    STK__TRY(read_parameters(reader, error));
    STK__TRY(read_limits(reader, error));
    return read_body(reader, error);
}

static stk_status read_item(ptx_reader *reader, stk_error *error)
{
    ptx_lexer *const lexer = &reader->lexer;
    if (ptx_lexer_is(lexer, ".visible")) return ptx_lexer_next(lexer, error);
    if (ptx_lexer_is(lexer, ".entry")) return read_entry(reader, error);
    if (ptx_lexer_is(lexer, ".global") || ptx_lexer_is(lexer, ".const"))
        return read_module_variable(reader, error);
    return ptx_lexer_refuse(lexer, error, "unknown directive '%s'", lexer->word);
}

/* .version 8.7 .target sm_80 .address_size 64 */
static stk_status read_head(ptx_reader *reader, stk_error *error)
{
    ptx_lexer *const lexer = &reader->lexer;
    char target[PTX_WORD_BYTES];
    uint64_t bits = 0;
    if (!ptx_lexer_is(lexer, ".version")) return ptx_lexer_refuse(lexer, error, "this is not PTX");
    lexer->rest += strcspn(lexer->rest, "\n"); /* its number is the only one with a point */
    STK__TRY(ptx_lexer_next(lexer, error));
    STK__TRY(ptx_lexer_expect(lexer, ".target", error));
    STK__TRY(ptx_lexer_take_word(lexer, target, error));
    STK__TRY(ptx_lexer_expect(lexer, ".address_size", error));
    STK__TRY(ptx_lexer_take_number(lexer, &bits, error));
    return bits == 64 ? STK_OK : ptx_lexer_refuse(lexer, error, "addresses do not have 64 bits");
}

stk_status ptx_module_load(ptx_module *module, const char *text, const char *name, stk_error *error)
{
    ptx_reader reader = {.lexer = {.rest = text, .file = name, .line = 1}, .module = module};
    STK__TRY(ptx_lexer_next(&reader.lexer, error));
    STK__TRY(read_head(&reader, error));
    while (reader.lexer.kind != PTX_TOKEN_END)
        STK__TRY(read_item(&reader, error));
    for (uint32_t i = 0; i < module->kernel_count; i++)
        module->kernels[i].module = module;
    return STK_OK;
}

ptx_kernel *ptx_module_find(ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].name, name) == 0) return &module->kernels[i];
    return NULL;
}

void ptx_module_fini(ptx_module *module)
{
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        ptx_kernel *const k = &module->kernels[i];
        stk__buffer *const buffers[] = {&k->registers, &k->constants, &k->symbols,
                                        &k->labels,    &k->tables,    &k->instructions};
        for (size_t b = 0; b < sizeof buffers / sizeof buffers[0]; b++)
            stk__buffer_fini(buffers[b]);
    }
    stk__buffer_fini(&module->kernel_memory);
    stk__buffer_fini(&module->symbols);
    stk__buffer_fini(&module->data);
    *module = (ptx_module){0};
}
