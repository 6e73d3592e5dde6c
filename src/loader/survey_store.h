/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at masks that are kept in the user's cache, so that training again on the same files reads none of
 * them for it. A kept look counts only while sizes and times of all files are as they were. */
#ifndef STK_LOADER_SURVEY_STORE_H
#define STK_LOADER_SURVEY_STORE_H

#include "loader/mask_survey.h"

#include "core/hash.h"
#include "decode/decode.h"
#include "source/source.h"

/* Which look it is: the data set, the samples, and the settings that its result depends on. */
typedef struct stk__survey_request {
    const stk__source *source;
    const uint64_t *ids; /* [count] */
    size_t count;
    const stk__limits *limits;
    bool exif, frames_only;
} stk__survey_request;

typedef struct stk__survey_place {
    bool known, settled;    /* the files could be asked; none of them changed just now */
    stk__digest key, state; /* of the request; of the files */
} stk__survey_place;

stk__survey_place stk__survey_find(const stk__survey_request *request);

/* True: *survey is what was saved, but for part_count, chosen, seconds and the paths. Never fails: what
 * cannot be read or does not fit counts as absent. */
bool stk__survey_load(const stk__survey_place *place, const stk__survey_request *request,
                      stk__mask_survey *survey);

/* Surveys with corrupt samples are not kept, nor is anything where there is no place to write to. */
void stk__survey_save(const stk__survey_place *place, const stk__mask_survey *survey);

#endif
