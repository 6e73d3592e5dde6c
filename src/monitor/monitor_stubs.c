/* In place of tally.c and recording.c, until they are there: then this file goes. */
#include "monitor/recording.h"
#include "monitor/tally.h"

stk_status stk__tally_create(stk__tally **tally, const stk_gpu *gpus, int gpu_count, stk_error *error)
{
    (void)gpus;
    (void)gpu_count;
    (void)error;
    *tally = NULL;
    return STK_OK;
}

void stk__tally_destroy(stk__tally **tally)
{
    *tally = NULL;
}

void stk__tally_add(stk__tally *tally, const stk_monitor_frame *frame)
{
    (void)tally;
    (void)frame;
}

void stk__tally_judge(stk__tally *tally, stk_monitor_summary *summary)
{
    (void)tally;
    *summary = (stk_monitor_summary){0};
}

stk_status stk__recording_create(stk__recording **recording, const char *path, const stk_gpu *gpus,
                                 int gpu_count, stk_error *error)
{
    (void)gpus;
    (void)gpu_count;
    *recording = NULL;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot record to '%s' yet", path);
}

stk_status stk__recording_add(stk__recording *recording, const stk_monitor_frame *frame, stk_error *error)
{
    (void)recording;
    (void)frame;
    (void)error;
    return STK_OK;
}

stk_status stk__recording_close(stk__recording **recording, stk_error *error)
{
    (void)error;
    *recording = NULL;
    return STK_OK;
}

stk_status stk__replay_open(stk__replay **replay, const char *path, stk_error *error)
{
    *replay = NULL;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot replay '%s' yet", path);
}

int stk__replay_gpus(const stk__replay *replay, const stk_gpu **gpus)
{
    (void)replay;
    *gpus = NULL;
    return 0;
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
