/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzzed shard opened as a data set: facts and fields of its samples must make sense, and opening it
 * again by its index must give the same. */
#include "fuzz_tar.h"

#include "fuzz.h"

#include "source/source.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_LOOKED_AT = 64 };

static void check_facts(const stk__source_info *info, const stk__sample_facts *facts)
{
    if (info->label == STK_LABEL_CLASS) {
        assert(facts->label >= 0 && facts->label < info->class_count && facts->label == floor(facts->label));
    } else if (info->label == STK_LABEL_VALUE) {
        assert(isfinite((float)facts->label));
    }
    for (int32_t i = 0; i < 3 * info->point_count; i++)
        assert(isfinite(facts->points[i]));
}

/* True: the bytes of the field are a part of the shard, and 64 zeros follow them. */
static bool read_field(const stk__source *source, uint64_t id, stk__field field, const fuzz_shard *shard)
{
    stk__buffer bytes = {0};
    const char *extension = NULL;
    stk_error error = {0};
    const stk_status status = source->ops->read(source, id, field, &bytes, &extension, &error);
    if (status == STK_OK) {
        assert(extension && memmem(shard->data, shard->size, bytes.data, bytes.size_bytes));
        for (size_t i = 0; i < 64; i++)
            assert(bytes.data[bytes.size_bytes + i] == 0);
    } else if (status == STK_ERROR_SAMPLE) {
        fuzz_check_damage(status, &error);
        fuzz_check_place(&error, shard->path);
    } else {
        assert(status == STK_ERROR_ARGUMENT && field == STK_FIELD_MASK && !source->info.masks);
    }
    stk__buffer_fini(&bytes);
    return status == STK_OK;
}

static void check_sample(const stk__source *source, uint64_t id, const fuzz_shard *shard)
{
    stk__sample_facts facts;
    stk_error error = {0};
    const stk_status status = source->ops->facts(source, id, &facts, &error);
    const bool read = read_field(source, id, STK_FIELD_IMAGE, shard);
    read_field(source, id, STK_FIELD_MASK, shard);
    if (status == STK_OK) {
        check_facts(&source->info, &facts);
        assert(read);
        return;
    }
    fuzz_check_damage(status, &error);
    fuzz_check_place(&error, shard->path);
}

static stk_status open_shard(stk__source **source, const fuzz_shard *shard, stk_error *error)
{
    const stk_status status = stk__source_open(source, &(stk__source_options){.root = shard->path}, error);
    assert((status == STK_OK) == (*source != NULL));
    return status;
}

/* By the index that the first one has left. */
static void open_again(const stk__source *first, const fuzz_shard *shard)
{
    stk__source *again = NULL;
    const stk_status status = open_shard(&again, shard, NULL);
    assert(status == STK_OK);
    const stk__source_info *a = &first->info, *b = &again->info;
    assert(a->count == b->count && a->masks == b->masks && a->label == b->label &&
           a->point_count == b->point_count && a->class_count == b->class_count);
    assert(memcmp(&a->fingerprint, &b->fingerprint, sizeof a->fingerprint) == 0);
    stk__source_close(&again);
}

void fuzz_tar_open(fuzz_shard shard)
{
    stk__source *source = NULL;
    stk_error error = {0};
    shard.path = fuzz_file("shard.tar", shard.data, shard.size);
    const stk_status status = open_shard(&source, &shard, &error);
    if (status == STK_OK) {
        assert(source->info.count > 0);
        for (uint64_t id = 0; id < source->info.count && id < SAMPLES_LOOKED_AT; id++)
            check_sample(source, id, &shard);
        open_again(source, &shard);
    } else {
        assert(status == STK_ERROR_DATA);
        fuzz_check_failure(status, &error);
        fuzz_check_place(&error, fuzz_folder());
    }
    stk__source_close(&source);
    fuzz_file_remove("shard.tar.index");
}
