/* SPDX-License-Identifier: Apache-2.0 */
/* Does a network fit its data, and does its score on the validation part mean anything? */
#ifndef STK_SESSION_SESSION_CHECK_H
#define STK_SESSION_SESSION_CHECK_H

#include "session/session.h"
#include "session/trained_run.h"

/* The data set, before the trainer is opened: of one class there is nothing to learn. Refused, or, where
 * model.num_classes makes room for others, a warning. */
stk_status stk__session_check_data(const stk__session *session, stk_error *error);
/* The network knows all classes of the training part. The validation part, if there is one, has what the
 * network answers, in the sizes it was made for, and its classes and points have the numbers they have in the
 * training part; fewer classes are fine. */
stk_status stk__session_check_parts(const stk__session *session, stk_error *error);
/* The same for a run that is evaluated; learnt: what it was trained on, zeroed if its folder does not tell
 * (old ones do not). Images may have another size. */
stk_status stk__session_check_run(const stk__session *session, const stk__run_data *learnt, stk_error *error);

#endif
