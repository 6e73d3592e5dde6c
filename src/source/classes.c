/* SPDX-License-Identifier: Apache-2.0 */
/* Class names and their numbers: from classes.txt, in its order, or from the names that occur, sorted
 * bytewise. Built while a source opens, constant afterwards. */
#include "source/classes.h"

#include "core/file.h"
#include "core/number.h"

#include <string.h>

enum { NAME_BYTES = 255 };

static const char file_name[] = "classes.txt";

/* The list points into the arena, which must not grow any more. */
static stk_status list_names(stk__classes *classes, stk_error *error)
{
    const uint64_t count = stk__catalog_count(&classes->names);
    if (count > INT32_MAX) return stk__fail(error, STK_ERROR_DATA, "more than %d classes", INT32_MAX);
    classes->list = stk__alloc((size_t)count * sizeof *classes->list);
    if (!classes->list) return stk__fail_memory(error, count * sizeof *classes->list, "the class names");
    for (uint64_t i = 0; i < count; i++) {
        const stk__entry *entry = stk__catalog_at(&classes->names, i);
        classes->list[entry->row] = stk__catalog_key(&classes->names, entry);
    }
    classes->count = (int32_t)count;
    return STK_OK;
}

stk_status stk__classes_number(stk__classes *classes, uint32_t *numbers, stk_error *error)
{
    stk__catalog *names = &classes->names;
    stk__catalog_sort(names);
    const uint64_t count = stk__catalog_count(names);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        const stk__entry entry = *stk__catalog_at(names, i),
                         *last = kept ? stk__catalog_at(names, kept - 1) : NULL;
        const bool duplicate =
            last && stk__catalog_compare(stk__catalog_key(names, last), last->length,
                                         stk__catalog_key(names, &entry), entry.length) == 0;
        if (!duplicate) *stk__catalog_at(names, kept++) = entry;
        if (numbers) numbers[entry.row] = (uint32_t)(kept - 1);
    }
    names->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
    for (uint64_t i = 0; i < kept; i++)
        stk__catalog_at(names, i)->row = (uint32_t)i;
    return list_names(classes, error);
}

static stk_status refuse_line(const char *path, unsigned line, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' cannot be used: %s", file_name, why);
    stk__error_place(error, "%s:%u", path, line);
    stk__error_hint(error, "one name per line, each once; line 1 is class 0");
    return STK_ERROR_DATA;
}

static stk_status split_lines(stk__classes *classes, const char *path, stk__buffer bytes, stk_error *error)
{
    const char *at = (const char *)bytes.data, *end = at + bytes.size_bytes;
    if (bytes.size_bytes >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) at += 3;
    for (unsigned line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline ? newline + 1 : end;
        size_t length = (size_t)((newline ? newline : end) - at);
        if (length && at[length - 1] == '\r') length--;
        if (length == 0) return refuse_line(path, line, "an empty line", error);
        if (length > NAME_BYTES) return refuse_line(path, line, "a name longer than 255 bytes", error);
        if (memchr(at, '\0', length)) return refuse_line(path, line, "a NUL byte", error);
        STK__TRY(stk__catalog_add(&classes->names, at, length, line - 1, error));
        at = next;
    }
    return STK_OK;
}

static stk_status read_names(stk__classes *classes, const char *path, stk__buffer *bytes, stk_error *error)
{
    const stk_status status = stk__file_read(path, 0, bytes, error);
    if (status == STK_ERROR_SAMPLE && error) error->code = STK_ERROR_IO; /* not a sample here */
    if (status != STK_OK) return status == STK_ERROR_SAMPLE ? STK_ERROR_IO : status;
    STK__TRY(split_lines(classes, path, *bytes, error));
    if (stk__catalog_count(&classes->names) == 0) return refuse_line(path, 1, "no names", error);
    stk__catalog_sort(&classes->names);
    const uint64_t duplicate = stk__catalog_duplicate(&classes->names, 0);
    if (duplicate < stk__catalog_count(&classes->names))
        return refuse_line(path, stk__catalog_at(&classes->names, duplicate + 1)->row + 1, "a duplicate name",
                           error);
    return list_names(classes, error);
}

stk_status stk__classes_read(stk__classes *classes, const stk__site *site, stk_error *error)
{
    char path[PATH_MAX];
    bool there = stk__path_join(path, site->root, file_name) && stk__path_is_file(path);
    if (!there && (*site->sibling || stk__site_parts(site)))
        there = stk__path_join(path, site->options->root, file_name) && stk__path_is_file(path);
    if (!there) return STK_OK;
    stk__buffer bytes = {0};
    const stk_status status = read_names(classes, path, &bytes, error);
    stk__buffer_fini(&bytes);
    return status;
}

stk_status stk__classes_take(stk__classes *classes, const char *const *names, int count, stk_error *error)
{
    for (int i = 0; i < count; i++)
        STK__TRY(stk__catalog_add(&classes->names, names[i], strlen(names[i]), (uint32_t)i, error));
    stk__catalog_sort(&classes->names);
    return list_names(classes, error);
}

int32_t stk__classes_find(const stk__classes *classes, const char *name, size_t length)
{
    const stk__entry *entry = stk__catalog_find(&classes->names, name, length);
    return entry ? (int32_t)entry->row : -1;
}

bool stk__classes_numbered_from_one(const stk__classes *classes)
{
    for (int32_t i = 0; i < classes->count; i++) {
        const char *name = classes->list[i];
        const size_t digits = strspn(name, "0123456789");
        int64_t number;
        if (!stk__number_whole(name, digits, &number) || number != i + 1) return false;
        if ((name[digits] != ' ' && name[digits] != '\t') || !name[digits + 1]) return false;
    }
    return classes->count > 0;
}

void stk__classes_tell(const stk__classes *classes, stk__source_info *info)
{
    info->class_count = classes->count;
    info->class_names = classes->list;
}

void stk__classes_fini(stk__classes *classes)
{
    stk__catalog_fini(&classes->names);
    stk__free(classes->list);
    *classes = (stk__classes){0};
}
