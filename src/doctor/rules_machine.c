/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the machine around a training: CPUs, quota, memory, swap. They need no hook. Pure functions. */
#include "doctor/rule_parts.h"

/* Of the time held back by the cgroup's quota. */
#define THROTTLED 0.05
/* All CPUs are in use; the rest is noise of the measurement. */
#define FULL_CPUS 0.95
/* If others fill them, less work in this command does not help. */
#define OWN_CPUS 0.7
/* Runnable without a CPU: at a tenth threads compete. */
#define RUN_DELAY 0.10
/* Above this the kernel begins to reclaim, and a worker more may be killed. */
#define MEMORY_FULL 0.92
/* So much coming back from swap is waited for. */
#define SWAP_IN_BYTES_PER_S 1e6
/* Tasks waited for memory, or storage, for so much of the time ("some" of the kernel's pressure). */
#define MEMORY_PRESSURE 0.10
#define IO_PRESSURE     0.30
/* More threads than CPUs in one process only help if they wait. */
#define THREADS_PER_CPU 1.5

static const stk__machine_evidence *machine_of(const stk__doctor_facts *facts)
{
    return &facts->e->machine;
}

static stk__tristate threads_many(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const int64_t threads = facts->e->torch.threads;
    const double cpus = machine_of(facts)->cpus, delay = stk__trainer_run_delay(facts->e);
    if (threads < 0 || !(cpus > 0)) return STK_UNSURE;
    if ((double)threads <= THREADS_PER_CPU * cpus) return STK_NO;
    stk__finding_says(f, delay >= RUN_DELAY ? STK_DOCTOR_WARN : STK_DOCTOR_INFO,
                      "PyTorch computes with %lld threads, %.3g CPUs are usable", (long long)threads, cpus);
    stk__finding_adds(f, !isnan(delay), "; the process waits for a CPU %.0f %% of its time", 100 * delay);
    stk__finding_advises(
        f,
        "OMP_NUM_THREADS=%.0f, or torch.set_num_threads(%.0f): as many as there are CPUs, by "
        "affinity and quota",
        fmax(1, floor(cpus)), fmax(1, floor(cpus)));
    stk__finding_number(f, "threads", (double)threads);
    stk__finding_number(f, "cpus", cpus);
    stk__finding_number(f, "run_delay_share", delay);
    stk__finding_gain_unknown(f, "what threads lose by competing shows only in a run with fewer of them");
    return STK_YES;
}

static stk__tristate cpu_competition(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double delay = stk__trainer_run_delay(facts->e), full = machine_of(facts)->cpu_share;
    if (isnan(delay)) return STK_UNSURE;
    if (delay < RUN_DELAY) return STK_NO;
    stk__finding_says(f, delay >= STK_SHARE_CRIT ? STK_DOCTOR_WARN : STK_DOCTOR_INFO,
                      "the training process was ready to run but had no CPU for %.0f %% of the time%s",
                      100 * delay, full >= FULL_CPUS ? "; all CPUs are in use" : "");
    stk__finding_advises(
        f,
        "fewer loader workers or threads, or another time for the other jobs of this machine: the "
        "run delay of %.0f %% was measured",
        100 * delay);
    stk__finding_number(f, "run_delay_share", delay);
    stk__finding_number(f, "cpu_share", full);
    stk__finding_gain_unknown(f, "depends on which process takes the CPUs");
    return STK_YES;
}

static stk__tristate cpu_full(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const double full = machine_of(facts)->cpu_share, own = facts->split.command_cpu;
    if (isnan(full) || isnan(own) || !facts->judged) return STK_UNSURE;
    if (full < FULL_CPUS || own < OWN_CPUS || facts->split.wait < STK_SHARE_WARN) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "all %.3g CPUs are in use (%.0f %%, %.0f %% by this command) and the step waits %.0f "
                      "%% of its time for data: more "
                      "workers cannot help",
                      machine_of(facts)->cpus, 100 * full, 100 * own, 100 * facts->split.wait);
    stk__finding_advises(f, "less CPU work per sample: smaller stored images, transforms on the GPU, or "
                            "stoker.Augment; the CPUs were measured full");
    stk__finding_number(f, "cpu_share", full);
    stk__finding_number(f, "command_cpu_share", own);
    stk__finding_number(f, "wait_share", facts->split.wait);
    stk__finding_gain(f, facts->split.wait, "at most: if loading needs no CPU");
    return STK_YES;
}

static stk__tristate quota_throttled(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__machine_evidence *m = machine_of(facts);
    if (isnan(m->throttled_share)) return STK_UNSURE;
    if (m->throttled_share < THROTTLED) return STK_NO;
    stk__finding_says(f, m->throttled_share >= STK_SHARE_CRIT ? STK_DOCTOR_CRIT : STK_DOCTOR_WARN,
                      "the CPU quota of the container held its processes back for %.0f %% of the time",
                      100 * m->throttled_share);
    stk__finding_adds(f, !isnan(m->quota_cpus), "; it grants %.3g CPUs", m->quota_cpus);
    stk__finding_advises(
        f, "raise the CPU limit of the container, or use fewer threads and workers: nr_throttled of "
           "the cgroup was read");
    stk__finding_number(f, "throttled_share", m->throttled_share);
    stk__finding_number(f, "quota_cpus", m->quota_cpus);
    stk__finding_gain(f, fmin(m->throttled_share, 0.9), "at most: if it is never held back");
    return STK_YES;
}

static stk__tristate memory_near_limit(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__machine_evidence *m = machine_of(facts);
    if (isnan(m->memory_used_share)) return STK_UNSURE;
    if (m->memory_used_share < MEMORY_FULL) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN, "%.0f %% of the usable memory is in use",
                      100 * m->memory_used_share);
    stk__finding_adds(f, m->memory_pressure >= MEMORY_PRESSURE,
                      "; tasks waited for memory %.0f %% of the time", 100 * m->memory_pressure);
    stk__finding_advises(
        f,
        "fewer workers or a lower prefetch_factor (each keeps whole batches), or no in-memory cache "
        "of the dataset: %.0f %% was read",
        100 * m->memory_used_share);
    stk__finding_number(f, "memory_used_share", m->memory_used_share);
    stk__finding_number(f, "memory_pressure", m->memory_pressure);
    stk__finding_gain_unknown(f, "it prevents a kill rather than saving time");
    return STK_YES;
}

static stk__tristate swapping(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__machine_evidence *m = machine_of(facts);
    if (isnan(m->swap_in_bytes_per_s)) return STK_UNSURE;
    if (m->swap_in_bytes_per_s < SWAP_IN_BYTES_PER_S) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_CRIT, "%.1f MB/s come back from swap", 1e-6 * m->swap_in_bytes_per_s);
    stk__finding_adds(f, !isnan(m->swap_used_bytes), "; %.1f GB are swapped out", 1e-9 * m->swap_used_bytes);
    stk__finding_advises(f,
                         "fewer workers or smaller caches until nothing is swapped: %.1f MB/s were measured",
                         1e-6 * m->swap_in_bytes_per_s);
    stk__finding_number(f, "swap_in_bytes_per_s", m->swap_in_bytes_per_s);
    stk__finding_number(f, "swap_used_bytes", m->swap_used_bytes);
    stk__finding_gain_unknown(f, "waits for swapped pages are in all rows of the table");
    return STK_YES;
}

static stk__tristate io_pressure(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__machine_evidence *m = machine_of(facts);
    if (isnan(m->io_pressure)) return STK_UNSURE;
    if (m->io_pressure < IO_PRESSURE || (facts->judged && facts->split.wait < STK_SHARE_WARN)) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO,
                      "some task of this machine waited for storage %.0f %% of the time%s%s",
                      100 * m->io_pressure, m->storage[0] ? "; the data is on " : "", m->storage);
    stk__finding_advises(
        f, "keep the data in memory or on a local SSD; look which job reads (iotop): pressure was "
           "measured for the whole machine");
    stk__finding_number(f, "io_pressure", m->io_pressure);
    stk__finding_gain_unknown(f, "pressure does not say which task waited");
    return STK_YES;
}

static stk__tristate command_died(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    if (!facts->e->died) return STK_NO;
    const int32_t status = facts->e->exit_status;
    const bool killed = status == 128 + 9;
    stk__finding_says(f, STK_DOCTOR_CRIT, "the command ended with status %d%s", status,
                      killed          ? " (SIGKILL: often the kernel's out-of-memory killer)"
                      : status >= 128 ? " (a signal)"
                                      : "");
    stk__finding_advises(
        f, killed ? "look at `dmesg` for \"Out of memory\" and at the memory of its processes below; "
                    "the status was read from the kernel"
                  : "read the last lines that it printed; the status was read from the kernel");
    stk__finding_number(f, "exit_status", status);
    stk__finding_must(f);
    return STK_YES;
}

const stk__doctor_rule stk__rules_machine[] = {
    {"command_died", "the command failed", false, STK_SYMPTOM_MEMORY, "exit status", command_died},
    {"threads_many", "more compute threads than CPUs", false, STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_MORE_WORKERS,
     "torch.get_num_threads (hook), usable CPUs (outside)", threads_many},
    {"cpu_competition", "the training process waits for a CPU", false,
     STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_MORE_WORKERS, "run delay of the training process (outside)",
     cpu_competition},
    {"cpu_full", "all CPUs are busy and data is late", false,
     STK_SYMPTOM_CPU_FULL | STK_SYMPTOM_MORE_WORKERS | STK_SYMPTOM_LOW_UTIL,
     "CPU load (outside), data wait (hook)", cpu_full},
    {"quota_throttled", "the container's CPU quota", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_MORE_WORKERS | STK_SYMPTOM_CPU_FULL,
     "cpu.stat of the cgroup (outside)", quota_throttled},
    {"memory_near_limit", "memory is nearly full", false, STK_SYMPTOM_MEMORY | STK_SYMPTOM_MORE_WORKERS,
     "memory of machine or cgroup (outside)", memory_near_limit},
    {"swapping", "memory is swapped", false, STK_SYMPTOM_MEMORY | STK_SYMPTOM_MORE_WORKERS,
     "swap of the machine (outside)", swapping},
    {"io_pressure", "tasks wait for storage", false, STK_SYMPTOM_LOW_UTIL, "pressure of the kernel (outside)",
     io_pressure},
    {0}};
