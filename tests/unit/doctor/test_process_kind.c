/* SPDX-License-Identifier: Apache-2.0 */
/* Who trains, loads, launches: families of processes as PyTorch and Python make them. */
#include "doctor/process_kind.h"

#include "core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { BASH = 10, TRAINER = 20, WORKER = 30 };

static stk__process_record records[STK_PROCESS_RECORDS];
static int count;
static uint64_t now_ns;

static int set_up(void **state)
{
    (void)state;
    count = 0;
    now_ns = STK_SECOND_NS;
    return 0;
}

/* command: equal numbers are equal command lines; 0: not known. */
static stk__process_record *add(int32_t pid, int32_t parent, const char *name, uint64_t command)
{
    const stk__process_stat stat = {.parent = parent, .start_ticks = (uint64_t)count + 1};
    stk__process_record *r = &records[count++];
    stk__process_record_begin(r, pid, &stat, 0, now_ns);
    snprintf(r->name, sizeof r->name, "%s", name);
    r->command_hash = command;
    r->looks = 2;
    r->torch = STK_NO;
    return r;
}

static stk__process_record *add_torch(int32_t pid, int32_t parent, const char *name, uint64_t command)
{
    stk__process_record *r = add(pid, parent, name, command);
    r->torch = STK_YES;
    return r;
}

static void expect(const stk__process_record *r, stk__process_kind kind, int32_t trainer)
{
    if (r->kind != kind || r->trainer != trainer)
        fail_msg("%d is of kind %d of %d, not %d of %d", r->pid, r->kind, r->trainer, kind, trainer);
}

static void judge(void)
{
    for (int i = 0; i < 2; i++) /* what one look finds does not change in the next */
        stk__process_kinds(records, count, now_ns);
}

static void forked_workers_that_pytorch_names(void **state)
{
    (void)state;
    stk__process_record *shell = add(BASH, 1, "bash", 1), *trainer = add_torch(TRAINER, BASH, "python3", 2);
    stk__process_record *workers[2] = {add_torch(WORKER, TRAINER, "pt_data_worker", 2),
                                       add_torch(WORKER + 1, TRAINER, "pt_data_worker", 2)};
    stk__process_record *pool = add_torch(40, TRAINER, "python3", 2),
                        *tool = add(41, TRAINER, "nvidia-smi", 3), *ffmpeg = add(42, WORKER, "ffmpeg", 4),
                        *before_exec = add_torch(43, WORKER, "pt_data_worker", 2);
    judge();
    expect(shell, STK_PROCESS_LAUNCHER, 0);
    expect(trainer, STK_PROCESS_TRAINER, 0);
    expect(workers[0], STK_PROCESS_WORKER, TRAINER);
    expect(workers[1], STK_PROCESS_WORKER, TRAINER);
    expect(pool, STK_PROCESS_HELPER, 0);
    expect(tool, STK_PROCESS_HELPER, 0);
    expect(ffmpeg, STK_PROCESS_HELPER, 0);
    expect(before_exec, STK_PROCESS_HELPER, 0);
}

static void spawned_and_served_workers(void **state)
{
    (void)state;
    stk__process_record *trainer = add_torch(TRAINER, BASH, "python3", 2),
                        *tracker = add(21, TRAINER, "python3", 3), *server = add(22, TRAINER, "python3", 4),
                        *served = add_torch(WORKER, 22, "pt_data_worker", 4),
                        *spawned = add_torch(WORKER + 1, TRAINER, "pt_data_worker", 5);
    tracker->start = STK_START_TRACKER;
    server->start = served->start = STK_START_FORKSERVER;
    spawned->start = STK_START_SPAWN;
    stk__process_record *importing = add_torch(WORKER + 2, TRAINER, "python3", 6);
    importing->start = STK_START_SPAWN;
    judge();
    expect(importing, STK_PROCESS_WORKER, TRAINER);
    expect(trainer, STK_PROCESS_TRAINER, 0);
    expect(tracker, STK_PROCESS_HELPER, 0);
    expect(server, STK_PROCESS_HELPER, 0);
    expect(served, STK_PROCESS_WORKER, TRAINER);
    expect(spawned, STK_PROCESS_WORKER, TRAINER);
    now_ns += 60 * STK_SECOND_NS;
    judge();
    expect(importing, STK_PROCESS_HELPER, 0); /* another pool of the trainer's */
}

/* Of an older PyTorch. */
static void workers_without_names(void **state)
{
    (void)state;
    stk__process_record *trainer = add_torch(TRAINER, BASH, "python3", 2),
                        *forked = add_torch(WORKER, TRAINER, "python3", 2),
                        *spawned = add_torch(WORKER + 1, TRAINER, "python3", 5),
                        *server = add(40, TRAINER, "python3", 4), *served = add(41, 40, "python3", 4),
                        *other = add(42, TRAINER, "git", 6), *below = add(43, WORKER, "sh", 7),
                        *fresh = add_torch(44, TRAINER, "python3", 2);
    spawned->start = STK_START_SPAWN;
    server->start = served->start = STK_START_FORKSERVER;
    fresh->looks = 1; /* it may be about to become another program */
    judge();
    expect(trainer, STK_PROCESS_TRAINER, 0);
    expect(spawned, STK_PROCESS_WORKER, TRAINER);
    expect(server, STK_PROCESS_HELPER, 0);
    expect(served, STK_PROCESS_WORKER, TRAINER);
    expect(other, STK_PROCESS_HELPER, 0);
    expect(fresh, STK_PROCESS_HELPER, 0);
    expect(forked, STK_PROCESS_WORKER, TRAINER);
    expect(below, STK_PROCESS_HELPER, 0);
}

static void torchrun_and_ranks(void **state)
{
    (void)state;
    stk__process_record *launcher = add_torch(BASH, 1, "pt_elastic", 1);
    stk__process_record *ranks[2] = {add_torch(TRAINER, BASH, "python3", 2),
                                     add_torch(TRAINER + 1, BASH, "python3", 2)};
    stk__process_record *worker = add_torch(WORKER, TRAINER + 1, "pt_data_worker", 2);
    judge();
    expect(launcher, STK_PROCESS_LAUNCHER, 0);
    expect(ranks[0], STK_PROCESS_TRAINER, 0);
    expect(ranks[1], STK_PROCESS_TRAINER, 0);
    expect(worker, STK_PROCESS_WORKER, TRAINER + 1);
}

/* torch.multiprocessing.spawn: ranks are started as workers are. */
static void spawned_ranks(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        set_up(NULL);
        stk__process_record *launcher = add_torch(BASH, 1, "python3", 1),
                            *rank = add_torch(TRAINER, BASH, "python3", 2),
                            *on_gpu = add_torch(TRAINER + 1, BASH, "python3", 2),
                            *worker = add_torch(WORKER, TRAINER, named ? "pt_data_worker" : "python3", 2);
        rank->start = on_gpu->start = worker->start = STK_START_SPAWN;
        on_gpu->backward_thread = true;
        judge();
        expect(launcher, STK_PROCESS_LAUNCHER, 0);
        expect(rank, STK_PROCESS_TRAINER, 0);
        expect(on_gpu, STK_PROCESS_TRAINER, 0);
        expect(worker, STK_PROCESS_WORKER, TRAINER);
    }
}

static void a_trainer_may_start_another(void **state)
{
    (void)state;
    stk__process_record *trainer = add_torch(TRAINER, BASH, "python3", 1),
                        *evaluation = add_torch(21, TRAINER, "python3", 2);
    trainer->counters[STK_COUNT_CPU] = (stk__counter){0, 0.9, 0, STK_SECOND_NS};
    judge();
    expect(trainer, STK_PROCESS_TRAINER, 0);
    expect(evaluation, STK_PROCESS_TRAINER, 0);
    trainer->counters[STK_COUNT_CPU].last = 0.1;
    judge();
    expect(trainer, STK_PROCESS_LAUNCHER, 0);
    trainer->hooked = true;
    judge();
    expect(trainer, STK_PROCESS_TRAINER, 0);
}

/* Of a process whose libraries nobody may read. */
static void names_and_the_hook_are_enough(void **state)
{
    (void)state;
    stk__process_record *trainer = add(TRAINER, BASH, "python3", 2),
                        *worker = add(WORKER, TRAINER, "pt_data_worker", 0),
                        *hooked = add(50, BASH, "python3", 0);
    hooked->hooked = true;
    judge();
    expect(trainer, STK_PROCESS_TRAINER, 0);
    expect(worker, STK_PROCESS_WORKER, TRAINER);
    expect(hooked, STK_PROCESS_TRAINER, 0);
}

static void workers_may_outlive_their_trainer(void **state)
{
    (void)state;
    stk__process_record *trainer = add_torch(TRAINER, BASH, "python3", 2),
                        *worker = add_torch(WORKER, TRAINER, "pt_data_worker", 2),
                        *stray = add_torch(40, 1, "pt_data_worker", 9);
    judge();
    expect(worker, STK_PROCESS_WORKER, TRAINER);
    expect(stray, STK_PROCESS_HELPER, 0);
    trainer->alive = false;
    worker->parent = 1;
    judge();
    expect(worker, STK_PROCESS_WORKER, TRAINER); /* it has not noticed yet */
    now_ns += 7 * STK_SECOND_NS;
    judge();
    expect(trainer, STK_PROCESS_TRAINER, 0); /* what it was */
    expect(worker, STK_PROCESS_ORPHAN, TRAINER);
    expect(stray, STK_PROCESS_ORPHAN, 0);
    stk__process_record *again = add_torch(TRAINER, BASH, "python3", 2); /* its pid */
    judge();
    expect(again, STK_PROCESS_TRAINER, 0);
    expect(worker, STK_PROCESS_ORPHAN, TRAINER);
}

static void as_many_as_there_is_room_for(void **state)
{
    (void)state;
    add_torch(TRAINER, BASH, "python3", 2);
    while (count < STK_PROCESS_RECORDS)
        add_torch(100 + count, TRAINER, count % 2 ? "pt_data_worker" : "python3", 2);
    const uint64_t begin_ns = stk__clock_thread_ns();
    judge();
    assert_true(stk__clock_thread_ns() - begin_ns < STK_SECOND_NS); /* 1 ms without a sanitizer */
    expect(&records[1], STK_PROCESS_WORKER, TRAINER);
    expect(&records[2], STK_PROCESS_HELPER, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(forked_workers_that_pytorch_names, set_up),
        cmocka_unit_test_setup(spawned_and_served_workers, set_up),
        cmocka_unit_test_setup(workers_without_names, set_up),
        cmocka_unit_test_setup(torchrun_and_ranks, set_up),
        cmocka_unit_test_setup(spawned_ranks, set_up),
        cmocka_unit_test_setup(a_trainer_may_start_another, set_up),
        cmocka_unit_test_setup(names_and_the_hook_are_enough, set_up),
        cmocka_unit_test_setup(workers_may_outlive_their_trainer, set_up),
        cmocka_unit_test_setup(as_many_as_there_is_room_for, set_up),
    };
    return cmocka_run_group_tests_name("process_kind", tests, NULL, NULL);
}
