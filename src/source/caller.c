/* SPDX-License-Identifier: Apache-2.0 */
/* A data set of the program's own functions (stoker/dataset.h) as a source: what they answer is checked here,
 * so that behind this file it is worth as much as a file's. Pixels become .npy bytes, so there is one way to
 * decode. Constant after open; functions are called from any thread, without a lock. */
#include "source/caller.h"

#include "core/npy.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LOOKAHEAD_BYTES = 64 };

/* What a read function asked for. */
struct stk_sample_sink {
    stk__buffer *buffer;
    uint64_t limit_bytes;
    stk_field field;
    bool asked;
    uint64_t size_bytes;
    stk_status refused; /* STK_OK: it got all that it asked for */
    stk_damage damage;
    char why[128];
};

static const stk__caller *caller_of(const stk__source *source)
{
    return (const stk__caller *)(const void *)source;
}

static void caller_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    const stk__caller *self = caller_of(source);
    snprintf(text, size, "%s", stk__catalog_key(&self->catalog, stk__caller_entry(self, id)));
}

static void caller_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const stk__caller *self = caller_of(source);
    snprintf(text, size, "dataset!%s%s", stk__catalog_key(&self->catalog, stk__caller_entry(self, id)),
             field == STK_FIELD_MASK ? " (mask)" : "");
}

/* --- room for what is read ---------------------------------------------------------------------------------
 */

STK__PRINTF(3, 4) static void *refuse(stk_sample_sink *sink, stk_damage damage, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sink->why, sizeof sink->why, format, arguments);
    va_end(arguments);
    sink->refused = STK_ERROR_SAMPLE;
    sink->damage = damage;
    return NULL;
}

static void *take_room(stk_sample_sink *sink, uint64_t size_bytes)
{
    stk__buffer *buffer = sink->buffer;
    sink->asked = true;
    sink->refused = STK_OK;
    if (size_bytes > sink->limit_bytes)
        return refuse(sink, STK_DAMAGE_TOO_MANY_BYTES, "%llu bytes, more than limits.bytes '%llu'",
                      (unsigned long long)size_bytes, (unsigned long long)sink->limit_bytes);
    sink->size_bytes = size_bytes;
    sink->refused = stk__buffer_reserve(buffer, (size_t)size_bytes + LOOKAHEAD_BYTES, NULL);
    if (sink->refused != STK_OK) return NULL;
    buffer->size_bytes = (size_t)size_bytes; /* so much is kept when it grows */
    return buffer->data;
}

void *stk_sample_sink_bytes(stk_sample_sink *sink, size_t size)
{
    return sink ? take_room(sink, size) : NULL;
}

void *stk_sample_sink_pixels(stk_sample_sink *sink, int32_t h, int32_t w, int32_t channels)
{
    if (!sink) return NULL;
    sink->asked = true;
    if (h < 1 || w < 1) return refuse(sink, STK_DAMAGE_ZERO_SIZE, "pixels of %d x %d (w x h)", w, h);
    if (channels != 1 && sink->field == STK_FIELD_MASK)
        return refuse(sink, STK_DAMAGE_MASK_FORMAT, "a mask of class ids has 1 channel, not %d", channels);
    if (channels != 1 && channels != 3)
        return refuse(sink, STK_DAMAGE_UNSUPPORTED, "images have 1 or 3 channels, not %d", channels);
    const uint64_t size = (uint64_t)h * (uint64_t)w * (uint64_t)channels; /* < 2^64 - 2^62 */
    uint8_t *room = take_room(sink, STK_NPY_IMAGE_BYTES + size);
    if (!room) return NULL;
    stk__npy_write_image(room, h, w, channels);
    return room + STK_NPY_IMAGE_BYTES;
}

/* --- what the functions answer -----------------------------------------------------------------------------
 */

/* Statuses that a function may fail with, besides STK_ERROR_SAMPLE. STK_ERROR_TIMEOUT means that a thread
 * hangs, and only the loader can know that. */
static stk_status settle_code(stk_status status)
{
    switch (status) {
    case STK_ERROR_ARGUMENT:
    case STK_ERROR_CONFIG:
    case STK_ERROR_MEMORY:
    case STK_ERROR_THREAD:
    case STK_ERROR_IO:
    case STK_ERROR_DATA:
    case STK_ERROR_SAMPLE:
    case STK_ERROR_INTERRUPTED:
    case STK_ERROR_STATE:
    case STK_ERROR_UNSUPPORTED:
        return status;
    case STK_ERROR_TIMEOUT:
        return STK_ERROR_IO;
    default:
        return STK_OK;
    }
}

static void set_place(const stk__caller *self, uint64_t id, stk_field field, stk_error *error)
{
    char path[STK_CALLER_KEY_BYTES + 32];
    caller_where(&self->source, id, field, path, sizeof path);
    stk__error_place(error, "%s", path);
}

/* A failure as the rest of the library expects it, whatever the function left in *error. */
static stk_status settle(const char *function, stk_status status, stk_error *error)
{
    const stk_status code = settle_code(status);
    error->message[sizeof error->message - 1] = error->place[sizeof error->place - 1] =
        error->hint[sizeof error->hint - 1] = '\0';
    if (code == STK_OK) {
        stk__fail(error, STK_ERROR_DATA, "the function '%s' of the data set returned %d, which is no failure",
                  function, (int)status);
        stk__error_hint(error, "return STK_OK or an STK_ERROR_…");
        return error->code;
    }
    const unsigned damage = (unsigned)error->damage;
    error->code = code;
    error->damage = code != STK_ERROR_SAMPLE                                  ? STK_DAMAGE_NONE
                    : damage == STK_DAMAGE_NONE || damage >= STK_DAMAGE_COUNT ? STK_DAMAGE_READ_ERROR
                                                                              : (stk_damage)damage;
    if (!error->message[0])
        snprintf(error->message, sizeof error->message, "the function '%s' of the data set failed: %s",
                 function,
                 code == STK_ERROR_SAMPLE ? stk_damage_phrase(error->damage) : stk_status_name(code));
    if (code == STK_ERROR_SAMPLE && !error->hint[0])
        stk__error_hint(error, "fix this sample or leave it out of the data set");
    return code;
}

static stk_status refuse_read(const stk_sample_sink *sink, stk_error *error)
{
    if (sink->refused == STK_ERROR_SAMPLE) return stk__damaged(error, sink->damage, "%s", sink->why);
    return stk__fail_memory(error, sink->size_bytes, "a sample of the data set");
}

static stk_status call_read(const stk__caller *self, uint64_t id, stk_sample_sink *sink, stk_error *error)
{
    const stk_field field = sink->field;
    stk__error_clear(error);
    const stk_status status =
        self->set.read(self->set.context, stk__caller_entry(self, id)->row, field, sink, error);
    if (sink->refused != STK_OK) return refuse_read(sink, error);
    if (status != STK_OK) return settle("read", status, error);
    if (sink->asked) return STK_OK;
    return field == STK_FIELD_MASK
               ? stk__damaged(error, STK_DAMAGE_MASK_MISSING, "the data set gave no mask for this sample")
               : stk__damaged(error, STK_DAMAGE_MISSING, "the data set gave no image for this sample");
}

static stk_status caller_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                              const char **extension, stk_error *error)
{
    const stk__caller *self = caller_of(source);
    stk_error own, *told = error ? error : &own;
    *extension = NULL;
    if (field == STK_FIELD_MASK ? !source->info.masks : !source->info.images)
        return stk__fail(error, STK_ERROR_ARGUMENT, "this data set has no %s",
                         field == STK_FIELD_MASK ? "masks" : "images");
    stk_sample_sink sink = {.buffer = buffer, .limit_bytes = self->limit_bytes, .field = field};
    buffer->size_bytes = 0;
    const stk_status status = call_read(self, id, &sink, told);
    if (status == STK_OK)
        memset(buffer->data + buffer->size_bytes, 0, LOOKAHEAD_BYTES);
    else if (!told->place[0])
        set_place(self, id, field, told);
    return status;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static stk_status check_points(const stk__caller *self, const float *points, stk_error *error)
{
    const size_t count = (size_t)self->set.point_count;
    if (!all_finite(points, 3 * count))
        return stk__damaged(error, STK_DAMAGE_BAD_VALUES, "a point has a coordinate that is NaN or infinite");
    for (size_t i = 0; i < count; i++)
        if (points[3 * i + 2] != 0 && points[3 * i + 2] != 1)
            return stk__damaged(error, STK_DAMAGE_BAD_FIELD, "point %zu is visible by %g, not 0 or 1", i,
                                (double)points[3 * i + 2]);
    return STK_OK;
}

static stk_status check_facts(const stk__caller *self, const stk_sample_facts *facts, stk_error *error)
{
    const stk_dataset *set = &self->set;
    const bool is_class = set->label == STK_LABEL_CLASS;
    if (is_class &&
        !(facts->label >= 0 && facts->label < set->class_count && facts->label == floor(facts->label)))
        return stk__damaged(error, STK_DAMAGE_BAD_FIELD, "class %g is not one of the classes 0 to %d",
                            facts->label, set->class_count - 1);
    if (set->label == STK_LABEL_VALUE && !(fabs(facts->label) <= (double)FLT_MAX))
        return stk__damaged(error, STK_DAMAGE_BAD_VALUES, "the value is NaN or infinite, or was not set");
    for (int32_t i = 0; facts->set && i < set->class_count; i++)
        if (facts->set[i] > 1)
            return stk__damaged(error, STK_DAMAGE_BAD_FIELD, "class %d is set to %d, not 0 or 1", i,
                                facts->set[i]);
    if (facts->points) STK__TRY(check_points(self, facts->points, error));
    if (facts->window && !all_finite(facts->window, (size_t)set->window_rows * (size_t)set->window_columns))
        return stk__damaged(error, STK_DAMAGE_BAD_VALUES, "the window has a value that is NaN or infinite");
    return STK_OK;
}

/* Points, window and set one after the other in the room, in this order: floats are aligned. */
static stk_status ask_facts(const stk__caller *self, uint64_t id, stk__sample_facts *facts, stk_error *error)
{
    const stk_dataset *set = &self->set;
    const size_t points = (size_t)set->point_count * 3,
                 window = (size_t)set->window_rows * (size_t)set->window_columns,
                 classes = set->label == STK_LABEL_SET ? (size_t)set->class_count : 0,
                 size = (points + window) * sizeof(float) + classes;
    STK__TRY(stk__buffer_reserve(facts->room, size, error));
    if (size) memset(facts->room->data, 0, size);
    float *floats = (float *)(void *)facts->room->data;
    stk_sample_facts out = {.label = set->label == STK_LABEL_CLASS ? -1 : NAN,
                            .set = classes ? (uint8_t *)(floats + points + window) : NULL,
                            .points = points ? floats : NULL,
                            .window = window ? floats + points : NULL};
    stk__error_clear(error);
    const stk_status status = set->facts(set->context, stk__caller_entry(self, id)->row, &out, error);
    if (status != STK_OK) return settle("facts", status, error);
    const bool labeled = set->label == STK_LABEL_CLASS || set->label == STK_LABEL_VALUE;
    facts->label = labeled ? out.label : 0;
    facts->set = out.set;
    facts->points = out.points;
    facts->window = out.window;
    return check_facts(self, &out, error);
}

static stk_status caller_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                               stk_error *error)
{
    const stk__caller *self = caller_of(source);
    stk_error own, *told = error ? error : &own;
    *facts = (stk__sample_facts){.room = facts->room};
    if (!self->has_facts) return STK_OK;
    const stk_status status = ask_facts(self, id, facts, told);
    if (status != STK_OK && !told->place[0]) set_place(self, id, STK_FIELD_IMAGE, told);
    return status;
}

static void caller_close(stk__source *source)
{
    stk__caller *self = (stk__caller *)(void *)source;
    const stk_dataset set = self->set;
    const bool owned = self->owned;
    for (size_t i = 0; i < self->name_count; i++)
        stk__free(self->names[i]);
    stk__free(self->names);
    stk__catalog_fini(&self->catalog);
    stk__free(self);
    if (owned && set.close) set.close(set.context);
}

const stk__source_ops stk__caller_ops = {.name = "dataset",
                                         .facts = caller_facts,
                                         .read = caller_read,
                                         .key = caller_key,
                                         .where = caller_where,
                                         .close = caller_close};
