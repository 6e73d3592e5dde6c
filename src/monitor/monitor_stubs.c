/* In place of record.c and replay.c, until they are there: then this file goes. */
#include "monitor/replay.h"

stk_status stk__recorder_open(stk__recorder **recorder, const char *path, const stk__record_head *head,
                              stk_error *error)
{
    (void)head;
    *recorder = NULL;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot record to '%s' yet", path);
}

stk_status stk__recorder_write(stk__recorder *recorder, const stk_monitor_frame *frame, stk_error *error)
{
    (void)recorder;
    (void)frame;
    (void)error;
    return STK_OK;
}

stk_status stk__recorder_close(stk__recorder **recorder, stk_error *error)
{
    (void)error;
    *recorder = NULL;
    return STK_OK;
}

stk_status stk__replay_open(stk__replay **replay, const char *path, stk_error *error)
{
    *replay = NULL;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot replay '%s' yet", path);
}

const stk__record_head *stk__replay_head(const stk__replay *replay)
{
    static const stk__record_head none;
    (void)replay;
    return &none;
}

stk_status stk__replay_next(stk__replay *replay, stk_monitor_frame **frame, stk_error *error)
{
    (void)replay;
    (void)frame;
    (void)error;
    return STK_END;
}

void stk__replay_close(stk__replay **replay)
{
    *replay = NULL;
}
