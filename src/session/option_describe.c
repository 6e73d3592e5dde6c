/* SPDX-License-Identifier: Apache-2.0 */
/* The option tables of all rooms, for those outside the library (stoker/options.h). The tables are what
 * parsers and help read, too, so nothing is described twice. Threads: any; tables never change. */
#include "stoker/options.h"

#include "core/sized.h"
#include "pack/pack.h"
#include "session/session.h"

#include <math.h>
#include <string.h>

enum { FIRST_INFO_BYTES = offsetof(stk_option_info, expects) + 192 }; /* stk_option_info in version 0.1 */
_Static_assert(sizeof(stk_option_type) == sizeof(int), "stk_option_type is no int");

/* Those of a session, but data.val, which has the settings of data once more; then pack. */
static const stk__option_table *table_at(int index)
{
    const stk__option_table *const *tables = stk__session_tables();
    if (index < 0) return NULL;
    for (int i = 0; i < STK_SESSION_TABLES; i++)
        if (strcmp(tables[i]->section, "data.val") != 0 && index-- == 0) return tables[i];
    return index == 0 ? &stk__pack_options : NULL;
}

static const stk__option_table *find_table(const char *section)
{
    const stk__option_table *table;
    for (int i = 0; section && (table = table_at(i)); i++)
        if (strcmp(table->section, section) == 0) return table;
    return NULL;
}

const char *stk_option_section(int index)
{
    const stk__option_table *table = table_at(index);
    return table ? table->section : NULL;
}

int stk_option_count(const char *section)
{
    const stk__option_table *table = find_table(section);
    return table ? (int)table->count : 0;
}

static stk_option_info describe(const stk__option_table *table, const stk__option *option)
{
    const bool limited = option->least != 0 || option->most != 0, share = option->type == STK_OPTION_SHARE;
    stk_option_info info = {.section = table->section,
                            .name = option->name,
                            .aliases = option->aliases,
                            .fallback = option->fallback,
                            .choices = option->choices,
                            .unit = option->unit,
                            .help = option->help,
                            .type = option->type,
                            .tunable = option->tunable,
                            .least = limited ? option->least
                                     : share ? 0
                                             : -INFINITY,
                            .most = limited ? option->most
                                    : share ? 1
                                            : INFINITY};
    stk__option_expects(option, info.expects, sizeof info.expects);
    return info;
}

stk_status stk_option_describe(const char *section, int index, stk_option_info *info, stk_error *error)
{
    const stk__sized sized = {"stk_option_info", FIRST_INFO_BYTES, sizeof(stk_option_info)};
    if (!section || !info)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_option_describe needs a section and an info");
    const stk__option_table *table = find_table(section);
    if (!table || index < 0 || (size_t)index >= table->count)
        return stk__fail(error, STK_ERROR_ARGUMENT, "there is no setting %d in section '%.80s'", index,
                         section);
    const stk_option_info made = describe(table, &table->options[index]);
    return stk__sized_give(info, &made, &sized, error);
}
