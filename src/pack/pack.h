/* SPDX-License-Identifier: Apache-2.0 */
/* Packing: a data set with images becomes WebDataset shards (source/shards/shard.h) with their indices, below
 * a folder:
 *
 *   pack.json                              settings, data set, how far it is (pack_state.h)
 *   shard-000000.tar shard-000000.tar.index …   the samples in the order of ids
 *   classes.txt, points.txt                if classes, or points, have names
 *   ledger.jsonl                           samples that were left out, if any
 *   lock                                   one process at a time
 *
 * A data set with parts gets these below train/, val/ and test/, but for pack.json and the lock. Starting
 * again resumes after the last complete shard; whenever it was stopped, all files end with the same bytes. */
#ifndef STK_PACK_PACK_H
#define STK_PACK_PACK_H

#include "core/option.h"
#include "stoker/loader.h"

#include <stdatomic.h>

enum { STK_PACK_FAIL, STK_PACK_SKIP }; /* settings.on_bad_sample */

/* Section `pack`; zero means default. */
typedef struct stk__pack_settings {
    uint64_t shard_bytes;
    int64_t shard_samples; /* 0: as many as fit */
    int on_bad_sample;
    int64_t num_workers; /* 0: by the CPU budget; -1: none, in the caller's thread */
    double timeout_s;
    uint64_t limit_bytes, limit_pixels;
    int64_t limit_scans, limit_warnings;
    double limit_time_s;
    stk_layout layout; /* how the data set is read, as in stk_loader_options */
    const char *columns, *images, *masks, *mask_suffix, *mask_prefix;
    const char *train_list, *val_list, *test_list;
    const char *mask_colors; /* of RGB masks, which are packed as ids; NULL: they must be gray */
} stk__pack_settings;

extern const stk__option_table stk__pack_options;

/* How far it is; of all parts together, earlier starts included. */
typedef struct stk__pack_report {
    uint64_t count; /* samples of the data set */
    uint64_t packed, left_out;
    uint64_t kept;                       /* JPEGs among the packed that are stored as they were */
    uint64_t found;                      /* packed or left out by earlier starts */
    uint64_t shards, bytes;              /* of the shards, without indices */
    uint64_t source_bytes, stored_bytes; /* of images and masks: as they were, as they are packed */
    double seconds;                      /* of this start */
    int workers;
    int hanging; /* threads that were given up: leave by _exit */
} stk__pack_report;

typedef struct stk__pack_request {
    const char *root;   /* the data set */
    const char *folder; /* where the pack goes: new, empty, or begun by the same request */
    stk__pack_settings settings;
    const atomic_bool *stop; /* true: end soon with STK_ERROR_INTERRUPTED; may be NULL */
    /* Called by the caller's thread a few times a second at least; may be NULL. */
    void (*show)(void *context, const stk__pack_report *done);
    void *context;
} stk__pack_request;

/* STK_ERROR_DATA: nothing to pack here. STK_ERROR_STATE: the folder belongs to another data set, other
 * settings or another process. The report is filled in any case. */
stk_status stk__pack_run(const stk__pack_request *request, stk__pack_report *report, stk_error *error);

#endif
