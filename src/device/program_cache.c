/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of built kernels below the user's cache folder. The file's name is a hash of everything the
 * build depends on; header and content hash are checked on reading, a damaged file is a miss. Writes are
 * atomic, so processes can share it without a lock. */
#include "device/program_cache.h"

#include "core/cache_folder.h"
#include "core/file.h"
#include "core/logger.h"

#include <stdio.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(256) << 20)

/* Before the program in its file; a power cut can leave any bytes there. */
typedef struct head {
    char magic[16];
    stk__digest key, content;
    uint64_t size_bytes;
} head;

static const char magic[16] = "stoker program1";

stk__digest stk__program_key(const char *const *texts, size_t count)
{
    stk__digest key = {0};
    for (size_t i = 0; i < count; i++) { /* chained, so that no two lists run together to one */
        const stk__digest parts[2] = {key, stk__digest_of(texts[i], strlen(texts[i]))};
        key = stk__digest_of(parts, sizeof parts);
    }
    return key;
}

static bool find_file(stk__digest key, char *path, size_t path_bytes)
{
    char folder[4000], name[STK_DIGEST_TEXT_BYTES];
    if (!stk__cache_folder(folder, sizeof folder)) return false;
    stk__digest_print(key, name);
    return (size_t)snprintf(path, path_bytes, "%s/%s.program", folder, name) < path_bytes;
}

static bool is_whole(const stk__buffer *file, stk__digest key)
{
    head h;
    if (file->size_bytes < sizeof h) return false;
    memcpy(&h, file->data, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || memcmp(&h.key, &key, sizeof key) != 0) return false;
    if (h.size_bytes == 0 || h.size_bytes != file->size_bytes - sizeof h) return false;
    const stk__digest content = stk__digest_of(file->data + sizeof h, h.size_bytes);
    return memcmp(&content, &h.content, sizeof content) == 0;
}

bool stk__program_load(stk__digest key, stk__buffer *program)
{
    char path[4096];
    program->size_bytes = 0;
    if (!find_file(key, path, sizeof path) || stk__file_read(path, MOST_BYTES, program, NULL) != STK_OK)
        return false;
    if (!is_whole(program, key)) {
        if (program->size_bytes)
            stk__log(STK_LOG_INFO, "cached kernels in '%s' are corrupt and are compiled again", path);
        return false;
    }
    program->size_bytes -= sizeof(head);
    memmove(program->data, program->data + sizeof(head), program->size_bytes);
    return true;
}

static stk_status write_program(stk__digest key, const void *bytes, size_t size_bytes, stk_error *error)
{
    char folder[4000], path[4096];
    head h = {.key = key, .content = stk__digest_of(bytes, size_bytes), .size_bytes = size_bytes};
    stk__buffer file = {0};
    memcpy(h.magic, magic, sizeof magic);
    if (!stk__cache_folder(folder, sizeof folder) || !find_file(key, path, sizeof path))
        return stk__fail(error, STK_ERROR_IO, "HOME, XDG_CACHE_HOME and STOKER_CACHE_DIR are not set");
    stk_status status = stk__folder_make(folder, error);
    if (status == STK_OK) status = stk__buffer_append(&file, &h, sizeof h, error);
    if (status == STK_OK) status = stk__buffer_append(&file, bytes, size_bytes, error);
    if (status == STK_OK) status = stk__file_write(path, file, STK_FILE_QUICK, error);
    stk__buffer_fini(&file);
    return status;
}

void stk__program_save(stk__digest key, const void *bytes, size_t size_bytes)
{
    stk_error error = {0};
    if (write_program(key, bytes, size_bytes, &error) != STK_OK)
        stk__log(STK_LOG_WARNING, "compiled kernels are not cached: %s", error.message);
}

const char *stk__program_complaint(const char *log, int *length)
{
    const char *first = strstr(log, "error");
    while (first && first > log && first[-1] != '\n')
        first--;
    const char *line = first ? first : log;
    *length = (int)strcspn(line, "\n");
    return line;
}
