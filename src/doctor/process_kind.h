/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes of a command train, which load for them, which have only started others. */
#ifndef STK_DOCTOR_PROCESS_KIND_H
#define STK_DOCTOR_PROCESS_KIND_H

#include "doctor/process_record.h"

/* Sets kind, trainer, lost_ns and has_named_workers of all that are alive; who has ended keeps what he was.
 *
 *   worker    named so by PyTorch; without that name a child of a process that has loaded PyTorch, forked
 *             (by a PyTorch that names none) or spawned (also one that still imports), which has no
 *             children like it and runs no backward passes on a device
 *   trainer   has loaded PyTorch, or the hook says that it trains
 *   launcher  started trainers, directly or not; one that has loaded PyTorch itself (torchrun) is no
 *             trainer only while it is idle and has no workers
 *   orphan    a worker that has outlived its trainer for longer than PyTorch's need to notice
 *   helper    all others: pools, compilers, the server that forks workers */
void stk__process_kinds(stk__process_record *records, int count, uint64_t now_ns);

#endif
