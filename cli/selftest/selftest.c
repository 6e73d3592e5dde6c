/* SPDX-License-Identifier: Apache-2.0 */
/* stoker devices --selftest: the loop over GPUs and parts. */
#include "selftest.h"

#include "core/clock.h"

#include <string.h>

static const struct {
    const char *name, *section; /* value of --part; section title of a part that was not reached */
    void (*run)(stk__selftest *t);
} parts[] = {{"device", "device check", stk__selftest_device},
             {"batches", "batches in GPU memory", stk__selftest_resident},
             {"engine", "engine torch", stk__selftest_engine},
             {"train", "training on the GPU and on the CPU", stk__selftest_compare},
             {"load", "training under load", stk__selftest_load}};
enum { PARTS = sizeof parts / sizeof parts[0] };

const char *stk__selftest_part_name(int index)
{
    return index < PARTS ? parts[index].name : NULL;
}

static stk__selftest_gpu gpus[STK_DEVICE_MOST]; /* too large for a stack */

static int index_of(const stk__device_info *info)
{
    int index = 0;
    sscanf(info->name, "cuda:%d", &index);
    return index;
}

/* The requested GPUs, into gpus; 0: none, and *error has the reason. */
static int list_gpus(const stk__selftest_options *options, stk_error *error)
{
    static stk__device_info infos[STK_DEVICE_MOST];
    const int listed = stk__device_cuda.list(infos, STK_DEVICE_MOST);
    int count = 0;
    if (listed < 1 || !strchr(infos[0].name, ':')) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "no NVIDIA GPU to test: %s",
                  listed ? infos[0].why : "the driver lists none");
        if (listed && infos[0].note[0]) stk__error_hint(error, "%s", infos[0].note);
        return 0;
    }
    for (int i = 0; i < listed; i++)
        if (options->gpu < 0 || options->gpu == index_of(&infos[i])) gpus[count++].info = infos[i];
    if (!count)
        stk__fail(error, STK_ERROR_UNSUPPORTED, "no GPU cuda:%lld to test: the driver lists %d",
                  (long long)options->gpu, listed);
    return count;
}

static void describe_link(stk__selftest *t)
{
    const stk__selftest_link link = stk__selftest_watch_link(t->watch);
    if (link.generation && link.width)
        snprintf(t->gpu->link, sizeof t->gpu->link, "PCIe %d.0 x%d", link.generation, link.width);
    if (!t->watch) stk__selftest_unknown(t->gpu, "NVML", "PCIe link", t->no_watch);
}

/* Returns the number of abandoned threads. */
static int test_gpu(stk__selftest_gpu *gpu, const stk__selftest_options *options)
{
    stk__selftest t = {.quick = options->quick, .gpu = gpu};
    const stk_error stopped = {.code = STK_ERROR_INTERRUPTED};
    if (!gpu->info.available) {
        stk_error error = {0};
        stk__fail(&error, STK_ERROR_UNSUPPORTED, "%s", gpu->info.why);
        stk__selftest_fail(gpu, "device check", gpu->info.name, &error);
        return 0;
    }
    stk__selftest_watch_open(&t.watch, &gpu->info, t.no_watch);
    describe_link(&t);
    for (int i = 0; i < PARTS; i++) {
        if (options->part && strcmp(options->part, parts[i].name) != 0) continue;
        if (stk__selftest_stopped())
            stk__selftest_fail(gpu, parts[i].section, "all tests", &stopped);
        else
            parts[i].run(&t);
    }
    return t.left_behind + stk__selftest_watch_close(&t.watch);
}

int stk__cli_selftest(const stk__selftest_options *options)
{
    stk_error error = {0};
    stk__selftest_report report = {.quick = options->quick, .gpus = gpus};
    stk__selftest_tally tally = {0};
    int hung = 0, code = STK_EXIT_GOOD;
    const uint64_t start_ns = stk__clock_ns();
    report.gpu_count = list_gpus(options, &error);
    if (!report.gpu_count) {
        stk__cli_fail(&error);
        return STK_EXIT_FAILED;
    }
    stk__interrupt_wait(true); /* the report is printed after the first signal, too */
    stk__selftest_facts(&gpus[0].info, report.facts);
    for (int i = 0; i < report.gpu_count; i++) {
        hung += test_gpu(&gpus[i], options);
        stk__selftest_count(&gpus[i], &tally);
    }
    report.interrupted = stk__selftest_stopped();
    report.seconds = (double)(stk__clock_ns() - start_ns) * 1e-9;
    if (tally.failed) code = STK_EXIT_FAILED;
    if (report.interrupted) code = STK_EXIT_INTERRUPTED;
    if (!stk__cli_json)
        stk__selftest_print(&report);
    else if (stk__selftest_print_json(&report) != STK_EXIT_GOOD)
        code = STK_EXIT_FAILED;
    if (hung) stk__cli_leave(code);
    return code;
}
