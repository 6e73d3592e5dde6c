/* SPDX-License-Identifier: Apache-2.0 */
/* What a network says of a sample, for people and for files: masks as pictures, points, classes, values, all
 * in terms of the original image. */
#ifndef STK_CLI_PREDICT_ANSWER_H
#define STK_CLI_PREDICT_ANSWER_H

#include "cli.h"
#include "session/trained_run.h"

#include "decode/decode.h"
#include "image/png_write.h"
#include "source/source.h"

typedef struct stk__answers {
    stk__task task;
    const stk__run_data *data;
    const stk__source *source;
    const char *folder; /* for pictures */
    bool overlay, upright, all_windows;
    uint64_t total;
    int width; /* of the names in front of answers */

    json_t *rows;     /* owned: one for each answer */
    json_t *failures; /* owned: {file, damage, error} */
    stk__progress progress;
    uint64_t done;
    stk_status status; /* the first failure that is not one sample's */
    stk_error error;

    stk__decoder *decoder; /* sizes of originals, and their pixels under overlays */
    stk__png_writer *png;
    stk__buffer bytes, picture, ids, mask, file;
    int64_t *counts; /* of classes in a mask */
} stk__answers;

stk_status stk__answers_init(stk__answers *answers, const stk__limits *limits, stk_error *error);
/* Aligns what stands behind the names. */
void stk__answers_measure(stk__answers *answers);
void stk__answers_fini(stk__answers *answers);

/* STK_ERROR_CONFIG when two samples would write the same picture. */
stk_status stk__answers_check_names(const stk__answers *answers, stk_error *error);

/* A stk__trainer_look. */
void stk__answers_look(void *answers, const stk_batch *batch, const stk_tensor *prediction);

/* Notes a file that cannot be used, and says so. */
void stk__answers_refuse(stk__answers *answers, const char *file, const char *damage, const char *detail);

#endif
