/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does with a CUDA device from open to close, as short scenes: tests replay them while the
 * n-th driver call fails. */
#include "cuda_scenes.h"

#include "cuda_kept.h"
#include "device/cuda/cuda_device.h"
#include "device/trial.h"
#include "support/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static stk__trial trial;
static kept_slot kept;
static workspace folder;
static bool lost;

void scenes_begin(void)
{
    uint64_t seed = 0;
    do
        assert_int_equal(stk__trial_make(&trial, seed++, 40, NULL), STK_OK);
    while (!trial.mask_bytes || !trial.batch.blocks[0].step_count ||
           trial.batch.blocks[0].step_kind[0] != STK_COLOUR_CONTRAST);
    kept_make(&kept, 40, 30);
    folder = workspace_make();
    setenv("STOKER_CACHE_DIR", folder.path, 1);
}

void scenes_end(void)
{
    stk__trial_fini(&trial);
    kept_fini(&kept);
    workspace_remove(&folder);
}

void scenes_spoil(void)
{
    stk__trial_spoil(&trial);
}

bool scenes_are_right(void)
{
    const stk__trial_result result = stk__trial_compare(&trial);
    return result.values && !result.differing && !result.overrun;
}

const stk__augment_batch *scenes_batch(void)
{
    return &trial.batch;
}

void scenes_forget_programs(void)
{
    DIR *dir = opendir(folder.path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
    closedir(dir);
}

bool scenes_lost(void)
{
    return lost;
}

/* A batch to the host: the way of stk__device_augment. */
static stk_status play_host(stk_error *error)
{
    stk__device *device;
    stk_status status = stk__device_open(&device, "cuda:0", error);
    if (status == STK_OK) status = stk__device_augment(device, &trial.batch, error);
    lost = device && stk__cuda_has_lost((const stk__cuda *)device);
    stk__device_close(&device);
    return status;
}

/* A batch that stays, and a consumer on the default stream; then it is copied out to be looked at. */
static stk_status use_kept(stk_error *error)
{
    uint8_t *bytes = calloc(1, kept.size_bytes);
    const stk__device_copy copy = {bytes, kept.memory->data, kept.size_bytes};
    stk_status status = kept_submit(&kept, error);
    if (status == STK_OK) status = stk__device_ready_on(kept.memory, NULL, error);
    if (status == STK_OK) status = stk__device_ready(kept.memory, error);
    if (status == STK_OK) status = stk__device_fetch(kept.memory, &copy, error);
    if (status == STK_OK) status = stk__device_release_on(kept.memory, NULL, error);
    if (status == STK_OK) status = kept_await(&kept, error);
    if (status == STK_OK && !kept_is_right(&kept, bytes)) fail_msg("a batch that stays has other bits");
    if (status == STK_OK)
        memcpy(trial.output.data, trial.expected.data, trial.output.size_bytes); /* for scenes_are_right */
    free(bytes);
    return status;
}

static stk_status play_kept(stk_error *error)
{
    stk__device *device;
    stk_status status = stk__device_open(&device, "cuda:0", error);
    if (status == STK_OK) status = kept_create(&kept, device, error);
    if (status == STK_OK) status = use_kept(error);
    if (kept.memory) kept_destroy(&kept);
    lost = device && stk__cuda_has_lost((const stk__cuda *)device);
    stk__device_close(&device);
    if (!kept.host) kept_fini(&kept), kept_make(&kept, 40, 30); /* its memory was left behind */
    return status;
}

const scene scenes[] = {{"host", "", false, play_host},
                        {"host, cold", "", true, play_host},
                        {"host, PTX", "nvrtc 12 8 75", true, play_host},
                        {"kept", "", false, play_kept},
                        {NULL, NULL, false, NULL}};
