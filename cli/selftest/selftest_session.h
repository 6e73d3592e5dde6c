/* SPDX-License-Identifier: Apache-2.0 */
/* What the self-test's trainings share: one session at a time, as `stoker train` opens it. */
#ifndef STK_CLI_SELFTEST_SESSION_H
#define STK_CLI_SELFTEST_SESSION_H

#include "selftest.h"

#include "session/session.h"

typedef struct stk__selftest_setting {
    const char *key, *value; /* NULL: the end of a list */
} stk__selftest_setting;

extern stk__session stk__selftest_session;

stk_status stk__selftest_session_open(const stk__selftest_setting *common, const stk__selftest_setting *own,
                                      stk_error *error);
void stk__selftest_session_close(stk__selftest *t);
stk_status stk__selftest_session_step(stk_error *error); /* the next one, over the ends of epochs */

double stk__selftest_seconds_since(uint64_t start_ns);

#endif
