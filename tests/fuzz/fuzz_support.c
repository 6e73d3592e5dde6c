/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets share: failures must have class, message and place; a limit on allocations, so that a
 * header cannot ask for gigabytes; and files in a folder of the process's own. */
#include "fuzz.h"

#include "stoker/runtime.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint8_t *fuzz_copy(const uint8_t *data, size_t size, size_t more)
{
    uint8_t *copy = malloc(size + more + (size + more == 0));
    assert(copy);
    if (size) memcpy(copy, data, size);
    if (more) memset(copy + size, 0, more);
    return copy;
}

/* --- failures ------------------------------------------------------------------------------------------ */

void fuzz_check_failure(stk_status status, const stk_error *error)
{
    assert(status < 0 && status >= STK_ERROR_UNSUPPORTED && status != STK_ERROR_MEMORY);
    assert(error->code == status);
    assert(error->message[0]);
    assert((error->damage != STK_DAMAGE_NONE) == (status == STK_ERROR_SAMPLE));
    assert(memchr(error->message, '\0', sizeof error->message));
    assert(memchr(error->place, '\0', sizeof error->place) && memchr(error->hint, '\0', sizeof error->hint));
}

void fuzz_check_damage(stk_status status, const stk_error *error)
{
    assert(status == STK_ERROR_SAMPLE);
    fuzz_check_failure(status, error);
    assert(error->damage < STK_DAMAGE_COUNT);
}

void fuzz_check_place(const stk_error *error, const char *path)
{
    const bool starts = strncmp(error->place, path, strlen(path)) == 0;
    if (!starts) fprintf(stderr, "'%s' at '%s'\n", error->message, error->place);
    assert(starts);
}

/* --- memory -------------------------------------------------------------------------------------------- */

static size_t memory_most;

static void *limited_alloc(void *context, size_t size_bytes)
{
    (void)context;
    assert(size_bytes <= memory_most);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void limited_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

void fuzz_limit_memory(size_t most)
{
    memory_most = most;
    stk_allocator_set(&(stk_allocator){.alloc = limited_alloc, .release = limited_release});
}

/* --- files --------------------------------------------------------------------------------------------- */

enum { FILES_MOST = 16 };

static char folder[PATH_MAX];

static struct {
    char path[PATH_MAX + 256];
    int file; /* in memory; the path is a link to it */
} files[FILES_MOST];
static int file_count;

static void remove_files(void)
{
    for (int i = 0; i < file_count; i++)
        unlink(files[i].path);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    const char *base = getenv("TMPDIR");
    if (folder[0]) return folder;
    snprintf(folder, sizeof folder, "%s/stoker-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    atexit(remove_files);
    return folder;
}

static int find_file(const char *name)
{
    int i = 0;
    while (i < file_count && strcmp(strrchr(files[i].path, '/') + 1, name) != 0)
        i++;
    if (i < file_count) return i;
    assert(file_count < FILES_MOST);
    snprintf(files[i].path, sizeof files[0].path, "%s/%s", fuzz_folder(), name);
    files[i].file = memfd_create(name, MFD_CLOEXEC);
    return file_count++;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    char target[64];
    const int i = find_file(name), file = files[i].file;
    snprintf(target, sizeof target, "/proc/self/fd/%d", file);
    unlink(files[i].path); /* whatever was made of it */
    if (symlink(target, files[i].path) != 0) abort();
    if (ftruncate(file, 0) != 0 || (size && pwrite(file, data, size, 0) != (ssize_t)size)) abort();
    return files[i].path;
}

void fuzz_file_remove(const char *name)
{
    unlink(files[find_file(name)].path);
}
