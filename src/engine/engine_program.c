/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of a process that trains, beside everything that grows with network and data: the code of the
 * program and of its libraries that is touched, stacks and heaps of threads, what an engine's library takes
 * with its first runs.
 *
 * Measured as the peak (VmHWM) of runs of tiny networks, less what is planned for them, the largest of them:
 *     tests/train/plan_check.py build/cli/stoker --program
 * on Debian 12 (glibc 2.36, oneDNN 2.6.3, PyTorch 2.15.0), x86-64, 2 CPUs; the same command checks it
 * elsewhere. */
#include "engine/engine_program.h"

#include <string.h>

enum { MB = 1000000 };

uint64_t stk__engine_program_bytes(const stk__engine *engine)
{
    static const struct {
        const char *name;
        uint64_t bytes, thread_bytes; /* of each thread of the engine */
    } rows[] = {{"reference", 12 * MB, 0}, {"onednn", 30 * MB, MB / 2}, {"torch", 139 * MB, MB}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, engine->info.name) == 0)
            return rows[i].bytes + (uint64_t)engine->info.threads * rows[i].thread_bytes;
    return rows[0].bytes;
}

/* PyTorch on CPUs: what its operators allocate (torch_inside.c) lies in one piece of memory. oneDNN in it
 * brings code, and what it generates, for convolutions and for products in bf16; as measured with the same
 * command, and with batches of one (few convolutions are oneDNN's then, the rest are PyTorch's own). */
uint64_t stk__engine_temporary_bytes(const stk__engine_info *info, const stk__engine_load *load)
{
    enum { OWN_BYTES = 6 * MB, FEW = 4, FEW_BYTES = 14 * MB, MANY_BYTES = 24 * MB };
    enum { BF16_BYTES = 8 * MB, BF16_MORE_BYTES = 2 * MB };
    if (strcmp(info->name, "torch") != 0 || info->device != STK_DEVICE_CPU) return 0;
    const uint64_t code = load->generating_ops >= FEW ? MANY_BYTES
                          : load->generating_ops      ? FEW_BYTES
                          : load->convolves           ? OWN_BYTES
                                                      : 0;
    const uint64_t bf16 = !load->bf16 ? 0 : code ? BF16_MORE_BYTES : BF16_BYTES;
    return code + bf16 + load->inside_bytes;
}
