/* SPDX-License-Identifier: Apache-2.0 */
/* First part of the self-test: results of random batches, bit for bit; then speed (selftest_speed.c). */
#include "selftest.h"

#include "device/trial.h"

enum {
    CHECK_BATCHES = 192, /* a whole check; `--check` and quick have fewer */
    CHECK_QUICK = 48,
    TRIAL_SIDE_PX = 90
};

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
        const stk__augment_target *target = &trial.batch.target;
        const int planar = target->planar, half = target->dtype != STK_DTYPE_F32;
        check->by[planar][half].batches++;
        check->by[planar][half].values += result.values;
        check->by[planar][half].differing += result.differing;
        if (progress) stk__progress_show(progress, "device check", (uint64_t)i + 1, (uint64_t)batches);
    }
    stk__trial_fini(&trial);
    return status;
}

static void check_bits(stk__selftest *t, stk__device *device)
{
    static const char section[] = "device check, values that differ from the reference";
    static const char *const names[2][2] = {{"NHWC, float32", "NHWC, 16 bits"},
                                            {"planar (NCHW), float32", "planar (NCHW), 16 bits"}};
    stk__device_check check;
    stk_error error = {0};
    stk__progress_start(&t->progress);
    const stk_status status =
        stk__device_check_run(device, t->quick ? CHECK_QUICK : CHECK_BATCHES, &t->progress, &check, &error);
    stk__progress_end(&t->progress);
    if (status == STK_OK && check.overrun)
        stk__fail(&error, STK_ERROR_UNSUPPORTED, "wrote outside its output");
    if (error.code != STK_OK) {
        stk__selftest_fail(t->gpu, section, "random batches", &error);
        return;
    }
    for (int i = 0; i < 4; i++) {
        const int planar = i / 2, half = i % 2;
        stk__selftest_row row = {
            .section = section, .value = (double)check.by[planar][half].differing, .kind = STK_LIMIT_MOST};
        snprintf(row.name, sizeof row.name, "%s", names[planar][half]);
        snprintf(row.basis, sizeof row.basis, "%s values, %d batches",
                 stk__cli_grouped(check.by[planar][half].values), check.by[planar][half].batches);
        stk__selftest_put(t->gpu, &row, t->quick);
    }
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
    stk__selftest_copies(t, device);
    stk__selftest_kernels(t, device);
    stk__device_close(&device);
}
