/* SPDX-License-Identifier: Apache-2.0 */
/* A data set in shards: samples are read out of tar files at the places that the indexes know. */
#include "source/shards/shards.h"

#include "source/extension.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

enum { LOOKAHEAD_BYTES = 64 };

static void set_place(const stk__shards *shards, uint64_t id, stk__field field, stk_error *error)
{
    char text[2 * PATH_MAX];
    stk__shards_where(&shards->files.source, id, field, text, sizeof text);
    stk__error_place(error, "%s", text);
}

static stk_status refuse_flaw(const stk__shards *shards, uint64_t id, stk_error *error)
{
    const stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
    const stk__shards_flaw *flaw = stk__shards_flaw_of(shards, entry->row);
    stk__damaged(error, flaw->damage, "%s", (const char *)shards->texts.data + flaw->detail);
    set_place(shards, id, STK_FIELD_IMAGE, error);
    return STK_ERROR_SAMPLE;
}

static stk_status shards_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                               stk_error *error)
{
    const stk__shards *shards = stk__shards_of(source);
    const stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
    *facts = (stk__sample_facts){0};
    if (entry->extension == STK_EXTENSION_OTHER) return refuse_flaw(shards, id, error);
    if (source->info.label != STK_LABEL_NONE) facts->label = stk__shards_label(shards, entry->row);
    if (source->info.point_count) facts->points = stk__shards_points(shards, entry->row);
    return STK_OK;
}

/* What is to be read. */
typedef struct sample_job {
    uint64_t id;
    stk__field field;
    const stk__shard_place *place;
    uint32_t part;
} sample_job;

stk_status stk__shards_borrow(const stk__shards *shards, uint32_t part, stk__shard_loan *loan,
                              stk_error *error)
{
    char path[PATH_MAX];
    if (stk__shard_files_find(shards->open_files, part, loan)) return STK_OK;
    stk__path_join(path, shards->files.images,
                   stk__shards_name(shards, part)); /* it fitted when it was indexed */
    return stk__shard_files_open(shards->open_files, part, path, loan, error);
}

/* Header and data by one call straight to where they are wanted; how many bytes came, or -errno. */
static int64_t read_member(int file, const stk__shard_place *place, uint8_t header[STK_TAR_BLOCK_BYTES],
                           uint8_t *data)
{
    const size_t size = STK_TAR_BLOCK_BYTES + (size_t)place->size_bytes;
    size_t filled = 0;
    while (filled < size) {
        struct iovec parts[2] = {{header, STK_TAR_BLOCK_BYTES}, {data, place->size_bytes}};
        const size_t into = filled < STK_TAR_BLOCK_BYTES ? 0 : 1,
                     past = into ? filled - STK_TAR_BLOCK_BYTES : filled;
        parts[into].iov_base = (uint8_t *)parts[into].iov_base + past;
        parts[into].iov_len -= past;
        const ssize_t got = preadv(file, parts + into, 2 - (int)into, (off_t)(place->offset + filled));
        if (got == 0) break;
        if (got > 0)
            filled += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
    return (int64_t)filled;
}

static stk_status refuse_read(const stk__shards *shards, const sample_job *job, int error_number,
                              stk_error *error)
{
    char text[128];
    stk__damaged(error, STK_DAMAGE_READ_ERROR, "cannot read: %s",
                 strerror_r(error_number, text, sizeof text));
    set_place(shards, job->id, job->field, error);
    return STK_ERROR_SAMPLE;
}

static stk_status refuse_changed(const stk__shards *shards, const sample_job *job, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_SHARD_CHANGED, "the shard was changed or replaced after it was opened");
    set_place(shards, job->id, job->field, error);
    stk__error_hint(error, "restart: the shard is then indexed again");
    return STK_ERROR_SAMPLE;
}

/* The time is looked at after the bytes are here: who writes into the shard meanwhile changes it. */
static stk_status read_loan(const stk__shards *shards, const sample_job *job, stk__shard_loan loan,
                            stk__buffer *buffer, stk_error *error)
{
    uint8_t header[STK_TAR_BLOCK_BYTES];
    stk__shard_stamp stamp;
    const int64_t got = read_member(loan.file, job->place, header, buffer->data);
    if (got < 0) return refuse_read(shards, job, (int)-got, error);
    const size_t size = job->place->size_bytes;
    if (!stk__shard_stamp_read(loan.file, &stamp) ||
        !stk__shard_stamp_equal(&stamp, &shards->parts[job->part].stamp) ||
        got < (int64_t)(STK_TAR_BLOCK_BYTES + size) || stk__tar_check(header) != job->place->check)
        return refuse_changed(shards, job, error);
    buffer->size_bytes = size;
    memset(buffer->data + size, 0, LOOKAHEAD_BYTES);
    return STK_OK;
}

static stk_status read_place(const stk__shards *shards, const sample_job *job, stk__buffer *buffer,
                             stk_error *error)
{
    const uint64_t size = job->place->size_bytes, limit = shards->files.limit_bytes;
    if (limit && size > limit) {
        stk__damaged(error, STK_DAMAGE_TOO_MANY_BYTES, "%" PRIu64 " bytes, the limit is %" PRIu64, size,
                     limit);
        set_place(shards, job->id, job->field, error);
        stk__error_hint(error, "raise limits.bytes if the member is meant to be that large");
        return STK_ERROR_SAMPLE;
    }
    buffer->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(buffer, (size_t)size + LOOKAHEAD_BYTES, error));
    stk__shard_loan loan;
    stk_status status = stk__shards_borrow(shards, job->part, &loan, error);
    if (status == STK_ERROR_SAMPLE) set_place(shards, job->id, job->field, error);
    if (status != STK_OK) return status;
    status = read_loan(shards, job, loan, buffer, error);
    stk__shard_files_return(shards->open_files, loan);
    return status;
}

static stk_status refuse_mask(const stk__shards *shards, uint64_t id, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_MASK_MISSING, "the sample has no mask, other samples have one");
    set_place(shards, id, STK_FIELD_IMAGE, error);
    stk__error_hint(error,
                    "a mask is a field mask.png, seg.png or mask.npy, or a png or npy in addition to a jpg");
    return STK_ERROR_SAMPLE;
}

static stk_status shards_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                              const char **extension, stk_error *error)
{
    const stk__shards *shards = stk__shards_of(source);
    const stk__entry *entry = stk__catalog_at(&shards->files.catalog, id);
    const bool mask = field == STK_FIELD_MASK;
    if (entry->extension == STK_EXTENSION_OTHER) return refuse_flaw(shards, id, error);
    if (mask && !source->info.masks)
        return stk__fail(error, STK_ERROR_ARGUMENT, "this data set has no masks");
    if (mask && entry->mask_extension == STK_EXTENSION_NONE) return refuse_mask(shards, id, error);
    *extension = stk__extension_name(mask ? entry->mask_extension : entry->extension);
    const sample_job job = {
        id, field, mask ? stk__shards_mask(shards, entry->row) : stk__shards_image(shards, entry->row),
        stk__shards_part_of(shards, entry->row)};
    return read_place(shards, &job, buffer, error);
}

static void shards_close(stk__source *source)
{
    stk__shards *shards = (stk__shards *)(void *)source;
    stk__buffer *const parts[] = {&shards->images,      &shards->masks,      &shards->labels,
                                  &shards->points,      &shards->flaws,      &shards->texts,
                                  &shards->point_texts, &shards->point_names};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        stk__buffer_fini(parts[i]);
    stk__shard_files_destroy(&shards->open_files);
    stk__catalog_fini(&shards->shards);
    stk__files_fini(&shards->files);
    stk__free(shards->parts);
    stk__free(shards);
}

static const stk__source_ops shards_ops = {
    .name = "shards",
    .facts = shards_facts,
    .read = shards_read,
    .hint = stk__shards_hint,
    .hint_run = stk__shards_hint_run,
    .key = stk__files_key,
    .where = stk__shards_where,
    .stamp = stk__shards_stamp,
    .close = shards_close,
};

static stk_status open_shards(stk__shards *shards, const stk__site *site, stk_error *error)
{
    STK__TRY(stk__files_init(&shards->files, site, "", NULL, error));
    stk__files_describe(&shards->files, site, "shards");
    STK__TRY(stk__shards_find(shards, site, error));
    STK__TRY(stk__shards_load(shards, site, error));
    STK__TRY(stk__shard_files_create(&shards->open_files, shards->part_count, 0, error));
    shards->files.source.ops = &shards_ops;
    return STK_OK;
}

stk_status stk__shards_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__shards *shards = stk__alloc(sizeof *shards);
    if (!shards) return stk__fail_memory(error, sizeof *shards, "a source");
    const stk_status status = open_shards(shards, site, error);
    if (status != STK_OK)
        shards_close(&shards->files.source);
    else
        *source = &shards->files.source;
    return status;
}
