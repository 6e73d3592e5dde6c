/* SPDX-License-Identifier: Apache-2.0 */
/* events.out.tfevents.*: what metrics.jsonl has, as TensorBoard reads it. Each start of a run has a file of
 * its own that begins with the step it resumes from, so that TensorBoard forgets what an earlier start did
 * beyond it. */
#ifndef STK_TRAIN_EVENT_FILE_H
#define STK_TRAIN_EVENT_FILE_H

#include "core/memory.h"

#include <jansson.h>

typedef struct stk__event_file { /* init/fini */
    const char *folder;
    int file;             /* -1: nothing was added yet */
    uint64_t step;        /* the file's first events come after it */
    char path[4096 + 64]; /* once the file is open */
    stk__buffer record;   /* reused */
} stk__event_file;

void stk__event_file_init(stk__event_file *events, const char *folder); /* folder must outlive it */
void stk__event_file_fini(stk__event_file *events);

/* Adds the numbers of a line of metrics.jsonl as scalars: "train/loss", "val/loss", "run/lr". What is null
 * has no scalar. */
stk_status stk__event_file_add(stk__event_file *events, const json_t *line, stk_error *error);

/* The check sum of TensorFlow's records: CRC-32C, rotated and shifted. */
uint32_t stk__event_check(const uint8_t *data, size_t size_bytes);

#endif
