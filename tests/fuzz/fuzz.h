/* A fuzz target is one function of libFuzzer's form; the driver mutates seeds for a while without libFuzzer.
 * With it: clang -fsanitize=fuzzer,address,undefined, the target and libstoker.a built by clang. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const char *const fuzz_words[]; /* that the driver puts in; NULL at the end */

#endif
