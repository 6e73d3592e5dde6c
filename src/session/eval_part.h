/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples an evaluation uses: the validation part of the run's data, all of another data set, or what
 * data.part says. */
#ifndef STK_SESSION_EVAL_PART_H
#define STK_SESSION_EVAL_PART_H

#include "session/session.h"

/* Chooses val_data.part, whose options have been applied, and clears what of the run's own settings does not
 * hold for it; the reasons become rows of the effects. For training it is the validation part. */
stk_status stk__session_choose_part(stk__session *session, stk_error *error);

/* data.limit holds for the training part, unless it is asked for where there is only an evaluation. */
bool stk__session_is_limited(const stk__session *session);

/* Is there anything to evaluate on? */
bool stk__session_has_part(const stk__session *session);

/* "all 123 samples of OTHER", "20 validation samples of DIR/val"; without the bad ones, which were left out
 * or replaced: "19 of 20 validation samples of DIR/val". */
void stk__session_print_part(const stk__session *session, uint64_t bad, char *text, size_t size);
/* Where the part of a loader lies: a root, or its folder train or val. */
void stk__session_print_root(const stk_loader_options *data, char *text, size_t size);

#endif
