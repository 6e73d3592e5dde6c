/* SPDX-License-Identifier: Apache-2.0 */
/* The files that fuzzing starts from, made by the tests' own helpers: FOLDER/TARGET/NAME. */
#ifndef TEST_FUZZ_SEEDS_H
#define TEST_FUZZ_SEEDS_H

#include <stddef.h>

/* Writes one seed; ends the program if that fails. */
void fuzz_seed(const char *target, const char *name, const void *data, size_t size);
void fuzz_seed_text(const char *target, const char *name, const char *text);

void fuzz_seed_pictures(void); /* jpeg, png, npy, pack */
void fuzz_seed_tables(void);   /* list */
void fuzz_seed_runs(void);     /* safetensors, state */
void fuzz_seed_shards(void);   /* tar */

#endif
