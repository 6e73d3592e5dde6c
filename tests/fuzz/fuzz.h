/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target is one function of libFuzzer's form, and may bring a mutator of its own that keeps checksums
 * right. `make fuzz` links it with libFuzzer; elsewhere fuzz_driver.c takes its place, with the same options.
 * What targets share is below: they check that failures explain themselves, and feed bytes to readers that
 * want a file. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes data in place and returns its new size, at most `most`. The first is the target's, if it has one;
 * the second the engine's plain one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* A copy with `more` zero bytes behind it; the caller frees it. Its end is where the sanitizer looks. */
uint8_t *fuzz_copy(const uint8_t *data, size_t size, size_t more);

/* The status and its error agree, and the message is one line of text. Never out of memory: an input of some
 * kilobytes must not ask for much (every target limits what libstoker gets at once). */
void fuzz_check_failure(stk_status status, const stk_error *error);
void fuzz_check_damage(stk_status status, const stk_error *error); /* of a sample: it has a class */
void fuzz_check_place(const stk_error *error, const char *path);   /* the place starts with path */

/* From now on an allocation of libstoker over `most` bytes ends the program. */
void fuzz_limit_memory(size_t most);

/* A file with these bytes, in memory; the path ends in name. The same name again: the same path, other bytes.
 */
const char *fuzz_file(const char *name, const void *data, size_t size);
void fuzz_file_remove(const char *name);
const char *fuzz_folder(void); /* where these are */

#endif
