/* SPDX-License-Identifier: Apache-2.0 */
/* Plays a recording (record.h) back as frames. */
#ifndef STK_MONITOR_REPLAY_H
#define STK_MONITOR_REPLAY_H

#include "monitor/record/record.h"

typedef struct stk__replay stk__replay;

/* Reads the first line. Errors name file and line. */
stk_status stk__replay_open(stk__replay **replay, const char *path, stk_error *error);
const stk__record_head *stk__replay_head(const stk__replay *replay); /* lives as long as replay */

/* The next frame, as it was; belongs to replay and lives until the next call. STK_END after the last;
 * STK_ERROR_DATA with the line that is corrupt or after which the recording is truncated. */
stk_status stk__replay_next(stk__replay *replay, stk_monitor_frame **frame, stk_error *error);
void stk__replay_close(stk__replay **replay);

#endif
