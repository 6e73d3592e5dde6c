/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a source before packing: hashes of a few samples spread over it tell on resume whether it is
 * still the same data, sampled file sizes give the expected bytes, and a digest over all keys and labels
 * finds a changed list. */
#include "pack/pack_probe.h"

#include "image/part_bundle.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SIZES = 65536,       /* files asked for their sizes */
    HEADER_BYTES = 512,  /* of a member */
    MEMBER_BYTES = 1024, /* the same, and filling up its last block */
    INDEX_BYTES = 256    /* of a sample in the index, about */
};

/* Number i of `count` ids evenly spaced from first to the last. */
static uint64_t spaced(const stk__source *source, uint64_t first, uint64_t i, uint64_t count)
{
    const uint64_t left = source->info.count - first;
    return count < 2 ? first : first + (uint64_t)((double)i * (double)(left - 1) / (double)(count - 1));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Size of the file that a field lies in; false when it is not in a file. */
static bool find_size(const stk__source *source, uint64_t id, stk__field field, uint64_t *size)
{
    char path[PATH_MAX];
    struct stat facts;
    source->ops->where(source, id, field, path, sizeof path);
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    *size = (uint64_t)facts.st_size;
    return true;
}

/* What a look at several samples gathers. */
typedef struct gathering {
    const stk__source *source;
    stk__hash *hash;
    stk__buffer bytes;
    uint64_t sum, rewritten; /* bytes; those of JPEGs and masks */
    uint64_t others;         /* fields that do not lie in files of their own */
} gathering;

static stk_status look_at_facts(gathering *g, uint64_t id, stk_error *error)
{
    const stk__source_info *info = &g->source->info;
    stk__sample_facts facts;
    STK__TRY(g->source->ops->facts(g->source, id, &facts, error));
    if (info->label != STK_LABEL_NONE) stk__hash_update(g->hash, &facts.label, sizeof facts.label);
    if (info->point_count)
        stk__hash_update(g->hash, facts.points, (size_t)info->point_count * 3 * sizeof *facts.points);
    return STK_OK;
}

static bool is_jpeg(const stk__buffer *bytes)
{
    return bytes->size_bytes > 2 && bytes->data[0] == 0xFF && bytes->data[1] == 0xD8;
}

/* Of a mask of several files the classes and bytes, not their paths: a data set may have been moved. */
static void hash_parts(stk__hash *hash, const uint8_t *data)
{
    const stk__part_bundle *bundle = stk__part_bundle_at(data);
    for (uint32_t i = 0; i < bundle->count; i++) {
        stk__hash_update(hash, &bundle->part[i].id, sizeof bundle->part[i].id);
        stk__hash_update(hash, data + bundle->part[i].data, bundle->part[i].size_bytes);
    }
}

static stk_status look_at_field(gathering *g, uint64_t id, stk__field field, stk_error *error)
{
    const char *extension = NULL;
    uint64_t size;
    STK__TRY(g->source->ops->read(g->source, id, field, &g->bytes, &extension, error));
    if (extension == stk__part_bundle_extension)
        hash_parts(g->hash, g->bytes.data);
    else
        stk__hash_update(g->hash, g->bytes.data, g->bytes.size_bytes);
    g->sum += g->bytes.size_bytes;
    if (field == STK_FIELD_MASK || is_jpeg(&g->bytes)) g->rewritten += g->bytes.size_bytes;
    if (!find_size(g->source, id, field, &size) || size != g->bytes.size_bytes) g->others++;
    return STK_OK;
}

/* *hash stays 0 for a bad one. */
static stk_status look_at_sample(gathering *g, uint64_t id, uint64_t *hash, stk_error *error)
{
    stk__hash_reset(g->hash);
    stk_status status = look_at_facts(g, id, error);
    if (status == STK_OK) status = look_at_field(g, id, STK_FIELD_IMAGE, error);
    if (status == STK_OK && g->source->info.masks) status = look_at_field(g, id, STK_FIELD_MASK, error);
    if (status == STK_OK) *hash = stk__hash_digest(g->hash).low | 1; /* never 0 */
    return status == STK_ERROR_SAMPLE ? STK_OK : status;
}

stk_status stk__pack_probe_look(const stk__source *source, stk__pack_probe *probe, stk_error *error)
{
    gathering g = {.source = source};
    const uint64_t count = least(STK_PACK_LOOKS, source->info.count);
    *probe = (stk__pack_probe){0};
    stk_status status = stk__hash_create(&g.hash, error);
    for (uint64_t i = 0; status == STK_OK && i < count; i++)
        status = look_at_sample(&g, spaced(source, 0, i, count), &probe->looks.hashes[i], error);
    probe->mean_bytes = g.sum / count;
    probe->rewritten_share = g.sum ? (double)g.rewritten / (double)g.sum : 0;
    probe->files = g.others == 0;
    stk__hash_destroy(&g.hash);
    stk__buffer_fini(&g.bytes);
    return status;
}

bool stk__pack_looks_agree(const stk__pack_looks *a, const stk__pack_looks *b)
{
    for (int i = 0; i < STK_PACK_LOOKS; i++)
        if (a->hashes[i] && b->hashes[i] && a->hashes[i] != b->hashes[i]) return false;
    return true;
}

/* --- all samples, without reading them ----------------------------------------------------------------- */

static stk__digest add_names(const stk__source_info *info, stk__digest before)
{
    for (int32_t i = 0; info->class_names && i < info->class_count; i++) {
        const stk__digest both[2] = {before,
                                     stk__digest_of(info->class_names[i], strlen(info->class_names[i]))};
        before = stk__digest_of(both, sizeof both);
    }
    return before;
}

static stk__digest add_facts(const stk__source *source, uint64_t id, stk__digest before)
{
    const stk__source_info *info = &source->info;
    stk__sample_facts facts;
    struct {
        stk__digest before, points;
        double label;
        uint64_t bad;
    } all = {.before = before};
    if (source->ops->facts(source, id, &facts, NULL) != STK_OK)
        all.bad = 1;
    else if (info->label != STK_LABEL_NONE)
        all.label = facts.label;
    if (!all.bad && info->point_count)
        all.points = stk__digest_of(facts.points, (size_t)info->point_count * 3 * sizeof *facts.points);
    return stk__digest_of(&all, sizeof all);
}

stk__digest stk__pack_probe_facts(const stk__source *source, uint64_t first, uint64_t end, stk__digest before)
{
    if (first == 0 && end > 0) before = add_names(&source->info, before);
    for (uint64_t id = first; id < end; id++)
        before = add_facts(source, id, before);
    return before;
}

uint64_t stk__pack_probe_sum(const stk__source *source, const stk__pack_probe *probe, uint64_t end,
                             const atomic_bool *stop)
{
    uint64_t sum = 0, size;
    if (!probe->files || end > SIZES) return 0;
    for (uint64_t id = 0; id < end; id++) {
        if ((stop && atomic_load(stop)) || !find_size(source, id, STK_FIELD_IMAGE, &size)) return 0;
        sum += size;
        if (!source->info.masks) continue;
        if (!find_size(source, id, STK_FIELD_MASK, &size)) return 0;
        sum += size;
    }
    return sum;
}

/* Mean size of the files of a sample. */
static double measure_files(const stk__source *source, uint64_t first, const atomic_bool *stop)
{
    const uint64_t looks = least(SIZES, source->info.count - first);
    uint64_t sum = 0, size;
    for (uint64_t i = 0; i < looks; i++) {
        const uint64_t id = spaced(source, first, i, looks);
        if (stop && atomic_load(stop)) break;
        if (find_size(source, id, STK_FIELD_IMAGE, &size)) sum += size;
        if (source->info.masks && find_size(source, id, STK_FIELD_MASK, &size)) sum += size;
    }
    return (double)sum / (double)looks;
}

stk__pack_need stk__pack_probe_need(const stk__source *source, const stk__pack_probe *probe, uint64_t first,
                                    const atomic_bool *stop)
{
    const stk__source_info *info = &source->info;
    if (first >= info->count) return (stk__pack_need){0};
    const double mean = probe->files ? measure_files(source, first, stop) : (double)probe->mean_bytes;
    const double count = (double)(info->count - first);
    const int members = 1 + info->masks + (info->label != STK_LABEL_NONE) + (info->point_count > 0);
    /* A baseline JPEG is larger than a progressive one, but never by more than a quarter. */
    const double most = mean * (1 + 0.25 * probe->rewritten_share) + members * MEMBER_BYTES + INDEX_BYTES +
                        64.0 * info->point_count;
    return (stk__pack_need){.least_bytes = (uint64_t)((mean + members * HEADER_BYTES) * count),
                            .most_bytes = (uint64_t)(most * count)};
}
