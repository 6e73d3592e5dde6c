/* SPDX-License-Identifier: Apache-2.0 */
/* One sample into tar members: the JPEG rewritten without loss (or copied), the mask as PNG, label and
 * points as text; what was written is decoded and compared with the original. A packer belongs to one
 * worker thread. */
#include "pack/packer.h"

#include "core/option.h"
#include "core/utf8.h"
#include "decode/mask_fit.h"
#include "pack/packer_picture.h"
#include "pack/tar_blocks.h"
#include "source/shards/shard_facts.h"
#include "source/shards/tar.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = PATH_MAX, FIELD_BYTES = 32, MEMBER_BYTES = 3 * KEY_BYTES + FIELD_BYTES };

/* A sample on its way. */
typedef struct sample_job {
    stk__packer *packer;
    uint64_t id;
    stk__packed *packed;
    stk__picture image;        /* its header */
    char member[MEMBER_BYTES]; /* the escaped key, then ".jpg" … */
    size_t key_length;
    stk_error *error;
} sample_job;

stk_status stk__packer_init(stk__packer *packer, const stk__source *source, const stk__limits *limits,
                            stk_error *error)
{
    packer->source = source;
    packer->limits = limits;
    stk_status status = stk__decoder_create(&packer->decoder, limits, error);
    if (status == STK_OK) status = stk__jpeg_rewriter_create(&packer->jpeg, limits, error);
    if (status == STK_OK && source->info.masks)
        status = stk__png_writer_create(&packer->masks, STK_PNG_LEVEL_SMALL, error);
    if (status != STK_OK) stk__packer_fini(packer);
    return status;
}

void stk__packer_fini(stk__packer *packer)
{
    stk__decoder_destroy(&packer->decoder);
    stk__jpeg_rewriter_destroy(&packer->jpeg);
    stk__png_writer_destroy(&packer->masks);
    stk__buffer_fini(&packer->bytes);
    stk__buffer_fini(&packer->file);
    stk__buffer_fini(&packer->before);
    stk__buffer_fini(&packer->after);
    stk__buffer_fini(&packer->text);
}

/* What follows the first dot of a base name is the field, so a key has no dots. */
static void escape_key(sample_job *job)
{
    char key[KEY_BYTES], *out = job->member;
    const stk__source *source = job->packer->source;
    source->ops->key(source, job->id, key, sizeof key);
    for (const char *at = key; *at; at++) {
        const char *code = *at == '.' ? "%2E" : *at == '%' ? "%25" : NULL;
        if (code) {
            memcpy(out, code, 3);
            out += 3;
        } else {
            *out++ = *at;
        }
    }
    *out = '\0';
    job->key_length = (size_t)(out - job->member);
}

/* Readers of shards would call the sample bad. */
static stk_status check_name(const sample_job *job)
{
    const char *why = NULL;
    if (job->key_length + FIELD_BYTES > STK_TAR_NAME_BYTES) why = "too long for a member of a shard";
    if (!stk__utf8_valid(job->member)) why = "not UTF-8";
    if (!why) return STK_OK;
    stk__damaged(job->error, STK_DAMAGE_BAD_NAME, "the name of the sample is %s", why);
    stk__error_hint(job->error, "rename the file");
    return STK_ERROR_SAMPLE;
}

static stk_status add_member(sample_job *job, const char *field, const void *data, size_t size_bytes)
{
    snprintf(job->member + job->key_length, sizeof job->member - job->key_length, ".%s", field);
    return stk__tar_blocks_add(&job->packed->tar, job->member, data, size_bytes, job->error);
}

static stk_status read_field(sample_job *job, stk__field field, const char **extension)
{
    stk__packer *packer = job->packer;
    STK__TRY(
        packer->source->ops->read(packer->source, job->id, field, &packer->bytes, extension, job->error));
    job->packed->source_bytes += packer->bytes.size_bytes;
    return STK_OK;
}

static stk_status add_image(sample_job *job)
{
    stk__pack_picture picture;
    const char *extension = NULL;
    STK__TRY(read_field(job, STK_FIELD_IMAGE, &extension));
    STK__TRY(stk__packer_image(job->packer, extension, &picture, job->error));
    job->image = picture.header;
    job->packed->kept = picture.kept;
    job->packed->stored_bytes += picture.bytes.size_bytes;
    return add_member(job, picture.extension, picture.bytes.data, picture.bytes.size_bytes);
}

/* A mask is stored in its own size and resized when it is loaded, as the folder's is. Drawn over the image as
 * stored, or as it stands upright. */
static stk_status check_mask_size(const sample_job *job, const stk__picture *mask)
{
    const stk__picture *image = &job->image;
    const bool swaps = stk__orientation_swaps(image->orientation);
    if (stk__mask_fit_of(mask, image->w, image->h) != STK_MASK_OTHER) return STK_OK;
    if (swaps && stk__mask_fit_of(mask, image->h, image->w) != STK_MASK_OTHER) return STK_OK;
    return stk__damaged(job->error, STK_DAMAGE_MASK_SIZE,
                        "the mask is %dx%d, its image %dx%d: another aspect", mask->w, mask->h, image->w,
                        image->h);
}

static stk_status add_mask(sample_job *job)
{
    stk__pack_picture picture;
    const char *extension = NULL;
    STK__TRY(read_field(job, STK_FIELD_MASK, &extension));
    STK__TRY(stk__packer_mask(job->packer, extension, &picture, job->error));
    STK__TRY(check_mask_size(job, &picture.header));
    job->packed->stored_bytes += picture.bytes.size_bytes;
    return add_member(job, "mask.png", picture.bytes.data, picture.bytes.size_bytes);
}

static stk_status add_label(sample_job *job, const stk__sample_facts *facts)
{
    char text[64];
    const stk__label_kind kind = job->packer->source->info.label;
    if (kind == STK_LABEL_NONE) return STK_OK;
    if (kind == STK_LABEL_CLASS)
        snprintf(text, sizeof text, "%lld", (long long)facts->label);
    else
        stk__option_print_number(facts->label, text, sizeof text);
    return add_member(job, kind == STK_LABEL_CLASS ? "cls" : "value", text, strlen(text));
}

/* "-0" would be a whole number in JSON, which has no sign then. */
static void print_place(float value, char *text, size_t size)
{
    if (value == 0)
        snprintf(text, size, "%s", signbit(value) ? "-0.0" : "0");
    else
        stk__option_print_float(value, text, size);
}

/* [[12.5, 3, 1], [4, 5, 0]] */
static stk_status print_points(stk__buffer *text, const float *points, int32_t count, stk_error *error)
{
    text->size_bytes = 0;
    for (int32_t i = 0; i < count; i++) {
        char numbers[3][32], point[128];
        for (int k = 0; k < 3; k++)
            print_place(points[3 * i + k], numbers[k], sizeof numbers[k]);
        const int length = snprintf(point, sizeof point, "%s[%s, %s, %s]", i ? ", " : "[", numbers[0],
                                    numbers[1], numbers[2]);
        STK__TRY(stk__buffer_append(text, point, (size_t)length, error));
    }
    return stk__buffer_append(text, "]", 1, error);
}

static void set_place(const sample_job *job, stk__field field)
{
    char path[PATH_MAX];
    const stk__source *source = job->packer->source;
    if (!job->error || job->error->place[0]) return;
    source->ops->where(source, job->id, field, path, sizeof path);
    stk__error_place(job->error, "%s", path);
}

static stk_status add_points(sample_job *job, const stk__sample_facts *facts)
{
    stk__packer *packer = job->packer;
    const int32_t count = packer->source->info.point_count;
    if (!count) return STK_OK;
    STK__TRY(print_points(&packer->text, facts->points, count, job->error));
    if (packer->text.size_bytes > STK_SHARD_POINTS_BYTES) {
        stk__damaged(job->error, STK_DAMAGE_BAD_FIELD, "%d points are %zu bytes of text, the maximum is %d",
                     (int)count, packer->text.size_bytes, STK_SHARD_POINTS_BYTES);
        set_place(job, STK_FIELD_IMAGE);
        return STK_ERROR_SAMPLE;
    }
    return add_member(job, "points.json", packer->text.data, packer->text.size_bytes);
}

static stk_status add_pictures(sample_job *job)
{
    stk__field field = STK_FIELD_IMAGE;
    stk_status status = check_name(job);
    if (status == STK_OK) status = add_image(job);
    if (status == STK_OK && job->packer->source->info.masks) {
        field = STK_FIELD_MASK;
        status = add_mask(job);
    }
    if (status != STK_OK) set_place(job, field);
    return status;
}

stk_status stk__packer_pack(stk__packer *packer, uint64_t id, stk__packed *packed, stk_error *error)
{
    sample_job job = {.packer = packer, .id = id, .packed = packed, .error = error};
    stk__sample_facts facts;
    packed->tar.size_bytes = 0;
    packed->source_bytes = packed->stored_bytes = 0;
    packed->kept = false;
    STK__TRY(packer->source->ops->facts(packer->source, id, &facts, error));
    escape_key(&job);
    STK__TRY(add_pictures(&job));
    STK__TRY(add_label(&job, &facts));
    return add_points(&job, &facts);
}
