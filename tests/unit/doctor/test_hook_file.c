/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the hook's records: files made here, whole, half written, and damaged in every way that
 * chance finds. The hook itself is tested in tests/doctor. */
#include "doctor/hook_file.h"

#include "core/memory.h"
#include "core/random.h"
#include "doctor/hook_launch.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char facts[] =
    "{\"site\": 1, \"call\": \"item\", \"at\": \"train.py:12\"}\n"
    "{\"loader\": 0, \"site\": \"train.py:3\", \"num_workers\": 2, \"shuffle\": true, \"length\": null}\n"
    "not JSON\n[1]\n{\"site\": 256, \"call\": \"out of range\"}\n{\"site\": -1}\n{\"site\": \"1\"}\n"
    "{\"work\": 0, \"name\": \"PIL.Image.\\u001bopen\", \"kind\": 0}\n"
    "{\"optimizer\": 0, \"name\": \"AdamW\", \"fused\": null, \"lr\": 0.1}\n{\"optimizer\": 0, \"lr\": 0.2}\n"
    "{\"torch\": {\"torch\": \"2.15.0\", \"cudnn_benchmark\": true, \"threads\": \"many\"}}\n"
    "{\"torch\": {\"threads\": 4}}\n{\"note\": \"cut off";

/* A trainer's record with that many steps of 10 ns each. */
static stk__hook_file *new_record(uint64_t steps)
{
    stk__hook_file *file = stk__alloc(sizeof *file);
    assert_non_null(file);
    file->words[STK_HOOK_MAGIC] = STK_HOOK_SIGNATURE;
    file->words[STK_HOOK_VERSION] = STK_HOOK_FORMAT;
    file->words[STK_HOOK_TORCH] = 1;
    file->words[STK_HOOK_BEGIN_NS] = 5;
    file->words[STK_HOOK_FORWARDS] = 4;
    file->words[STK_HOOK_FORWARDS_AUTOCAST] = 1;
    memcpy(file->facts, facts, sizeof facts - 1);
    file->words[STK_HOOK_FACT_BYTES] = sizeof facts - 1;
    file->words[STK_HOOK_STEPS] = steps;
    for (uint64_t i = steps < STK_HOOK_RING ? 0 : steps - STK_HOOK_RING; i < steps; i++)
        file->steps[i % STK_HOOK_RING] = (stk__hook_step){.number = i + 1,
                                                          .begin_ns = 10 * i,
                                                          .end_ns = 10 * i + 10,
                                                          .cause_ns = {[STK_CAUSE_FORWARD] = 7},
                                                          .batches = 1,
                                                          .samples = i};
    file->site[1][STK_HOOK_SITE_COUNT] = 3;
    file->loader[0][STK_HOOK_LOADER_TRAINED] = 1;
    file->loader[0][STK_HOOK_LOADER_BATCHES] = 9;
    file->loader[0][STK_HOOK_LOADER_SEED] = 77;
    file->work[0][STK_HOOK_WORK_COUNT] = 2;
    file->work[0][STK_HOOK_WORK_TOTAL_NS] = 1500000000;
    return file;
}

/* Writes it below the folder; frees it. */
static void put_record(const workspace *folder, const char *name, stk__hook_file *file, size_t size_bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file, 1, size_bytes, out), size_bytes);
    assert_int_equal(fclose(out), 0);
    stk__free(file);
}

static void put_worker(const workspace *folder, const char *name, uint64_t busy_ns)
{
    stk__hook_file *file = new_record(0);
    file->words[STK_HOOK_WORKER] = 1;
    file->words[STK_HOOK_WORKER_SEED] = 77;
    file->words[STK_HOOK_FETCH_NS] = busy_ns;
    put_record(folder, name, file, sizeof *file);
}

static stk__evidence read_records(const workspace *folder)
{
    stk__evidence evidence;
    stk_error error = {0};
    stk__evidence_init(&evidence);
    assert_int_equal(stk__hook_file_read(folder->path, &evidence, &error), STK_OK);
    return evidence;
}

static void test_trainer_and_workers(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    put_record(&folder, "1.hook", new_record(3), sizeof(stk__hook_file));
    put_record(&folder, "2.hook", new_record(2), sizeof(stk__hook_file)); /* another rank, with fewer */
    put_worker(&folder, "3.hook", 100);
    put_worker(&folder, "4.hook", 300);
    stk__evidence evidence = read_records(&folder);
    assert_int_equal(evidence.hook_started, STK_YES);
    assert_string_equal(evidence.hook_note, "");
    assert_int_equal(evidence.trainers, 2);
    assert_int_equal(evidence.steps_total, 3);
    assert_int_equal(evidence.step_count, 3);
    assert_int_equal(evidence.steps[2].cause_ns[STK_CAUSE_FORWARD], 7);
    assert_int_equal(evidence.steps[2].samples, 2);
    assert_int_equal(evidence.site_count, 1);
    assert_string_equal(evidence.sites[0].site, "train.py:12");
    assert_int_equal(evidence.sites[0].count, 3);
    assert_int_equal(evidence.loader_count, 1);
    const stk__loader_evidence *loader = &evidence.loaders[0];
    assert_int_equal(loader->num_workers, 2);
    assert_int_equal(loader->length, -1);
    assert_int_equal(loader->training, STK_YES);
    assert_int_equal(loader->shuffle, STK_YES);
    assert_int_equal(loader->pin_memory, STK_UNSURE);
    assert_true(loader->worker_max_share == 1.5); /* 300 of a mean of 200 */
    assert_int_equal(evidence.work_count, 1);
    assert_string_equal(evidence.work[0].name, "PIL.Image.?open");
    assert_int_equal(evidence.work[0].count, 6); /* of the trainer and both workers */
    assert_true(evidence.work[0].total_s == 4.5);
    assert_int_equal(evidence.optimizer_count, 1);
    assert_int_equal(evidence.optimizers[0].fused, STK_UNSURE);
    assert_true(evidence.optimizers[0].lr == 0.2);
    assert_string_equal(evidence.torch.torch, "2.15.0");
    assert_int_equal(evidence.torch.cudnn_benchmark, STK_YES);
    assert_int_equal(evidence.torch.threads, 4);
    assert_int_equal(evidence.torch.fixed_shapes, STK_YES);
    assert_true(evidence.torch.autocast_share == 0.25);
    stk__evidence_fini(&evidence);
    workspace_remove(&folder);
}

static void test_nothing_there(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    stk__evidence evidence = read_records(&folder);
    assert_int_equal(evidence.hook_started, STK_NO);
    assert_non_null(strstr(evidence.hook_note, "-I"));
    stk__evidence_fini(&evidence);
    stk__hook_file *file = new_record(0);
    file->words[STK_HOOK_TORCH] = 0;
    file->words[STK_HOOK_FACT_BYTES] = 0;
    put_record(&folder, "1.hook", file, sizeof *file);
    evidence = read_records(&folder);
    assert_int_equal(evidence.hook_started, STK_YES);
    assert_int_equal(evidence.trainers, 0);
    assert_non_null(strstr(evidence.hook_note, "torch"));
    stk__evidence_fini(&evidence);
    workspace_remove(&folder);
    stk_error error = {0};
    stk__evidence_init(&evidence);
    assert_int_equal(stk__hook_file_read(folder.path, &evidence, &error), STK_ERROR_IO);
    stk__evidence_fini(&evidence);
}

/* Records that were being written, too old for the ring, out of order. */
static void test_ring(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    stk__hook_file *file = new_record(STK_HOOK_RING + 100);
    file->steps[200].number = 0;
    file->steps[300].end_ns = 1;
    file->steps[400].cause_ns[STK_CAUSE_SYNC] = UINT64_MAX;
    put_record(&folder, "1.hook", file, sizeof *file);
    stk__evidence evidence = read_records(&folder);
    assert_int_equal(evidence.steps_total, STK_HOOK_RING + 100);
    assert_int_equal(evidence.step_count, STK_HOOK_RING - 3); /* the oldest one may be overwritten now */
    for (int64_t i = 1; i < evidence.step_count; i++)
        assert_true(evidence.steps[i].begin_ns >= evidence.steps[i - 1].end_ns);
    for (int64_t i = 0; i < evidence.step_count; i++)
        assert_in_range(evidence.steps[i].cause_ns[STK_CAUSE_SYNC], 0, 10);
    stk__evidence_fini(&evidence);
    workspace_remove(&folder);
}

static void test_other_files(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    char path[512];
    workspace_put(&folder, "empty.hook", "");
    workspace_put(&folder, "folder.hook/x", "");
    workspace_put(&folder, "1.txt", "no record");
    snprintf(path, sizeof path, "%s/link.hook", folder.path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    put_record(&folder, "short.hook", new_record(4), sizeof(stk__hook_file) / 2);
    stk__hook_file *other = new_record(4);
    other->words[STK_HOOK_VERSION]++;
    put_record(&folder, "newer.hook", other, sizeof *other);
    stk__evidence evidence = read_records(&folder);
    assert_int_equal(evidence.hook_started, STK_NO);
    stk__evidence_fini(&evidence);
    workspace_remove(&folder);
}

/* Any word, and bytes of facts, replaced by chance: what is read stays within its bounds (the sanitizers look
 * on). */
static void test_damage(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    for (uint32_t round = 0; round < 200; round++) {
        stk__hook_file *file = new_record(round % 3 ? 40 : STK_HOOK_RING + 7);
        for (uint32_t hit = 0; hit < 1 + round % 40; hit++) {
            const stk__random_at at = {.seed = 11, .sample = round, .draw = hit};
            const stk__random draw = stk__random_draw(at);
            const uint64_t values[] = {
                0, UINT64_MAX, draw.word[2], (uint64_t)draw.word[2] << 32, INT64_MAX, sizeof file->facts + 1};
            uint64_t *const words = (uint64_t *)file;
            const uint64_t near =
                draw.word[0] & 1 ? STK_HOOK_WORDS : sizeof *file / 8; /* half of them in the header */
            const uint64_t place = 2 + stk__random_below(draw.word[0], draw.word[1], near - 2);
            words[place] = values[draw.word[3] % 6];
            file->facts[draw.word[2] % (sizeof facts)] = (char)draw.word[3];
        }
        put_record(&folder, "1.hook", file, sizeof *file);
        stk__evidence evidence = read_records(&folder);
        assert_in_range(evidence.step_count, 0, STK_HOOK_RING);
        assert_in_range(evidence.site_count, 0, STK_HOOK_SITE_ROWS);
        for (int64_t i = 0; i < evidence.step_count; i++)
            assert_true(evidence.steps[i].end_ns >= evidence.steps[i].begin_ns);
        stk__evidence_fini(&evidence);
    }
    workspace_remove(&folder);
}

static stk_status read_once(void *context, stk_error *error)
{
    stk__evidence evidence;
    stk__evidence_init(&evidence);
    const stk_status status = stk__hook_file_read(context, &evidence, error);
    stk__evidence_fini(&evidence);
    return status;
}

static void test_no_memory(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    put_record(&folder, "1.hook", new_record(3), sizeof(stk__hook_file));
    put_worker(&folder, "2.hook", 100);
    assert_true(fail_alloc_each(read_once, folder.path) > 8);
    workspace_remove(&folder);
}

static stk_status write_once(void *context, stk_error *error)
{
    stk__hook_variable variables[STK_HOOK_VARIABLES] = {0};
    stk_status status = stk__hook_write(context, error);
    if (status == STK_OK) status = stk__hook_environment(context, "/users", variables, error);
    if (status == STK_OK) {
        assert_string_equal(variables[0].name, "STOKER_DOCTOR_DIR");
        assert_string_equal(variables[0].value, context);
        assert_string_equal(variables[1].name, "PYTHONPATH");
        assert_int_equal(strncmp(variables[1].value, context, strlen(context)), 0);
        assert_string_equal(variables[1].value + strlen(context), ":/users");
    }
    for (int i = 0; i < STK_HOOK_VARIABLES; i++)
        stk__free(variables[i].value);
    return status;
}

static void test_launch(void **state)
{
    (void)state;
    workspace folder = workspace_make();
    assert_true(fail_alloc_each(write_once, folder.path) > 2);
    assert_int_equal(workspace_count(&folder), 2); /* sitecustomize.py and stoker_hook */
    stk_error error = {0};
    stk__hook_variable variables[STK_HOOK_VARIABLES];
    assert_int_equal(stk__hook_environment(folder.path, "", variables, &error), STK_OK);
    assert_string_equal(variables[1].value,
                        folder.path); /* no empty part: that would be the working folder */
    for (int i = 0; i < STK_HOOK_VARIABLES; i++)
        stk__free(variables[i].value);
    assert_int_not_equal(stk__hook_write("/proc/nowhere", &error), STK_OK);
    workspace_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trainer_and_workers),
                                       cmocka_unit_test(test_nothing_there),
                                       cmocka_unit_test(test_ring),
                                       cmocka_unit_test(test_other_files),
                                       cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
