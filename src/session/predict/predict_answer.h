/* SPDX-License-Identifier: Apache-2.0 */
/* What a network says about samples without targets, in terms of the original images: class probabilities,
 * masks and overlays as PNG files, points, values. Each answer becomes a row of JSON; the caller is called
 * with each row and with each file that is refused, and shows them as it likes. */
#ifndef STK_SESSION_PREDICT_ANSWER_H
#define STK_SESSION_PREDICT_ANSWER_H

#include "session/predict/predict_original.h"
#include "session/trained_run.h"

#include "image/png_write.h"
#include "source/source.h"

#include <limits.h>

/* A row: {file, …} with the keys that fit the task (docs/runs.md), borrowed for the time of the call. Texts
 * in it are UTF-8; the bytes of a name come from the source, by id. After a failure (status of the answers)
 * the row has what was there until then. */
typedef void (*stk__answer_row)(void *context, uint64_t id, const json_t *row);
/* A file that cannot be used. damage: class of damage, or NULL: not known. */
typedef void (*stk__answer_refusal)(void *context, const char *file, const char *damage, const char *detail);

typedef struct stk__answers { /* zeroed, the first part set, then init and fini */
    stk__task task;
    const stk__run_data *data; /* names of classes */
    const stk__source *source;
    const char *folder; /* for pictures */
    bool overlay;       /* write overlays, too */
    bool upright;       /* the network sees images as EXIF says */
    stk__answer_row on_row;
    stk__answer_refusal on_refusal; /* both may be NULL */
    void *context;

    json_t *rows;      /* owned: one for each answer */
    json_t *failures;  /* owned: {file, damage, error}; NULL: none */
    uint64_t done;     /* samples so far, those without an answer too */
    stk_status status; /* the first failure that is not one sample's */
    stk_error error;

    stk__original original; /* sizes, and pixels under overlays */
    stk__png_writer *png;
    stk__buffer ids, mask, file;
} stk__answers;

stk_status stk__answers_init(stk__answers *answers, const stk__limits *limits, stk_error *error);
void stk__answers_fini(stk__answers *answers);

/* STK_ERROR_CONFIG when two samples would write the same picture. */
stk_status stk__answers_check_names(const stk__answers *answers, stk_error *error);
/* Where the picture of a sample is written: end is ".png" or ".overlay.png". */
void stk__answers_path(const stk__answers *answers, uint64_t id, const char *end, char path[PATH_MAX]);

/* A stk__trainer_look. */
void stk__answers_look(void *answers, const stk_batch *batch, const stk_tensor *prediction);
/* Adds a file that cannot be used to the failures; also before init. */
void stk__answers_refuse(stk__answers *answers, const char *file, const char *damage, const char *detail);

/* The report: {schema, task, checkpoint, predictions, failures}; a new reference. */
json_t *stk__answers_json(const stk__answers *answers, const char *checkpoint);
/* Writes it as predictions.json into the folder, which is made. */
stk_status stk__answers_write(const stk__answers *answers, const char *checkpoint, stk_error *error);

#endif
