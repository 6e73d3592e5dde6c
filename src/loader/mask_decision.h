/* SPDX-License-Identifier: Apache-2.0 */
/* From a look at the masks (mask_survey.h) to what is done with them: number of classes, map of ids, colors,
 * frame. Where two readings are possible it is a refusal that names both, with the setting that chooses. */
#ifndef STK_LOADER_MASK_DECISION_H
#define STK_LOADER_MASK_DECISION_H

#include "loader/mask_survey.h"

/* What was asked for. */
typedef struct stk__mask_given {
    const char *map;       /* data.mask_map; NULL or "auto": to be decided */
    const char *colors;    /* data.mask_colors; NULL: masks have none */
    int32_t color_classes; /* of a table that was named: its classes */
    stk_mask_frame frame;  /* data.mask_frame; AUTO: to be decided */
    int32_t class_count;   /* data.num_classes, or as many as are named; 0: to be decided */
    int64_t ignore_index;  /* loss.ignore_index beside 255; negative: none */
} stk__mask_given;

/* Values of the settings with the reasons; a reason that is empty: as it was asked for. */
typedef struct stk__mask_decision {
    bool looked;
    uint64_t masks, part_count, resized; /* masks looked at, of so many; of another size than the image */
    double seconds;
    bool kept; /* the look is an earlier one: no file has changed */
    int32_t class_count;
    char count_why[160];
    char map[2304], map_why[160]; /* map empty: ids as stored */
    char colors[1024], colors_why[160];
    stk_mask_frame frame;
    char frame_why[160];
} stk__mask_decision;

/* decision is zeroed. STK_ERROR_DATA or STK_ERROR_CONFIG: a refusal. */
stk_status stk__mask_decide(const stk__mask_survey *survey, const stk__mask_given *given,
                            stk__mask_decision *decision, stk_error *error);

/* The rule for the frame alone; fills d->frame and its reason. */
stk_status stk__mask_decide_palettes(const stk__mask_survey *survey, const stk__mask_given *given,
                                     stk_error *error);

stk_status stk__mask_decide_frame(const stk__mask_survey *survey, const stk__mask_given *given,
                                  stk__mask_decision *decision, stk_error *error);

/* data.mask_map: "none", "threshold" (128 and above is 1) or "0:0,255:1" into 256 entries each; *on: there is
 * a map, *lossy: it is a threshold. */
typedef struct stk__mask_map {
    bool on, lossy;
    uint8_t to[256];
    bool known[256];
} stk__mask_map;

stk_status stk__mask_map_read(stk__mask_map *map, const char *text, stk_error *error);

#endif
