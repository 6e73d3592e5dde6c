/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distances between names, and which known name is suggested for a misspelt one. */
#include "core/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void distance_counts_slips(void **state)
{
    (void)state;
    assert_int_equal(stk__edit_distance("", ""), 0);
    assert_int_equal(stk__edit_distance("abc", ""), 3);
    assert_int_equal(stk__edit_distance("", "abc"), 3);
    assert_int_equal(stk__edit_distance("num_workers", "num_workers"), 0);
    assert_int_equal(stk__edit_distance("num-Workers", "num_workers"), 0);
    assert_int_equal(stk__edit_distance("num_wrkers", "num_workers"), 1);
    assert_int_equal(stk__edit_distance("num_workesr", "num_workers"), 1); /* neighbours swapped */
    assert_int_equal(stk__edit_distance("batchsize", "batch_size"), 1);
    assert_int_equal(stk__edit_distance("kitten", "sitting"), 3);
}

static void distance_of_very_long_names_is_their_length(void **state)
{
    (void)state;
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(stk__edit_distance(longer, longer), sizeof longer - 1);
    assert_int_equal(stk__edit_distance("a", longer), sizeof longer - 1);
}

static void nearest_takes_the_first_of_the_best(void **state)
{
    (void)state;
    const char *const names[] = {"shuffle", "seed", "limit", "speed"};
    stk__nearest nearest = {.word = "seeed"};
    for (size_t i = 0; i < 4; i++)
        stk__nearest_offer(&nearest, names[i]);
    assert_string_equal(nearest.best, "seed");
    assert_int_equal(nearest.distance, 1);
}

static void nearest_is_silent_about_strangers(void **state)
{
    (void)state;
    stk__nearest nearest = {.word = "temperature"}, letter = {.word = "x"};
    stk__nearest_offer(&nearest, "batch_size");
    stk__nearest_offer(&nearest, "seed");
    stk__nearest_offer(&letter, "y");
    assert_null(nearest.best);
    assert_null(letter.best);
}

typedef struct pair {
    const char *word, *name;
} pair;

static const char *suggest(const pair *p)
{
    stk__nearest nearest = {.word = p->word, .strict = true};
    stk__nearest_offer(&nearest, p->name);
    return nearest.best;
}

static void typing_errors_are_found(void **state)
{
    (void)state;
    static const pair pairs[] = {
        {"batchsize", "batch_size"},
        {"lerning_rate", "learning_rate"},
        {"epoch", "epochs"},
        {"num_worker", "num_workers"},
        {"hahs", "hash"},
        {"laod", "load"},
        {"trian", "train"},
        {"leraning_rat", "learning_rate"},
        {"opimiser", "optimizer"},
        {"unte", "unet"},
        {"se", "set"},
        /* beginnings */
        {"batch", "batch_size"},
        {"optim", "optimizer"},
        {"Warm", "warmup"},
        {"step", "step_size"},
        {"weight_deacy", "weight_decay"},
        {"num-wokers", "num_workers"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (!suggest(&pairs[i])) fail_msg("'%s' is not suggested for '%s'", pairs[i].name, pairs[i].word);
}

static void other_words_are_not_suggested(void **state)
{
    (void)state;
    static const pair pairs[] = {
        {"dropout", "root"},
        {"lrn", "rank"},
        {"nope", "mode"},
        {"amp", "mean"},
        {"temp", "time"},
        {"sched", "seed"},
        {"verbose", "serve"},
        {"momentum", "moment_x_y"},
        {"num", "num_workers"},
        {"batch_size", "batch"},
        {"ab", "cd"},
        {"x", "xy"},
        {"tmp", "amp"},
        {"flip_prob", "crop_prob"},
        {"hue_prob", "blur_prob"},
        {"a_size", "b_size"},
        {"horizon", "horizontal_flip_prob"},
        {"", "a"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (suggest(&pairs[i])) fail_msg("'%s' is suggested for '%s'", pairs[i].name, pairs[i].word);
}

static void typing_error_is_nearer_than_beginning(void **state)
{
    (void)state;
    stk__nearest nearest = {.word = "step"};
    stk__nearest_offer(&nearest, "step_size");
    stk__nearest_offer(&nearest, "steps");
    assert_string_equal(nearest.best, "steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_slips),
        cmocka_unit_test(distance_of_very_long_names_is_their_length),
        cmocka_unit_test(nearest_takes_the_first_of_the_best),
        cmocka_unit_test(nearest_is_silent_about_strangers),
        cmocka_unit_test(typing_errors_are_found),
        cmocka_unit_test(other_words_are_not_suggested),
        cmocka_unit_test(typing_error_is_nearer_than_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
