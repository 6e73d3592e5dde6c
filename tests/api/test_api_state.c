/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a loader as text: it reads back, resumes the stream, and nothing else is taken for one. */
#include <stoker/stoker.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const stk_loader_state sample = {.fingerprint = "0123456789abcdef0123456789abcdef",
                                        .sample_count = 600,
                                        .seed = -7,
                                        .order = "blocks(16)",
                                        .part = "train, 60 held back by seed 3",
                                        .epoch = 2,
                                        .position = 320};

static const char *const sample_text =
    "{\"schema\": 1, \"fingerprint\": \"0123456789abcdef0123456789abcdef\", \"sample_count\": 600, \"seed\": "
    "-7, "
    "\"order\": \"blocks(16)\", \"part\": \"train, 60 held back by seed 3\", \"epoch\": 2, \"position\": "
    "320}";

static void assert_same(const stk_loader_state *a, const stk_loader_state *b)
{
    assert_string_equal(a->fingerprint, b->fingerprint);
    assert_int_equal(a->sample_count, b->sample_count);
    assert_int_equal(a->seed, b->seed);
    assert_string_equal(a->order, b->order);
    assert_string_equal(a->part, b->part);
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->position, b->position);
}

static void text_is_what_the_header_says(void **state)
{
    (void)state;
    char text[STK_LOADER_STATE_TEXT_BYTES];
    assert_int_equal(stk_loader_state_print(&sample, text, sizeof text, NULL), STK_OK);
    assert_string_equal(text, sample_text);
    stk_loader_state read;
    memset(&read, 0x55, sizeof read);
    assert_int_equal(stk_loader_state_parse(&read, text, NULL), STK_OK);
    assert_same(&read, &sample);
}

static void longest_state_fits(void **state)
{
    (void)state;
    stk_loader_state longest = {
        .sample_count = INT64_MAX, .seed = INT64_MIN, .epoch = INT64_MAX, .position = INT64_MAX};
    memset(longest.fingerprint, '\1', sizeof longest.fingerprint - 1); /* six bytes each in JSON */
    memset(longest.order, '\1', sizeof longest.order - 1);
    memset(longest.part, '\1', sizeof longest.part - 1);
    char text[STK_LOADER_STATE_TEXT_BYTES];
    stk_loader_state read;
    assert_int_equal(stk_loader_state_print(&longest, text, sizeof text, NULL), STK_OK);
    assert_int_equal(stk_loader_state_parse(&read, text, NULL), STK_OK);
    assert_same(&read, &longest);
}

static void small_memory_is_refused(void **state)
{
    (void)state;
    const size_t needed = strlen(sample_text) + 1;
    for (size_t size = 1; size <= needed; size++) {
        char text[512];
        stk_error error = {0};
        memset(text, 0x55, sizeof text);
        const stk_status status = stk_loader_state_print(&sample, text, size, &error);
        assert_int_equal(status, size < needed ? STK_ERROR_ARGUMENT : STK_OK);
        assert_int_equal(strlen(text), size < needed ? 0 : needed - 1);
        assert_int_equal(text[size], 0x55);
    }
    assert_int_equal(stk_loader_state_print(&sample, (char[1]){1}, 0, NULL), STK_ERROR_ARGUMENT);
}

static void states_of_no_loader_are_not_printed(void **state)
{
    (void)state;
    char text[STK_LOADER_STATE_TEXT_BYTES];
    stk_loader_state bad[4] = {sample, sample, sample, sample};
    memset(bad[0].order, 'x', sizeof bad[0].order); /* without its end */
    memcpy(bad[1].part, "\xff\xfe", 3);             /* not UTF-8 */
    bad[2].position = (uint64_t)INT64_MAX + 1;
    memset(bad[3].fingerprint, 'x', sizeof bad[3].fingerprint);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(stk_loader_state_print(&bad[i], text, sizeof text, NULL), STK_ERROR_ARGUMENT);
        assert_string_equal(text, "");
    }
}

#define HEAD                                                                                                 \
    "{\"schema\": 1, \"fingerprint\": \"ab\", \"sample_count\": 6, \"seed\": 0, \"order\": \"full\", "

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"schema\": 1}",
        HEAD "\"part\": \"all\", \"epoch\": 1}",
        HEAD "\"part\": \"all\", \"epoch\": 1, \"position\": 2} 3",
        HEAD "\"part\": \"all\", \"epoch\": 1, \"position\": -2}",
        HEAD "\"part\": \"all\", \"epoch\": 1, \"position\": 2.5}",
        HEAD "\"part\": \"all\", \"epoch\": 1, \"position\": 2, \"position\": 3}",
        HEAD "\"part\": 7, \"epoch\": 1, \"position\": 2}",
        "{\"schema\": 2, \"fingerprint\": \"ab\", \"sample_count\": 6, \"seed\": 0, \"order\": \"full\", "
        "\"part\": "
        "\"all\", \"epoch\": 1, \"position\": 2}",
        "{\"schema\": 1, \"fingerprint\": \"0123456789abcdef0123456789abcdef0\", \"sample_count\": 6, "
        "\"seed\": 0, "
        "\"order\": \"full\", \"part\": \"all\", \"epoch\": 1, \"position\": 2}",
    };
    stk_loader_state read = sample;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk_error error = {0};
        assert_int_equal(stk_loader_state_parse(&read, texts[i], &error), STK_ERROR_STATE);
        assert_non_null(strstr(error.message, "the text is not a loader state: "));
        assert_same(&read, &sample);
    }
    /* Keys of others are theirs: a file of `stoker load --state` has a digest. */
    assert_int_equal(
        stk_loader_state_parse(
            &read, HEAD "\"part\": \"all\", \"epoch\": 1, \"position\": 2, \"digest\": null}", NULL),
        STK_OK);
    assert_int_equal(read.position, 2);
}

static int64_t first_id(stk_loader *loader)
{
    stk_batch *batch;
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
    const int64_t id = ((const int64_t *)batch->sample_ids.data)[0];
    stk_batch_release(batch);
    return id;
}

/* Over the text into another loader: it continues where the first one stood. */
static void a_stream_resumes_from_text(void **state)
{
    (void)state;
    const stk_loader_options options = {
        .root = "make:gray?count=64", .batch_size = 8, .num_workers = 1, .seed = 5};
    stk_loader *one, *other;
    char text[STK_LOADER_STATE_TEXT_BYTES];
    stk_loader_state place;
    assert_int_equal(stk_loader_open(&one, &options, NULL), STK_OK);
    assert_int_equal(stk_loader_open(&other, &options, NULL), STK_OK);
    for (int i = 0; i < 3; i++)
        first_id(one);
    stk_loader_tell(one, &place);
    assert_int_equal(place.position, 24);
    assert_int_equal(stk_loader_state_print(&place, text, sizeof text, NULL), STK_OK);
    memset(&place, 0, sizeof place);
    assert_int_equal(stk_loader_state_parse(&place, text, NULL), STK_OK);
    assert_int_equal(stk_loader_seek(other, &place, NULL), STK_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(first_id(one), first_id(other));
    stk_loader_close(&one);
    stk_loader_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_what_the_header_says), cmocka_unit_test(longest_state_fits),
        cmocka_unit_test(small_memory_is_refused),      cmocka_unit_test(states_of_no_loader_are_not_printed),
        cmocka_unit_test(other_texts_are_refused),      cmocka_unit_test(a_stream_resumes_from_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
