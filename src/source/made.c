/* SPDX-License-Identifier: Apache-2.0 */
/* Generated samples as a source: make:faces, make:captcha?count=1000, make:gray?count=1000&seed=3,
 * make:series. Pictures are handed out as .npy bytes, drawn behind the header inside the caller's buffer. */
#include "source/kinds.h"

#include "core/align.h"
#include "core/npy.h"
#include "make/make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKAHEAD_BYTES = 64, WINDOW_ROWS = 60, MOST = 10000000 };

typedef struct made {
    stk__source source;
    stk__make_kind kind;
    uint64_t seed, count; /* of samples, or rows of the series */
    float *points;        /* [count][point_count][3] or NULL */
    float *rows;          /* [count][STK_MAKE_FEATURES] of a series, or NULL */
    float *targets;       /* [count] of a series, or NULL */
} made;

/* Keys sort by class first: which sample has rank `id`. The index runs through the classes in turn. */
static uint64_t index_of(const made *self, uint64_t id)
{
    const uint64_t classes = (uint64_t)self->source.info.class_count;
    if (self->source.info.label != STK_LABEL_CLASS) return id;
    const uint64_t each = self->count / classes, longer = self->count % classes, split = longer * (each + 1);
    const uint64_t label = id < split ? id / (each + 1) : longer + (id - split) / each;
    const uint64_t rank = id < split ? id % (each + 1) : (id - split) % each;
    return rank * classes + label;
}

static stk_status made_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                             stk_error *error)
{
    (void)error;
    const made *self = (const made *)source;
    *facts = (stk__sample_facts){.label = -1};
    if (source->info.label == STK_LABEL_CLASS)
        facts->label = stk__make_facts(self->kind, self->seed, index_of(self, id)).label;
    if (self->points) facts->points = self->points + id * 3 * (uint64_t)source->info.point_count;
    if (self->rows) {
        facts->window = self->rows + id * STK_MAKE_FEATURES;
        facts->label = self->targets[id + (uint64_t)source->info.window_rows - 1];
    }
    return STK_OK;
}

static stk_status made_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                            const char **extension, stk_error *error)
{
    const made *self = (const made *)source;
    const stk__make_info *info = stk__make_describe(self->kind);
    const bool mask = field == STK_FIELD_MASK;
    const int32_t channels = mask ? 1 : info->channels;
    if (mask ? !info->masks : info->w == 0)
        return stk__fail(error, STK_ERROR_ARGUMENT, "make:%s has no %s", info->name,
                         mask ? "masks" : "images");
    const size_t size = STK_NPY_IMAGE_BYTES + (size_t)info->w * (size_t)info->h * (size_t)channels;
    const size_t scratch_at = stk__align_up(size + LOOKAHEAD_BYTES, STK_LINE_BYTES);
    buffer->size_bytes = 0;
    STK__TRY(stk__buffer_reserve(buffer, scratch_at + info->scratch_bytes, error));
    stk__npy_write_image(buffer->data, info->h, info->w, channels);
    const stk__pixels none = {0},
                      out = stk__pixels_dense(buffer->data + STK_NPY_IMAGE_BYTES, info->w, info->h, channels);
    stk__make_draw(self->kind, self->seed, index_of(self, id), mask ? none : out, mask ? out : none,
                   buffer->data + scratch_at);
    memset(buffer->data + size, 0, LOOKAHEAD_BYTES);
    buffer->size_bytes = size;
    *extension = "npy";
    return STK_OK;
}

static void made_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    const made *self = (const made *)source;
    stk__make_key(self->kind, index_of(self, id), self->count, text, size);
}

static void made_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const made *self = (const made *)source;
    char key[64];
    made_key(source, id, key, sizeof key);
    snprintf(text, size, "make:%s?seed=%llu#%s%s", stk__make_describe(self->kind)->name,
             (unsigned long long)self->seed, key, field == STK_FIELD_MASK ? " (mask)" : "");
}

static void made_table(const stk__source *source, stk__series_table *table)
{
    const made *self = (const made *)source;
    *table = (stk__series_table){.features = self->rows,
                                 .targets = self->targets,
                                 .row_count = self->count,
                                 .column_count = STK_MAKE_FEATURES,
                                 .target_column = STK_MAKE_FEATURES};
}

static void made_close(stk__source *source)
{
    made *self = (made *)source;
    stk__free(self->points);
    stk__free(self->rows);
    stk__free(self->targets);
    stk__free(self);
}

static const stk__source_ops made_ops = {.name = "made",
                                         .facts = made_facts,
                                         .read = made_read,
                                         .key = made_key,
                                         .where = made_where,
                                         .table = made_table,
                                         .close = made_close};

static stk_status refuse_root(const char *root, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "cannot generate '%s': %s", root, why);
    stk__error_hint(
        error, "use make:faces, make:captcha, make:gray or make:series, optionally with ?count=1000&seed=3");
    return STK_ERROR_CONFIG;
}

/* "count=1000&seed=3" */
static bool read_numbers(made *self, const char *text)
{
    while (*text) {
        uint64_t *number = strncmp(text, "count=", 6) == 0 ? &self->count : &self->seed;
        if (number == &self->seed && strncmp(text, "seed=", 5) != 0) return false;
        text = strchr(text, '=') + 1;
        char *end;
        errno = 0;
        *number = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || errno || (*end && *end != '&')) return false;
        text = *end ? end + 1 : end;
    }
    return true;
}

static stk_status read_root(made *self, const char *root, stk_error *error)
{
    const char *name = root + strlen("make:"), *question = strchr(name, '?');
    char word[32];
    const size_t length = question ? (size_t)(question - name) : strlen(name);
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
    self->kind = stk__make_find(word);
    if (self->kind == STK_MAKE_COUNT) return refuse_root(root, "unknown kind", error);
    self->count = stk__make_describe(self->kind)->default_count;
    if (question && !read_numbers(self, question + 1)) return refuse_root(root, "malformed numbers", error);
    if (self->count == 0 || self->count > MOST) return refuse_root(root, "count is 1 to 10000000", error);
    return STK_OK;
}

static stk_status make_points(made *self, stk_error *error)
{
    const size_t point_bytes = sizeof(float) * 3 * (size_t)self->source.info.point_count;
    self->points = stk__alloc(point_bytes * (size_t)self->count);
    if (!self->points) return stk__fail_memory(error, point_bytes * self->count, "points");
    for (uint64_t id = 0; id < self->count; id++) {
        const stk__made facts = stk__make_facts(self->kind, self->seed, id);
        memcpy((uint8_t *)self->points + id * point_bytes, facts.points, point_bytes);
    }
    return STK_OK;
}

static stk_status make_windows(made *self, stk_error *error)
{
    enum { COLUMNS = STK_MAKE_FEATURES + 1 };
    const size_t size = sizeof(float) * COLUMNS * (size_t)self->count;
    float *values = stk__alloc(size);
    self->targets = stk__alloc(sizeof(float) * (size_t)self->count);
    if (!values || !self->targets) {
        stk__free(values);
        return stk__fail_memory(error, size, "the series");
    }
    stk__make_series(self->seed, 0, self->count, values);
    for (uint64_t row = 0; row < self->count; row++) {
        self->targets[row] = values[row * COLUMNS + STK_MAKE_FEATURES];
        memmove(values + row * STK_MAKE_FEATURES, values + row * COLUMNS, sizeof(float) * STK_MAKE_FEATURES);
    }
    self->rows = values; /* the target column is squeezed out; the tail stays unused */
    return STK_OK;
}

static stk_status describe_series(made *self, const stk__source_options *options, stk_error *error)
{
    stk__source_info *info = &self->source.info;
    const int64_t rows = options->window_rows > 0 ? options->window_rows : WINDOW_ROWS;
    if ((uint64_t)rows > self->count)
        return refuse_root(options->root, "fewer rows than a window has", error);
    info->window_rows = (int32_t)rows;
    info->window_columns = STK_MAKE_FEATURES;
    info->label = STK_LABEL_VALUE;
    info->count = self->count - (uint64_t)rows + 1;
    return make_windows(self, error);
}

static stk_status describe(made *self, const stk__source_options *options, stk_error *error)
{
    const stk__make_info *kind = stk__make_describe(self->kind);
    self->source.info = (stk__source_info){.layout = "generated",
                                           .count = self->count,
                                           .images = kind->w > 0,
                                           .masks = kind->masks,
                                           .point_count = kind->point_count,
                                           .point_names = kind->point_names,
                                           .class_count = kind->class_count,
                                           .class_names = kind->class_names};
    if (kind->facts && kind->class_count) self->source.info.label = STK_LABEL_CLASS;
    if (kind->point_count) STK__TRY(make_points(self, error));
    return kind->w ? STK_OK : describe_series(self, options, error);
}

static stk_status take_fingerprint(made *self, stk_error *error)
{
    stk__hash *hash;
    STK__TRY(stk__hash_create(&hash, error));
    for (uint64_t id = 0; id < self->source.info.count; id++) {
        char key[64];
        made_key(&self->source, id, key, sizeof key);
        stk__hash_update(hash, key, strlen(key) + 1);
    }
    self->source.info.fingerprint = stk__hash_digest(hash);
    stk__hash_destroy(&hash);
    return STK_OK;
}

stk_status stk__made_open(stk__source **source, const stk__source_options *options, stk_error *error)
{
    *source = NULL;
    made *self = stk__alloc(sizeof *self);
    if (!self) return stk__fail_memory(error, sizeof *self, "a source");
    self->source.ops = &made_ops;
    stk_status status = read_root(self, options->root, error);
    if (status == STK_OK) status = describe(self, options, error);
    if (status == STK_OK) status = take_fingerprint(self, error);
    if (status == STK_OK)
        *source = &self->source;
    else
        made_close(&self->source);
    return status;
}
