/* SPDX-License-Identifier: Apache-2.0 */
/* Tar files byte by byte, right or wrong as a test wants them. Everything stops the test when it goes wrong.
 */
#ifndef TARBALL_H
#define TARBALL_H

#include "core/memory.h"

typedef struct tarball {
    stk__buffer bytes;
} tarball;

/* A ustar header; returns its offset. type: '0' a file. */
size_t tarball_header(tarball *ball, const char *name, char type, uint64_t size);
void tarball_sum(tarball *ball, size_t header);                  /* its checksum anew, after a change */
void tarball_data(tarball *ball, const void *data, size_t size); /* padded to whole blocks */

/* A file of ustar; returns the offset of its header. */
size_t tarball_file(tarball *ball, const char *name, const void *data, size_t size);
size_t tarball_text(tarball *ball, const char *name, const char *text);

/* A pax header ('x', or 'g' for all that follow) with one record; a GNU header ('L' or 'K') with a name. */
size_t tarball_record(tarball *ball, char type, const char *key, const char *value);
size_t tarball_records(tarball *ball, char type, const char *records); /* as they are */
size_t tarball_long_name(tarball *ball, char type, const char *name);

void tarball_end(tarball *ball); /* two zero blocks */
void tarball_write(const tarball *ball, const char *path);
void tarball_clear(tarball *ball);

#endif
