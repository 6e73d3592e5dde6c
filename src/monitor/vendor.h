/* SPDX-License-Identifier: Apache-2.0 */
/* All vendors' readers, each opened and closed in a thread with a deadline: a driver can hang there, too. */
#ifndef STK_MONITOR_VENDOR_H
#define STK_MONITOR_VENDOR_H

#include "monitor/gpu_reader.h"

enum { STK_VENDORS = 4 };

typedef struct stk__vendors {
    stk__gpu_reader *readers[STK_VENDORS]; /* [count] */
    int count;
    int left;          /* threads that hang in an open or a close */
    char absent[1024]; /* vendors without GPUs: the reason, one line each */
} stk__vendors;

/* ops ends with NULL. Fails only when out of memory or threads; a vendor without GPUs is in absent. */
stk_status stk__vendors_open(stk__vendors *vendors, const stk__reader_ops *const *ops, uint64_t deadline_ns,
                             stk_error *error);
void stk__vendors_close(stk__vendors *vendors, uint64_t deadline_ns);

#endif
