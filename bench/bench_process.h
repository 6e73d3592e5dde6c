/* What a process and all that it started have used: processes of one group, read from /proc. */
#ifndef STK_BENCH_PROCESS_H
#define STK_BENCH_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* CPU time since they started, ended children included. */
double stk__group_cpu_seconds(pid_t group);
/* Memory that is theirs alone: anonymous and shared memory, each page once however many of them have it. Code
 * and files they have mapped are not in it: these belong to the page cache. 0: the kernel does not tell. */
uint64_t stk__group_memory_bytes(pid_t group);

#endif
