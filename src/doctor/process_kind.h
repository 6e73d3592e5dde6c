/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes of a command train, which load for them, which have only started others. */
#ifndef STK_DOCTOR_PROCESS_KIND_H
#define STK_DOCTOR_PROCESS_KIND_H

#include "doctor/process_record.h"

/* Sets kind, trainer, lost_ns and has_named_workers of all that are alive; who has ended keeps what he was.
 *
 *   worker    named so by PyTorch, or (PyTorch before 2.6) a forked, spawned or served child of a process
 * that has loaded PyTorch, and that neither has workers nor runs backward passes on a device trainer   has
 * loaded PyTorch, or the hook says so launcher  the parent, or one further up, of trainers; one that has
 * loaded PyTorch itself (torchrun) only while it is idle and has no workers orphan    a worker that has
 * outlived its trainer by more than the time after which PyTorch's end themselves helper    all others:
 * pools, compilers, the server that forks workers */
void stk__process_kinds(stk__process_record *records, int count, uint64_t now_ns);

#endif
