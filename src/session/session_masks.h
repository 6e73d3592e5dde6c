/* SPDX-License-Identifier: Apache-2.0 */
/* A run looks at its masks before it trains on them; both of its parts then follow what was decided. */
#ifndef STK_SESSION_SESSION_MASKS_H
#define STK_SESSION_SESSION_MASKS_H

#include "loader/loader_open.h"
#include "session/session.h"

/* Fills *look, and makes session->masks for what will be found. A run that is resumed has its decisions in
 * its settings: then masks stays NULL, and nobody looks. */
stk_status stk__session_plan_look(stk__session *session, stk__mask_look *look, stk_error *error);

/* What was decided for the training part holds for the validation part, where it has no settings of its own.
 */
void stk__session_share_masks(stk__session *session);

/* Rows of the effects: the decisions in full, and where the network's number of classes comes from. */
stk_status stk__session_tell_masks(const stk__session *session, stk_error *error);

#endif
