/* SPDX-License-Identifier: Apache-2.0 */
/* Small parts of core: errors, log, hash, threads, numbers of JSON. */
#include "core/clock.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "core/logger.h"
#include "core/memory.h"
#include "core/thread.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <cmocka.h>

static void errors_carry_everything_and_accept_null(void **state)
{
    (void)state;
    stk_error error = {0};
    assert_int_equal(stk__damaged(&error, STK_DAMAGE_CORRUPT, "row %d", 7), STK_ERROR_SAMPLE);
    assert_string_equal(error.message, "row 7");
    stk__error_place(&error, "%s", "a/b");
    stk__error_hint(&error, "try %s", "this");
    assert_string_equal(error.place, "a/b");
    assert_string_equal(error.hint, "try this");
    assert_int_equal(stk__fail_errno(&error, ENOENT, "cannot open '%s'", "x"), STK_ERROR_IO);
    assert_string_equal(error.message, "cannot open 'x': No such file or directory");
    assert_true(error.damage == STK_DAMAGE_NONE && !error.place[0] && !error.hint[0]);
    assert_int_equal(stk__fail(NULL, STK_ERROR_DATA, "x"), STK_ERROR_DATA);
    assert_int_equal(stk__fail_memory(NULL, 1, "x"), STK_ERROR_MEMORY);
    stk__error_place(NULL, "x");
    stk__error_hint(NULL, "x");
}

static void long_places_keep_their_end(void **state)
{
    (void)state;
    char path[4400];
    memset(path, 'a', sizeof path - 1);
    memcpy(path + sizeof path - 10, "/file.jpg", 10);
    stk_error error = {0};
    stk__error_place(&error, "%s:%d", path + sizeof path - 4096, 123456); /* the longest path there can be */
    assert_int_equal(strlen(error.place), 4095 + 7);
    assert_int_equal(error.place[0], 'a');
    stk__error_place(&error, "%s", path);
    assert_true(strlen(error.place) < sizeof error.place);
    assert_string_equal(error.place + strlen(error.place) - 9, "/file.jpg");
    assert_memory_equal(error.place, "…", strlen("…"));
}

static void every_status_and_damage_has_a_name(void **state)
{
    (void)state;
    for (int status = STK_ERROR_UNSUPPORTED; status <= STK_AGAIN; status++)
        assert_string_not_equal(stk_status_name((stk_status)status), "unknown");
    assert_string_equal(stk_status_name(STK_ERROR_TIMEOUT), "timeout");
    assert_string_equal(stk_status_name((stk_status)-99), "unknown");
    assert_string_equal(stk_damage_name(STK_DAMAGE_BAD_CHECKSUM), "bad_checksum");
    assert_string_equal(stk_damage_name((stk_damage)999), "unknown");
    assert_string_equal(stk_damage_phrase((stk_damage)999), "unknown");
}

static void keep_line(void *context, stk_log_level level, const char *line)
{
    (void)level;
    strncat(context, line, 60);
}

static void log_goes_to_the_sink_up_to_its_level(void **state)
{
    (void)state;
    char lines[128] = "";
    stk_log_set(keep_line, lines, STK_LOG_WARNING);
    stk__log(STK_LOG_WARNING, "one %d;", 1);
    stk__log(STK_LOG_INFO, "two;");
    stk_log_set(NULL, NULL, STK_LOG_DEBUG);
    stk__log(STK_LOG_ERROR, "three;");
    assert_string_equal(lines, "one 1;");
}

static void digests_print_and_parse(void **state)
{
    (void)state;
    const stk__digest digest = stk__digest_of("abc", 3);
    stk__hash *hash;
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    stk__hash_update(hash, "a", 1);
    stk__hash_update(hash, "bc", 2);
    const stk__digest streamed = stk__hash_digest(hash);
    assert_memory_equal(&digest, &streamed, sizeof digest);
    stk__hash_destroy(&hash);
    char text[STK_DIGEST_TEXT_BYTES];
    stk__digest_print(digest, text);
    assert_string_equal(text, "06b05ab6733a618578af5f94892f3950"); /* XXH3, 128 bits, of "abc" */
    stk__digest back;
    assert_true(stk__digest_parse(text, &back));
    assert_memory_equal(&digest, &back, sizeof digest);
    assert_false(stk__digest_parse("06b0", &back));
    text[3] = 'G';
    assert_false(stk__digest_parse(text, &back));
}

static atomic_bool may_end;

static void wait_for_leave(void *unused)
{
    (void)unused;
    while (!atomic_load(&may_end)) {
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
}

static void threads_are_joined_by_a_deadline(void **state)
{
    (void)state;
    stk__thread *thread = NULL;
    assert_true(stk__thread_join(&thread, 0));
    const stk__thread_options options = {.name = "test", .run = wait_for_leave};
    assert_int_equal(stk__thread_start(&thread, &options, NULL), STK_OK);
    assert_false(stk__thread_join(&thread, stk__clock_ns() + STK_SECOND_NS / 50));
    assert_non_null(thread);
    atomic_store(&may_end, true);
    assert_true(stk__thread_join(&thread, stk__clock_ns() + 10 * STK_SECOND_NS));
    assert_null(thread);
}

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    assert_null(stk__alloc(0));
    assert_null(stk__alloc(SIZE_MAX - 1));
    stk__free(NULL);
    uint8_t *block = stk__alloc(1000);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 64, 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(block[i], 0);
    stk__free(block);
    char *copy = stk__text_copy("abc");
    assert_string_equal(copy, "abc");
    stk__free(copy);
    assert_null(stk__text_copy(NULL));
}

static void json_has_null_for_what_is_no_number(void **state)
{
    (void)state;
    static const double none[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_true(json_is_null(stk__json_number(none[i]))); /* nobody owns null */
    json_t *number = stk__json_number(-0.1);
    assert_true(json_is_real(number) && json_real_value(number) == -0.1);
    json_decref(number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_carry_everything_and_accept_null),
        cmocka_unit_test(long_places_keep_their_end),
        cmocka_unit_test(every_status_and_damage_has_a_name),
        cmocka_unit_test(log_goes_to_the_sink_up_to_its_level),
        cmocka_unit_test(digests_print_and_parse),
        cmocka_unit_test(threads_are_joined_by_a_deadline),
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(json_has_null_for_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
