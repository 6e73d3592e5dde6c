/* SPDX-License-Identifier: Apache-2.0 */
/* The list of operations, and the section `augment` put together from their rows. */
#include "augment/operation.h"

#include "core/align.h"
#include "core/nearest.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#define OPERATION(name, number) &stk__operation_##name,
static const stk__augment_operation *const operations[] = {
#include "augment/operations.list"
};
#undef OPERATION

#define OPERATION(name, number) number,
static const uint32_t numbers[] = {
#include "augment/operations.list"
};
#undef OPERATION

enum { COUNT = sizeof operations / sizeof operations[0], ROWS_MOST = 128, ALIGNMENT = _Alignof(max_align_t) };

#define FIELD(name) offsetof(stk__augment_general, name)

static const stk__option general_rows[] = {
    {.name = "preset",
     .type = STK_OPTION_WORD,
     .offset = FIELD(preset),
     .choices = "none|minimal|standard|strong",
     .help = "augmentation preset: a set of operations to start from; single keys override it"},
    {.name = "schedule",
     .type = STK_OPTION_TEXT,
     .offset = FIELD(schedule),
     .map = true,
     .help = "augmentation schedule: presets by epoch, counted from 0, such as {0: minimal, 50: strong}; "
             "none before the first"},
    {.name = "device",
     .type = STK_OPTION_TEXT,
     .offset = FIELD(device),
     .help = "augmentation device: auto, cpu, opencl:0, cuda:0; unset = auto"},
    {.name = "fill",
     .type = STK_OPTION_TRIPLE,
     .offset = FIELD(fill),
     .least = 0,
     .most = 255,
     .unit = "levels",
     .help = "fill color outside the source image and of erased boxes; unset = black"},
    {.name = "mask_fill",
     .type = STK_OPTION_COUNT,
     .offset = FIELD(mask_fill),
     .least = 0,
     .most = 255,
     .fallback = "255",
     .help = "fill class id outside the source mask"},
};

/* Written once, then only read. */
static struct {
    stk__option rows[ROWS_MOST];
    size_t offset[COUNT], first_row[COUNT];
    stk__option_table table;
} section;
static pthread_once_t section_once = PTHREAD_ONCE_INIT;

static void add_rows(const stk__option *rows, size_t count, size_t offset)
{
    assert(section.table.count + count <= ROWS_MOST);
    for (size_t i = 0; i < count; i++) {
        stk__option *row = &section.rows[section.table.count++];
        *row = rows[i];
        row->offset += offset;
    }
}

static void make_section(void)
{
    size_t used = sizeof(stk__augment_general);
    section.table = (stk__option_table){.section = "augment",
                                        .section_aliases = "gpu_augmentation",
                                        .options = section.rows,
                                        .struct_bytes = sizeof(stk__augment_settings)};
    add_rows(general_rows, sizeof general_rows / sizeof general_rows[0], 0);
    for (int i = 0; i < COUNT; i++) {
        section.offset[i] = stk__align_up(used, ALIGNMENT);
        section.first_row[i] = section.table.count;
        add_rows(operations[i]->options, operations[i]->option_count, section.offset[i]);
        used = section.offset[i] + operations[i]->settings_bytes;
    }
    assert(used <= sizeof(stk__augment_settings));
}

const stk__option_table *stk__augment_options(void)
{
    pthread_once(&section_once, make_section);
    return &section.table;
}

int stk__operations_count(void)
{
    return COUNT;
}

const stk__augment_operation *stk__operation_at(int index)
{
    return operations[index];
}

uint32_t stk__operation_number(int index)
{
    return numbers[index];
}

void *stk__operation_settings(int index, stk__augment_settings *settings)
{
    pthread_once(&section_once, make_section);
    return settings->bytes + section.offset[index];
}

const stk__option *stk__operation_option(int index, size_t row)
{
    pthread_once(&section_once, make_section);
    return &section.rows[section.first_row[index] + row];
}

stk__augment_general *stk__augment_general_of(stk__augment_settings *settings)
{
    return (stk__augment_general *)(void *)settings->bytes;
}

const char *stk__augment_device(const stk__augment_settings *settings)
{
    const char *device = ((const stk__augment_general *)(const void *)settings->bytes)->device;
    return device ? device : "";
}

stk_status stk__augment_set(stk__augment_settings *settings, const char *name, const char *value,
                            stk_error *error)
{
    const stk__option_table *table = stk__augment_options();
    stk__nearest nearest = {.word = name};
    for (size_t i = 0; i < table->count; i++) {
        const stk__option *option = &table->options[i];
        if (stk__option_is_named(option, name, strlen(name))) {
            const stk_status status = stk__option_parse(option, value, settings->bytes, error);
            if (status != STK_OK) stk__option_error_section(error, table->section);
            return status;
        }
        stk__nearest_offer(&nearest, option->name);
    }
    stk__fail(error, STK_ERROR_CONFIG, "unknown key '%.80s' in section 'augment'", name);
    if (nearest.best) stk__error_hint(error, "did you mean '%s'?", nearest.best);
    return STK_ERROR_CONFIG;
}
