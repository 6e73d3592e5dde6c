/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a data set of the program's own functions: checks what it says of itself, copies the names, asks for
 * all keys and sorts them; the row of a key is the index that the functions know. One thread. */
#include "source/caller.h"

#include "core/sized.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BYTES = offsetof(stk_dataset, close) + sizeof(void (*)(void *)) }; /* of version 0.1 */

STK__PRINTF(2, 3) static stk_status refuse_set(stk_error *error, const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    stk__fail(error, STK_ERROR_ARGUMENT, "stk_dataset: %s", why);
    stk__error_hint(error, "stoker/dataset.h says what is needed when");
    return STK_ERROR_ARGUMENT;
}

static stk_status check_windows(const stk__caller *self, stk_error *error)
{
    const stk_dataset *set = &self->set;
    if (set->window_rows < 0 || set->window_columns < 0 || !set->window_rows != !set->window_columns)
        return refuse_set(error, "window_rows is %d and window_columns %d: both are set, or none",
                          set->window_rows, set->window_columns);
    if (set->window_rows && (set->masks || set->point_count))
        return refuse_set(error, "windows have neither masks nor points");
    const uint64_t window = sizeof(float) * (uint64_t)set->window_rows * (uint64_t)set->window_columns,
                   points = 3 * sizeof(float) * (uint64_t)set->point_count;
    if (window > self->limit_bytes || points > self->limit_bytes)
        return refuse_set(error, "a sample takes %llu bytes, more than limits.bytes '%llu'",
                          (unsigned long long)(window + points), (unsigned long long)self->limit_bytes);
    return STK_OK;
}

static stk_status check_set(const stk__caller *self, stk_error *error)
{
    const stk_dataset *set = &self->set;
    const bool classes = set->label == STK_LABEL_CLASS || set->label == STK_LABEL_SET;
    if ((unsigned)set->label > STK_LABEL_SET)
        return refuse_set(error, "label is %d, which is no stk_label_kind", (int)set->label);
    if (set->class_count < 0 || set->point_count < 0)
        return refuse_set(error, "class_count is %d and point_count %d: they are at least 0",
                          set->class_count, set->point_count);
    if (classes && !set->class_count) return refuse_set(error, "labels are classes, and class_count is 0");
    if ((set->class_names && !set->class_count) || (set->point_names && !set->point_count))
        return refuse_set(error, "%s is set, and their number is 0",
                          set->class_names && !set->class_count ? "class_names" : "point_names");
    STK__TRY(check_windows(self, error));
    if (!set->read && !set->window_rows) return refuse_set(error, "read is NULL: it brings the images");
    if (self->has_facts && !set->facts)
        return refuse_set(error, "facts is NULL: it brings labels, points and windows");
    if (set->count && set->count < UINT32_MAX) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "the data set has %llu samples: 1 to 4294967294 are possible",
              (unsigned long long)set->count);
    stk__error_hint(error, "stk_dataset.count is the number of samples");
    return STK_ERROR_DATA;
}

/* Copies behind those that are there, and hands the list of copies out. */
static stk_status copy_names(stk__caller *self, const char *const **list, int32_t count, const char *field,
                             stk_error *error)
{
    char **copies = self->names + self->name_count;
    if (!*list) return STK_OK;
    for (int32_t i = 0; i < count; i++) {
        const char *name = (*list)[i];
        if (!name) return refuse_set(error, "%s[%d] is NULL", field, i);
        copies[i] = stk__text_copy(name);
        if (!copies[i]) return stk__fail_memory(error, strlen(name) + 1, "a name");
        self->name_count++;
    }
    *list = (const char *const *)copies;
    return STK_OK;
}

static stk_status take_names(stk__caller *self, stk_error *error)
{
    stk_dataset *set = &self->set;
    const size_t most = (size_t)set->class_count + (size_t)set->point_count, size = most * sizeof(char *);
    if (!set->class_names && !set->point_names) return STK_OK;
    self->names = stk__alloc(size);
    if (!self->names) return stk__fail_memory(error, size, "names of classes and points");
    STK__TRY(copy_names(self, &set->class_names, set->class_count, "class_names", error));
    return copy_names(self, &set->point_names, set->point_count, "point_names", error);
}

static int count_digits(uint64_t number)
{
    char text[24];
    return snprintf(text, sizeof text, "%llu", (unsigned long long)number);
}

static stk_status take_keys(stk__caller *self, stk_error *error)
{
    const stk_dataset *set = &self->set;
    const int digits = count_digits(set->count - 1);
    char key[STK_CALLER_KEY_BYTES];
    for (uint64_t i = 0; i < set->count; i++) {
        key[0] = key[STK_CALLER_KEY_BYTES - 1] = '\0';
        if (set->key)
            set->key(set->context, i, key, sizeof key);
        else
            snprintf(key, sizeof key, "%0*llu", digits, (unsigned long long)i);
        key[STK_CALLER_KEY_BYTES - 1] = '\0';
        const size_t length = strlen(key);
        if (length && length < STK_CALLER_KEY_BYTES - 1) {
            STK__TRY(stk__catalog_add(&self->catalog, key, length, (uint32_t)i, error));
            continue;
        }
        stk__fail(error, STK_ERROR_DATA, "the key of sample %llu of the data set is %s",
                  (unsigned long long)i, length ? "too long" : "empty");
        stk__error_hint(error, "keys have 1 to %d bytes", STK_CALLER_KEY_BYTES - 2);
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

static stk_status refuse_duplicate(const stk__caller *self, uint64_t at, stk_error *error)
{
    const stk__entry *first = stk__caller_entry(self, at), *second = stk__caller_entry(self, at + 1);
    stk__fail(error, STK_ERROR_DATA, "samples %u and %u of the data set have the same key '%.200s'",
              first->row, second->row, stk__catalog_key(&self->catalog, first));
    stk__error_place(error, "dataset!%s", stk__catalog_key(&self->catalog, first));
    stk__error_hint(error, "a sample is known by its key: each needs one of its own");
    return STK_ERROR_DATA;
}

static stk_status open_caller(stk__caller *self, const stk_dataset *given, stk_error *error)
{
    const stk__sized sized = {"stk_dataset", FIRST_BYTES, sizeof(stk_dataset)};
    stk_dataset *set = &self->set;
    stk__source_info *info = &self->source.info;
    STK__TRY(stk__sized_take(set, given, &sized, error));
    self->has_facts = set->label != STK_LABEL_NONE || set->point_count || set->window_rows;
    STK__TRY(check_set(self, error));
    STK__TRY(take_names(self, error));
    STK__TRY(take_keys(self, error));
    stk__catalog_sort(&self->catalog);
    const uint64_t duplicate = stk__catalog_duplicate(&self->catalog, 0);
    if (duplicate < set->count) return refuse_duplicate(self, duplicate, error);
    *info = (stk__source_info){.layout = "functions of the program",
                               .count = set->count,
                               .images = !set->window_rows,
                               .masks = set->masks,
                               .called = true,
                               .label = set->label,
                               .point_count = set->point_count,
                               .point_names = set->point_names,
                               .window_rows = set->window_rows,
                               .window_columns = set->window_columns,
                               .class_count = set->class_count,
                               .class_names = set->class_names};
    return stk__catalog_fingerprint(&self->catalog, &info->fingerprint, error);
}

stk_status stk__caller_open(stk__source **source, const stk_dataset *dataset, uint64_t limit_bytes,
                            stk_error *error)
{
    *source = NULL;
    stk__caller *self = stk__alloc(sizeof *self);
    if (!self) return stk__fail_memory(error, sizeof *self, "a source");
    self->source.ops = &stk__caller_ops;
    self->limit_bytes = limit_bytes;
    const stk_status status = open_caller(self, dataset, error);
    if (status == STK_OK)
        *source = &self->source;
    else
        stk__caller_ops.close(&self->source);
    return status;
}

void stk__caller_own(stk__source *source)
{
    ((stk__caller *)(void *)source)->owned = true;
}
