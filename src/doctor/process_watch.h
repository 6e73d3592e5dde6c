/* SPDX-License-Identifier: Apache-2.0 */
/* A running command seen from outside: its processes and the machine, from /proc and /sys alone. No root is
 * needed, nothing is changed in the processes; what may not be read stays unknown.
 *
 *     stk__process_watch_open(&watch, "", pid, error);
 *     while (stk__process_watch_look(watch, stk__clock_ns())) … every 250 ms …
 *     stk__process_watch_report(watch, &evidence, error);
 *     stk__process_watch_close(&watch);
 *
 * One thread at a time. A look takes milliseconds, whatever runs on the machine: the costly facts (command
 * lines, libraries, threads) of a few processes at a time, counters of those whose turn it is. */
#ifndef STK_DOCTOR_PROCESS_WATCH_H
#define STK_DOCTOR_PROCESS_WATCH_H

#include "doctor/evidence.h"

typedef struct stk__process_watch stk__process_watch;

/* root: of /proc and /sys, NULL or "" for the real ones. pid: where the command begins; STK_ERROR_ARGUMENT
 * when there is no such process. */
stk_status stk__process_watch_open(stk__process_watch **watch, const char *root, int32_t pid,
                                   stk_error *error);
void stk__process_watch_close(stk__process_watch **watch);

/* A process in which the hook has seen training; more are found by themselves. Also before it was looked at.
 */
void stk__process_watch_add_trainer(stk__process_watch *watch, int32_t pid);

/* now_ns: of stk__clock_ns. False: the process of `open` has ended. */
bool stk__process_watch_look(stk__process_watch *watch, uint64_t now_ns);

/* Sets processes, machine and watched_s of the evidence, which frees them. Between looks, as often as wanted.
 */
stk_status stk__process_watch_report(const stk__process_watch *watch, stk__evidence *evidence,
                                     stk_error *error);

#endif
