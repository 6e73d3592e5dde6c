/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a data set for its statistics, a look at the other part for contents that are in both, then
 * the findings (stoker stats). */
#ifndef STK_SESSION_DATA_SCAN_H
#define STK_SESSION_DATA_SCAN_H

#include "session/stats/data_findings.h"
#include "session/loader_settings.h"

#include <jansson.h>

typedef struct stk__data_scan { /* zeroed; config and callbacks set; then run, and fini */
    stk__config *config;
    void (*opened)(void *context, stk_loader *loader); /* each loader; NULL: it closes. May be NULL */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total); /* may be NULL */
    stk_ledger_sink bad; /* each bad sample of the part; may be NULL */
    void *context;

    stk__session_loading loading; /* options in effect */
    stk_loader *loader;           /* of the part: open until fini, names of samples are in it */
    int hung;                     /* threads that were given up */
    stk__data_stats *stats;
    stk__finding findings[STK_FINDING_MOST];
    int finding_count;
} stk__data_scan;

/* STK_ERROR_INTERRUPTED after stk_loader_interrupt on the loader that `opened` named last. */
stk_status stk__data_scan_run(stk__data_scan *scan, stk_error *error);
/* The number of threads that hang and were given up, as stk__session_close. */
int stk__data_scan_fini(stk__data_scan *scan);

/* --- data_stats_json.c ----------------------------------------------------------------------------------
 */

/* Everything that was found, {"schema": 1, …}; NULL: out of memory. */
json_t *stk__data_scan_json(const stk__data_scan *scan);

/* --- data_thumbs.c --------------------------------------------------------------------------------------
 */

/* The page with samples to look at: those of the findings, and others spread over the part. */
stk_status stk__data_scan_write_page(stk__data_scan *scan, const json_t *report, const char *path,
                                     stk_error *error);

#endif
