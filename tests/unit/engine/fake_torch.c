/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libtorch_cpu.so: says a version and can do nothing else. */
#include <stdint.h>

uint64_t aoti_torch_abi_version(void);

__attribute__((visibility("default"))) uint64_t aoti_torch_abi_version(void)
{
    return (uint64_t)2 << 56 | (uint64_t)MINOR << 48;
}
