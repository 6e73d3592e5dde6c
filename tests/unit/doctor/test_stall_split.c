/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's stall table: shares of made-up steps by hand, and a sum of 1 whatever the evidence is. */
#include "made_evidence.h"

#include "doctor/stall_split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static double sum_of(const stk__stall_split *split)
{
    double sum = 0;
    for (int part = 0; part < STK_SPLIT_PARTS; part++) {
        assert_true(split->share[part] >= 0 && split->share[part] <= 1 + 1e-12);
        sum += split->share[part];
    }
    return sum;
}

static void check_share(const stk__stall_split *split, stk__split_part part, double expected)
{
    if (fabs(split->share[part] - expected) > 1e-9)
        fail_msg("%s: %.6f, expected %.6f", stk__split_part_key(part), split->share[part], expected);
}

static void nothing_known(void **state)
{
    stk__evidence e;
    stk__stall_split split;
    (void)state;
    stk__evidence_init(&e);
    stk__stall_split_of(&e, &split);
    assert_int_equal(split.steps, 0);
    assert_true(isnan(split.work) && isnan(split.least_wait) && split.workers == -1);
}

static void causes_are_shares(void **state)
{
    made_evidence m;
    stk__stall_split split;
    (void)state;
    made_healthy_cpu(&m);
    stk__stall_split_of(&m.e, &split);
    assert_int_equal(split.steps, MADE_STEPS - 1); /* without the first */
    check_share(&split, STK_SPLIT_FORWARD, 0.40);
    check_share(&split, STK_SPLIT_BACKWARD, 0.45);
    check_share(&split, STK_SPLIT_OTHER, 0.08);
    assert_true(fabs(split.step_s - 0.1) < 1e-12 && fabs(split.wait - 0.02) < 1e-12);
}

/* In one process the wait is the work; what was not measured of it stays unnamed. */
static void wait_without_workers(void **state)
{
    made_evidence m;
    stk__stall_split split;
    (void)state;
    made_healthy_cpu(&m);
    m.loaders[0].num_workers = 0;
    m.e.work_count = 0;
    made_cause(&m, STK_CAUSE_WAIT, 40);
    made_work(&m, STK_WORK_READ, "open", 0.05);
    made_work(&m, STK_WORK_TRANSFORM, "RandomRotation", 0.25);
    stk__stall_split_of(&m.e, &split);
    check_share(&split, STK_SPLIT_READ, 0.05);
    check_share(&split, STK_SPLIT_TRANSFORM, 0.25);
    check_share(&split, STK_SPLIT_WAIT, 0.10);
    assert_true(fabs(split.work - 0.3) < 1e-9);
    /* 60 % of a step are left, 40 % of 8 CPUs are in use: one worker does 0.3 s a second in time. */
    assert_int_equal(split.workers, 1);
    assert_true(fabs(split.least_wait) < 1e-9);
}

/* Two busy workers, w = 2: with C = 0.5 four would be enough, and 8 CPUs have room for them. */
static void too_few_workers(void **state)
{
    made_evidence m;
    stk__stall_split split;
    (void)state;
    made_healthy_cpu(&m);
    m.loaders[0].num_workers = 2;
    m.e.work_count = 0;
    made_cause(&m, STK_CAUSE_WAIT, 50);
    made_work(&m, STK_WORK_TRANSFORM, "RandomRotation", 2);
    stk__stall_split_of(&m.e, &split);
    assert_int_equal(split.workers, 4);
    check_share(&split, STK_SPLIT_FEW_WORKERS, 0.5);
    check_share(&split, STK_SPLIT_TRANSFORM, 0);

    m.processes[0].cpu_share = 0.9 * 8; /* then a step cannot be shorter than 0.9 */
    stk__stall_split_of(&m.e, &split);
    assert_int_equal(split.workers, 3);
    check_share(&split, STK_SPLIT_FEW_WORKERS, 0.1);
    check_share(&split, STK_SPLIT_TRANSFORM, 0.4);
}

static void one_slow_worker(void **state)
{
    made_evidence m;
    stk__stall_split split;
    (void)state;
    made_healthy_cpu(&m);
    made_cause(&m, STK_CAUSE_WAIT, 30);
    m.loaders[0].worker_max_share = 1.25;
    made_work(&m, STK_WORK_DECODE, "PIL.Image.load", 1.5); /* 3 s of 4 workers: one of them is busy 94 % */
    m.e.process_count = 0;
    stk__stall_split_of(&m.e, &split);
    check_share(&split, STK_SPLIT_IMBALANCE, 0.2);
}

/* Idle workers and pinned memory: it waits between them. Without pinned memory the cause is not known. */
static void idle_workers(void **state)
{
    made_evidence m;
    stk__stall_split split;
    (void)state;
    made_healthy_cpu(&m);
    made_cause(&m, STK_CAUSE_WAIT, 30);
    stk__stall_split_of(&m.e, &split);
    check_share(&split, STK_SPLIT_PINNING, 0.3);
    m.loaders[0].pin_memory = STK_NO;
    stk__stall_split_of(&m.e, &split);
    check_share(&split, STK_SPLIT_WAIT, 0.3);
}

static void workers_that_start(void **state)
{
    made_evidence m;
    stk__stall_split split;
    (void)state;
    made_healthy_cpu(&m);
    made_cause(&m, STK_CAUSE_WAIT, 30);
    m.loaders[0].epochs = 4;
    m.loaders[0].first_wait_s = 1.32;
    stk__stall_split_of(&m.e, &split); /* three of four starts, 0.99 s, in 9.9 s */
    check_share(&split, STK_SPLIT_WORKER_START, 0.1);
}

/* Whatever is measured, also overlapping causes, the parts are all of the time. */
static void sum_is_whole(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        made_evidence m;
        stk__stall_split split;
        made_healthy_cpu(&m);
        for (int i = 0; i < MADE_STEPS; i++)
            for (int cause = 0; cause < STK_CAUSE_OTHER; cause++)
                m.steps[i].cause_ns[cause] = rand() % 3 ? (uint64_t)(rand() % 30) * MADE_MS : 0;
        m.e.work_count = 0;
        for (int kind = rand() % 6; kind <= STK_WORK_DATASET; kind++)
            made_work(&m, (stk__work_kind)kind, "work", (rand() % 100) * 0.05);
        m.loaders[0].num_workers = rand() % 6 - 1;
        m.loaders[0].pin_memory = (stk__tristate)(rand() % 3 - 1);
        m.loaders[0].worker_max_share = rand() % 4 ? 1 + (rand() % 100) * 0.05 : NAN;
        m.loaders[0].epochs = rand() % 5;
        m.loaders[0].first_wait_s = (rand() % 100) * 0.1;
        m.processes[0].cpu_share = rand() % 4 ? (rand() % 101) * 0.01 : NAN;
        m.e.machine.cpus = rand() % 4 ? rand() % 16 + 0.5 : NAN;
        m.e.loader_count = rand() % 5 != 0;
        m.e.step_count = 1 + rand() % MADE_STEPS;
        stk__stall_split_of(&m.e, &split);
        if (fabs(sum_of(&split) - 1) > 1e-9) fail_msg("round %d: sum %.12f", round, sum_of(&split));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known),   cmocka_unit_test(causes_are_shares),
        cmocka_unit_test(too_few_workers), cmocka_unit_test(wait_without_workers),
        cmocka_unit_test(one_slow_worker), cmocka_unit_test(idle_workers),
        cmocka_unit_test(sum_is_whole),    cmocka_unit_test(workers_that_start),
    };
    return cmocka_run_group_tests_name("stall_split", tests, NULL, NULL);
}
