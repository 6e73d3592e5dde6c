/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix: which way, which share, which box. */
#include "augment_helpers.h"

#include <math.h>
#include <stdlib.h>

static void count_kinds(const char *keys, int total, int counts[3])
{
    stk__plan *plan = plan_of(keys);
    assert_true(stk__plan_mixes(plan));
    memset(counts, 0, 3 * sizeof counts[0]);
    for (int i = 0; i < total; i++)
        counts[stk__plan_mix(plan, 1, (uint32_t)i, 64, 48).kind]++;
    stk__plan_destroy(&plan);
}

/* Within five standard deviations. */
static void check_share(int count, int total, double share)
{
    const double bound = 5 * sqrt(total * share * (1 - share)) + 1e-9;
    if (!(fabs(count - total * share) <= bound))
        fail_msg("%d of %d, expected %g", count, total, total * share);
}

static void one_draw_decides_how(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        double mixup, cutmix;
    } cases[] = {{"mixup_alpha=1", 1, 0},
                 {"cutmix_alpha=1e3", 0, 1}, /* never an empty box */
                 {"mixup_alpha=0.2 mixup_prob=0.3", 0.3, 0},
                 {"mixup_alpha=1 cutmix_alpha=1e3", 0.5, 0.5},
                 {"mixup_alpha=1 cutmix_alpha=1e3 cutmix_prob=0.2", 0.8, 0.2},
                 {"mixup_alpha=1 mixup_prob=0.25 cutmix_alpha=1e3 cutmix_prob=0.5", 0.25, 0.5},
                 {"mixup_alpha=1 mixup_prob=0 cutmix_alpha=1e3", 0, 1}};
    enum { TOTAL = 20000 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int counts[3];
        count_kinds(cases[i].keys, TOTAL, counts);
        check_share(counts[STK_MIX_MIXUP], TOTAL, cases[i].mixup);
        check_share(counts[STK_MIX_CUTMIX], TOTAL, cases[i].cutmix);
    }
}

static void mixing_can_be_off(void **state)
{
    (void)state;
    static const char *const keys[] = {"", "preset=strong", "mixup_alpha=0", "mixup_alpha=1 mixup_prob=0"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        stk__plan *plan = plan_of(keys[i]);
        assert_false(stk__plan_mixes(plan));
        const stk__mix mix = stk__plan_mix(plan, 0, 3, 8, 8);
        assert_true(mix.kind == STK_MIX_NONE && mix.lambda == 1 && mix.w == 0);
        stk__plan_destroy(&plan);
    }
}

static void boxes_lie_inside_and_lambda_is_what_they_leave(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{64, 48}, {1, 1}, {7, 300}, {2, 2}};
    stk__plan *plan = plan_of("cutmix_alpha=1");
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const int32_t w = sizes[s][0], h = sizes[s][1];
        for (uint32_t sample = 0; sample < 3000; sample++) {
            const stk__mix mix = stk__plan_mix(plan, 0, sample, w, h);
            if (mix.kind == STK_MIX_NONE) {
                assert_true(mix.lambda == 1 && mix.w == 0 && mix.h == 0);
                continue;
            }
            assert_true(mix.x >= 0 && mix.y >= 0 && mix.w > 0 && mix.h > 0 && mix.x + mix.w <= w &&
                        mix.y + mix.h <= h);
            assert_true(mix.lambda == (float)(1 - (double)mix.w * mix.h / ((double)w * h)));
        }
    }
    stk__plan_destroy(&plan);
}

/* With a large alpha the share is nearly a half: the side is sqrt(0.5) of the image's, clipped or not. */
static void sides_follow_the_share_and_centres_are_anywhere(void **state)
{
    (void)state;
    enum { SIZE = 1000, BINS = 10, TOTAL = 40000 };
    stk__plan *plan = plan_of("cutmix_alpha=1000");
    int bins[BINS] = {0}, inner = 0;
    for (uint32_t sample = 0; sample < TOTAL; sample++) {
        const stk__mix mix = stk__plan_mix(plan, 0, sample, SIZE, SIZE);
        assert_true(mix.w >= 300 && mix.w <= 760);
        const bool whole = mix.x > 0 && mix.x + mix.w < SIZE;
        if (!whole) continue;
        assert_true(fabs(mix.w - SIZE * sqrt(0.5)) < 50);
        const double centre = mix.x + mix.w / 2.0 - 390; /* 390 … 610: never clipped */
        if (centre < 0 || centre >= 220) continue;
        bins[(int)(centre / 22)]++;
        inner++;
    }
    check_share(inner, TOTAL, 0.22);
    for (int i = 0; i < BINS; i++)
        check_share(bins[i], inner, 1.0 / BINS);
    stk__plan_destroy(&plan);
}

static void schedules_do_not_touch_mixing(void **state)
{
    (void)state;
    stk__plan *plan = plan_of("schedule=2:strong mixup_alpha=0.4");
    for (uint32_t epoch = 0; epoch < 4; epoch++) {
        const stk__mix a = stk__plan_mix(plan, epoch, 5, 8, 8), b = stk__plan_mix(plan, epoch, 5, 8, 8);
        assert_int_equal(a.kind, STK_MIX_MIXUP);
        assert_true(a.lambda == b.lambda && a.lambda != stk__plan_mix(plan, epoch + 1, 5, 8, 8).lambda);
    }
    stk__plan_destroy(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_draw_decides_how),
        cmocka_unit_test(mixing_can_be_off),
        cmocka_unit_test(boxes_lie_inside_and_lambda_is_what_they_leave),
        cmocka_unit_test(sides_follow_the_share_and_centres_are_anywhere),
        cmocka_unit_test(schedules_do_not_touch_mixing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
