/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a loader over a damaged data set and checks every batch: good samples have their bytes wherever
 * they stand, skipped places are empty, and the ledger names exactly the damaged sample. */
#include "loader/damage_run.h"

#include "loader/digest.h"
#include "loader/loader_open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOBODY = 65534 };

bool damage_become_nobody(void)
{
    if (geteuid() != 0) return true;
    if (setegid(NOBODY) != 0) return false;
    if (seteuid(NOBODY) != 0) {
        assert_int_equal(setegid(0), 0);
        return false;
    }
    prctl(PR_SET_DUMPABLE, 1); /* or leak checkers cannot look at this process any more */
    return true;
}

void damage_become_root(void)
{
    if (getuid() != 0) return;
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    prctl(PR_SET_DUMPABLE, 1);
}
static void keep_line(void *context, const stk_ledger_entry *entry)
{
    damage_run *run = context;
    assert_true(run->line_count < DAMAGE_MOST_LINES);
    ledger_line *line = &run->lines[run->line_count++];
    line->entry = *entry;
    snprintf(line->path, sizeof line->path, "%s", entry->path);
    snprintf(line->detail, sizeof line->detail, "%s", entry->detail);
    snprintf(line->action, sizeof line->action, "%s", entry->action);
}

static void require_ok(stk_status status, const stk_error *error)
{
    if (status != STK_OK) print_error("%s (%s)\n", error->message, error->place);
    assert_int_equal(status, STK_OK);
}

static stk_loader_options options_of(const damage_run *run)
{
    return (stk_loader_options){.root = run->folder,
                                .batch_size = DAMAGE_BATCH,
                                .num_workers = run->workers,
                                .on_bad_sample = run->policy,
                                .seed = 5,
                                .epochs = DAMAGE_EPOCHS,
                                .timeout_s = 20,
                                .sequence_length = DAMAGE_WINDOW_ROWS,
                                .limit_bytes = DAMAGE_LIMIT_BYTES};
}

/* The file is there while the source looks for files, and gone before the loader reads the first. */
static void open_vanishing(damage_run *run, stk_error *error)
{
    const stk__source_options options = {.root = run->folder, .limit_bytes = DAMAGE_LIMIT_BYTES};
    char path[PATH_MAX];
    require_ok(stk__source_open(&run->source, &options, error), error);
    assert_true(snprintf(path, sizeof path, "%s/%s", run->folder, run->one->file) < PATH_MAX);
    run->one->vanish(path);
}

void damage_run_open(damage_run *run)
{
    stk_error error = {0};
    snprintf(run->folder, sizeof run->folder, "%s/%s", run->root, damage_folder(run->one->set));
    damage_plant(run->one, run->root);
    if (run->one->as_nobody) assert_true(damage_become_nobody());
    if (run->one->vanish) open_vanishing(run, &error);
    const stk_loader_options options = options_of(run);
    require_ok(stk__loader_open(&run->loader,
                                &(stk__loader_setup){.options = &options, .source = run->source}, &error),
               &error);
    require_ok(stk__hash_create(&run->hash, &error), &error);
    stk_loader_set_ledger(run->loader, keep_line, run);
    assert_int_equal(stk_loader_describe(run->loader)->sample_count, DAMAGE_SAMPLES);
}

void damage_run_close(damage_run *run)
{
    assert_int_equal(stk_loader_close(&run->loader), 0);
    stk__source_close(&run->source);
    stk__hash_destroy(&run->hash);
    damage_become_root();
    damage_clear(run->one, run->root);
}

static bool is_filled(const void *data, uint8_t value, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != value) return false;
    return true;
}

/* Part of a tensor that belongs to one place. */
static const void *place_of(const stk_tensor *tensor, int64_t place, size_t *size_bytes)
{
    *size_bytes =
        tensor->dtype == STK_DTYPE_NONE ? 0 : (size_t)(tensor->strides[0] * stk_dtype_bytes(tensor->dtype));
    return (const uint8_t *)tensor->data + (size_t)place * *size_bytes;
}

static void check_empty_place(const damage_run *run, const stk_batch *batch, int64_t i)
{
    size_t size;
    const void *data = place_of(&batch->images, i, &size);
    assert_true(is_filled(data, 0, size));
    data = place_of(&batch->masks, i, &size);
    assert_true(is_filled(data, 255, size));
    data = place_of(&batch->windows, i, &size);
    assert_true(is_filled(data, 0, size));
    if (batch->labels.dtype == STK_DTYPE_I64) assert_int_equal(((int64_t *)batch->labels.data)[i], -1);
    if (batch->labels.dtype == STK_DTYPE_F32) assert_true(((float *)batch->labels.data)[i] == 0);
    assert_int_equal(((int64_t *)batch->sample_ids.data)[i], damage_sample_id(run->one));
}

/* A good sample is the same wherever it stands: in its own place, as a substitute, in the next epoch. */
static void check_good_place(damage_run *run, const stk_batch *batch, int64_t i)
{
    const stk_tensor *const tensors[] = {&batch->images, &batch->masks, &batch->labels, &batch->windows};
    const int64_t id = ((const int64_t *)batch->sample_ids.data)[i];
    assert_in_range(id, 0, DAMAGE_SAMPLES - 1);
    assert_int_not_equal(id, damage_sample_id(run->one));
    stk__hash_reset(run->hash);
    for (size_t t = 0; t < sizeof tensors / sizeof tensors[0]; t++) {
        size_t size;
        const void *data = place_of(tensors[t], i, &size);
        if (size) stk__hash_update(run->hash, data, size);
    }
    const stk__digest content = stk__hash_digest(run->hash);
    if (run->known[id]) assert_memory_equal(&content, &run->contents[id], sizeof content);
    run->contents[id] = content;
    run->known[id] = true;
    run->times[batch->epoch][id]++;
}

static void check_tensors(const damage_run *run, const stk_batch *batch)
{
    const bool images = run->one->set != DAMAGE_SERIES, masks = run->one->set == DAMAGE_PAIRS;
    assert_int_equal(batch->images.dtype, images ? STK_DTYPE_U8 : STK_DTYPE_NONE);
    assert_int_equal(batch->masks.dtype, masks ? STK_DTYPE_U8 : STK_DTYPE_NONE);
    assert_int_equal(batch->windows.dtype, images ? STK_DTYPE_NONE : STK_DTYPE_F32);
    if (images) assert_int_equal(stk_tensor_bytes(&batch->images), batch->count * DAMAGE_W * DAMAGE_H * 3);
}

static void check_batch(damage_run *run, const stk_batch *batch, uint64_t epoch, uint64_t position)
{
    const uint64_t left = DAMAGE_SAMPLES - position;
    assert_int_equal(batch->epoch, epoch);
    assert_int_equal(batch->position, position);
    assert_int_equal(batch->count, left < DAMAGE_BATCH ? left : DAMAGE_BATCH);
    check_tensors(run, batch);
    for (int64_t i = 0; i < batch->count; i++) {
        const float weight = ((const float *)batch->weights.data)[i];
        if (weight == 1) {
            check_good_place(run, batch, i);
            continue;
        }
        assert_true(weight == 0);
        check_empty_place(run, batch, i);
        run->bad_position[epoch] = position + (uint64_t)i;
        run->bad_count[epoch]++;
    }
}

stk_status damage_run_epoch(damage_run *run, uint64_t epoch, uint64_t *position, stk_error *error)
{
    stk_batch *batch = NULL;
    stk_status status;
    *position = 0;
    while ((status = stk_loader_next(run->loader, &batch, error)) == STK_OK) {
        assert_true(*position < DAMAGE_SAMPLES);
        check_batch(run, batch, epoch, *position);
        *position += (uint64_t)batch->count;
        run->digest = stk__digest_chain(run->hash, run->digest, batch);
        stk_batch_release(batch);
    }
    assert_null(batch);
    return status;
}

void damage_run_all(damage_run *run)
{
    stk_error error = {0};
    for (uint64_t epoch = 0; epoch < DAMAGE_EPOCHS; epoch++) {
        uint64_t position;
        const stk_status status = damage_run_epoch(run, epoch, &position, &error);
        if (status != STK_END) print_error("%s (%s)\n", error.message, error.place);
        assert_int_equal(status, STK_END);
        assert_int_equal(position, DAMAGE_SAMPLES);
    }
}
