/* SPDX-License-Identifier: Apache-2.0 */
/* Copy bandwidth and augmentation time, by the GPU's own clock, against the limits of PCIe link, memory
 * bandwidth and instruction issue. The same in quick mode: it takes seconds. */
#include "selftest.h"

#include "../../bench/bench_batch.h"
#include "core/clock.h"
#include "device/cuda/cuda_bandwidth.h"

#include <math.h>

enum { COPY_ROUNDS = 4, WAYS = 4 /* to and from, pinned and pageable */, AUGMENT_ROUNDS = 8 };

#define COPY_BYTES  (UINT64_C(64) << 20)
#define LINK_LOOKS  3   /* NVML reads of the link during copies */
#define LINK_MOST_S 2.0 /* for them */
/* Minimum share of the link's theoretical rate, and maximum time of augmentation as a multiple of the bound
 * (gpu_bound.h): assumptions, not measured yet. Twice the bound is what FP32 instructions alone would take on
 * SMs with 64 FP32 lanes. */
#define PINNED_SHARE  0.7
#define AUGMENT_TIMES 2.0

static const char copy_section[] = "copies", kernel_section[] = "augmentation";

/* --- copies
 * -------------------------------------------------------------------------------------------------
 */

/* Measures one direction; the expectation is filled in later. */
static stk_status copy_way(stk__device *device, int way, stk__selftest_row *row, stk_error *error)
{
    const stk__cuda_copies copies = {
        .bytes = COPY_BYTES, .rounds = COPY_ROUNDS, .pinned = way < 2, .to_host = way % 2};
    *row = (stk__selftest_row){.section = copy_section, .unit = "GB/s", .speed = true};
    snprintf(row->name, sizeof row->name, "%s, %s memory", copies.to_host ? "from the GPU" : "to the GPU",
             copies.pinned ? "pinned" : "pageable");
    if (stk__selftest_stopped()) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    return stk__cuda_copies_measure(device, &copies, &row->value, error);
}

/* More copies, until NVML has read the link often enough. */
static stk__selftest_link watch_link(stk__selftest *t, stk__device *device)
{
    const stk__cuda_copies copies = {.bytes = COPY_BYTES, .rounds = 1, .pinned = true};
    const uint64_t until_ns = stk__clock_ns() + (uint64_t)(LINK_MOST_S * STK_SECOND_NS);
    double rate;
    stk_error error;
    while (t->watch && stk__selftest_watch_link(t->watch).frames < LINK_LOOKS && stk__clock_ns() < until_ns)
        if (stk__cuda_copies_measure(device, &copies, &rate, &error) != STK_OK) break;
    return stk__selftest_watch_link(t->watch);
}

/* Fewer PCIe lanes than possible: the slot, a riser cable or the firmware. */
static void put_link(stk__selftest *t, const stk__selftest_link *link)
{
    stk__selftest_row row = {.section = copy_section,
                             .name = "PCIe lanes during copies",
                             .value = link->seen_width,
                             .kind = STK_LIMIT_LEAST,
                             .limit = link->width,
                             .speed = true};
    snprintf(row.basis, sizeof row.basis, "measured: PCIe %d.0 x%d of %s", link->seen_generation,
             link->seen_width, t->gpu->link);
    if (link->seen_width && link->width) stk__selftest_put(t->gpu, &row, false);
}

static void expect_pinned(stk__selftest_row *row, const stk__selftest_link *link)
{
    const double rate = stk__gpu_link_gb_per_s(link->seen_generation, link->seen_width);
    row->kind = STK_LIMIT_LEAST;
    row->limit = PINNED_SHARE * rate;
    if (isnan(rate))
        snprintf(row->basis, sizeof row->basis, "PCIe link unknown");
    else
        snprintf(row->basis, sizeof row->basis, "%.0f %% of PCIe %d.0 x%d, %.1f GB/s", 100 * PINNED_SHARE,
                 link->seen_generation, link->seen_width, rate);
}

/* Pinned first, with the link monitored; the expectation follows from the link seen. */
void stk__selftest_copies(stk__selftest *t, stk__device *device)
{
    stk__selftest_row rows[WAYS];
    stk_error error = {0};
    int done = 0;
    stk__progress_start(&t->progress);
    stk__selftest_watch_link_start(t->watch);
    while (done < 2 && copy_way(device, done, &rows[done], &error) == STK_OK)
        done++;
    const stk__selftest_link link = done == 2 ? watch_link(t, device) : (stk__selftest_link){0};
    put_link(t, &link);
    while (done >= 2 && done < WAYS && copy_way(device, done, &rows[done], &error) == STK_OK)
        done++;
    for (int i = 0; i < done; i++) {
        if (i < 2) expect_pinned(&rows[i], &link);
        if (i >= 2)
            snprintf(rows[i].basis, sizeof rows[i].basis, "not judged: the driver stages pageable copies");
        stk__selftest_put(t->gpu, &rows[i], false);
    }
    if (done < WAYS) stk__selftest_fail(t->gpu, copy_section, rows[done].name, &error);
    stk__progress_end(&t->progress);
}

/* --- augmentation
 * -------------------------------------------------------------------------------------------
 */

/* The larger of the bounds by memory bandwidth and by instructions; basis says which. */
static void expect_kernels(stk__device *device, const stk__augment_batch *work, const char *chain,
                           stk__selftest_row *row)
{
    const stk__known_gpu *known = stk__gpu_find(device->info.model);
    const stk__gpu_speed speed = stk__gpu_speed_of(known, stk__cuda_speed(device));
    const double instructions = stk__gpu_instructions(chain);
    const stk__gpu_bound bound = stk__gpu_bound_of(work, instructions, &speed);
    const char *who = known ? known->name : "as the driver reports";
    row->limit = AUGMENT_TIMES * bound.ms;
    if (isnan(bound.ms))
        snprintf(row->basis, sizeof row->basis, "clock or memory bandwidth unknown");
    else if (bound.issue_ms > bound.memory_ms)
        snprintf(row->basis, sizeof row->basis, "%.0f x %.3g ms: %.0f instr./px, %.0f SMs, %.0f MHz, %s",
                 AUGMENT_TIMES, bound.ms, instructions, speed.units, speed.clock_mhz, who);
    else
        snprintf(row->basis, sizeof row->basis, "%.0f x %.3g ms: bytes at %.4g GB/s, %s", AUGMENT_TIMES,
                 bound.ms, speed.memory_gb_per_s, who);
}

/* The fastest of some batches: kernels alone. */
static stk_status time_chain(stk__selftest *t, stk__device *device, stk__bench_batch *batch, stk__chain chain,
                             stk_error *error)
{
    stk__selftest_row row = {
        .section = kernel_section, .unit = "ms", .kind = STK_LIMIT_MOST, .speed = true, .value = INFINITY};
    const stk__augment_batch work =
        stk__bench_batch_resolve(batch, &(stk__bench_way){.chain = chain, .epoch = 1});
    snprintf(row.name, sizeof row.name, "%s, %d x %d x %d", stk__chain_name(chain), (int)batch->count,
             batch->h, batch->w);
    for (uint64_t i = 0; i < AUGMENT_ROUNDS; i++) {
        if (stk__selftest_stopped()) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        STK__TRY(stk__device_augment(device, &work, error));
        if (device->last_kernel_ns) row.value = fmin(row.value, (double)device->last_kernel_ns * 1e-6);
        stk__progress_show(&t->progress, "augmentation", i + 1, AUGMENT_ROUNDS);
    }
    if (isinf(row.value)) row.value = NAN;
    expect_kernels(device, &work, stk__chain_name(chain), &row);
    stk__selftest_put(t->gpu, &row, false);
    return STK_OK;
}

void stk__selftest_kernels(stk__selftest *t, stk__device *device)
{
    static stk__bench_batch batch; /* too large for a stack */
    stk_error error = {0};
    const char *name = "open batch";
    batch = (stk__bench_batch){0};
    stk__progress_start(&t->progress);
    stk_status status = stk__selftest_stopped() ? stk__fail(&error, STK_ERROR_INTERRUPTED, "interrupted")
                                                : stk__bench_batch_open(&batch, STK_BENCH_SAMPLES, &error);
    for (int chain = 0; chain <= STK_CHAIN_STRONG && status == STK_OK; chain++) {
        name = stk__chain_name((stk__chain)chain);
        status = time_chain(t, device, &batch, (stk__chain)chain, &error);
    }
    stk__progress_end(&t->progress);
    stk__bench_batch_close(&batch);
    if (status != STK_OK) stk__selftest_fail(t->gpu, kernel_section, name, &error);
}
