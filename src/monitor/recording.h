/* Frames into a file, and out of it again. */
#ifndef STK_MONITOR_RECORDING_H
#define STK_MONITOR_RECORDING_H

#include "core/memory.h"
#include "stoker/monitor.h"

typedef struct stk__recording stk__recording;

stk_status stk__recording_create(stk__recording **recording, const char *path, const stk_gpu *gpus,
                                 int gpu_count, stk_error *error);
stk_status stk__recording_add(stk__recording *recording, const stk_monitor_frame *frame, stk_error *error);
stk_status stk__recording_close(stk__recording **recording, stk_error *error);

typedef struct stk__replay stk__replay;

stk_status stk__replay_open(stk__replay **replay, const char *path, stk_error *error);
int stk__replay_gpus(const stk__replay *replay, const stk_gpu **gpus); /* their number; owned by replay */
/* STK_END after the last. The frame belongs to the replay and lives until the next call. */
stk_status stk__replay_next(stk__replay *replay, stk_monitor_frame **frame, stk_error *error);
void stk__replay_close(stk__replay **replay);

#endif
