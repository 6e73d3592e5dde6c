/* SPDX-License-Identifier: Apache-2.0 */
/* Which algorithm the engine onednn takes for a convolution: by its option, by the rule, or measured. */
#include "onednn_rig.h"

#include "core/logger.h"
#include "device/program_cache.h"
#include "engine/onednn/onednn_api.h"
#include "engine/onednn/onednn_winograd.h"
#include "stoker/runtime.h"
#include "support/workspace.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

static const stk__op_spec usual = {
    .kind = STK_OP_CONV, .input = {{4, {2, 12, 12, 16}}}, .channels = 32, .kernel = {3, 3}, .pad = {1, 1}};

static stk__engine *open_engine(stk__conv conv, bool tune)
{
    stk_error error = {0};
    stk__engine *engine;
    const stk__engine_options options = {.name = "onednn", .threads = 2, .conv = conv, .tune = tune};
    if (stk__engine_open(&engine, &options, &error) != STK_OK) fail_msg("%s", error.message);
    return engine;
}

static void expect_method(const stk__op_spec *spec, stk__conv conv, const char *method)
{
    stk_error error = {0};
    stk__op *op;
    stk__engine *engine = open_engine(conv, false);
    if (stk__op_create(engine, spec, &op, &error) != STK_OK) fail_msg("%s", error.message);
    assert_string_equal(stk__op_method(op), method);
    stk__op_destroy(&op);
    stk__engine_close(&engine);
}

static void the_option_decides(void **state)
{
    (void)state;
    expect_method(&usual, STK_CONV_WINOGRAD, "winograd");
    expect_method(&usual, STK_CONV_DIRECT, "direct");
    stk__op_spec narrow = usual;
    narrow.input[0].dim[3] = 3;
    expect_method(&narrow, STK_CONV_WINOGRAD, "winograd");
    setenv("STOKER_CPU", "c", 1); /* plain C is no match for oneDNN */
    expect_method(&usual, STK_CONV_AUTO, "direct");
    expect_method(&usual, STK_CONV_WINOGRAD, "winograd");
    unsetenv("STOKER_CPU");
}

static bool pays(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k)
{
    return stk__onednn_winograd_pays(&(stk__winograd_layer){NULL, n, h, w, c, k, 2}, STK_CPU_AVX2);
}

static void the_rule_knows_where_it_pays(void **state)
{
    (void)state;
    assert_true(pays(4, 64, 64, 64, 64));
    assert_true(pays(1, 16, 16, 16, 16));
    assert_false(pays(4, 64, 64, 15, 64));
    assert_false(pays(4, 64, 64, 64, 3));
    assert_false(pays(1, 12, 16, 64, 64)); /* 12 tiles */
    assert_false(pays(9, 5, 5, 64, 64));   /* 25 pixels of four tiles' 64 */
    assert_true(pays(9, 6, 5, 64, 64));
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        assert_int_equal(stk__onednn_winograd_pays(&(stk__winograd_layer){NULL, 4, 64, 64, 16, 16, 2},
                                                   (stk__cpu_level)level),
                         level == STK_CPU_AVX2);
}

static void others_have_no_choice(void **state)
{
    (void)state;
    stk__op_spec others[8];
    for (int i = 0; i < 8; i++)
        others[i] = usual;
    others[0].kernel[1] = 1;
    others[1].stride[0] = 2;
    others[2].pad[1] = 0;
    others[3].dilation[0] = 2;
    others[4].groups = 2;
    others[5].kind = STK_OP_CONV_TRANSPOSE;
    others[6].input[0].dim[1] = 3; /* smaller than a tile */
    others[7].input[0].dim[2] = 3;
    for (int i = 0; i < 8; i++)
        expect_method(&others[i], STK_CONV_WINOGRAD, "");
}

static void words_name_the_passes(void **state)
{
    (void)state;
    static const char *const words[] = {
        "direct",           "winograd forward",          "winograd data",          "winograd forward, data",
        "winograd weights", "winograd forward, weights", "winograd data, weights", "winograd"};
    for (int i = 0; i < 8; i++) {
        const stk__onednn_winograd w = {.possible = true, .uses = {i & 1, i & 2, i & 4}};
        assert_string_equal(stk__onednn_winograd_word(&w), words[i]);
    }
    assert_null(stk__onednn_winograd_word(&(stk__onednn_winograd){0}));
}

/* --- measuring -------------------------------------------------------------------------------------------
 */

static workspace folder;
static int warnings;

static void count_warning(void *context, stk_log_level level, const char *line)
{
    (void)context, (void)line;
    warnings += level == STK_LOG_WARNING;
}

static int make_folder(void **state)
{
    (void)state;
    folder = workspace_make();
    setenv("STOKER_CACHE_DIR", folder.path, 1);
    warnings = 0;
    stk_log_set(count_warning, NULL, STK_LOG_WARNING);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    unsetenv("STOKER_CACHE_DIR");
    workspace_remove(&folder);
    return 0;
}

/* As if an earlier run had measured this for `usual`. */
static void pretend(const void *file, size_t size_bytes)
{
    stk_error error = {0};
    stk__op *op;
    stk__onednn_winograd w;
    stk__engine *engine = open_engine(STK_CONV_AUTO, false);
    if (stk__op_create(engine, &usual, &op, &error) != STK_OK) fail_msg("%s", error.message);
    stk__onednn_winograd_choose(op, &w);
    stk__program_save(stk__onednn_tune_key(op, &w.layer), file, size_bytes);
    stk__op_destroy(&op);
    stk__engine_close(&engine);
}

/* Near each other, and not the same where the algorithm is another: that rounds differently. */
static void expect_near(const rig *direct, const rig *mixed, const bool *uses)
{
    const stk__tensor *const made[][2] = {{direct->y, mixed->y},
                                          {direct->dx[0], mixed->dx[0]},
                                          {direct->dparam[0], mixed->dparam[0]},
                                          {direct->dparam[1], mixed->dparam[1]}};
    for (int t = 0; t < 4; t++) {
        const float *a = made[t][0]->memory, *b = made[t][1]->memory;
        const int64_t count = stk__shape_count(&made[t][0]->desc.shape);
        for (int64_t i = 0; i < count; i++)
            assert_true(a[i] - b[i] < 1e-4f && b[i] - a[i] < 1e-4f);
        const bool same = memcmp(a, b, (size_t)count * sizeof *a) == 0;
        if (t < STK_WINOGRAD_PASSES) assert_int_equal(same, !uses[t]);
    }
}

/* Every mixture of both algorithms, each pass with its own. */
static void passes_may_differ(void **state)
{
    (void)state;
    stk_error error = {0};
    rig direct, mixed;
    stk__engine *engines[2] = {open_engine(STK_CONV_DIRECT, false), open_engine(STK_CONV_AUTO, true)};
    if (rig_open(&direct, engines[0], &usual, &error) != STK_OK) fail_msg("%s", error.message);
    rig_fill_all(&direct);
    assert_int_equal(rig_run(&direct, &error), STK_OK);
    for (int i = 0; i < 8; i++) {
        const unsigned char uses[STK_WINOGRAD_PASSES] = {i & 1, (i & 2) != 0, (i & 4) != 0};
        pretend(uses, sizeof uses);
        if (rig_open(&mixed, engines[1], &usual, &error) != STK_OK) fail_msg("%s", error.message);
        const stk__onednn_winograd w = {.possible = true, .uses = {uses[0], uses[1], uses[2]}};
        assert_string_equal(stk__op_method(mixed.op), stk__onednn_winograd_word(&w));
        rig_fill_all(&mixed);
        assert_int_equal(rig_run(&mixed, &error), STK_OK);
        expect_near(&direct, &mixed, w.uses);
        rig_close(&mixed);
    }
    rig_close(&direct);
    for (int i = 0; i < 2; i++)
        stk__engine_close(&engines[i]);
}

/* The bits are those of an operation that was made with that method. */
static void a_method_can_be_chosen_later(void **state)
{
    (void)state;
    stk_error error = {0};
    rig r;
    stk__engine *tunes = open_engine(STK_CONV_AUTO, true), *direct = open_engine(STK_CONV_DIRECT, false);
    if (rig_open(&r, tunes, &usual, &error) != STK_OK) fail_msg("%s", error.message);
    assert_false(stk__op_choose(r.op, "magic"));
    static const char *const words[] = {"winograd", "direct"};
    float *made[2];
    const size_t bytes = (size_t)stk__shape_count(&r.y->desc.shape) * sizeof(float);
    for (int i = 0; i < 2; i++) {
        assert_true(stk__op_choose(r.op, words[i]));
        assert_string_equal(stk__op_method(r.op), words[i]);
        rig_fill_all(&r);
        assert_int_equal(rig_run(&r, &error), STK_OK);
        made[i] = test_malloc(bytes);
        memcpy(made[i], r.y->memory, bytes);
    }
    rig_close(&r);
    assert_memory_not_equal(made[0], made[1], bytes);
    if (rig_open(&r, direct, &usual, &error) != STK_OK) fail_msg("%s", error.message);
    assert_false(stk__op_choose(r.op, "winograd")); /* it was asked for */
    rig_fill_all(&r);
    assert_int_equal(rig_run(&r, &error), STK_OK);
    assert_memory_equal(r.y->memory, made[1], bytes);
    rig_close(&r);
    for (int i = 0; i < 2; i++)
        test_free(made[i]);
    stk__engine_close(&tunes);
    stk__engine_close(&direct);
}

/* How many files there are; path: one of them. */
static int count_files(char *path, size_t size)
{
    int count = 0;
    DIR *open = opendir(folder.path);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));)
        if (entry->d_name[0] != '.') {
            count++;
            snprintf(path, size, "%s/%s", folder.path, entry->d_name);
        }
    closedir(open);
    return count;
}

static const char *tuned_method(const stk__op_spec *spec)
{
    stk_error error = {0};
    rig r;
    stk__engine *engine = open_engine(STK_CONV_AUTO, true);
    if (rig_open(&r, engine, spec, &error) != STK_OK) fail_msg("%s", error.message);
    rig_fill_all(&r);
    assert_int_equal(rig_run(&r, &error), STK_OK);
    const char *method = stk__op_method(r.op);
    rig_close(&r);
    stk__engine_close(&engine);
    return method;
}

static ino_t inode_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

static void what_was_measured_is_remembered(void **state)
{
    (void)state;
    char path[4200];
    const char *first = tuned_method(&usual);
    assert_int_equal(count_files(path, sizeof path), 1);
    const ino_t inode = inode_of(path);
    assert_string_equal(tuned_method(&usual), first);
    assert_int_equal(inode_of(path), inode); /* not written again */
    stk__op_spec other = usual;
    other.channels = 16;
    tuned_method(&other);
    assert_int_equal(count_files(path, sizeof path), 2);
    other.kernel[0] = other.kernel[1] = 1; /* has no choice */
    other.pad[0] = other.pad[1] = 0;
    assert_string_equal(tuned_method(&other), "");
    assert_int_equal(count_files(path, sizeof path), 2);
}

static void a_damaged_memory_is_measured_again(void **state)
{
    (void)state;
    char path[4200], whole[256] = {0};
    tuned_method(&usual);
    assert_int_equal(count_files(path, sizeof path), 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (size_t cut = 0; cut < size; cut += size / 3) {
        file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(whole, 1, cut, file), cut);
        fclose(file);
        tuned_method(&usual);
        struct stat about;
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_size, size);
    }
}

/* A whole file whose content makes no sense. */
static void a_strange_memory_is_measured_again(void **state)
{
    (void)state;
    static const unsigned char strange[][4] = {{1, 0, 2}, {255, 0, 0}, {1, 1, 1, 1}};
    char path[4200];
    for (int i = 0; i < 3; i++) {
        pretend(strange[i], i < 2 ? 3 : 4);
        assert_int_equal(count_files(path, sizeof path), 1);
        const ino_t inode = inode_of(path);
        tuned_method(&usual);
        assert_int_not_equal(inode_of(path), inode);
    }
}

static void no_folder_costs_a_warning(void **state)
{
    (void)state;
    setenv("STOKER_CACHE_DIR", "/dev/null/nowhere", 1);
    tuned_method(&usual);
    assert_int_equal(warnings, 1);
}

static dnnl_status_t refuse(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                            const dnnl_exec_arg_t *args)
{
    (void)primitive, (void)stream, (void)count, (void)args;
    return dnnl_out_of_memory;
}

/* oneDNN fails while it is measured: the rule holds, and nothing is remembered. */
static void what_cannot_be_measured_follows_the_rule(void **state)
{
    (void)state;
    char path[4200];
    const stk__onednn_api *found;
    stk_error error = {0};
    stk__op *op;
    assert_int_equal(stk__onednn_api_open(&found, &error), STK_OK);
    stk__onednn_api *api = (stk__onednn_api *)found; /* the table itself is writable */
    __typeof__(api->dnnl_primitive_execute) real = api->dnnl_primitive_execute;
    stk__engine *engine = open_engine(STK_CONV_AUTO, true);
    api->dnnl_primitive_execute = refuse;
    const stk_status status = stk__op_create(engine, &usual, &op, &error);
    api->dnnl_primitive_execute = real;
    assert_int_equal(status, STK_OK);
    const bool pays_here = stk__cpu_level_allowed() == STK_CPU_AVX2;
    assert_string_equal(stk__op_method(op), pays_here ? "winograd" : "direct");
    assert_int_equal(count_files(path, sizeof path), 0);
    stk__op_destroy(&op);
    stk__engine_close(&engine);
}

typedef struct counter {
    long left, alive;
} counter;

static void *count_alloc(void *context, size_t size_bytes)
{
    counter *c = context;
    if (c->left == 0) return NULL;
    c->left--;
    c->alive++;
    void *memory = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    if (memory) memset(memory, 0, size_bytes);
    return memory;
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((counter *)context)->alive--;
    free(memory);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    counter counts = {0};
    const stk_allocator hook = {count_alloc, count_release, count_alloc, count_release, &counts};
    setenv("STOKER_CACHE_DIR", "/dev/null/nowhere", 1);
    stk_allocator_set(&hook);
    stk_status status = STK_ERROR_MEMORY;
    for (long n = 0; n < 60; n++) {
        stk_error error = {0};
        stk__engine *engine;
        stk__op *op = NULL;
        counts.left = n;
        status = stk__engine_open(
            &engine, &(stk__engine_options){.name = "onednn", .threads = 2, .tune = true}, &error);
        if (status == STK_OK) status = stk__op_create(engine, &usual, &op, &error);
        stk__op_destroy(&op);
        stk__engine_close(&engine);
        assert_int_equal(counts.alive, 0);
        if (status != STK_OK) assert_int_equal(status, STK_ERROR_MEMORY);
    }
    stk_allocator_set(NULL);
    assert_int_equal(status, STK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_option_decides),
        cmocka_unit_test(the_rule_knows_where_it_pays),
        cmocka_unit_test(others_have_no_choice),
        cmocka_unit_test(words_name_the_passes),
        cmocka_unit_test_setup_teardown(passes_may_differ, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_method_can_be_chosen_later, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_was_measured_is_remembered, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_damaged_memory_is_measured_again, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_strange_memory_is_measured_again, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_folder_costs_a_warning, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_measured_follows_the_rule, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
