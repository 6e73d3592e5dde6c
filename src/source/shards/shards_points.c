/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the points of shards: points.txt next to them, or one above their parts; one name per line, line 1
 * is point 0, as `stoker pack` writes it. Points have none without the file. Read once, while a source opens.
 */
#include "core/file.h"
#include "source/shards/shards.h"

#include <string.h>

static const char file_name[] = "points.txt";

static bool find_file(const stk__site *site, char path[PATH_MAX])
{
    if (stk__path_join(path, site->root, file_name) && stk__path_is_file(path)) return true;
    return *site->sibling && stk__path_join(path, site->options->root, file_name) && stk__path_is_file(path);
}

static stk_status refuse(const char *path, int count, int32_t wanted, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' has %d name%s, but samples have %d point%s", file_name, count,
              count == 1 ? "" : "s", wanted, wanted == 1 ? "" : "s");
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "one name per line; line 1 is point 0");
    return STK_ERROR_DATA;
}

/* Lines become texts, which move no more. */
static stk_status list_names(stk__shards *shards, int *count, stk_error *error)
{
    char *at = (char *)shards->point_texts.data, *end = at + shards->point_texts.size_bytes;
    while (at < end) {
        char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const char *name = at;
        at = stop + 1;
        if (stop > name && stop[-1] == '\r') stop--;
        *stop = '\0'; /* bytes behind the file are the buffer's, too */
        STK__TRY(stk__buffer_append(&shards->point_names, &name, sizeof name, error));
        (*count)++;
    }
    return STK_OK;
}

stk_status stk__shards_name_points(stk__shards *shards, const stk__site *site, stk_error *error)
{
    stk__source_info *info = &shards->files.source.info;
    char path[PATH_MAX];
    int count = 0;
    if (!info->point_count || !find_file(site, path)) return STK_OK;
    const stk_status status = stk__file_read(path, 0, &shards->point_texts, error);
    if (status == STK_ERROR_SAMPLE && error) error->code = STK_ERROR_IO; /* not a sample here */
    if (status != STK_OK) return status == STK_ERROR_SAMPLE ? STK_ERROR_IO : status;
    STK__TRY(list_names(shards, &count, error));
    if (count != info->point_count) return refuse(path, count, info->point_count, error);
    info->point_names = (const char *const *)(const void *)shards->point_names.data;
    return STK_OK;
}
