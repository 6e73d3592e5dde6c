#include "bench_null.h"

#include <stdio.h>

static stk_status null_facts(const stk__source *source, uint64_t id, stk__facts *facts, stk_error *error)
{
    (void)source;
    (void)id;
    (void)facts;
    (void)error;
    return STK_OK;
}

static void null_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "%llu", (unsigned long long)id);
}

static void null_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    (void)field;
    null_key(source, id, text, size);
}

stk__source stk__bench_null_source(uint64_t count)
{
    static const stk__source_ops ops = {
        .name = "null", .facts = null_facts, .key = null_key, .where = null_where};
    return (stk__source){.ops = &ops, .info = {.layout = "nothing", .count = count}};
}
