/* SPDX-License-Identifier: Apache-2.0 */
/* Opens safetensors files: header, then a check that the tensors' byte ranges fill the file without gaps
 * or overlaps, and names by binary search. Data is read by pread straight into the caller's memory. */
#include "train/checkpoint/safetensors_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8 };

struct stk__safetensors {
    int file;
    char *path;
    stk__buffer header; /* the texts of list lie in it */
    uint64_t data_bytes;
    stk__safetensors_list list;
    const stk__safetensor **by_name; /* [count], sorted */
    int count;
};

static stk_status read_at(const stk__safetensors *file, void *data, uint64_t size, uint64_t offset,
                          stk_error *error)
{
    uint8_t *to = data;
    while (size) {
        const ssize_t got = pread(file->file, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got < 0)
                stk__fail_errno(error, errno, "cannot read '%s'", file->path);
            else
                stk__fail(error, STK_ERROR_DATA, "'%s' is truncated", file->path);
            return got < 0 ? STK_ERROR_IO : STK_ERROR_DATA;
        }
        to += got;
        size -= (uint64_t)got;
        offset += (uint64_t)got;
    }
    return STK_OK;
}

static void hint_at_pickle(const uint8_t *bytes, stk_error *error)
{
    if (memcmp(bytes, "PK\3\4", 4) != 0 && memcmp(bytes, "\x80\2", 2) != 0) return;
    stk__error_hint(error, "it looks like a torch.save file (pickle), which is not supported; save the "
                           "weights with safetensors.torch.save_file");
}

static stk_status read_header(stk__safetensors *file, uint64_t file_bytes, stk_error *error)
{
    uint8_t bytes[LENGTH_BYTES];
    uint64_t size = 0;
    if (file_bytes < LENGTH_BYTES)
        return stk__fail(error, STK_ERROR_DATA, "%llu bytes are too few for a safetensors file",
                         (unsigned long long)file_bytes);
    STK__TRY(read_at(file, bytes, LENGTH_BYTES, 0, error));
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        size = size << 8 | bytes[i];
    if (size > STK_SAFETENSORS_HEADER_BYTES || size > file_bytes - LENGTH_BYTES) {
        stk__fail(error, STK_ERROR_DATA, "not a safetensors file: a header of %llu bytes",
                  (unsigned long long)size);
        hint_at_pickle(bytes, error);
        return STK_ERROR_DATA;
    }
    file->data_bytes = file_bytes - LENGTH_BYTES - size;
    STK__TRY(stk__buffer_reserve(&file->header, size + 1, error));
    file->header.size_bytes = size;
    return read_at(file, file->header.data, size, LENGTH_BYTES, error);
}

static stk__safetensor *tensors_of(const stk__safetensors *file)
{
    return (stk__safetensor *)(void *)file->list.tensors.data;
}

static int compare_places(const void *left, const void *right)
{
    const stk__safetensor *a = left, *b = right;
    if (a->offset_bytes != b->offset_bytes) return a->offset_bytes < b->offset_bytes ? -1 : 1;
    return (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

static int compare_names(const void *left, const void *right)
{
    const stk__safetensor *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static int compare_keys(const void *left, const void *right)
{
    const stk__safetensors_pair *a = left, *b = right;
    return strcmp(a->key, b->key);
}

/* Sorts the tensors by place: they must lie side by side and fill the data part. */
static stk_status check_places(stk__safetensors *file, stk_error *error)
{
    stk__safetensor *tensors = tensors_of(file);
    uint64_t next = 0;
    if (file->count > 1) qsort(tensors, (size_t)file->count, sizeof *tensors, compare_places);
    for (int i = 0; i < file->count; i++) {
        if (tensors[i].offset_bytes != next)
            return stk__fail(error, STK_ERROR_DATA, "tensor '%.80s' begins at %llu instead of %llu",
                             tensors[i].name, (unsigned long long)tensors[i].offset_bytes,
                             (unsigned long long)next);
        next += tensors[i].size_bytes; /* its end, below 2^63: the parser has seen to that */
    }
    if (next == file->data_bytes) return STK_OK;
    return stk__fail(error, STK_ERROR_DATA, "%llu bytes of data where the header has %llu",
                     (unsigned long long)file->data_bytes, (unsigned long long)next);
}

static stk_status check_names(stk__safetensors *file, stk_error *error)
{
    const size_t size = (size_t)file->count * sizeof file->by_name[0];
    stk__safetensors_pair *pairs = (stk__safetensors_pair *)(void *)file->list.pairs.data;
    const size_t pair_count = file->list.pairs.size_bytes / sizeof *pairs;
    if (size && !(file->by_name = stk__alloc(size)))
        return stk__fail_memory(error, size, "the names of tensors");
    for (int i = 0; i < file->count; i++)
        file->by_name[i] = &tensors_of(file)[i];
    if (file->count > 1) qsort(file->by_name, (size_t)file->count, sizeof file->by_name[0], compare_names);
    for (int i = 1; i < file->count; i++)
        if (compare_names(&file->by_name[i - 1], &file->by_name[i]) == 0)
            return stk__fail(error, STK_ERROR_DATA, "duplicate tensor '%.80s'", file->by_name[i]->name);
    if (pair_count > 1) qsort(pairs, pair_count, sizeof *pairs, compare_keys);
    for (size_t i = 1; i < pair_count; i++)
        if (compare_keys(&pairs[i - 1], &pairs[i]) == 0)
            return stk__fail(error, STK_ERROR_DATA, "duplicate metadata '%.80s'", pairs[i].key);
    return STK_OK;
}

static stk_status open_file(stk__safetensors *file, stk_error *error)
{
    struct stat facts;
    file->file = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->file < 0 || fstat(file->file, &facts) != 0)
        return stk__fail_errno(error, errno, "cannot open '%s'", file->path);
    if (!S_ISREG(facts.st_mode))
        return stk__fail(error, STK_ERROR_IO, "'%s' is not a regular file", file->path);
    STK__TRY(read_header(file, (uint64_t)facts.st_size, error));
    STK__TRY(stk__safetensors_parse((char *)file->header.data, file->header.size_bytes, &file->list, error));
    file->count = (int)(file->list.tensors.size_bytes / sizeof(stk__safetensor));
    STK__TRY(check_places(file, error));
    return check_names(file, error);
}

stk_status stk__safetensors_open(stk__safetensors **file, const char *path, stk_error *error)
{
    *file = stk__alloc(sizeof **file);
    if (!*file) return stk__fail_memory(error, sizeof **file, "a safetensors file");
    (*file)->file = -1;
    (*file)->path = stk__text_copy(path);
    stk_status status =
        (*file)->path ? open_file(*file, error) : stk__fail_memory(error, strlen(path) + 1, "a path");
    if (status == STK_OK) return STK_OK;
    stk__safetensors_close(file);
    if (status != STK_ERROR_MEMORY) stk__error_place(error, "%s", path);
    return status;
}

void stk__safetensors_close(stk__safetensors **file)
{
    if (!*file) return;
    if ((*file)->file >= 0) close((*file)->file);
    stk__free((*file)->path);
    stk__free((*file)->by_name);
    stk__buffer_fini(&(*file)->header);
    stk__buffer_fini(&(*file)->list.tensors);
    stk__buffer_fini(&(*file)->list.pairs);
    stk__free(*file);
    *file = NULL;
}

int stk__safetensors_count(const stk__safetensors *file)
{
    return file->count;
}

const stk__safetensor *stk__safetensors_at(const stk__safetensors *file, int index)
{
    return &tensors_of(file)[index];
}

const stk__safetensor *stk__safetensors_find(const stk__safetensors *file, const char *name)
{
    const stk__safetensor wanted = {.name = name}, *key = &wanted;
    if (file->count == 0) return NULL;
    const stk__safetensor *const *found =
        bsearch(&key, file->by_name, (size_t)file->count, sizeof file->by_name[0], compare_names);
    return found ? *found : NULL;
}

const char *stk__safetensors_metadata(const stk__safetensors *file, const char *key)
{
    const stk__safetensors_pair wanted = {.key = key};
    const size_t count = file->list.pairs.size_bytes / sizeof wanted;
    if (count == 0) return NULL;
    const stk__safetensors_pair *found =
        bsearch(&wanted, file->list.pairs.data, count, sizeof wanted, compare_keys);
    return found ? found->value : NULL;
}

stk_status stk__safetensors_read(const stk__safetensors *file, const stk__safetensor *tensor, void *data,
                                 stk_error *error)
{
    return read_at(file, data, tensor->size_bytes,
                   LENGTH_BYTES + file->header.size_bytes + tensor->offset_bytes, error);
}
