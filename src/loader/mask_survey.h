/* SPDX-License-Identifier: Apache-2.0 */
/* A look at the masks of a data set before anything is trained on them: ids and how often they occur, colors,
 * formats, sizes, the frame of images with an EXIF orientation. The samples are a function of the keys alone:
 * all, or those with the smallest hashes of their keys. So the result does not depend on the clock, the
 * machine or the number of threads. Decides nothing (mask_decision.h). */
#ifndef STK_LOADER_MASK_SURVEY_H
#define STK_LOADER_MASK_SURVEY_H

#include "loader/survey_palette.h"
#include "stoker/loader.h"

enum { STK_SURVEY_SAMPLES = 2000, STK_SURVEY_COLORS = 64, STK_SURVEY_PATH_BYTES = 512 };

typedef struct stk__survey_ids {
    uint64_t pixels[256], masks[256]; /* with this id, as stored */
    uint64_t first[256];              /* the smallest sample id of these masks */
    uint64_t beside_255; /* masks that have 255 and another id than 0: there 255 is not the foreground */
    uint64_t empty;      /* masks of 0 alone */
} stk__survey_ids;

typedef struct stk__survey_color {
    uint32_t color; /* 0xrrggbb */
    uint64_t pixels, masks;
} stk__survey_color;

/* The sample with the smallest id that … */
typedef struct stk__survey_example {
    uint64_t count; /* how many there are */
    uint64_t id;    /* of the first; unless count is 0 */
    char path[STK_SURVEY_PATH_BYTES];
} stk__survey_example;

typedef struct stk__mask_survey {
    uint64_t part_count; /* samples of the part */
    uint64_t chosen;     /* samples that were looked at */
    uint64_t looked;     /* masks that could be read */
    double seconds;
    bool kept;                    /* from an earlier look at the same files (survey_store.h) */
    stk__survey_example unusable; /* image or mask is corrupt */
    stk_error first_error;        /* of the first of them */

    stk__survey_ids ids;                          /* of masks of ids, and of RGB masks if all are gray */
    uint64_t indexed;                             /* masks with a palette */
    stk__survey_palette palette;                  /* of these */
    char palette_paths[2][STK_SURVEY_PATH_BYTES]; /* of two masks that do not agree */
    uint64_t gray_rgb;                            /* RGB masks that are gray */
    stk__survey_example colored;                  /* RGB masks that are not */
    stk__survey_example lossy;                    /* JPEG: ids are blurred */
    stk__survey_color colors[STK_SURVEY_COLORS];  /* of all RGB masks, ascending */
    int32_t color_count;
    bool more_colors; /* than there is room for: none are listed */

    stk__survey_example resized; /* another size than the image, the same aspect */
    stk__survey_example misfit;  /* another size and aspect */

    stk__survey_example oriented;        /* images with an EXIF orientation (data.exif) */
    stk__survey_example stored, upright; /* … whose sizes prove the frame of the mask */
} stk__mask_survey;

typedef struct stk__survey_options {
    uint64_t most;    /* samples; 0: all */
    int workers;      /* threads of core/pool.h; 0: the CPU budget */
    bool both_parts;  /* of a data set that data.val_split divides: what its classes are does not depend on
                         that */
    bool frames_only; /* headers alone, of masks only where the image has an EXIF orientation: nothing but
                         oriented, stored, upright, resized and misfit is filled */
} stk__survey_options;

/* Looks at samples of the loader's part. The loader may be held, or just be opening: its source, part and
 * limits are all that is used. Samples that are corrupt are counted; other failures are returned. */
stk_status stk__mask_survey_run(const stk_loader *loader, stk__survey_options options,
                                stk__mask_survey *survey, stk_error *error);

#endif
