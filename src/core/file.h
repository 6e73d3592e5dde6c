/* SPDX-License-Identifier: Apache-2.0 */
/* Reading whole files into reused buffers, and writing files that are there completely or not at all. */
#ifndef STK_CORE_FILE_H
#define STK_CORE_FILE_H

#include "core/memory.h"

/* Reads the whole regular file at path into buffer (size_bytes = its size; followed by 64 zero bytes that do
 * not count, for decoders that look ahead). Never blocks on pipes. Failures are damages of class missing,
 * dangling_link, no_permission, not_a_file, read_error, too_many_bytes (over limit_bytes; 0: no limit); an
 * empty file is STK_OK with size 0. place is set to path. */
stk_status stk__file_read(const char *path, uint64_t limit_bytes, stk__buffer *buffer, stk_error *error);

/* The same behind what the buffer has already: size_bytes grows by the file's size. */
stk_status stk__file_append(const char *path, uint64_t limit_bytes, stk__buffer *buffer, stk_error *error);

/* The damage that stands for an open that failed; STK_ERROR_IO or STK_ERROR_MEMORY when it is the process
 * that has no more files or memory. place is set to path. */
stk_status stk__file_refuse(const char *path, int error_number, stk_error *error);

/* Sets the hint when it is files or memory that ran out; false for every other error number, where the file
 * itself is to blame. */
bool stk__file_explain_lack(int error_number, stk_error *error);

/* Asks the kernel to bring the file into memory soon. Best effort. */
void stk__file_hint(const char *path);

typedef enum stk__file_care {
    STK_FILE_DURABLE = 0, /* on the disk when the call returns: states, checkpoints */
    STK_FILE_QUICK = 1,   /* whole or not there, but a power cut may undo it: files that can be made again */
    STK_FILE_NAMED = 2    /* with either: a path that the user named, whose links are followed */
} stk__file_care;

/* Writes path completely or not at all: an unnamed file (or a temporary name where there are none, or no
 * /proc), then the name. What exists at path decides:
 *
 *     a regular file         replaced
 *     a device or a FIFO     written through (a FIFO waits for its reader); so is an open file, /dev/stdout
 *     a link, NAMED          the same for what it leads to; the link stays
 *     a link, else           replaced: in a folder that others may write to it could lead anywhere
 */
stk_status stk__file_write(const char *path, stk__buffer data, stk__file_care care, stk_error *error);

/* The hint for a write that failed because the disk, a quota or a limit on file sizes is full, and what to do
 * then (" and try again"); false for every other error number. */
bool stk__file_explain_full(int error_number, const char *then, stk_error *error);

/* All bytes to an open file, however many writes that takes. 0, or an errno; then some may be written. */
int stk__file_write_all(int file, const void *data, size_t size_bytes);

/* A temporary name that stk__file_write had to leave behind when its process died: "run.json.tmp-4711". */
bool stk__file_is_left_over(const char *name);

/* mkdir -p */
stk_status stk__folder_make(const char *path, stk_error *error);

#endif
