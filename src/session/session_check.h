/* SPDX-License-Identifier: Apache-2.0 */
/* Does a network fit its data, and does its score on the validation part mean anything? */
#ifndef STK_SESSION_SESSION_CHECK_H
#define STK_SESSION_SESSION_CHECK_H

#include "session/session.h"

/* The data set, before the trainer is opened: of one class there is nothing to learn. Refused, or, where
 * model.num_classes makes room for others, a warning. */
stk_status stk__session_check_data(const stk__session *session, stk_error *error);
/* The network knows all classes of the training part. The validation part, if there is one, has what the
 * network answers, in the sizes it was made for, and its classes have the numbers they have in the training
 * part; fewer are fine. */
stk_status stk__session_check_parts(const stk__session *session, stk_error *error);
/* The same for a run that is evaluated, as far as its folder tells what it learned from. Images may have
 * another size. */
stk_status stk__session_check_run(const stk__session *session, const char *run, stk_error *error);

#endif
