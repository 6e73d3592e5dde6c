/* The self-test's parts without a network: bits of random batches, copies, augmentation. */
#include "selftest.h"

#include "bench_batch.h"
#include "device/cuda_bandwidth.h"
#include "device/gpu_bound.h"
#include "device/trial.h"

#include <math.h>

enum {
    CHECK_BATCHES = 192, /* a whole check; `--check` and quick have fewer */
    CHECK_QUICK = 48,
    TRIAL_SIDE_PX = 90,
    COPY_ROUNDS = 8,
    WAYS = 4, /* to and from, pinned and pageable */
    AUGMENT_ROUNDS = 8,
    AUGMENT_QUICK = 2
};

#define COPY_BYTES       (UINT64_C(256) << 20)
#define COPY_QUICK_BYTES (UINT64_C(4) << 20)

/* What a link gives of its rate, and what is left of that when the driver has to go through memory of its
 * own. Nobody has seen these numbers on a GPU with Stoker yet: they are what is usual. */
#define PINNED_SHARE   0.7
#define PAGEABLE_SHARE 0.15
/* How many times as long as its memory needs the augmentation may take. */
#define AUGMENT_TIMES 4.0

stk_status stk__device_check_run(stk__device *device, int batches, stk__progress *progress,
                                 stk__device_check *check, stk_error *error)
{
    stk__trial trial = {0};
    stk_status status = STK_OK;
    *check = (stk__device_check){0};
    for (int i = 0; i < batches && status == STK_OK; i++) {
        if (stk__selftest_stopped()) status = stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        if (status == STK_OK) status = stk__trial_make(&trial, (uint64_t)i, TRIAL_SIDE_PX, error);
        if (status == STK_OK) status = stk__device_augment(device, &trial.batch, error);
        if (status != STK_OK) break;
        const stk__trial_result result = stk__trial_compare(&trial);
        check->batches++;
        check->values += result.values;
        check->differing += result.differing;
        check->overrun |= result.overrun;
        if (progress) stk__progress_show(progress, "device check", (uint64_t)i + 1, (uint64_t)batches);
    }
    stk__trial_fini(&trial);
    return status;
}

static void check_bits(stk__selftest *t, stk__device *device)
{
    static const char section[] = "device check";
    stk__device_check check;
    stk_error error = {0};
    stk__progress_start(&t->progress);
    const stk_status status =
        stk__device_check_run(device, t->quick ? CHECK_QUICK : CHECK_BATCHES, &t->progress, &check, &error);
    stk__progress_end(&t->progress);
    if (status == STK_OK && check.overrun)
        stk__fail(&error, STK_ERROR_UNSUPPORTED, "it wrote outside its output");
    if (error.code != STK_OK) {
        stk__selftest_fail(t->gpu, section, "random batches", &error);
        return;
    }
    stk__selftest_row row = {.section = section,
                             .name = "values unlike the reference's",
                             .value = (double)check.differing,
                             .kind = STK_LIMIT_MOST};
    snprintf(row.basis, sizeof row.basis, "%s values, %d batches", stk__cli_grouped(check.values),
             check.batches);
    stk__selftest_put(t->gpu, &row, t->quick);
}

/* --- copies ----------------------------------------------------------------------------------------------
 */

static stk__selftest_row expect_copy(stk__selftest *t, bool pinned, bool to_host)
{
    int generation, width;
    stk__selftest_watch_link(t->watch, &generation, &width);
    const double link = stk__gpu_link_gb_per_s(generation, width),
                 share = pinned ? PINNED_SHARE : PAGEABLE_SHARE;
    stk__selftest_row row = {
        .section = "copies", .unit = "GB/s", .kind = STK_LIMIT_LEAST, .limit = link * share, .speed = true};
    snprintf(row.name, sizeof row.name, "%s, %s memory", to_host ? "from the GPU" : "to the GPU",
             pinned ? "pinned" : "pageable");
    if (isnan(link))
        snprintf(row.basis, sizeof row.basis, "the link is unknown");
    else
        snprintf(row.basis, sizeof row.basis, "%.0f %% of %s, %.1f GB/s", 100 * share, t->gpu->link, link);
    return row;
}

static void measure_copies(stk__selftest *t, stk__device *device)
{
    stk_error error = {0};
    stk__progress_start(&t->progress);
    for (int i = 0; i < WAYS && error.code == STK_OK; i++) {
        stk__cuda_copies copies = {.bytes = t->quick ? COPY_QUICK_BYTES : COPY_BYTES,
                                   .rounds = COPY_ROUNDS,
                                   .pinned = i < 2,
                                   .to_host = i % 2};
        stk__selftest_row row = expect_copy(t, copies.pinned, copies.to_host);
        if (stk__selftest_stopped()) stk__fail(&error, STK_ERROR_INTERRUPTED, "interrupted");
        if (error.code == STK_OK && stk__cuda_copies_measure(device, &copies, &row.value, &error) == STK_OK)
            stk__selftest_put(t->gpu, &row, t->quick);
        else
            stk__selftest_fail(t->gpu, row.section, row.name, &error);
        stk__progress_show(&t->progress, "copies", (uint64_t)i + 1, WAYS);
    }
    stk__progress_end(&t->progress);
}

/* --- augmentation ----------------------------------------------------------------------------------------
 */

static double find_memory(const stk__device *device, char *basis, size_t size)
{
    const stk__known_gpu *known = stk__gpu_find(device->info.model);
    const double told = stk__cuda_memory_gb_per_s(device);
    if (known)
        snprintf(basis, size, "%.0f GB/s, %s", known->memory_gb_per_s, known->name);
    else if (isnan(told))
        snprintf(basis, size, "its memory's speed is unknown");
    else
        snprintf(basis, size, "%.4g GB/s, as told", told);
    return known ? known->memory_gb_per_s : told;
}

/* The fastest of some batches, by the GPU's own clock: kernels alone. */
static stk_status time_chain(stk__selftest *t, stk__device *device, stk__bench_batch *batch, stk__chain chain,
                             stk__selftest_row *row, stk_error *error)
{
    char memory_basis[64];
    const double memory = find_memory(device, memory_basis, sizeof memory_basis);
    const stk__augment_batch work =
        stk__bench_batch_resolve(batch, &(stk__bench_way){.chain = chain, .epoch = 1});
    const uint64_t rounds = t->quick ? AUGMENT_QUICK : AUGMENT_ROUNDS;
    row->value = INFINITY;
    for (uint64_t i = 0; i < rounds; i++) {
        if (stk__selftest_stopped()) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        STK__TRY(stk__device_augment(device, &work, error));
        if (device->last_kernel_ns) row->value = fmin(row->value, (double)device->last_kernel_ns * 1e-6);
        stk__progress_show(&t->progress, "augmentation", i + 1, rounds);
    }
    const double bound_ms = stk__gpu_bound_ms(&work, memory);
    if (isinf(row->value)) row->value = NAN;
    row->limit = AUGMENT_TIMES * bound_ms;
    if (isnan(bound_ms))
        snprintf(row->basis, sizeof row->basis, "%s", memory_basis);
    else
        snprintf(row->basis, sizeof row->basis, "%.0f x %.3g ms at %s", AUGMENT_TIMES, bound_ms,
                 memory_basis);
    return STK_OK;
}

static void time_augmentation(stk__selftest *t, stk__device *device)
{
    static stk__bench_batch batch; /* too large for a stack */
    const uint64_t count = t->quick ? 1 : STK_BENCH_SAMPLES;
    stk_error error = {0};
    stk__selftest_row row = {.section = "augmentation", .unit = "ms", .kind = STK_LIMIT_MOST, .speed = true};
    batch = (stk__bench_batch){0};
    stk__progress_start(&t->progress);
    stk_status status = stk__selftest_stopped() ? stk__fail(&error, STK_ERROR_INTERRUPTED, "interrupted")
                                                : stk__bench_batch_open(&batch, count, &error);
    for (int chain = 0; chain <= STK_CHAIN_STRONG && status == STK_OK; chain++) {
        snprintf(row.name, sizeof row.name, "%s, %d x %d x %d", stk__chain_name((stk__chain)chain),
                 (int)count, batch.h, batch.w);
        status = time_chain(t, device, &batch, (stk__chain)chain, &row, &error);
        if (status == STK_OK) stk__selftest_put(t->gpu, &row, t->quick);
    }
    stk__progress_end(&t->progress);
    stk__bench_batch_close(&batch);
    if (status != STK_OK) stk__selftest_fail(t->gpu, row.section, row.name[0] ? row.name : "a batch", &error);
}

void stk__selftest_device(stk__selftest *t)
{
    stk__device *device = NULL;
    stk_error error = {0};
    if (stk__device_open(&device, t->gpu->info.name, &error) != STK_OK) {
        stk__selftest_fail(t->gpu, "device check", "opening the device", &error);
        return;
    }
    check_bits(t, device);
    measure_copies(t, device);
    time_augmentation(t, device);
    stk__device_close(&device);
}
