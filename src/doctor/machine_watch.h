/* SPDX-License-Identifier: Apache-2.0 */
/* The machine, and the part of it that a command may use, while it is watched. */
#ifndef STK_DOCTOR_MACHINE_WATCH_H
#define STK_DOCTOR_MACHINE_WATCH_H

#include "doctor/evidence.h"

typedef struct stk__machine_watch stk__machine_watch;

/* root: of /proc and /sys, "" for the real ones. */
stk_status stk__machine_watch_open(stk__machine_watch **watch, const char *root, stk_error *error);
void stk__machine_watch_close(stk__machine_watch **watch);

/* pid: a living process of the command, whose control groups and affinity count; 0: none. text:
 * STK_HOST_TEXT_BYTES of room. */
void stk__machine_watch_look(stk__machine_watch *watch, int32_t pid, char *text, uint64_t now_ns);

/* All but what only the processes tell (storage, workers, page cache). */
void stk__machine_watch_report(const stk__machine_watch *watch, stk__machine_evidence *machine);

#endif
