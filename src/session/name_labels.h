/* SPDX-License-Identifier: Apache-2.0 */
/* Labels in the names of files: cat.0.jpg, beagle_12.jpg, 25_0_2_2017.jpg (UTKFace). They are not read, but a
 * refusal can say what to write. */
#ifndef STK_SESSION_NAME_LABELS_H
#define STK_SESSION_NAME_LABELS_H

#include "stoker/loader.h"

typedef struct stk__name_labels {
    char folder[256];          /* of the first sample, with '/' at the end */
    char file[128], label[64]; /* "cat.0.jpg", "cat" */
    int different;             /* labels among the first samples; 0: numbers with '_' between */
} stk__name_labels;

bool stk__name_labels_find(const stk_loader *loader, stk__name_labels *found);

#endif
