/* SPDX-License-Identifier: Apache-2.0 */
/* Settings to plans: presets, overrides, schedule, refusals. */
#include "augment/operation.h"
#include "augment_helpers.h"
#include "core/config.h"

#include <math.h>

static const stk__plan_at square = {
    .source_w = 64, .source_h = 64, .target_w = 64, .target_h = 64, .channels = 3};

static void check_refused(const char *keys, const char *message, const char *hint)
{
    char texts[TEXTS_BYTES];
    stk__augment_settings settings = {0};
    stk_error error = {0};
    stk__plan *plan = NULL;
    stk_status status = STK_OK;
    snprintf(texts, sizeof texts, "%s", keys);
    for (char *rest = texts, *pair; status == STK_OK && (pair = strsep(&rest, " "));) {
        const char *key = strsep(&pair, "=");
        status = stk__augment_set(&settings, key, pair, &error);
    }
    if (status == STK_OK) status = stk__plan_create(&plan, &settings, 0, &error);
    assert_int_equal(status, STK_ERROR_CONFIG);
    assert_null(plan);
    assert_string_equal(error.message, message);
    assert_string_equal(error.hint, hint);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    check_refused("rotation_degrees=-15", "augment.rotation_degrees = '-15' is below 0",
                  "give the largest change to both sides, or a range [A, B]");
    check_refused("rotation_degrees=[9,2]",
                  "augment.rotation_degrees = '[9,2]' is neither a number nor a range",
                  "give a number or a range [A, B], -360 to 360");
    check_refused("shear=90", "augment.shear = '90' is above 89",
                  "give a number or a range [A, B], -89 to 89");
    check_refused("scale=1", "augment.scale = '1' reaches down to 0 and below",
                  "give less than 1, or a range [A, B] above 0");
    check_refused("scale=[0,2]", "augment.scale = '0' is not above 0", "give a range [A, B] above 0");
    check_refused("gamma=1.5", "augment.gamma = '1.5' reaches down to 0 and below",
                  "give less than 1, or a range [A, B] above 0");
    check_refused("crop=[0,1]", "augment.crop starts at 0, an empty crop",
                  "give a range [A, B] with 0 < A <= B <= 1, such as [0.08, 1]");
    check_refused("crop=[0.5,1.5]", "augment.crop = '[0.5,1.5]' is above 1",
                  "give a number or a range [A, B], 0 to 1");
    check_refused("hue=0.6", "augment.hue = '0.6' is above 0.5",
                  "give a number or a range [A, B], -0.5 to 0.5");
    check_refused("blur_kernel=4", "augment.blur_kernel = '4' is not an odd kernel size from 3 to 7",
                  "give 3, 5 or 7; 0 = off");
    check_refused("blur_kernel=9", "augment.blur_kernel = '9' is above 7", "give auto or an integer, 0 to 7");
    check_refused("translate=0.1,0.2,0.3", "augment.translate = '0.1,0.2,0.3' is neither one number nor two",
                  "give a number or two, [A, B], 0 to 1");
    check_refused("fill=300", "augment.fill = '300' is above 255",
                  "give a number or three, [A, B, C], 0 to 255");
    check_refused("mixup_alpha=1 mixup_prob=0.7 cutmix_alpha=1 cutmix_prob=0.5",
                  "augment.mixup_prob + augment.cutmix_prob is more than 1",
                  "a pair gets mixup or cutmix, not both: the two probabilities may add up to 1");
    check_refused("mixup_alpha=1 mixup_prob=1 cutmix_alpha=1",
                  "augment.cutmix_alpha is set, but its probability is 0",
                  "set augment.cutmix_prob, and less than 1 for the other");
    check_refused("rotation_degress=4", "unknown key 'rotation_degress' in section 'augment'",
                  "did you mean 'rotation_degrees'?");
    check_refused("preset=huge", "augment.preset = 'huge' is not one of the choices",
                  "give none, minimal, standard or strong");
}

static void keys_without_effect_are_refused(void **state)
{
    (void)state;
    check_refused("rotation_prob=0.5", "augment.rotation_prob is set, but its operation is off",
                  "set augment.rotation_degrees too, or leave it out");
    check_refused("preset=minimal blur_sigma=2", "augment.blur_sigma is set, but its operation is off",
                  "set augment.blur_kernel too, or leave it out");
    check_refused("jitter_order=fixed", "augment.jitter_order is set, but its operation is off",
                  "set one of brightness, contrast, saturation, hue too, or leave it out");
    check_refused("cutmix_prob=0.5", "augment.cutmix_prob is set, but its operation is off",
                  "set augment.cutmix_alpha too, or leave it out");
    stk__plan *plan = plan_of("rotation_prob=0 scale=0 scale_prob=0.5"); /* all ask for nothing */
    stk__plan_destroy(&plan);
    plan = plan_of("schedule=5:strong blur_sigma=2"); /* from epoch 5 on */
    stk__plan_destroy(&plan);
}

static void schedules_are_refused_with_their_reason(void **state)
{
    (void)state;
    static const char form[] = "give epochs and presets such as {0: minimal, 50: strong}";
    check_refused("schedule=0:minimal preset=strong", "augment.preset and augment.schedule are both set",
                  "give the preset as the schedule's entry of epoch 0");
    check_refused("schedule=0:minimal,50:stong",
                  "augment.schedule names the preset 'stong', which does not exist",
                  "did you mean 'strong'?");
    check_refused("schedule=0:xyz", "augment.schedule names the preset 'xyz', which does not exist",
                  "give none, minimal, standard or strong");
    check_refused("schedule=5:minimal,5:strong",
                  "augment.schedule has '5:strong', whose epoch is not after the one before it", form);
    check_refused("schedule=5:minimal,0:strong",
                  "augment.schedule has '0:strong', whose epoch is not after the one before it", form);
    check_refused("schedule=minimal", "augment.schedule has 'minimal', which is not 'epoch: preset'", form);
    check_refused("schedule=0:minimal,", "augment.schedule has '', which is not 'epoch: preset'", form);
    check_refused("schedule=-1:minimal",
                  "augment.schedule has '-1:minimal', whose epoch is not an integer from 0 on", form);
    check_refused("schedule=4294967296:none",
                  "augment.schedule has '4294967296:none', whose epoch is not an integer from 0 on", form);
    char many[TEXTS_BYTES] = "schedule=0:none";
    for (int i = 1; i <= 64; i++)
        sprintf(many + strlen(many), ",%d:none", i);
    check_refused(many, "augment.schedule has '64:none', which is one entry more than 64", form);
}

static void check_setting(const stk__plan *plan, uint32_t epoch, const char *name, const char *expected)
{
    const stk__option_table *table = stk__augment_options();
    const stk__augment_settings *settings = stk__plan_settings(plan, epoch);
    char text[STK_OPTION_TEXT_BYTES] = "no such key";
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->options[i].name, name) == 0)
            stk__option_print(&table->options[i], settings->bytes, text, sizeof text);
    if (strcmp(text, expected) != 0) fail_msg("%s = %s, expected %s", name, text, expected);
}

/* The design's table, and nothing beside it. */
static void presets_are_the_designs(void **state)
{
    (void)state;
    static const struct {
        const char *preset, *keys;
    } same[] = {
        {"", ""},
        {"preset=none", ""},
        {"preset=minimal", "horizontal_flip_prob=0.5"},
        {"preset=standard", "horizontal_flip_prob=0.5 rotation_degrees=15 brightness=0.2 contrast=0.2"},
        {"preset=strong", "horizontal_flip_prob=0.5 rotation_degrees=[-20,20] rotation_prob=0.6 "
                          "scale=[0.8,1.2] scale_prob=0.6 "
                          "brightness=0.3 contrast=0.2 saturation=0.2 hue=0.1 jitter_prob=0.5 blur_kernel=3 "
                          "blur_sigma=[0.1,2] blur_prob=0.3 noise_std=0.03 noise_prob=0.3"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        stk__plan *preset = plan_of(same[i].preset), *keys = plan_of(same[i].keys);
        for (uint32_t sample = 0; sample < 200; sample++) {
            stk__plan_at at = square;
            at.sample = sample;
            stk__resolved a, b;
            stk__plan_resolve(preset, &at, &a, NULL);
            stk__plan_resolve(keys, &at, &b, NULL);
            assert_memory_equal(&a, &b, sizeof a);
        }
        assert_false(stk__plan_crops(preset) || stk__plan_mixes(preset));
        stk__plan_destroy(&preset);
        stk__plan_destroy(&keys);
    }
}

static void single_keys_override_a_preset(void **state)
{
    (void)state;
    stk__plan *plan =
        plan_of("preset=strong rotation_degrees=5 scale=0 noise_std=0 blur_kernel=0 jitter_prob=0 "
                "horizontal_flip_prob=0 mask_fill=0");
    check_setting(plan, 0, "rotation_degrees", "5");
    check_setting(plan, 0, "rotation_prob", "0.6"); /* the preset's */
    check_setting(plan, 0, "hue", "0.1");
    check_setting(plan, 0, "preset", "strong");
    check_setting(plan, 0, "mask_fill", "0");
    int turned = 0;
    for (uint32_t sample = 0; sample < 500; sample++) {
        stk__plan_at at = square;
        at.sample = sample;
        stk__resolved out;
        stk__plan_trace trace;
        stk__plan_resolve(plan, &at, &out, &trace);
        const stk__augment_block *b = &out.block;
        assert_true(b->step_count == 0 && b->blur_radius == 0 && b->noise_std == 0);
        assert_int_equal(trace.count, 1); /* nothing but the rotation has its turn */
        const double degrees = fact_or(&trace, "rotation", "degrees", 0);
        assert_true(fabs(degrees) <= 5);
        turned += degrees != 0;
    }
    assert_in_range(turned, 250, 350);
    stk__plan_destroy(&plan);
}

static void schedules_go_by_epoch(void **state)
{
    (void)state;
    static const char *const forms[] = {"schedule=3:minimal,50:strong rotation_degrees=0",
                                        "schedule={3:minimal,50:strong} rotation_degrees=0"};
    for (int i = 0; i < 2; i++) {
        stk__plan *plan = plan_of(forms[i]);
        check_setting(plan, 0, "preset", "none");
        check_setting(plan, 2, "horizontal_flip_prob", "0");
        check_setting(plan, 3, "preset", "minimal");
        check_setting(plan, 49, "horizontal_flip_prob", "0.5");
        check_setting(plan, 49, "hue", "0");
        check_setting(plan, 50, "preset", "strong");
        check_setting(plan, UINT32_MAX, "hue", "0.1");
        check_setting(plan, 50, "rotation_degrees", "0"); /* single keys still override */
        stk__plan_destroy(&plan);
    }
    stk__schedule schedule;
    assert_int_equal(stk__schedule_read(&schedule, " { 0 : minimal , 50: STRONG } ", NULL), STK_OK);
    assert_true(schedule.count == 2 && schedule.entries[1].epoch == 50 && schedule.entries[1].preset == 3);
}

static stk__plan *plan_of_yaml(const char *yaml)
{
    const stk__option_table *const tables[] = {stk__augment_options()};
    stk__config *config;
    stk__augment_settings settings = {0};
    stk__plan *plan;
    assert_int_equal(stk__config_create(&config, tables, 1, NULL), STK_OK);
    assert_int_equal(stk__config_read_text(config, yaml, "t.yaml", NULL), STK_OK);
    assert_int_equal(stk__config_apply(config, "augment", settings.bytes, NULL), STK_OK);
    assert_int_equal(stk__plan_create(&plan, &settings, 0, NULL), STK_OK);
    stk__config_destroy(&config);
    return plan;
}

/* Through the configuration, in all ways to write it. */
static void yaml_reaches_the_plan(void **state)
{
    (void)state;
    static const char block[] = "gpu_augmentation:\n  schedule:\n    0: minimal\n    50: strong\n"
                                "  translate:\n  - 0.1\n  - 0.2\n  fill: 1,2,3\n";
    static const char *const texts[] = {
        "augment: {schedule: {0: minimal, 50: strong}, translate: [0.1, 0.2], fill: [1, 2, 3]}\n", block,
        "augment.schedule: '0: minimal, 50: strong'\naugment: {translate: '0.1,0.2', fill: '[1, 2, 3]'}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stk__plan *plan = plan_of_yaml(texts[i]);
        check_setting(plan, 50, "preset", "strong");
        check_setting(plan, 0, "translate", "[0.1, 0.2]");
        check_setting(plan, 0, "fill", "[1, 2, 3]");
        stk__plan_destroy(&plan);
    }
}

/* The sections of the field reports, as their authors wrote them, are these presets. */
static void reports_mean_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *preset;
    } reports[] = {
        {"gpu_augmentation:\n  horizontal_flip_prob: 0.5\n  rotation_degrees: 15\n  brightness: 0.2\n  "
         "contrast: "
         "0.2\n",
         "preset=standard"},
        {"gpu_augmentation:\n  horizontal_flip_prob: 0.5\n", "preset=minimal"},
        {"gpu_augmentation:\n  preset: strong\n", "preset=strong"},
    };
    const size_t skip = sizeof(stk__augment_general); /* the preset's name */
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        stk__plan *plan = plan_of_yaml(reports[i].yaml), *preset = plan_of(reports[i].preset);
        assert_memory_equal(stk__plan_settings(plan, 0)->bytes + skip,
                            stk__plan_settings(preset, 0)->bytes + skip, STK_AUGMENT_SETTINGS_BYTES - skip);
        stk__plan_destroy(&plan);
        stk__plan_destroy(&preset);
    }
}

static void the_device_is_kept_as_it_was_given(void **state)
{
    (void)state;
    stk__augment_settings settings = {0};
    assert_string_equal(stk__augment_device(&settings), "");
    assert_int_equal(stk__augment_set(&settings, "device", "cpu", NULL), STK_OK);
    assert_string_equal(stk__augment_device(&settings), "cpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(keys_without_effect_are_refused),
        cmocka_unit_test(schedules_are_refused_with_their_reason),
        cmocka_unit_test(presets_are_the_designs),
        cmocka_unit_test(single_keys_override_a_preset),
        cmocka_unit_test(schedules_go_by_epoch),
        cmocka_unit_test(yaml_reaches_the_plan),
        cmocka_unit_test(reports_mean_what_they_say),
        cmocka_unit_test(the_device_is_kept_as_it_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
