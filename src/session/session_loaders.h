/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a session: its two loaders. */
#ifndef STK_SESSION_SESSION_LOADERS_H
#define STK_SESSION_SESSION_LOADERS_H

#include "session/session.h"

/* Settings of the other sections have been read, the engine is open. */
stk_status stk__session_open_training(stk__session *session, stk_error *error);
/* Leaves val_loader NULL where there is no validation part; STK_ERROR_CONFIG if the session only evaluates.
 */
stk_status stk__session_open_validation(stk__session *session, stk_error *error);

/* Both are opened held: now they begin to load. */
stk_status stk__session_start_loaders(stk__session *session, stk_error *error);

#endif
