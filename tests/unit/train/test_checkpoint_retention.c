/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoints are removed after a new one was written: the rule by examples, and over random lists
 * against its definition, which looks at each checkpoint by itself. */
#include "train/checkpoint/checkpoint_list.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 8 };

typedef struct example {
    const char *what;
    const char *entries; /* newest first: STEP[-AGAIN]; "!" unreadable; "=METRIC"; "*" the one just written */
    int keep;
    bool best_is_low;
    const char *removed; /* steps as in entries, in their order */
} example;

static const example examples[] = {
    {"the first one", "10*", 1, false, ""},
    {"keep counts the one just written", "30* 20 10", 2, false, "10"},
    {"keep 0 is without a limit", "30* 20 10", 0, false, ""},
    {"keep 1 leaves that one alone", "30* 20 10", 1, false, "20 10"},
    {"the best stays, as one more", "40* 30 20 10=0.9", 2, false, "20"},
    {"the best can be one that stays anyway", "40*=0.9 30 20 10=0.8", 2, false, "20 10"},
    {"a high metric is the best", "30*=1 20=5 10=3", 1, false, "10"},
    {"a low metric is the best", "30*=5 20=1 10=3", 1, true, "10"},
    {"of equal ones the first is the best", "40* 30=2 20=2", 1, false, "30"},
    {"also if the one just written is as good", "40*=2 30=2 20=2 10=1", 1, false, "30 10"},
    {"of the same moment the newer one", "40* 30-2=2 30=2", 1, false, "30"},
    {"without a metric there is no best", "30* 20 10", 1, true, "20 10"},
    {"what is newer was given up", "50 40 30* 20", 3, false, "50 40"},
    {"even if it would be the best", "50=9 30*=1 20=2", 1, false, "50"},
    {"and with keep 0", "50 30* 20", 0, false, "50"},
    {"replaced ones go", "30-2* 30 20", 0, false, "30"},
    {"every replaced one", "30-3* 30-2 30 20-2 20", 3, false, "30-2 30 20"},
    {"replaced ones do not count", "30-2* 30 20-2 20 10", 2, false, "30 20 10"},
    {"a later writing that was given up does not replace", "30-3 30-2* 30", 0, false, "30-3 30"},
    {"a replaced one may be the best", "30-2*=1 30=5 20=2", 1, false, "20"},
    {"unreadable ones do not count", "40* 30! 20 10", 2, false, "10"},
    {"but go when they are old", "40* 30 20! 10", 2, false, "20 10"},
    {"an unreadable one is not the best", "40*=1 30!=9 20=2", 1, false, "30"},
    {"one that is unreadable replaces, too", "40* 30-2! 30 20", 2, false, "30"},
};

static stk__checkpoint_entry entry_of(const char *word, bool *written)
{
    char *end;
    stk__checkpoint_entry entry = {.readable = true, .metric = NAN, .again = 1};
    entry.step = strtoull(word, &end, 10);
    if (*end == '-') entry.again = strtoull(end + 1, &end, 10);
    *written = *end == '*';
    end += *end == '*';
    entry.readable = *end != '!';
    end += *end == '!';
    if (*end == '=') entry.metric = strtod(end + 1, &end);
    assert_true(*end == '\0' || *end == ' ');
    stk__checkpoint_entry_name(&entry);
    return entry;
}

/* Names as "30-2 20" again. */
static void print_removed(const char *const *names, int count, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        unsigned long long step, again = 1;
        sscanf(names[i], "epoch-0000-step-%llu-%llu", &step, &again);
        used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? " " : "", step);
        if (again > 1) used += (size_t)snprintf(text + used, size - used, "-%llu", again);
    }
}

static void the_rule_by_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const example *one = &examples[i];
        stk__checkpoint_entry entries[MOST];
        const stk__checkpoint_entry *written = NULL;
        stk__checkpoint_list list = {.entries = entries};
        for (const char *word = one->entries; *word; word += strspn(word, " ")) {
            bool is_written;
            entries[list.count] = entry_of(word, &is_written);
            if (is_written) written = &entries[list.count];
            list.count++;
            word += strcspn(word, " ");
        }
        const char *names[MOST];
        char text[256];
        const stk__checkpoint_options options = {.keep = one->keep, .best_is_low = one->best_is_low};
        print_removed(names, stk__checkpoint_choose_removed(&list, written, &options, names), text,
                      sizeof text);
        if (strcmp(text, one->removed) != 0)
            print_error("%s: removed '%s', expected '%s'\n", one->what, text, one->removed);
        assert_string_equal(text, one->removed);
    }
}

/* --- the definition ------------------------------------------------------------------------------------ */

static bool was_replaced(const stk__checkpoint_list *list, int at, int written)
{
    for (int i = written; i < at; i++)
        if (list->entries[i].step == list->entries[at].step &&
            list->entries[i].epoch == list->entries[at].epoch)
            return true;
    return false;
}

static bool is_best(const stk__checkpoint_list *list, int at, int written, bool low)
{
    const double sign = low ? -1 : 1, metric = sign * list->entries[at].metric;
    if (!list->entries[at].readable || isnan(metric)) return false;
    for (int i = written; i < list->count; i++) {
        const double other = sign * list->entries[i].metric;
        if (!list->entries[i].readable || isnan(other)) continue;
        const bool same_moment = list->entries[i].step == list->entries[at].step &&
                                 list->entries[i].epoch == list->entries[at].epoch;
        if (other > metric || (other == metric && (same_moment ? i < at : i > at))) return false;
    }
    return true;
}

static bool is_removed(const stk__checkpoint_list *list, int at, int written,
                       const stk__checkpoint_options *options)
{
    int newer = 0; /* that count */
    if (at < written) return true;
    if (is_best(list, at, written, options->best_is_low)) return false;
    if (was_replaced(list, at, written)) return true;
    for (int i = written; i < at; i++)
        newer += list->entries[i].readable && !was_replaced(list, i, written);
    return options->keep > 0 && newer >= options->keep;
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Newest first, as stk__checkpoint_list_read sorts them; steps and epochs grow together or not. */
static void draw_list(stk__checkpoint_list *list, unsigned *seed)
{
    static const double metrics[] = {NAN, 1, 2, 2, 3};
    uint64_t step = 90, epoch = 9, again = 3;
    list->count = 1 + (int)draw(seed, MOST);
    for (int i = 0; i < list->count; i++) {
        list->entries[i] = (stk__checkpoint_entry){.epoch = epoch,
                                                   .step = step,
                                                   .again = again,
                                                   .readable = draw(seed, 4) != 0,
                                                   .metric = metrics[draw(seed, 5)]};
        stk__checkpoint_entry_name(&list->entries[i]);
        if (again > 1 && draw(seed, 2)) {
            again--;
            continue;
        }
        again = 1 + draw(seed, 3);
        if (draw(seed, 3)) step -= 1 + draw(seed, 5);
        epoch--;
    }
}

static void the_rule_by_its_definition(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        stk__checkpoint_entry entries[MOST];
        stk__checkpoint_list list = {.entries = entries};
        draw_list(&list, &seed);
        const int written = (int)draw(&seed, (unsigned)list.count);
        const stk__checkpoint_options options = {.keep = (int)draw(&seed, 4), .best_is_low = draw(&seed, 2)};
        const char *names[MOST];
        const int count = stk__checkpoint_choose_removed(&list, &entries[written], &options, names);
        int expected = 0;
        for (int i = 0; i < list.count; i++) {
            if (!is_removed(&list, i, written, &options)) continue;
            assert_true(expected < count);
            assert_ptr_equal(names[expected], entries[i].name);
            assert_int_not_equal(i, written); /* whatever happens, the one just written stays */
            expected++;
        }
        assert_int_equal(count, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_by_examples),
        cmocka_unit_test(the_rule_by_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
