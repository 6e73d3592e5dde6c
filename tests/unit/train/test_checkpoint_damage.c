/* SPDX-License-Identifier: Apache-2.0 */
/* Any flipped bit and any truncation of any file of a checkpoint is noticed, and older ones are found. */
#include "checkpoint_helpers.h"

#include "core/file.h"
#include "core/hash.h"

#include <fcntl.h>

static const small_options everything = {.optimizer = SMALL_ADAMW, .average = true};
static const char *const names[] = {"model.safetensors", "optimizer.safetensors", "average.safetensors",
                                    "state.json", "SUMS"};
enum { FILE_COUNT = sizeof names / sizeof names[0] };

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Changes bytes in one of several ways that leave something else than before; returns the new size. */
static size_t mutate(uint8_t *bytes, size_t size, uint32_t *seed)
{
    const size_t at = draw(seed) % size;
    switch (draw(seed) % 8) {
    case 0:
        return at; /* truncated */
    case 1:
        bytes[size] = (uint8_t)draw(seed);
        return size + 1;
    case 2: {
        uint8_t any = 0;
        const size_t most = size - at, length = 1 + draw(seed) % (most < 64 ? most : 64);
        for (size_t i = at; i < at + length; i++)
            any |= bytes[i];
        if (!any) bytes[at] = 1;
        if (any) memset(bytes + at, 0, length); /* a block that was never written */
        return size;
    }
    case 3:
        bytes[at] = (uint8_t)(bytes[at] + 1 + draw(seed) % 255);
        return size;
    default:
        bytes[at] ^= (uint8_t)(1u << draw(seed) % 8);
        return size;
    }
}

/* Without O_TRUNC: some file systems wait for the disk then. */
static void put_bytes(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, size, 0), (ssize_t)size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    close(file);
}

static void ten_thousand_mutations_are_noticed(void **state)
{
    (void)state;
    enum { TIMES = 10000 };
    shelf s = shelf_make(&everything);
    char folder[PATH_MAX], paths[FILE_COUNT][PATH_MAX];
    stk__buffer whole[FILE_COUNT] = {0};
    uint32_t seed = 5;
    shelf_put(&s, 42, 0.5);
    shelf_path(&s, "epoch-0004-step-000042", folder);
    for (int i = 0; i < FILE_COUNT; i++) {
        assert_true(snprintf(paths[i], PATH_MAX, "%s/%s", folder, names[i]) < PATH_MAX);
        assert_int_equal(stk__file_read(paths[i], 0, &whole[i], NULL), STK_OK);
        assert_true(whole[i].size_bytes < 4000);
    }
    for (int i = 0; i < TIMES; i++) {
        const uint32_t which = draw(&seed) % FILE_COUNT;
        uint8_t bytes[4001];
        memcpy(bytes, whole[which].data, whole[which].size_bytes);
        const size_t size = mutate(bytes, whole[which].size_bytes, &seed);
        put_bytes(paths[which], bytes, size);
        if (stk__checkpoint_verify(folder, NULL) != STK_ERROR_DATA)
            fail_msg("mutation %d of %s was not noticed", i, names[which]);
        put_bytes(paths[which], whole[which].data, whole[which].size_bytes);
    }
    assert_int_equal(stk__checkpoint_verify(folder, NULL), STK_OK);
    for (int i = 0; i < FILE_COUNT; i++)
        stk__buffer_fini(&whole[i]);
    shelf_remove(&s);
}

static void every_bit_of_sums_counts(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything);
    char folder[PATH_MAX], path[PATH_MAX];
    stk__buffer sums = {0};
    shelf_put(&s, 1, NAN);
    shelf_path(&s, "epoch-0000-step-000001", folder);
    shelf_path(&s, "epoch-0000-step-000001/SUMS", path);
    assert_int_equal(stk__file_read(path, 0, &sums, NULL), STK_OK);
    const size_t size = sums.size_bytes;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        sums.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        put_bytes(path, sums.data, size);
        assert_int_equal(stk__checkpoint_verify(folder, NULL), STK_ERROR_DATA);
        sums.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t shorter = 0; shorter < size; shorter++) {
        put_bytes(path, sums.data, shorter);
        assert_int_equal(stk__checkpoint_verify(folder, NULL), STK_ERROR_DATA);
    }
    stk__buffer_fini(&sums);
    shelf_remove(&s);
}

static void readers_fall_back_and_say_so(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything);
    char path[PATH_MAX];
    stk__checkpoint_found found;
    stk_error error = {0};
    assert_int_equal(stk__checkpoint_newest(s.folder, &found, &error), STK_END);
    assert_int_equal(stk__checkpoint_best(s.folder, true, &found, &error), STK_END);
    for (uint64_t step = 1; step <= FILE_COUNT; step++)
        shelf_put(&s, step, 0.5);
    for (int i = 0; i < FILE_COUNT; i++) {
        char name[64], expected[64];
        snprintf(name, sizeof name, "epoch-0000-step-%06d/%s", FILE_COUNT - i, names[i]);
        snprintf(expected, sizeof expected, "epoch-0000-step-%06d", FILE_COUNT - i);
        shelf_expect(&s, expected, i);
        if (i % 2) {
            shelf_damage(&s, name);
        } else {
            shelf_path(&s, name, path);
            assert_int_equal(unlink(path), 0);
        }
    }
    assert_int_equal(stk__checkpoint_newest(s.folder, &found, &error), STK_ERROR_DATA);
    assert_int_equal(found.skipped, FILE_COUNT);
    assert_string_equal(found.path, "");
    assert_string_equal(found.first_reason, "epoch-0000-step-000005: model.safetensors: cannot open it: "
                                            "No such file or directory");
    assert_non_null(strstr(error.message, "no valid checkpoint of 5; epoch-0000-step-000005: model"));
    assert_string_equal(error.place, s.folder);
    shelf_remove(&s);
}

static void other_names_are_not_looked_at(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything);
    shelf_put(&s, 1, 0.5);
    workspace_put(&s.space, "checkpoints/epoch-1-step-2/SUMS", "");
    workspace_put(&s.space, "checkpoints/epoch-0001-step-000002-1/SUMS", "");
    workspace_put(&s.space, "checkpoints/epoch-0001-step-000002.old/SUMS", "");
    workspace_put(&s.space, "checkpoints/epoch-99999999999999999999999-step-000002/SUMS", "");
    workspace_put(&s.space, "checkpoints/best/SUMS", "");
    shelf_expect(&s, "epoch-0000-step-000001", 0);
    s.options.keep = 1;
    shelf_put(&s, 2, 0.6);
    assert_int_equal(shelf_count(&s), 6);
    shelf_remove(&s);
}

/* SUMS whose own digest is right, but which asks for something it should not. */
static void hostile_sums_are_refused(void **state)
{
    (void)state;
    static const char zeros[] = "00000000000000000000000000000000";
    static const struct {
        const char *format, *message;
    } cases[] = {
        {"%s  ../../secret\n", "SUMS is corrupt"},
        {"%s  .hidden\n", "SUMS is corrupt"},
        {"%s  a/b\n", "SUMS is corrupt"},
        {"%s  \n", "SUMS is corrupt"},
        {"%s a\n", "SUMS is corrupt"},
        {"%s  a", "SUMS is corrupt"},
        {"\n%s\n", "SUMS is corrupt"},
        {"%s0  a\n", "SUMS is corrupt"},
        {"%s  inner\n", "inner: cannot read it"},
        {"99aa06d3014798d86001c324468d497f  empty\n%.0s", "SUMS does not list the model"},
    };
    shelf s = shelf_make(&everything);
    char folder[PATH_MAX], path[PATH_MAX], digest[STK_DIGEST_TEXT_BYTES], text[512];
    workspace_put(&s.space, "checkpoints/epoch-0000-step-000001/inner/file", "");
    workspace_put(&s.space, "checkpoints/epoch-0000-step-000001/empty", "");
    shelf_path(&s, "epoch-0000-step-000001", folder);
    shelf_path(&s, "epoch-0000-step-000001/SUMS", path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk_error error = {0};
        const int length = snprintf(text, sizeof text, cases[i].format, zeros);
        stk__digest_print(stk__digest_of(text, (size_t)length), digest);
        snprintf(text + length, sizeof text - (size_t)length, "# %s\n", digest);
        put_bytes(path, text, strlen(text));
        assert_int_equal(stk__checkpoint_verify(folder, &error), STK_ERROR_DATA);
        if (!strstr(error.message, cases[i].message)) fail_msg("case %zu: %s", i, error.message);
        assert_string_equal(error.place, folder);
    }
    shelf_remove(&s);
}

static void states_that_make_no_sense(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"schema\": 1}",
        "{\"schema\": 2, \"epoch\": 1, \"step\": 1, \"metric\": null, \"state\": {}}",
        "{\"schema\": 1, \"epoch\": -1, \"step\": 1, \"metric\": null, \"state\": {}}",
        "{\"schema\": 1, \"epoch\": 1, \"step\": 1.5, \"metric\": null, \"state\": {}}",
        "{\"schema\": 1, \"epoch\": 1, \"step\": 1, \"metric\": \"high\", \"state\": {}}",
        "{\"schema\": 1, \"epoch\": 1, \"step\": 1, \"state\": {}}",
        "{\"schema\": 1, \"epoch\": 1, \"step\": 1, \"metric\": null}",
        "{\"schema\": 1, \"schema\": 1, \"epoch\": 1, \"step\": 1, \"metric\": null, \"state\": {}}"};
    workspace w = workspace_make();
    stk__checkpoint_state read;
    stk_error error = {0};
    assert_int_equal(stk__checkpoint_read_state(w.path, &read, &error), STK_ERROR_DATA);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        workspace_put(&w, "state.json", texts[i]);
        assert_int_equal(stk__checkpoint_read_state(w.path, &read, &error), STK_ERROR_DATA);
        assert_non_null(strstr(error.message, "is not the state of a checkpoint"));
    }
    workspace_put(&w, "state.json", "{\"schema\":1,\"epoch\":1,\"step\":2,\"metric\":3,\"state\":null}");
    assert_int_equal(stk__checkpoint_read_state(w.path, &read, &error), STK_OK);
    assert_true(read.metric == 3);
    json_decref(read.json);
    workspace_remove(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_mutations_are_noticed), cmocka_unit_test(every_bit_of_sums_counts),
        cmocka_unit_test(readers_fall_back_and_say_so),       cmocka_unit_test(other_names_are_not_looked_at),
        cmocka_unit_test(hostile_sums_are_refused),           cmocka_unit_test(states_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
