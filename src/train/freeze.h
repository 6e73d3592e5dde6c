/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers are frozen: a text of patterns, "enc stem.conv1 head*". A pattern is a layer's name or the
 * beginning of it up to a dot; '*' stands for anything. Blanks and commas separate. */
#ifndef STK_TRAIN_FREEZE_H
#define STK_TRAIN_FREEZE_H

#include "train/network/network.h"

/* freeze may be NULL: nothing is frozen. */
bool stk__freeze_matches(const char *freeze, const char *layer);

/* A pattern that matches no layer with parameters would do nothing: STK_ERROR_CONFIG, with the nearest name.
 */
stk_status stk__freeze_check(const char *freeze, const stk__network *network, const stk__op_form *forms,
                             stk_error *error);

#endif
