/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for those who have an id: the key, which the data set's layouts share, the path, which the ledger
 * prints, and the place in the order; and the values of all samples. Threads: any; a source never changes
 * after it is open. */
#include "loader/loader_open.h"
#include "loader/pump.h"

#include <math.h>
#include <string.h>

enum { NAME_BYTES = 8192 }; /* more than a path and a member of a shard together */

static stk_status check_request(const stk_loader *loader, int64_t id, char *text, size_t size,
                                stk_error *error)
{
    if (text && size) *text = '\0';
    if (!loader || !text || !size)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the name of a sample needs a loader and a text");
    if (id >= 0 && (uint64_t)id < loader->source->info.count) return STK_OK;
    return stk__fail(error, STK_ERROR_ARGUMENT, "there is no sample %lld: ids are 0 to %llu", (long long)id,
                     (unsigned long long)loader->source->info.count - 1);
}

static stk_status copy_name(const char *name, char *text, size_t size, stk_error *error)
{
    const size_t length = strlen(name);
    if (length >= size || length == NAME_BYTES - 1)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the name of the sample takes %zu bytes, not %zu",
                         length + 1, size);
    memcpy(text, name, length + 1);
    return STK_OK;
}

stk__source *stk__loader_source(const stk_loader *loader)
{
    return loader->source;
}

bool stk__loader_find(const stk_loader *loader, uint64_t id, uint64_t *position)
{
    const stk__order order = stk__stream_order(&loader->stream, 0);
    for (*position = 0; *position < loader->stream.count; ++*position)
        if (stk__stream_id(&loader->stream, &order, *position) == id) return true;
    return false;
}

/* Welford's: mean += d / n, squares += d (value - mean), d = value - mean before. */
void stk__loader_measure_values(const stk_loader *loader, double *mean, double *deviation)
{
    const stk__source *source = loader->source;
    const stk__order order = stk__stream_order(&loader->stream, 0);
    double count = 0, squares = 0;
    stk__buffer room = {0};
    *mean = 0;
    for (uint64_t position = 0; position < loader->stream.count; position++) {
        const uint64_t id = stk__stream_id(&loader->stream, &order, position);
        stk__sample_facts facts = {.room = &room};
        if (source->ops->facts(source, id, &facts, NULL) != STK_OK) continue;
        const double d = facts.label - *mean;
        *mean += d / ++count;
        squares += d * (facts.label - *mean);
    }
    stk__buffer_fini(&room);
    *deviation = count > 0 ? sqrt(squares / count) : NAN;
    if (!(count > 0)) *mean = NAN;
}

stk_status stk_loader_sample_key(const stk_loader *loader, int64_t id, char *text, size_t size,
                                 stk_error *error)
{
    char name[NAME_BYTES];
    STK__TRY(check_request(loader, id, text, size, error));
    loader->source->ops->key(loader->source, (uint64_t)id, name, sizeof name);
    return copy_name(name, text, size, error);
}

stk_status stk_loader_sample_path(const stk_loader *loader, int64_t id, char *text, size_t size,
                                  stk_error *error)
{
    char name[NAME_BYTES];
    STK__TRY(check_request(loader, id, text, size, error));
    loader->source->ops->where(loader->source, (uint64_t)id, STK_FIELD_IMAGE, name, sizeof name);
    return copy_name(name, text, size, error);
}
