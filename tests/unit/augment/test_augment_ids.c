/* SPDX-License-Identifier: Apache-2.0 */
/* Masks are never interpolated: what comes out went in, or is mask_fill. 10,000 samples of random sizes under
 * every kind of geometry, each by every level. */
#include "augment/plan.h"
#include "core/random.h"
#include "device/cpu/augment_pass.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { SAMPLES = 10000, SIDE = 24 };

static stk__buffer scratch;

static stk__plan *make_plan(void)
{
    static const char *const settings[][2] = {{"horizontal_flip_prob", "0.5"},
                                              {"vertical_flip_prob", "0.5"},
                                              {"rotation_degrees", "180"},
                                              {"rotation_prob", "0.7"},
                                              {"scale", "[0.4, 2.5]"},
                                              {"scale_prob", "0.6"},
                                              {"translate", "0.3"},
                                              {"shear", "30"},
                                              {"shear_prob", "0.4"},
                                              {"contrast", "0.5"},
                                              {"blur_kernel", "3"},
                                              {"noise_std", "0.1"}};
    stk__augment_settings all = {0};
    stk__plan *plan;
    stk_error error;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (stk__augment_set(&all, settings[i][0], settings[i][1], &error) != STK_OK)
            fail_msg("%s: %s", settings[i][0], error.message);
    assert_int_equal(stk__plan_create(&plan, &all, 3, NULL), STK_OK);
    return plan;
}

/* A few ids with gaps between them, so that a mixture of two would be a third. */
static void draw_ids(uint8_t *ids, size_t count, uint32_t *seed, bool known[256])
{
    uint8_t few[5];
    for (size_t i = 0; i < sizeof few; i++)
        few[i] = (uint8_t)pictures_random(seed);
    for (size_t i = 0; i < count; i++) {
        ids[i] = few[pictures_random(seed) % sizeof few];
        known[ids[i]] = true;
    }
}

static int32_t any_side(uint32_t *seed)
{
    return 1 + (int32_t)(pictures_random(seed) % SIDE);
}

static void check_sample(const stk__plan *plan, uint32_t sample, uint32_t *seed)
{
    static uint8_t image[SIDE * SIDE * 3], ids[SIDE * SIDE], out_ids[SIDE * SIDE];
    static float out[SIDE * SIDE * 3];
    bool known[256] = {false};
    const stk__plan_at at = {.sample = sample,
                             .source_w = any_side(seed),
                             .source_h = any_side(seed),
                             .target_w = any_side(seed),
                             .target_h = any_side(seed),
                             .channels = 3};
    const size_t source_area = (size_t)(at.source_w * at.source_h),
                 area = (size_t)(at.target_w * at.target_h);
    draw_ids(ids, source_area, seed, known);
    draw_ids(image, source_area * 3, seed, (bool[256]){false});
    stk__resolved resolved;
    stk__plan_resolve(plan, &at, &resolved, NULL);
    resolved.block.mask_fill = (int32_t)(pictures_random(seed) % 256);
    known[resolved.block.mask_fill] = true;
    const stk__augment_source source = {stk__pixels_dense(image, at.source_w, at.source_h, 3),
                                        stk__pixels_dense(ids, at.source_w, at.source_h, 1)};
    const stk__augment_target target = {out,         out_ids,     STK_DTYPE_F32, STK_DTYPE_U8, at.target_w,
                                        at.target_h, at.channels, true,          {1, 1, 1},    {0}};
    for (int level = 0; level < STK_CPU_LEVELS; level++) {
        const stk__augment_kernel kernel = stk__augment_at((stk__cpu_level)level);
        if (!kernel) continue;
        assert_int_equal(kernel(&resolved.block, &source, &target, &scratch, NULL), STK_OK);
        for (size_t i = 0; i < area; i++)
            if (!known[out_ids[i]])
                fail_msg("sample %u, %s: id %d did not go in", sample,
                         stk__cpu_level_name((stk__cpu_level)level), out_ids[i]);
    }
}

static void no_id_comes_out_that_did_not_go_in(void **state)
{
    (void)state;
    stk__plan *plan = make_plan();
    uint32_t seed = 11;
    for (uint32_t sample = 0; sample < SAMPLES; sample++)
        check_sample(plan, sample, &seed);
    stk__plan_destroy(&plan);
    stk__buffer_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_id_comes_out_that_did_not_go_in)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
