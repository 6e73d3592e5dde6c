/* SPDX-License-Identifier: Apache-2.0 */
/* pack.json: written and read back, cut at every byte, each member missing or replaced, older versions,
 * and what may resume. */
#include "core/durable.h"
#include "core/file.h"
#include "pack/pack_colors.h"
#include "pack/pack_state.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static workspace home;

static int make_home(void **state)
{
    (void)state;
    home = workspace_make();
    return 0;
}

static int remove_home(void **state)
{
    (void)state;
    workspace_remove(&home);
    return 0;
}

static stk__pack_state make_state(int parts)
{
    stk__pack_state state = {.shard_bytes = 1 << 28, .shard_samples = 7, .part_count = parts};
    static const char *const names[] = {"train", "val", "test"};
    for (int i = 0; i < parts; i++)
        state.parts[i] = (stk__pack_part){.name = parts > 1 ? names[i] : NULL,
                                          .fingerprint = {1, 2 + (uint64_t)i},
                                          .looks = {{3, 0, UINT64_MAX}},
                                          .facts = {7, 8},
                                          .stamps = {5, 6},
                                          .count = 100,
                                          .next = 33,
                                          .shards = 4,
                                          .bytes = UINT64_C(1) << 40,
                                          .packed = 30,
                                          .left_out = 3,
                                          .kept = 1,
                                          .source_bytes = 12345,
                                          .stored_bytes = 12000,
                                          .ledger_bytes = 99};
    return state;
}

static void check_equal(const stk__pack_state *a, const stk__pack_state *b)
{
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->shard_bytes, b->shard_bytes);
    assert_int_equal(a->shard_samples, b->shard_samples);
    assert_int_equal(a->part_count, b->part_count);
    for (int i = 0; i < a->part_count; i++) {
        const size_t start = offsetof(stk__pack_part, fingerprint);
        const stk__pack_part *x = &a->parts[i], *y = &b->parts[i];
        assert_memory_equal((const char *)x + start, (const char *)y + start, sizeof *x - start);
        assert_int_equal(x->name != NULL, y->name != NULL);
        if (x->name) assert_string_equal(x->name, y->name);
    }
}

static void read_as_written(void **state)
{
    (void)state;
    stk__pack_state found;
    bool there = true;
    assert_int_equal(stk__pack_state_read(home.path, &found, &there, NULL), STK_OK);
    assert_false(there);
    for (int parts = 1; parts <= 3; parts++) {
        stk__pack_state written = make_state(parts);
        written.complete = parts == 2;
        assert_int_equal(stk__pack_state_write(home.path, &written, NULL), STK_OK);
        assert_int_equal(stk__pack_state_read(home.path, &found, &there, NULL), STK_OK);
        assert_true(there);
        check_equal(&found, &written);
    }
    assert_int_equal(workspace_count(&home), 1);
}

static stk__buffer load(void)
{
    char path[PATH_MAX];
    stk__buffer text = {0};
    assert_int_equal(stk__durable_join(path, sizeof path, home.path, STK_PACK_STATE, NULL), STK_OK);
    assert_int_equal(stk__file_read(path, 0, &text, NULL), STK_OK);
    return text;
}

static void check_damaged(const char *text)
{
    stk__pack_state found;
    stk_error error = {0};
    bool there;
    workspace_put(&home, STK_PACK_STATE, text);
    assert_int_equal(stk__pack_state_read(home.path, &found, &there, &error), STK_ERROR_STATE);
    assert_false(there);
    assert_non_null(strstr(error.message, "cannot be read"));
    assert_non_null(strstr(error.hint, "another folder"));
}

/* Cut off at every byte, and every word in it replaced. */
static void damage_is_found(void **state)
{
    (void)state;
    static const char *const swaps[][2] = {
        {"\"schema\": 1", "\"schema\": 2"},
        {"\"complete\": false", "\"complete\": 0"},
        {"\"shard_bytes\": 268435456", "\"shard_bytes\": -1"},
        {"\"shard_samples\": 7", "\"shard_samples\": \"7\""},
        {"\"part\": null", "\"part\": \"other\""},
        {"\"next\": 33", "\"next\": 101"},
        {"\"packed\": 30", "\"packed\": 31"},
        {"\"count\": 100", "\"count\": 1.5"},
        {"\"fingerprint\": \"0", "\"fingerprint\": \"x"},
        {"\"stamps\": \"0", "\"stamps\": \"x"},
        {"\"stamps\": \"0000000000000005", "\"stamps\": \"5"},
        {"\"facts\": \"0", "\"facts\": \"x"},
        {"\"stored_bytes\": 12000", "\"stored_bytes\": null"},
        {"\"looks\": ", "\"look\": "},
        {"\"looks\": [", "\"looks\": [null, "},
        {"\"ffffffffffffffff\"", "\"fffffffffffffff\""},
        {"\"ffffffffffffffff\"", "\"FFFFFFFFFFFFFFFF\""},
        {"\"ffffffffffffffff\"", "7"},
        {"\"ledger_bytes\"", "\"ledger\""},
        {"\"parts\": [", "\"parts\": [7, 8, "},
    };
    const stk__pack_state written = make_state(1);
    assert_int_equal(stk__pack_state_write(home.path, &written, NULL), STK_OK);
    stk__buffer text = load();
    char copy[4096];
    for (size_t size = 0; size < text.size_bytes - 2; size++) {
        snprintf(copy, sizeof copy, "%.*s", (int)size, text.data);
        check_damaged(copy);
    }
    for (size_t i = 0; i < sizeof swaps / sizeof swaps[0]; i++) {
        const char *at = strstr((const char *)text.data, swaps[i][0]);
        assert_non_null(at);
        snprintf(copy, sizeof copy, "%.*s%s%s", (int)(at - (const char *)text.data), text.data, swaps[i][1],
                 at + strlen(swaps[i][0]));
        check_damaged(copy);
    }
    stk__buffer_fini(&text);
}

/* What earlier versions did not write is unknown, or guessed. */
static void members_may_be_missing(void **state)
{
    (void)state;
    const stk__pack_state written = make_state(1);
    stk__pack_state found;
    bool there;
    assert_int_equal(stk__pack_state_write(home.path, &written, NULL), STK_OK);
    stk__buffer text = load();
    memcpy(strstr((char *)text.data, "\"stamps\""), "\"others\"", 8);
    memcpy(strstr((char *)text.data, "\"stored_bytes\""), "\"others_bytes\"", 14);
    memcpy(strstr((char *)text.data, "\"facts\""), "\"other\"", 7);
    workspace_put(&home, STK_PACK_STATE, (const char *)text.data);
    assert_int_equal(stk__pack_state_read(home.path, &found, &there, NULL), STK_OK);
    assert_false(stk__pack_digest_known(found.parts[0].stamps));
    assert_false(stk__pack_digest_known(found.parts[0].facts));
    assert_int_equal(found.parts[0].stored_bytes, found.parts[0].bytes);
    found.parts[0].stored_bytes = written.parts[0].stored_bytes;
    found.parts[0].stamps = written.parts[0].stamps;
    found.parts[0].facts = written.parts[0].facts;
    check_equal(&found, &written);
    stk__buffer_fini(&text);
}

static void parts_have_their_names(void **state)
{
    (void)state;
    const stk__pack_state written = make_state(2);
    assert_int_equal(stk__pack_state_write(home.path, &written, NULL), STK_OK);
    stk__buffer text = load();
    char *at = strstr((char *)text.data, "\"val\"");
    assert_non_null(at);
    memcpy(at, "\"vol\"", 5);
    check_damaged((const char *)text.data);
    stk__buffer_fini(&text);
}

static void something_else_of_that_name(void **state)
{
    (void)state;
    stk__pack_state found;
    bool there;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" STK_PACK_STATE, home.path);
    assert_int_equal(stk__folder_make(path, NULL), STK_OK);
    assert_int_equal(stk__pack_state_read(home.path, &found, &there, NULL), STK_ERROR_STATE);
    const stk__pack_state written = make_state(1);
    assert_int_equal(stk__pack_state_write(home.path, &written, NULL), STK_ERROR_IO);
}

/* --- going on ------------------------------------------------------------------------------------------ */

static void check_adopt(const stk__pack_state *found, stk_status status, const char *message)
{
    stk__pack_state now = make_state(1);
    now.parts[0].next = now.parts[0].packed = now.parts[0].left_out = 0;
    stk_error error = {0};
    assert_int_equal(stk__pack_state_adopt(&now, found, "out", &error), status);
    if (!strstr(error.message, message)) print_error("unexpected: %s\n", error.message);
    assert_non_null(strstr(error.message, message));
    if (status == STK_OK)
        check_equal(&now, found);
    else
        assert_true(error.hint[0] && error.place[0]);
}

static void only_the_same_goes_on(void **state)
{
    (void)state;
    stk__pack_state found = make_state(1);
    check_adopt(&found, STK_OK, "");
    found.complete = true;
    check_adopt(&found, STK_OK, "");
    found = make_state(2);
    check_adopt(&found, STK_ERROR_STATE, "a data set of two parts");
    found = make_state(1);
    found.parts[0].count++;
    check_adopt(&found, STK_ERROR_STATE, "other names");
    found = make_state(1);
    found.parts[0].fingerprint.low++;
    check_adopt(&found, STK_ERROR_STATE, "other names");
    found = make_state(1);
    found.parts[0].looks.hashes[0]++;
    check_adopt(&found, STK_ERROR_STATE, "same names but differ");
    found = make_state(1);
    found.parts[0].looks.hashes[0] = 0; /* was bad then */
    found.parts[0].looks.hashes[1] = 7; /* is bad now */
    check_adopt(&found, STK_OK, "");
    found = make_state(1);
    found.parts[0].facts.low++;
    check_adopt(&found, STK_ERROR_STATE, "other labels");
    found.parts[0].facts = (stk__digest){0}; /* an earlier version */
    check_adopt(&found, STK_OK, "");
    found.parts[0].source_bytes++;
    check_adopt(&found, STK_OK, ""); /* of which bytes some were left out */
    found.parts[0].left_out = 0;
    check_adopt(&found, STK_ERROR_STATE, "files of other sizes");
    found = make_state(1);
    found.shard_bytes = 5000;
    check_adopt(&found, STK_ERROR_STATE, "pack.shard_bytes=5000, this is 268435456");
    found = make_state(1);
    found.shard_samples = 0;
    check_adopt(&found, STK_ERROR_STATE, "pack.shard_samples=0, this is 7");
    stk__pack_state two = make_state(2);
    found = make_state(1);
    assert_int_equal(stk__pack_state_adopt(&two, &found, "out", NULL), STK_ERROR_STATE);
}

static stk_status write_and_read(void *context, stk_error *error)
{
    (void)context;
    stk__pack_state state = make_state(2);
    bool there;
    STK__TRY(stk__pack_state_write(home.path, &state, error));
    return stk__pack_state_read(home.path, &state, &there, error);
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(write_and_read, NULL) > 2);
}

static long json_left, json_alive;

static void *json_alloc(size_t size)
{
    if (json_left-- <= 0) return NULL;
    json_alive++;
    return malloc(size);
}

static void json_release(void *memory)
{
    json_alive -= memory != NULL;
    free(memory);
}

static void memory_of_json_runs_out(void **state)
{
    (void)state;
    const stk__pack_state written = make_state(2);
    stk__pack_state found;
    bool there;
    stk_status status = STK_ERROR_MEMORY;
    json_set_alloc_funcs(json_alloc, json_release);
    long n = 0;
    for (; status != STK_OK && n < 1000; n++) {
        json_left = n;
        status = stk__pack_state_write(home.path, &written, NULL);
        assert_int_equal(json_alive, 0);
        if (status != STK_OK) assert_int_equal(status, STK_ERROR_MEMORY);
    }
    assert_true(n > 20);
    status = STK_ERROR_MEMORY;
    for (n = 0; status != STK_OK && n < 1000; n++) {
        json_left = n;
        status = stk__pack_state_read(home.path, &found, &there, NULL);
        assert_int_equal(json_alive, 0);
        if (status != STK_OK) assert_int_equal(status, STK_ERROR_STATE); /* jansson does not tell why */
    }
    assert_true(n > 20);
    json_set_alloc_funcs(malloc, free);
    check_equal(&found, &written);
}

/* The digest of a table of colors is that of its colors, ids and names, not of what lies behind a name. */
static void digest_of_colors(void **state)
{
    (void)state;
    static stk__mask_palette one, other;
    const char *text = "0 0 0 sky\n255 0 0 roof\n";
    assert_int_equal(stk__mask_palette_parse(&one, text, "colors.txt", NULL), STK_OK);
    other = one;
    const stk__digest digest = stk__pack_colors_digest(&one);
    assert_true(stk__pack_digest_known(digest));
    other.names[1][strlen("roof") + 1] = 'x';
    assert_true(stk__pack_digest_equal(stk__pack_colors_digest(&other), digest));
    other.names[1][0] = 'h';
    assert_false(stk__pack_digest_equal(stk__pack_colors_digest(&other), digest));
    other = one;
    other.colors.id[1] = 2;
    assert_false(stk__pack_digest_equal(stk__pack_colors_digest(&other), digest));
    other = one;
    other.colors.color[0] = 1;
    assert_false(stk__pack_digest_equal(stk__pack_colors_digest(&other), digest));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(read_as_written),
        TEST(damage_is_found),
        TEST(members_may_be_missing),
        TEST(parts_have_their_names),
        TEST(something_else_of_that_name),
        TEST(only_the_same_goes_on),
        TEST(digest_of_colors),
        TEST(memory_runs_out),
        TEST(memory_of_json_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
