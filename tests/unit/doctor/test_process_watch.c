/* SPDX-License-Identifier: Apache-2.0 */
/* A command watched from outside, in a made-up /proc: what is counted, who comes and goes, what may not be
 * read. Its clock is that of the start times: tick 100 is second 1. */
#include "doctor/process_watch.h"

#include "core/clock.h"
#include "support/fail_alloc.h"
#include "support/made_up_proc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SHELL = 1000100, TRAINER = 1000200, WORKER = 1000300 }; /* no pids of this machine */
#define TORCH_MAPS                                                                                           \
    "7f00-7f10 r-xp 00000000 08:01 5 /opt/x/libc.so.6\n7f20-7f30 r-xp 0 08:01 6 /x/lib/libtorch_cpu.so\n"

static workspace space;
static stk__process_watch *watch;
static stk__evidence evidence;

static int set_up(void **state)
{
    (void)state;
    space = workspace_make();
    stk__evidence_init(&evidence);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stk__process_watch_close(&watch);
    assert_null(watch);
    stk__evidence_fini(&evidence);
    workspace_remove(&space);
    return 0;
}

static int ticks(double second)
{
    return (int)(second * (double)sysconf(_SC_CLK_TCK));
}

static void open_watch(void)
{
    stk_error error;
    assert_int_equal(stk__process_watch_open(&watch, space.path, SHELL, &error), STK_OK);
}

static bool look(double second)
{
    return stk__process_watch_look(watch, (uint64_t)(second * 1e9));
}

static void report(void)
{
    stk_error error;
    assert_int_equal(stk__process_watch_report(watch, &evidence, &error), STK_OK);
}

static const stk__process_evidence *find(int32_t pid)
{
    for (int64_t i = 0; i < evidence.process_count; i++)
        if (evidence.processes[i].pid == pid) return &evidence.processes[i];
    fail_msg("%d is not there", pid);
    return NULL;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-6)) fail_msg("%g, not %g", value, expected);
}

static void put_children(int parent, const char *children)
{
    proc_put(&space, children, "proc/%d/task/%d/children", parent, parent);
}

static made_up_process shell_of(void)
{
    return (made_up_process){.pid = SHELL,
                             .parent = 1,
                             .start_ticks = 1,
                             .name = "bash",
                             .command = "bash|x.sh",
                             .maps = "1-2 r /bin/bash\n"};
}

static made_up_process trainer_of(double cpu_s)
{
    return (made_up_process){.pid = TRAINER,
                             .parent = SHELL,
                             .start_ticks = 2,
                             .name = "python3",
                             .command = "/usr/bin/python3|train.py",
                             .maps = TORCH_MAPS,
                             .cpu_s = cpu_s};
}

static made_up_process worker_of(int pid, double start_s, double cpu_s)
{
    return (made_up_process){.pid = pid,
                             .parent = TRAINER,
                             .start_ticks = ticks(start_s),
                             .name = "pt_data_worker",
                             .command = "/usr/bin/python3|train.py",
                             .cpu_s = cpu_s};
}

static void shares_of_a_trainer_and_its_workers(void **state)
{
    (void)state;
    put_children(SHELL, "1000200 ");
    put_children(TRAINER, "1000300 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(50));
    made_up_process worker = worker_of(WORKER, 0.5, 10);
    worker.delay_s = 3;
    worker.read_bytes = 5000000;
    worker.disk_bytes = 1000000;
    worker.faults = 8;
    proc_put_process(&space, worker);
    open_watch();
    assert_true(look(1));
    report();
    assert_true(isnan(find(WORKER)->cpu_share)); /* nothing to compare with */
    made_up_process trainer = trainer_of(51);
    trainer.read_bytes = 900000000;
    proc_put_process(&space, trainer);
    proc_put(&space, "pt_data_pin\n", "proc/%d/task/5/comm", TRAINER);
    proc_put(&space, "pt_autograd_0\n", "proc/%d/task/6/comm", TRAINER);
    worker.cpu_s = 12;
    worker.delay_s = 4;
    worker.read_bytes += 80000000;
    worker.disk_bytes += 20000000;
    worker.faults += 40;
    worker.state = 'D';
    proc_put_process(&space, worker);
    assert_true(look(5));
    report();
    near(evidence.watched_s, 4);
    assert_int_equal(evidence.process_count, 3);
    assert_int_equal(find(SHELL)->kind, STK_PROCESS_LAUNCHER);
    assert_int_equal(find(TRAINER)->kind, STK_PROCESS_TRAINER);
    const stk__process_evidence *w = find(WORKER);
    assert_int_equal(w->kind, STK_PROCESS_WORKER);
    assert_int_equal(w->trainer, TRAINER);
    assert_int_equal(w->parent, TRAINER);
    near(w->cpu_share, 0.5);
    near(w->main_thread_share, 0.5);
    near(w->run_delay_share, 0.25);
    near(w->disk_wait_share, 0.5);
    near(w->read_all_bytes_per_s, 20e6);
    near(w->read_bytes_per_s, 5e6);
    near(w->major_faults_per_s, 10);
    near(w->seen_s, 4);
    near(w->rss_bytes, 1000.0 * (double)sysconf(_SC_PAGESIZE));
    near(w->swap_bytes, 12 * 1024);
    assert_int_equal(w->threads, 3);
    near(find(TRAINER)->cpu_share, 0.25);
    assert_int_equal(find(TRAINER)->pin_thread, STK_YES);
    assert_string_equal(find(TRAINER)->name, "python3 train.py");
    near(evidence.machine.page_cache_share, 0.75); /* libraries that the trainer has read do not count */
    assert_int_equal(evidence.machine.workers_started, 0); /* it was there before */
    assert_int_equal(evidence.machine.workers_at_once, 1);
}

static void without_its_thread_memory_is_not_pinned(void **state)
{
    (void)state;
    put_children(SHELL, "1000200 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(1));
    proc_put(&space, "python3\n", "proc/%d/task/5/comm", TRAINER);
    open_watch();
    look(1);
    look(4);
    report();
    assert_int_equal(find(TRAINER)->pin_thread, STK_UNSURE); /* no epoch has begun */
    put_children(TRAINER, "1000300 ");
    proc_put_process(&space, worker_of(WORKER, 5, 0));
    look(7);
    look(10);
    report();
    assert_int_equal(find(TRAINER)->pin_thread, STK_NO);
}

/* Each epoch has new ones: their time counts from their start, and they stay in the evidence. */
static void workers_that_come_and_go(void **state)
{
    (void)state;
    char children[32];
    put_children(SHELL, "1000200 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(1));
    open_watch();
    look(1);
    for (int epoch = 0; epoch < 3; epoch++) {
        const double begin_s = 2 + 2 * epoch;
        const int pid = WORKER + epoch;
        snprintf(children, sizeof children, "%d ", pid);
        put_children(TRAINER, children);
        proc_put_process(&space, worker_of(pid, begin_s, 0.5));
        look(begin_s + 1);
        proc_drop_process(&space, pid);
        put_children(TRAINER, "");
    }
    look(8);
    report();
    assert_int_equal(evidence.machine.workers_started, 3);
    assert_int_equal(evidence.machine.workers_at_once, 1);
    for (int epoch = 0; epoch < 3; epoch++) {
        const stk__process_evidence *w = find(WORKER + epoch);
        near(w->seen_s, 1);
        near(w->cpu_share, 0.5);
        assert_true(w->ended);
        assert_int_equal(w->kind, STK_PROCESS_WORKER);
    }
    assert_false(find(TRAINER)->ended);
}

/* One process after another has it; each is its own. */
static void a_pid_that_is_given_again(void **state)
{
    (void)state;
    put_children(SHELL, "1000200 ");
    put_children(TRAINER, "1000300 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(1));
    proc_put_process(&space, worker_of(WORKER, 0.5, 100));
    open_watch();
    look(1);
    proc_put_process(&space, worker_of(WORKER, 1.5, 0.1));
    look(2); /* the first one is missed */
    proc_put_process(&space, worker_of(WORKER, 1.5, 0.3));
    look(3);
    report();
    assert_int_equal(evidence.process_count, 4);
    const stk__process_evidence *first = NULL, *second = NULL;
    for (int i = 0; i < 4; i++)
        if (evidence.processes[i].pid == WORKER) *(first ? &second : &first) = &evidence.processes[i];
    assert_true(first->ended && !second->ended);
    near(second->cpu_share, 0.2);
    assert_int_equal(evidence.machine.workers_started, 1);
    made_up_process stranger = worker_of(WORKER, 3.5, 7);
    stranger.name = "nginx";
    stranger.parent = 1;
    put_children(TRAINER, "");
    proc_put_process(&space, stranger);
    look(4);
    report();
    assert_int_equal(evidence.process_count, 4);
}

static void processes_of_another_user(void **state)
{
    (void)state;
    put_children(SHELL, "1000200 ");
    proc_put_process(&space, shell_of());
    made_up_process trainer = trainer_of(1);
    trainer.maps = trainer.command = NULL;
    trainer.read_bytes = -1;
    proc_put_process(&space, trainer);
    open_watch();
    look(1);
    look(4);
    report();
    assert_int_equal(find(TRAINER)->kind, STK_PROCESS_HELPER);
    assert_true(isnan(find(TRAINER)->read_bytes_per_s));
    assert_true(isnan(find(TRAINER)->read_all_bytes_per_s));
    assert_true(isnan(evidence.machine.page_cache_share));
    near(find(TRAINER)->cpu_share, 0);
    assert_string_equal(find(TRAINER)->name, "python3");
    stk__process_watch_add_trainer(watch, TRAINER);
    stk__process_watch_add_trainer(watch, TRAINER);
    look(5);
    report();
    assert_int_equal(find(TRAINER)->kind, STK_PROCESS_TRAINER);
}

static void what_is_missing_is_unknown(void **state)
{
    (void)state;
    proc_put(&space, "1000100 (x) S 1 1 1 0 -1 0 1 0 0 0 5 5 0 0 20 0 1 0 1 5 5\n", "proc/%d/stat", SHELL);
    open_watch();
    look(1);
    look(2);
    report();
    const stk__process_evidence *p = find(SHELL);
    assert_true(isnan(p->main_thread_share) && isnan(p->run_delay_share) && isnan(p->swap_bytes));
    assert_int_equal(p->pin_thread, STK_UNSURE);
    assert_string_equal(evidence.machine.storage, "");
    assert_true(isnan(evidence.machine.page_cache_share));
}

static void a_zombie_has_ended(void **state)
{
    (void)state;
    proc_put_process(&space, shell_of());
    open_watch();
    assert_true(look(1));
    made_up_process dead = shell_of();
    dead.state = 'Z';
    proc_put_process(&space, dead);
    assert_false(look(2));
    report();
    assert_true(find(SHELL)->ended);
    proc_drop_process(&space, SHELL);
    assert_false(look(3));
    made_up_process other = shell_of();
    other.start_ticks = 350;
    proc_put_process(&space, other);
    assert_false(look(4));
    report();
    assert_int_equal(evidence.process_count, 1);
}

/* Linux lists the children of each thread; those of other threads are found among all processes. */
static void workers_that_another_thread_forks(void **state)
{
    (void)state;
    put_children(SHELL, "1000200 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(1));
    open_watch();
    look(1);
    proc_put_process(&space, worker_of(WORKER, 1.5, 0.5));
    look(2);
    report();
    assert_int_equal(evidence.process_count, 2);
    look(3.5);
    report();
    assert_int_equal(find(WORKER)->kind, STK_PROCESS_WORKER);
    assert_int_equal(evidence.machine.workers_started, 1);
}

/* Of a training that was killed before this one began. */
static void workers_that_were_left_behind(void **state)
{
    (void)state;
    proc_put_process(&space, shell_of());
    made_up_process stray = worker_of(WORKER, 0.1, 5);
    stray.parent = 1;
    proc_put_process(&space, stray);
    open_watch();
    look(1);
    report();
    assert_int_equal(evidence.process_count, 1); /* it may end by itself */
    look(9);
    report();
    assert_int_equal(find(WORKER)->kind, STK_PROCESS_ORPHAN);
    assert_int_equal(evidence.machine.workers_started, 0);
}

/* A process that has turned into another program, as a forked one does, is not taken for what it was. */
static void exec_after_fork(void **state)
{
    (void)state;
    put_children(SHELL, "1000200 ");
    put_children(TRAINER, "1000300 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(1));
    made_up_process child = worker_of(WORKER, 1.5, 0);
    child.name = "python3";
    child.maps = TORCH_MAPS;
    proc_put_process(&space, child);
    open_watch();
    look(1);
    look(2);
    report();
    assert_int_equal(find(WORKER)->kind, STK_PROCESS_WORKER); /* of an older PyTorch */
    child.name = "git";
    child.command = "git|status";
    child.maps = "1-2 r /usr/bin/git\n";
    proc_put_process(&space, child);
    look(2.25);
    report();
    assert_int_equal(find(WORKER)->kind, STK_PROCESS_HELPER);
    assert_string_equal(find(WORKER)->name, "git status");
}

/* More than there is room for, and most of them soon ended: bounded, and the trainer keeps its record. */
static void hundreds_of_processes(void **state)
{
    (void)state;
    char children[8192];
    put_children(SHELL, "1000200 ");
    proc_put_process(&space, shell_of());
    proc_put_process(&space, trainer_of(1));
    open_watch();
    look(1);
    for (int round = 0; round < 2; round++) {
        size_t length = 0;
        for (int i = 0; i < 300; i++) {
            const int pid = WORKER + 300 * round + i;
            made_up_process worker = worker_of(pid, 2 + round, 0.1);
            worker.bare = true;
            proc_put_process(&space, worker);
            length += (size_t)snprintf(children + length, sizeof children - length, "%d ", pid);
            if (round) proc_drop_process(&space, pid - 300);
        }
        put_children(TRAINER, children);
        const uint64_t begin_ns = stk__clock_thread_ns();
        look(3 + round);
        assert_true(stk__clock_thread_ns() - begin_ns < STK_SECOND_NS); /* 10 ms without a sanitizer */
    }
    report();
    assert_int_equal(evidence.process_count, 512);
    assert_int_equal(find(TRAINER)->kind, STK_PROCESS_TRAINER);
    assert_int_equal(evidence.machine.workers_started, 600);
    assert_int_equal(evidence.machine.workers_at_once, 300);
}

static void no_such_process(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__process_watch_open(&watch, space.path, 5, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "no process 5"));
    assert_null(watch);
}

static stk_status watch_once(void *context, stk_error *error)
{
    (void)context;
    stk_status status = stk__process_watch_open(&watch, space.path, SHELL, error);
    if (status == STK_OK) {
        look(1);
        status = stk__process_watch_report(watch, &evidence, error);
    }
    stk__process_watch_close(&watch);
    stk__evidence_fini(&evidence);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    proc_put_process(&space, shell_of());
    assert_int_equal(fail_alloc_each(watch_once, NULL), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shares_of_a_trainer_and_its_workers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_its_thread_memory_is_not_pinned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(workers_that_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pid_that_is_given_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_of_another_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_zombie_has_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(workers_that_another_thread_forks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(workers_that_were_left_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exec_after_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hundreds_of_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_such_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("process_watch", tests, NULL, NULL);
}
