/* SPDX-License-Identifier: Apache-2.0 */
/* All GPUs together: opens the vendors' readers, chooses GPUs, runs a polling thread for each, and
 * assembles what they published in an interval into one frame. A slow GPU delays a frame by a bounded
 * grace only. */
#include "monitor/sampler.h"

#include "monitor/gpu_poller.h"
#include "monitor/vendor.h"
#include "monitor/gpu_select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Maximum time between polls, however long the interval: the shortest known sample buffer of a driver covers
 * several seconds. */
#define LONGEST_GAP_S 1.0
/* The first driver call wakes idle GPUs, a second each: opening may take longer than a call.
 */
#define OPEN_DEADLINES 10
/* Maximum delay of a frame after the end of its interval because a GPU is slow. */
#define GRACE_NS (STK_SECOND_NS / 10)

struct stk__sampler {
    stk__vendors vendors;
    int gpu_count;
    stk_gpu gpus[STK_GPUS];
    stk__gpu_poller *pollers[STK_GPUS];
    uint64_t start_ns, interval_ns, deadline_ns;
    bool taken;
};

/* A GPU of a reader. */
typedef struct place {
    stk__gpu_reader *reader;
    int number;
} place;

static int list_gpus(stk__sampler *s, place *places)
{
    int count = 0;
    for (int v = 0; v < s->vendors.count; v++) {
        stk__gpu_reader *reader = s->vendors.readers[v];
        const int own = reader->ops->count(reader);
        for (int i = 0; i < own && count < STK_GPUS; i++, count++) {
            places[count] = (place){reader, i};
            reader->ops->describe(reader, i, &s->gpus[count]);
        }
    }
    return count;
}

static stk_status choose_gpus(stk__sampler *s, const char *list, place *places, stk_error *error)
{
    bool chosen[STK_GPUS];
    const int count = list_gpus(s, places);
    if (list)
        STK__TRY(stk__gpu_select(list, s->gpus, chosen, count, error));
    else
        stk__gpu_select_cuda(getenv("CUDA_VISIBLE_DEVICES"), s->gpus, chosen, count);
    for (int i = 0; i < count; i++) {
        if (!chosen[i]) continue;
        places[s->gpu_count] = places[i];
        s->gpus[s->gpu_count++] = s->gpus[i];
    }
    if (count && !s->gpu_count)
        snprintf(s->vendors.absent, sizeof s->vendors.absent, "CUDA_VISIBLE_DEVICES='%s' hides all %d GPUs",
                 getenv("CUDA_VISIBLE_DEVICES"), count);
    return STK_OK;
}

static stk_status open_pollers(stk__sampler *s, const place *places, stk_error *error)
{
    const double interval_s = (double)s->interval_ns / 1e9;
    const uint64_t parts = (uint64_t)ceil(interval_s / LONGEST_GAP_S - 1e-9);
    for (int i = 0; i < s->gpu_count; i++) {
        const stk__gpu_poller_options options = {.reader = places[i].reader,
                                                 .number = places[i].number,
                                                 .start_ns = s->start_ns,
                                                 .gap_ns = s->interval_ns / (parts ? parts : 1),
                                                 .deadline_ns = s->deadline_ns};
        STK__TRY(stk__gpu_poller_open(&s->pollers[i], &options, error));
    }
    return STK_OK;
}

stk_status stk__sampler_open(stk__sampler **out, const stk__sampler_options *options, stk_error *error)
{
    place places[STK_GPUS];
    *out = NULL;
    stk__sampler *s = stk__alloc(sizeof *s);
    if (!s) return stk__fail_memory(error, sizeof *s, "a sampler");
    s->deadline_ns = stk__seconds_ns(options->deadline_s);
    s->interval_ns = stk__seconds_ns(options->interval_s);
    stk_status status =
        stk__vendors_open(&s->vendors, options->readers, OPEN_DEADLINES * s->deadline_ns, error);
    if (status == STK_OK) status = choose_gpus(s, options->gpus, places, error);
    s->start_ns = stk__clock_ns();
    if (status == STK_OK) status = open_pollers(s, places, error);
    if (status == STK_OK)
        *out = s;
    else
        stk__sampler_close(&s);
    return status;
}

int stk__sampler_close(stk__sampler **sampler)
{
    stk__sampler *s = *sampler;
    if (!s) return 0;
    for (int i = 0; i < s->gpu_count; i++)
        if (s->pollers[i]) stk__gpu_poller_stop(s->pollers[i]);
    const uint64_t until_ns = stk__clock_ns() + s->deadline_ns;
    int left = 0;
    for (int i = 0; i < s->gpu_count; i++)
        left += stk__gpu_poller_close(&s->pollers[i], until_ns);
    if (!left) stk__vendors_close(&s->vendors, s->deadline_ns); /* else their threads still use the readers */
    left += s->vendors.left;
    stk__free(s);
    *sampler = NULL;
    return left;
}

int stk__sampler_gpus(const stk__sampler *sampler, const stk_gpu **gpus)
{
    *gpus = sampler->gpus;
    return sampler->gpu_count;
}

const char *stk__sampler_absent(const stk__sampler *sampler)
{
    return sampler->gpu_count ? "" : sampler->vendors.absent;
}

uint64_t stk__sampler_start_ns(const stk__sampler *sampler)
{
    return sampler->start_ns;
}

void stk__sampler_check(stk__sampler *s)
{
    for (int i = 0; i < s->gpu_count; i++)
        stk__gpu_poller_check(s->pollers[i]);
}

uint64_t stk__sampler_check_ns(const stk__sampler *sampler)
{
    return sampler->deadline_ns / 2;
}

/* The first frame waits as long as a call may take: before it nothing is known. So does the last one, which
 * comes early: there is no later frame. */
static uint64_t grace_of(const stk__sampler *s, bool ask)
{
    if (!s->taken) return s->deadline_ns + GRACE_NS;
    if (ask) return s->deadline_ns < STK_SECOND_NS / 2 ? s->deadline_ns : STK_SECOND_NS / 2;
    const uint64_t quarter_ns = s->interval_ns / 4;
    return quarter_ns < GRACE_NS ? quarter_ns : GRACE_NS;
}

void stk__sampler_take(stk__sampler *s, uint64_t end_ns, bool ask, stk_gpu_frame *frames)
{
    for (int i = 0; ask && i < s->gpu_count; i++)
        stk__gpu_poller_ask(s->pollers[i]);
    const uint64_t until_ns = stk__clock_ns() + grace_of(s, ask);
    for (int i = 0; i < s->gpu_count; i++)
        stk__gpu_poller_wait(s->pollers[i], end_ns, until_ns);
    stk__sampler_check(s);
    for (int i = 0; i < s->gpu_count; i++)
        stk__gpu_poller_take(s->pollers[i], &frames[i]);
    s->taken = true;
}
