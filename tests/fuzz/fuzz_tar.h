/* SPDX-License-Identifier: Apache-2.0 */
/* A shard as a data set: every sample can be read, with facts that can be trained on, or is a damage with its
 * place. */
#ifndef TEST_FUZZ_TAR_H
#define TEST_FUZZ_TAR_H

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_shard {
    const uint8_t *data;
    size_t size;
    const char *path;
} fuzz_shard;

void fuzz_tar_open(fuzz_shard shard);

#endif
