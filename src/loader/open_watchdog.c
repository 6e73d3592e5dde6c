/* SPDX-License-Identifier: Apache-2.0 */
/* A watchdog for calls that block in the caller's own thread (opening a data set on a slow disk): a thread
 * that logs a warning when its patience is over and ends when the call returns. */
#include "loader/open_watchdog.h"

#include "core/clock.h"
#include "core/logger.h"

static void watch(void *argument)
{
    stk__open_watchdog *watchdog = argument;
    const uint64_t start = stk__clock_ns(), patience_ns = stk__seconds_ns(watchdog->patience_s);
    pthread_mutex_lock(&watchdog->lock);
    for (uint64_t deadline = start + patience_ns; !watchdog->done; deadline += patience_ns) {
        while (!watchdog->done && stk__cond_wait(&watchdog->end, &watchdog->lock, deadline))
            continue;
        if (!watchdog->done)
            stk__log(STK_LOG_WARNING, "%s has taken %.1f s so far: very many files, or storage that hangs",
                     watchdog->what, (double)(stk__clock_ns() - start) * 1e-9);
    }
    pthread_mutex_unlock(&watchdog->lock);
}

stk_status stk__open_watchdog_start(stk__open_watchdog *watchdog, const char *what, double patience_s,
                                    stk_error *error)
{
    *watchdog = (stk__open_watchdog){.what = what, .patience_s = patience_s};
    STK__TRY(stk__cond_init(&watchdog->end, error));
    pthread_mutex_init(&watchdog->lock, NULL);
    const stk__thread_options options = {.name = "stk-watchdog", .run = watch, .context = watchdog};
    const stk_status status = stk__thread_start(&watchdog->thread, &options, error);
    if (status != STK_OK) stk__open_watchdog_stop(watchdog);
    return status;
}

void stk__open_watchdog_stop(stk__open_watchdog *watchdog)
{
    pthread_mutex_lock(&watchdog->lock);
    watchdog->done = true;
    pthread_cond_signal(&watchdog->end);
    pthread_mutex_unlock(&watchdog->lock);
    while (!stk__thread_join(&watchdog->thread, stk__clock_ns() + STK_SECOND_NS))
        continue; /* it only wakes up and ends */
    pthread_mutex_destroy(&watchdog->lock);
    pthread_cond_destroy(&watchdog->end);
}
