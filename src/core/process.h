/* SPDX-License-Identifier: Apache-2.0 */
/* What this process has used so far, as the kernel tells it: CPU time, memory, its age. */
#ifndef STK_CORE_PROCESS_H
#define STK_CORE_PROCESS_H

#include <stdint.h>

double stk__process_cpu_s(void); /* of all threads, in user and kernel mode */
uint64_t stk__process_peak_bytes(void);
uint64_t stk__process_resident_bytes(void); /* now; 0: unknown */

/* Seconds from the start of this process to a moment of stk__clock_ns; NAN if the moment is 0 or the system
 * does not tell. */
double stk__process_age_s(uint64_t moment_ns);

#endif
