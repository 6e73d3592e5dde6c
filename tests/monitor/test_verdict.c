/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule is reached, and says only what was measured. */
#include "monitor/verdict/verdict.h"

#include "core/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const stk_gpu described[4] = {{.index = 0}, {.index = 1}, {.index = 2}, {.index = 3}};

static stk_reading known(double value)
{
    return (stk_reading){.value = value, .known = STK_KNOWN};
}

/* A minute with nothing to complain about, and nothing unknown. */
typedef struct scene {
    stk_gpu_summary gpu;
    stk_monitor_summary all;
} scene;

static scene good_scene(void)
{
    return (scene){.gpu = {.gpu = &described[0],
                           .util_mean_percent = known(91),
                           .util_std_percent = known(4),
                           .util_p5_percent = known(80),
                           .util_median_percent = known(92),
                           .util_p95_percent = known(98),
                           .below_half = known(0),
                           .power_share = known(0.85),
                           .power_mean_w = known(480),
                           .memory_peak_share = known(0.8),
                           .hottest_c = known(71),
                           .throttled_power_s = known(0),
                           .throttled_heat_s = known(0),
                           .throttled_brake_s = known(0),
                           .sm_active_mean_percent = known(88),
                           .good_share = 1},
                   .all = {.seconds = 60,
                           .steady_to_s = 60,
                           .frame_count = 61,
                           .cpu_mean_percent = known(50),
                           .cpu_max_mean_percent = known(70),
                           .job_cpu_mean_percent = known(380),
                           .io_pressure_mean_percent = known(1),
                           .quota_throttled_s = known(0),
                           .cpu_count = 8,
                           .gpu_count = 1}};
}

static void speak(scene *s)
{
    stk__verdict_grade(&s->gpu, &s->all);
    stk__verdict_speak(&s->gpu, &s->all);
}

static void expect(scene s, const char *finding, const char *words)
{
    speak(&s);
    if (strcmp(s.gpu.finding, finding) != 0 || !strstr(s.gpu.verdict, words))
        fail_msg("%s: '%s' instead of %s with '%s'", s.gpu.finding, s.gpu.verdict, finding, words);
}

static scene starved_scene(void)
{
    scene s = good_scene();
    s.gpu.util_mean_percent = known(62);
    s.gpu.util_std_percent = known(15);
    s.gpu.util_median_percent = known(64);
    return s;
}

static void trouble(void **state)
{
    (void)state;
    static const struct {
        stk_gpu_state state;
        const char *words;
    } states[] = {{STK_GPU_LOST, "dmesg, Xid"},
                  {STK_GPU_HUNG, "the driver hangs"},
                  {STK_GPU_RESET, "--gpu-reset"},
                  {STK_GPU_BARRED, "permission to read it"}};
    for (size_t i = 0; i < 4; i++) {
        scene s = starved_scene();
        s.gpu.good_share = 0.6;
        s.gpu.bad_state = states[i].state;
        strcpy(s.gpu.bad_note, "because");
        expect(s, "gpu_lost", states[i].words);
        expect(s, "gpu_lost", "for 40 % of the time");
        expect(s, "gpu_lost", ", because; ");
    }
    scene s = good_scene();
    s.gpu.good_share = 0.999; /* gone in the last moment */
    s.gpu.last_state = s.gpu.bad_state = STK_GPU_LOST;
    expect(s, "gpu_lost", "lost");
    s.gpu.last_state = STK_GPU_GOOD; /* a hiccup */
    expect(s, "good", "utilization 91 %");

    s = starved_scene();
    s.gpu.throttled_heat_s = known(9);
    s.gpu.hottest_c = known(91);
    expect(s, "hot", "15 % of the time (max 91 °C)");
    s.gpu.hottest_c = (stk_reading){0};
    expect(s, "hot", "15 % of the time; check");
    s.gpu.throttled_heat_s = known(0.6); /* 1 % */
    expect(s, "starved_cpu_idle", "starved");
    s.gpu.throttled_brake_s = known(6);
    expect(s, "power_brake", "10 % of the time");
}

static void nothing_to_judge(void **state)
{
    (void)state;
    scene s = good_scene();
    s.all.steady_to_s = 4.5;
    expect(s, "too_short", "4.5 s");
    s = good_scene();
    s.gpu.util_mean_percent = (stk_reading){0};
    expect(s, "util_unknown", "does not report it");
    s = good_scene();
    s.gpu.util_mean_percent = known(0.4);
    expect(s, "idle", "idle: no kernel ran, but 80 % of its memory");
    s.gpu.memory_peak_share = known(0.01);
    speak(&s);
    assert_string_equal(s.gpu.verdict, "idle: no kernel ran");
    s.gpu.util_mean_percent = known(1.4);
    expect(s, "idle", "idle: kernels ran only 1.4 % of the time");
}

static void starved(void **state)
{
    (void)state;
    scene s = starved_scene();
    expect(s, "starved_cpu_idle", "CPUs not saturated (50 %)");
    s.all.cpu_mean_percent = known(96);
    expect(s, "starved_cpu", "CPUs saturated (96 %)");
    s.gpu.dip_period_s = known(12.53);
    expect(s, "starved_dips", "a dip every 12.5 s; check");
    s.gpu.util_median_percent = known(93);
    expect(s, "starved_dips", "and busy in between");

    s = starved_scene();
    s.all.quota_throttled_s = known(30);
    expect(s, "starved_quota", "throttled the job for 50 % of the time");
    s = starved_scene();
    s.all.io_pressure_mean_percent = known(43);
    expect(s, "starved_storage", "I/O pressure 43 %");
    s = starved_scene();
    s.all.job_cpu_mean_percent = known(99);
    expect(s, "starved_one_cpu", "99 % of one CPU out of 8");
    s.all.cpu_count = 1;
    expect(s, "starved_cpu_idle", "not saturated");
    s.all.cpu_mean_percent = (stk_reading){0};
    expect(s, "starved", "not available here");
}

static void busy(void **state)
{
    (void)state;
    scene s = good_scene();
    expect(s, "good", "good: GPU utilization 91 % (std 4.0 %)");
    s.gpu.sm_active_mean_percent = known(21);
    expect(s, "busy_not_working", "SM activity only 21 %");
    s.gpu.sm_active_mean_percent = known(85);
    s.gpu.power_share = known(0.3); /* the SMs are known to work */
    expect(s, "good", "good");
    s.gpu.sm_active_mean_percent = (stk_reading){0};
    expect(s, "busy_low_power", "power only 30 % of the limit");
    s.gpu.power_share = (stk_reading){0};
    expect(s, "good", "good");
    s.gpu.throttled_power_s = known(33);
    expect(s, "power_limit", "at its power limit for 55 %");

    s = good_scene();
    s.gpu.util_std_percent = known(14);
    expect(s, "uneven", "std 14 %");
    s = good_scene();
    s.gpu.hottest_c = known(86);
    expect(s, "warm", "86 °C");
    s = good_scene();
    s.gpu.memory_peak_share = known(0.97);
    expect(s, "memory_full", "97 % full");
    s.gpu.memory_peak_share = known(0.35);
    expect(s, "memory_room", "65 % of its memory");
    s.gpu.memory_peak_share = (stk_reading){0};
    s.gpu.util_std_percent = (stk_reading){0};
    expect(s, "good", "GPU utilization 91 %, no bottleneck found");
}

static stk_grade grade_of(const stk_gpu_summary *gpu, const char *name)
{
    for (int i = 0; i < gpu->row_count; i++)
        if (strcmp(gpu->rows[i].name, name) == 0) return gpu->rows[i].grade;
    fail_msg("no row %s", name);
    return STK_GRADE_NONE;
}

static void grades(void **state)
{
    (void)state;
    static const struct {
        double util;
        stk_grade grade;
    } rows[] = {{84.9, STK_GRADE_LOW}, {85, STK_GRADE_GOOD}, {95, STK_GRADE_GOOD}, {95.1, STK_GRADE_HIGH}};
    scene s = good_scene();
    for (size_t i = 0; i < 4; i++) {
        s.gpu.util_mean_percent = known(rows[i].util);
        stk__verdict_grade(&s.gpu, &s.all);
        assert_int_equal(grade_of(&s.gpu, "utilization"), rows[i].grade);
    }
    s.gpu.memory_peak_share = known(0.95);
    s.gpu.sm_active_mean_percent = known(40);
    s.gpu.hottest_c = known(85);
    s.gpu.util_std_percent = (stk_reading){0};
    s.all.cpu_mean_percent = known(89.9);
    stk__verdict_grade(&s.gpu, &s.all);
    assert_int_equal(grade_of(&s.gpu, "peak memory"), STK_GRADE_HIGH);
    assert_int_equal(grade_of(&s.gpu, "SM activity"), STK_GRADE_LOW);
    assert_int_equal(grade_of(&s.gpu, "max temp"), STK_GRADE_HIGH);
    assert_int_equal(grade_of(&s.gpu, "fluctuation"), STK_GRADE_NONE);
    assert_int_equal(grade_of(&s.gpu, "power"), STK_GRADE_NONE);
    assert_int_equal(grade_of(&s.gpu, "CPUs"), STK_GRADE_GOOD);
    s.gpu.hottest_c = known(81);
    stk__verdict_grade(&s.gpu, &s.all);
    assert_int_equal(grade_of(&s.gpu, "max temp"), STK_GRADE_GOOD);
    assert_string_equal(s.gpu.rows[5].note, "near the limit");
    assert_true(s.gpu.row_count <= STK_JUDGED_ROWS);
}

static void several(void **state)
{
    (void)state;
    stk_gpu_summary gpus[4];
    stk_monitor_summary all = good_scene().all;
    for (int i = 0; i < 4; i++) {
        scene s = i == 2 ? starved_scene() : good_scene();
        if (i == 1) s.gpu.util_mean_percent = known(0);
        if (i == 3) s.gpu.memory_peak_share = known(0.2);
        s.gpu.gpu = &described[i];
        speak(&s);
        gpus[i] = s.gpu;
    }
    all.gpus = gpus;
    all.gpu_count = 4;
    stk__verdict_together(&all);
    assert_string_equal(all.finding, "starved_cpu_idle");
    assert_memory_equal(all.verdict, "GPU 2: data starved ", 20);
    assert_non_null(strstr(all.verdict, " [other GPUs: 1 with other findings, 1 good, 1 idle]"));
    all.gpus = gpus + 2;
    all.gpu_count = 1;
    stk__verdict_together(&all);
    assert_string_equal(all.verdict, gpus[2].verdict);
    gpus[3] = gpus[2];
    all.gpu_count = 2;
    stk__verdict_together(&all);
    assert_non_null(strstr(all.verdict, " [other GPUs: 1 the same]"));
    gpus[3] = gpus[2] = gpus[1];
    stk__verdict_together(&all);
    assert_string_equal(all.finding, "idle");
}

static void no_gpu(void **state)
{
    (void)state;
    stk_monitor_summary all = good_scene().all;
    all.gpu_count = 0;
    stk__verdict_together(&all);
    assert_string_equal(all.finding, "no_gpu");
    assert_string_equal(all.verdict, "no GPU was monitored; the job used 3.8 of 8 CPUs");
    all.job_cpu_mean_percent = (stk_reading){0};
    stk__verdict_together(&all);
    assert_string_equal(all.verdict, "no GPU was monitored; CPU utilization 50 %");
    all.cpu_mean_percent = (stk_reading){0};
    stk__verdict_together(&all);
    assert_string_equal(all.verdict, "no GPU was monitored");
}

/* Whatever is unknown: one whole sentence, and none of the made-up values that stand where nothing is known.
 */
static void unknown_is_never_told(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 20000; trial++) {
        scene s = trial % 2 ? good_scene() : starved_scene();
        stk_reading *const readings[] = {
            &s.gpu.util_mean_percent,    &s.gpu.util_std_percent,         &s.gpu.util_median_percent,
            &s.gpu.power_share,          &s.gpu.memory_peak_share,        &s.gpu.hottest_c,
            &s.gpu.throttled_power_s,    &s.gpu.throttled_heat_s,         &s.gpu.throttled_brake_s,
            &s.gpu.dip_period_s,         &s.gpu.sm_active_mean_percent,   &s.all.cpu_mean_percent,
            &s.all.job_cpu_mean_percent, &s.all.io_pressure_mean_percent, &s.all.quota_throttled_s};
        for (uint32_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
            const stk__random r = stk__random_draw((stk__random_at){.seed = 3, .epoch = trial, .sample = i});
            if (r.word[0] % 3 == 0)
                *readings[i] =
                    (stk_reading){.value = 777, .known = r.word[1] % 2 ? STK_UNKNOWN : STK_UNSUPPORTED};
            else if (r.word[0] % 3 == 1)
                readings[i]->value *= 2.0 * (double)stk__random_unit(r.word[2]);
        }
        speak(&s);
        assert_true(strlen(s.gpu.verdict) > 10 && strlen(s.gpu.verdict) < sizeof s.gpu.verdict - 1);
        assert_null(strstr(s.gpu.verdict, "777"));
        assert_null(strstr(s.gpu.verdict, "nan"));
        for (int i = 0; i < s.gpu.row_count; i++)
            assert_true(s.gpu.rows[i].value.known == STK_KNOWN || s.gpu.rows[i].grade == STK_GRADE_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trouble), cmocka_unit_test(nothing_to_judge),
        cmocka_unit_test(starved), cmocka_unit_test(busy),
        cmocka_unit_test(grades),  cmocka_unit_test(several),
        cmocka_unit_test(no_gpu),  cmocka_unit_test(unknown_is_never_told),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
