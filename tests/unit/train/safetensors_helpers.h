/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory, good and bad. */
#ifndef STK_TESTS_SAFETENSORS_HELPERS_H
#define STK_TESTS_SAFETENSORS_HELPERS_H

#include "train/checkpoint/safetensors.h"

#include "support/workspace.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

/* A file in memory, by the name /proc/self/fd/N. */
typedef struct memory_file {
    int file;
    char path[32];
} memory_file;

static inline memory_file make_file(void)
{
    memory_file f = {.file = memfd_create("safetensors", MFD_CLOEXEC)};
    assert_true(f.file >= 0);
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.file);
    return f;
}

static inline void put(const memory_file *f, const void *data, size_t size)
{
    assert_int_equal(ftruncate(f->file, 0), 0);
    assert_int_equal(pwrite(f->file, data, size, 0), (ssize_t)size);
}

/* 8 bytes length, the header, data_bytes zeros. */
static inline void put_header(const memory_file *f, const char *header, size_t header_bytes,
                              size_t data_bytes)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)header_bytes >> 8 * i);
    put(f, length, 8);
    assert_int_equal(pwrite(f->file, header, header_bytes, 8), (ssize_t)header_bytes);
    assert_int_equal(ftruncate(f->file, (off_t)(8 + header_bytes + data_bytes)), 0);
}

static inline stk__safetensors *open_good(const char *path)
{
    stk__safetensors *file;
    stk_error error = {0};
    if (stk__safetensors_open(&file, path, &error) != STK_OK) fail_msg("%s: %s", path, error.message);
    return file;
}

/* A good file: five tensors, 43 bytes of data that count up. */
static inline stk_status build(stk__buffer *text, stk_error *error)
{
    static const char *const metadata[][2] = {{"format", "pt"}, {"quo\"te\\", "line\n"}};
    stk__safetensor tensors[] = {
        {.name = "norm.num_batches_tracked", .dtype = STK_DTYPE_I64},
        {.name = "conv.weight", .dtype = STK_DTYPE_F32, .shape = {4, {2, 1, 3, 1}}},
        {.name = "empty", .dtype = STK_DTYPE_F32, .shape = {2, {0, 4}}},
        {.name = "h\xc3\xa4lfte", .dtype = STK_DTYPE_F16, .shape = {1, {3}}},
        {.name = "mask", .dtype = STK_DTYPE_U8, .shape = {1, {5}}},
    };
    STK__TRY(stk__safetensors_header(tensors, 5, metadata, 2, text, error));
    uint8_t data[8 + 24 + 6 + 5];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    assert_int_equal(tensors[4].offset_bytes + tensors[4].size_bytes, sizeof data);
    return stk__buffer_append(text, data, sizeof data, error);
}

#endif
