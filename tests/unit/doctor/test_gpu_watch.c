/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a command trains on, who else is there, and its link, from frames of the monitor. */
#include "doctor/gpu_watch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { GPUS = 3, OWN = 100, OTHER = 200 };

typedef struct machine {
    stk_gpu_frame frames[GPUS];
    stk_gpu_summary summaries[GPUS];
    stk__process_evidence own;
    stk__evidence e;
} machine;

static stk__gpu_watch watch;

static stk_reading reading(double value)
{
    return (stk_reading){.value = value, .known = STK_KNOWN};
}

static void put_process(stk_gpu_frame *frame, int32_t pid, double bytes)
{
    frame->processes_known = true;
    frame->processes[frame->process_count++] = (stk_gpu_process){.pid = pid, .memory_bytes = reading(bytes)};
}

static void put_link(stk_gpu_frame *frame, double util, double generation, double width)
{
    frame->readings[STK_METRIC_UTIL] = reading(util);
    frame->readings[STK_METRIC_LINK_GENERATION] = reading(generation);
    frame->readings[STK_METRIC_LINK_GENERATION_MAX] = reading(4);
    frame->readings[STK_METRIC_LINK_WIDTH] = reading(width);
    frame->readings[STK_METRIC_LINK_WIDTH_MAX] = reading(16);
}

static void start(machine *m)
{
    static const double util[GPUS] = {0, 60, 40};
    *m = (machine){.own = {.pid = OWN}};
    watch = (stk__gpu_watch){0};
    stk__evidence_init(&m->e);
    m->e.processes = &m->own;
    m->e.process_count = 1;
    for (int i = 0; i < GPUS; i++)
        m->summaries[i].util_mean_percent = reading(util[i]);
    m->e.gpus_known = true;
    m->e.gpus = (stk_monitor_summary){.gpu_count = GPUS, .gpus = m->summaries};
}

static void look(machine *m)
{
    const stk_monitor_frame frame = {.gpu_count = GPUS, .gpu_frames = m->frames};
    stk__gpu_watch_add(&watch, &frame);
}

/* GPU 0 is idle and of nobody; of the two that are used the less busy one counts. */
static void own_gpu(void **state)
{
    machine m;
    (void)state;
    start(&m);
    put_process(&m.frames[1], OWN, 8e9);
    put_process(&m.frames[2], OWN, 8e9);
    put_process(&m.frames[2], OTHER, 3e9);
    put_process(&m.frames[2], OTHER + 1, 1e9);
    look(&m);
    stk__gpu_watch_report(&watch, &m.e);
    assert_int_equal(m.e.gpu.index, 2);
    assert_int_equal(m.e.gpu.used, STK_YES);
    assert_int_equal(m.e.gpu.other_processes, 2);
    assert_true(fabs(m.e.gpu.other_memory_bytes - 4e9) < 1);
    assert_true(isnan(m.e.gpu.link_share));
}

/* At the end the command is gone from the list; what was seen before counts. */
static void after_the_end(void **state)
{
    machine m;
    (void)state;
    start(&m);
    put_process(&m.frames[1], OWN, 8e9);
    look(&m);
    m.frames[1].process_count = 0;
    look(&m);
    stk__gpu_watch_report(&watch, &m.e);
    assert_int_equal(m.e.gpu.index, 1);
    assert_int_equal(m.e.gpu.other_processes, 0);
}

/* In a container the driver has other ids: nothing is known, and nobody is accused. */
static void ids_of_the_host(void **state)
{
    machine m;
    (void)state;
    start(&m);
    put_process(&m.frames[1], OTHER, 8e9);
    look(&m);
    stk__gpu_watch_report(&watch, &m.e);
    assert_int_equal(m.e.gpu.index, -1);
    assert_int_equal(m.e.gpu.used, STK_UNSURE);
    assert_int_equal(m.e.gpu.other_processes, -1);
}

/* An idle GPU lowers its link to save power: only what was seen while it was busy counts, the best of it. */
static void link_while_busy(void **state)
{
    machine m;
    (void)state;
    start(&m);
    put_process(&m.frames[1], OWN, 8e9);
    put_link(&m.frames[1], 5, 4, 16);
    look(&m);
    stk__gpu_watch_report(&watch, &m.e);
    assert_true(isnan(m.e.gpu.link_share));
    put_link(&m.frames[1], 90, 3, 8);
    look(&m);
    m.e.gpu.index = -1;
    stk__gpu_watch_report(&watch, &m.e);
    assert_true(fabs(m.e.gpu.link_share - 0.25) < 1e-12); /* half the rate, half the lanes */
    put_link(&m.frames[1], 90, 4, 8);
    look(&m);
    m.e.gpu.index = -1;
    stk__gpu_watch_report(&watch, &m.e);
    assert_true(fabs(m.e.gpu.link_share - 0.5) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_gpu),
        cmocka_unit_test(after_the_end),
        cmocka_unit_test(ids_of_the_host),
        cmocka_unit_test(link_while_busy),
    };
    return cmocka_run_group_tests_name("gpu_watch", tests, NULL, NULL);
}
