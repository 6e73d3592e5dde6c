/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_live PYTHON SCRIPT [loader]: a real command (live_command.py) watched from outside. How much
 * CPU a process gets on a busy machine is not known; that it wants one all the time, or never, is. */
#include "core/clock.h"
#include "doctor/process_watch.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const char *python, *script;
static pid_t command;
static FILE *output;
static int input;
static stk__process_watch *watch;
static stk__evidence evidence;

/* Its standard input ends with this process, whatever becomes of it. */
static void start(const char *what)
{
    int to[2], from[2];
    assert_int_equal(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
    command = fork();
    if (command == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execlp(python, python, "-B", script, what, (char *)NULL);
        _exit(127);
    }
    assert_true(command > 0);
    close(to[0]);
    close(from[1]);
    input = to[1];
    output = fdopen(from[0], "r");
}

static int stop(void **state)
{
    (void)state;
    stk__process_watch_close(&watch);
    stk__evidence_fini(&evidence);
    close(input);
    fclose(output);
    return waitpid(command, NULL, 0) != command;
}

static void look(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    assert_true(stk__process_watch_look(watch, stk__clock_ns()));
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

static void within(double value, double least, double most)
{
    if (!(value >= least && value <= most)) fail_msg("%g is not in %g to %g", value, least, most);
}

/* Running or waiting for a CPU, of the time; where the kernel does not count the wait, a little suffices. */
static void expect_wants_cpu(const stk__process_evidence *p)
{
    within(p->cpu_share, 0.02, 1.3);
    if (!isnan(p->run_delay_share)) within(p->main_thread_share + p->run_delay_share, 0.3, 1.3);
}

/* In a chroot the root is no mount, and what files lie on stays unknown. */
static bool root_is_mounted(void)
{
    char line[4096], point[256];
    bool found = false;
    FILE *mounts = fopen("/proc/self/mountinfo", "r");
    assert_non_null(mounts);
    while (!found && fgets(line, sizeof line, mounts))
        found = sscanf(line, "%*s %*s %*s %*s %255s", point) == 1 && strcmp(point, "/") == 0;
    fclose(mounts);
    return found;
}

static void forked_and_spawned_children(void **state)
{
    (void)state;
    int burn, sleeper, reader;
    char line[128];
    stk_error error;
    stk__evidence_init(&evidence);
    start("processes");
    assert_non_null(fgets(line, sizeof line, output));
    assert_int_equal(sscanf(line, "burn %d sleep %d read %d", &burn, &sleeper, &reader), 3);
    assert_int_equal(stk__process_watch_open(&watch, "", command, &error), STK_OK);
    for (int i = 0; i < 15; i++)
        look();
    report();
    assert_int_equal(find(command)->kind, STK_PROCESS_TRAINER);
    assert_int_equal(find(command)->parent, getpid());
    const stk__process_evidence *burning = find(burn), *sleeping = find(sleeper), *reading = find(reader);
    assert_int_equal(burning->kind, STK_PROCESS_WORKER);
    assert_int_equal(sleeping->kind, STK_PROCESS_WORKER);
    assert_int_equal(reading->kind, STK_PROCESS_WORKER);
    assert_int_equal(burning->trainer, command);
    assert_int_equal(evidence.machine.workers_at_once, 3);
    assert_int_equal(evidence.machine.workers_started, 0);
    expect_wants_cpu(burning);
    within(sleeping->cpu_share, 0, 0.2);
    within(find(command)->cpu_share, 0, 0.2);
    within(burning->rss_bytes, 1e6, 1e9);
    if (!isnan(reading->read_all_bytes_per_s)) within(reading->read_all_bytes_per_s, 1e6, 1e12);
    if (!isnan(sleeping->read_all_bytes_per_s)) within(sleeping->read_all_bytes_per_s, 0, 1e5);
    assert_non_null(strstr(burning->name, "live_command.py processes"));
    assert_true(evidence.machine.cpus > 0 && evidence.machine.memory_used_share > 0);
    if (root_is_mounted()) assert_true(evidence.machine.storage[0]); /* of the file that is read */
}

static void workers_of_pytorch(void **state)
{
    (void)state;
    char line[128];
    stk_error error;
    stk__evidence_init(&evidence);
    start("loader");
    assert_non_null(fgets(line, sizeof line, output));
    assert_int_equal(stk__process_watch_open(&watch, "", command, &error), STK_OK);
    const uint64_t until_ns = stk__clock_ns() + 60 * STK_SECOND_NS;
    do {
        look();
        report();
    } while ((evidence.machine.workers_started < 4 || find(command)->pin_thread == STK_UNSURE) &&
             stk__clock_ns() < until_ns);
    assert_true(evidence.machine.workers_started >= 4); /* of three epochs or more */
    assert_int_equal(evidence.machine.workers_at_once, 2);
    assert_int_equal(find(command)->kind, STK_PROCESS_TRAINER);
    assert_int_equal(find(command)->pin_thread, STK_NO);
    double busiest = 0;
    int ended = 0;
    for (int64_t i = 0; i < evidence.process_count; i++) {
        const stk__process_evidence *p = &evidence.processes[i];
        assert_true(p->kind == STK_PROCESS_WORKER || p->kind == STK_PROCESS_TRAINER ||
                    p->kind == STK_PROCESS_HELPER);
        if (p->kind != STK_PROCESS_WORKER) continue;
        assert_int_equal(p->trainer, command);
        busiest = fmax(busiest, p->cpu_share); /* NAN: one that has just begun */
        ended += p->ended;
    }
    assert_true(ended >= 2);
    within(busiest, 0.02, 1.3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest processes[] = {cmocka_unit_test_teardown(forked_and_spawned_children, stop)};
    const struct CMUnitTest loader[] = {cmocka_unit_test_teardown(workers_of_pytorch, stop)};
    if (argc < 3) return 1;
    python = argv[1];
    script = argv[2];
    if (argc > 3) return cmocka_run_group_tests_name("process_live_torch", loader, NULL, NULL);
    return cmocka_run_group_tests_name("process_live", processes, NULL, NULL);
}
