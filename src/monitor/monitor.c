/* SPDX-License-Identifier: Apache-2.0 */
/* Frames at fixed intervals: from GPUs and host, or from a recording; each is added to the statistics
 * (gpu_stats.h) and, if requested, recorded (record.h). */
#include "stoker/monitor.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/sized.h"
#include "monitor/host/host_frame.h"
#include "monitor/record/record.h"
#include "monitor/record/replay.h"
#include "monitor/sampler.h"
#include "monitor/verdict/gpu_stats.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SHORTEST_INTERVAL_S 0.01
#define LONGEST_INTERVAL_S  86400.0

/* Of stk_monitor_options in version 0.1. */
enum { FIRST_OPTIONS_BYTES = offsetof(stk_monitor_options, record) + sizeof(const char *) };
_Static_assert((int)STK_METRIC_COUNT <= STK_METRIC_CAPACITY, "frames have no room for so many readings");

static const double default_interval_s = 1, default_deadline_s = 2;

struct stk_monitor {
    stk__sampler *sampler;   /* NULL: a replay */
    stk__replay *replay;     /* NULL: GPUs */
    stk__recorder *recorder; /* NULL: none */
    stk__host *host;
    bool demo_host;        /* made up as the GPUs are */
    uint64_t demo_from_ns; /* of the first frame */
    stk__gpu_stats *stats;
    int interrupted; /* eventfd: readable after stk_monitor_interrupt */
    uint64_t interval_ns, duration_ns, count;
    uint64_t number; /* of the next frame */
    bool last;       /* no frame after this one */
    stk_monitor_frame frame;
};

static stk_status check_options(const stk_monitor_options *o, stk_error *error)
{
    const double interval_s = o->interval_s;
    if (interval_s != 0 && !(interval_s >= SHORTEST_INTERVAL_S && interval_s <= LONGEST_INTERVAL_S)) {
        stk__fail(error, STK_ERROR_ARGUMENT, "interval %g s is out of range", interval_s);
        stk__error_hint(error, "from %g s to %g s", SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S);
        return STK_ERROR_ARGUMENT;
    }
    if (!(o->duration_s >= 0 && o->duration_s < 1e9))
        return stk__fail(error, STK_ERROR_ARGUMENT, "duration %g s is out of range", o->duration_s);
    if (!(o->deadline_s >= 0 && o->deadline_s <= 3600))
        return stk__fail(error, STK_ERROR_ARGUMENT, "deadline %g s is out of range", o->deadline_s);
    if (o->pid < 0) return stk__fail(error, STK_ERROR_ARGUMENT, "%d is not a process id", (int)o->pid);
    return STK_OK;
}

static stk_status open_gpus(stk_monitor *m, const stk_monitor_options *o, stk_error *error)
{
    static const stk__reader_ops *const demo[] = {&stk__reader_demo, NULL};
    const stk__sampler_options options = {
        .readers = o->demo ? demo : stk__readers,
        .gpus = o->gpus,
        .interval_s = o->interval_s > 0 ? o->interval_s : default_interval_s,
        .deadline_s = o->deadline_s > 0 ? o->deadline_s : default_deadline_s};
    m->interval_ns = stk__seconds_ns(options.interval_s);
    m->duration_ns = stk__seconds_ns(o->duration_s);
    const char *root = getenv("STOKER_MONITOR_ROOT");
    m->demo_host = o->demo && !o->pid && !root; /* a job is a real one */
    STK__TRY(stk__host_open(&m->host, o->pid, root, error));
    STK__TRY(stk__sampler_open(&m->sampler, &options, error));
    m->frame.gpu_count = stk__sampler_gpus(m->sampler, &m->frame.gpus);
    if (!m->frame.gpu_count) return STK_OK;
    const size_t size_bytes = (size_t)m->frame.gpu_count * sizeof m->frame.gpu_frames[0];
    m->frame.gpu_frames = stk__alloc(size_bytes);
    return m->frame.gpu_frames ? STK_OK : stk__fail_memory(error, size_bytes, "frames");
}

/* Describes the GPUs to the recording and the statistics. */
static stk__record_head head_of(const stk_monitor *m, const stk_monitor_options *o)
{
    stk__record_head head = {.interval_s = (double)m->interval_ns / 1e9, .pid = o->pid};
    if (m->replay) return *stk__replay_head(m->replay);
    head.absent = stk__sampler_absent(m->sampler);
    head.gpu_count = stk__sampler_gpus(m->sampler, &head.gpus);
    return head;
}

static stk_status open_parts(stk_monitor *m, const stk_monitor_options *o, stk_error *error)
{
    m->interrupted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->interrupted < 0) return stk__fail_errno(error, errno, "cannot create an eventfd");
    m->count = o->count;
    if (o->replay)
        STK__TRY(stk__replay_open(&m->replay, o->replay, error));
    else
        STK__TRY(open_gpus(m, o, error));
    const stk__record_head head = head_of(m, o);
    STK__TRY(stk__gpu_stats_create(&m->stats, head.gpus, head.gpu_count, error));
    if (o->record) STK__TRY(stk__recorder_open(&m->recorder, o->record, &head, error));
    return STK_OK;
}

stk_status stk_monitor_open(stk_monitor **out, const stk_monitor_options *options, stk_error *error)
{
    if (!out) return stk__fail(error, STK_ERROR_ARGUMENT, "no place for the monitor");
    *out = NULL;
    const stk__sized sized = {"stk_monitor_options", FIRST_OPTIONS_BYTES, sizeof(stk_monitor_options)};
    stk_monitor_options given = {0};
    if (options) STK__TRY(stk__sized_take(&given, options, &sized, error));
    STK__TRY(check_options(&given, error));
    stk_monitor *m = stk__alloc(sizeof *m);
    if (!m) return stk__fail_memory(error, sizeof *m, "a monitor");
    m->interrupted = -1;
    const stk_status status = open_parts(m, &given, error);
    if (status == STK_OK)
        *out = m;
    else
        stk_monitor_close(&m);
    return status;
}

int stk_monitor_close(stk_monitor **monitor)
{
    stk_monitor *m = monitor ? *monitor : NULL;
    if (!m) return 0;
    const int left = stk__sampler_close(&m->sampler);
    stk__recorder_close(&m->recorder, NULL);
    stk__gpu_stats_destroy(&m->stats);
    stk__replay_close(&m->replay);
    stk__host_close(&m->host);
    stk__free(m->frame.gpu_frames);
    if (m->interrupted >= 0) close(m->interrupted);
    stk__free(m);
    *monitor = NULL;
    return left;
}

void stk_monitor_interrupt(stk_monitor *monitor)
{
    const uint64_t one = 1;
    const int kept = errno; /* signal handlers must not change it */
    if (monitor && write(monitor->interrupted, &one, sizeof one) < 0) errno = kept; /* it is full already */
    errno = kept;
}

/* True: interrupted before until_ns. */
static bool wait_until(stk_monitor *m, uint64_t until_ns)
{
    struct pollfd waited = {.fd = m->interrupted, .events = POLLIN};
    const uint64_t slice_ns = stk__sampler_check_ns(m->sampler);
    for (;;) {
        const uint64_t now_ns = stk__clock_ns();
        const uint64_t rest_ns = now_ns < until_ns ? until_ns - now_ns : 0;
        const uint64_t wait_ns = rest_ns < slice_ns ? rest_ns : slice_ns;
        const struct timespec time = {.tv_sec = (time_t)(wait_ns / STK_SECOND_NS),
                                      .tv_nsec = (long)(wait_ns % STK_SECOND_NS)};
        if (ppoll(&waited, 1, &time, NULL) > 0) return true;
        if (rest_ns == 0) return false;
        if (rest_ns > slice_ns) stk__sampler_check(m->sampler);
    }
}

/* End of the next frame: on the grid from the start, independent of the time of the call, so nothing drifts.
 * A caller that missed intervals gets them merged into one frame. */
static uint64_t find_end(stk_monitor *m)
{
    const uint64_t start_ns = stk__sampler_start_ns(m->sampler), now_ns = stk__clock_ns();
    if (m->number == 0) return start_ns;
    uint64_t step = (m->frame.to_ns - start_ns) / m->interval_ns + 1;
    const uint64_t passed = (now_ns - start_ns) / m->interval_ns;
    if (passed > step) step = passed;
    const uint64_t end_ns = start_ns + step * m->interval_ns, stop_ns = start_ns + m->duration_ns;
    if (!m->duration_ns || end_ns < stop_ns) return end_ns;
    m->last = true;
    return stop_ns;
}

static void take_frame(stk_monitor *m)
{
    stk_monitor_frame *f = &m->frame;
    uint64_t end_ns = find_end(m);
    bool ask = m->last;
    if (wait_until(m, end_ns)) {
        m->last = ask = true;
        const uint64_t now_ns = stk__clock_ns();
        if (now_ns < end_ns) end_ns = now_ns;
    }
    stk__sampler_take(m->sampler, end_ns, ask, f->gpu_frames);
    struct timespec day;
    clock_gettime(CLOCK_REALTIME, &day);
    f->clock_s = (double)day.tv_sec + (double)day.tv_nsec / 1e9;
    f->from_ns = m->number ? f->to_ns : end_ns;
    f->to_ns = end_ns;
    f->number = m->number++;
    if (!f->number) m->demo_from_ns = end_ns;
    if (m->demo_host)
        stk__host_demo(f->number, (double)(end_ns - m->demo_from_ns) * 1e-9, &f->host);
    else
        stk__host_read(m->host, &f->host);
}

static bool is_interrupted(const stk_monitor *m)
{
    struct pollfd asked = {.fd = m->interrupted, .events = POLLIN};
    return poll(&asked, 1, 0) > 0;
}

static stk_status next_frame(stk_monitor *m, stk_monitor_frame **frame, stk_error *error)
{
    if (m->last || (m->count && m->number >= m->count)) return STK_END;
    if (m->replay) {
        if (is_interrupted(m)) return STK_END;
        STK__TRY(stk__replay_next(m->replay, frame, error));
        m->number++;
    } else {
        take_frame(m);
        *frame = &m->frame;
    }
    stk__gpu_stats_add(m->stats, *frame);
    return m->recorder ? stk__recorder_write(m->recorder, *frame, error) : STK_OK;
}

stk_status stk_monitor_next(stk_monitor *m, stk_monitor_frame **frame, stk_error *error)
{
    if (!m || !frame) return stk__fail(error, STK_ERROR_ARGUMENT, "no monitor, or no place for its frame");
    *frame = NULL;
    const stk_status status = next_frame(m, frame, error);
    for (int i = 0; status == STK_OK && i < (*frame)->gpu_count; i++)
        (*frame)->gpu_frames[i].reading_count = STK_METRIC_COUNT;
    if (status == STK_END) STK__TRY(stk__recorder_close(&m->recorder, error)); /* errors are reported here */
    if (status != STK_OK) *frame = NULL;
    return status;
}

const char *stk_monitor_missing_reason(const stk_monitor *monitor)
{
    if (!monitor) return "";
    const char *absent =
        monitor->sampler ? stk__sampler_absent(monitor->sampler) : stk__replay_head(monitor->replay)->absent;
    return absent ? absent : "";
}

void stk_monitor_summarize(stk_monitor *monitor, stk_monitor_summary *summary)
{
    if (!summary) return;
    if (monitor)
        stk__gpu_stats_judge(monitor->stats, summary);
    else
        *summary = (stk_monitor_summary){0};
}
