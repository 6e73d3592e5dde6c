/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about a run of `stoker train`: each on a run.json made for it, none on a healthy or an empty one. */
#include "doctor/run_rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static stk__diagnosis diagnosis;

/* Ids without "run_", in their order. The diagnosis stays, its texts too. */
static void check(const char *json, const char *expected)
{
    stk__run_facts run = {.folder = "runs/x"};
    stk__evidence evidence;
    stk__doctor_facts facts;
    char ids[256] = "";
    stk__evidence_init(&evidence);
    run.run = json_loads(json, 0, NULL);
    assert_non_null(run.run);
    stk__run_doctor_facts(&run, &evidence, &facts);
    stk__diagnose_facts(&facts, stk__rules_run, &diagnosis);
    for (int i = 0; i < diagnosis.count; i++) {
        const size_t length = strlen(ids);
        snprintf(ids + length, sizeof ids - length, "%s%s", i ? " " : "", diagnosis.findings[i].rule->id + 4);
    }
    if (strcmp(ids, expected) != 0) fail_msg("found '%s', expected '%s'", ids, expected);
    json_decref(run.run);
}

#define RUN(stall, more)                                                                                     \
    "{\"steps_run\": 100, \"wall_s\": 20, \"advice_rules\": [], \"effects\": [], \"stall\": [" stall         \
    "]" more "}"
#define ROW(name, share) "{\"name\": \"" name "\", \"share\": " share "}"
#define HEALTHY                                                                                              \
    ROW("read", "0.01") "," ROW("forward", "0.4") "," ROW("backward", "0.5") "," ROW("other", "0.09")

static void each_rule(void **state)
{
    (void)state;
    check(RUN(HEALTHY, ""), "");
    assert_int_equal(diagnosis.facts.split.steps, 100);
    assert_true(fabs(diagnosis.facts.split.step_s - 0.2) < 1e-12 &&
                fabs(diagnosis.facts.split.wait - 0.01) < 1e-12);
    check(RUN(ROW("decode", "0.3") "," ROW("augment", "0.1") "," ROW("forward", "0.6"), ""), "data_wait");
    assert_int_equal(diagnosis.worst, STK_DOCTOR_CRIT);
    assert_true(fabs(diagnosis.findings[0].gain - (1 / 0.6 - 1)) < 1e-9);
    assert_non_null(strstr(diagnosis.findings[0].evidence, "decoding"));
    assert_non_null(strstr(diagnosis.findings[0].advice, "data.cache=auto")); /* a value that there is */
    check(RUN(ROW("read", "0.3") "," ROW("forward", "0.7"), ""), "data_wait");
    assert_non_null(strstr(diagnosis.findings[0].advice, "data.cache=auto"));
    check(RUN(ROW("eval", "0.25") "," ROW("forward", "0.75"), ""), "evaluation");
    check(RUN(ROW("checkpoint", "0.1") "," ROW("forward", "0.9"), ""), "checkpoint");
    check(RUN(ROW("sync", "0.2") "," ROW("forward", "0.8"), ""), "sync");
    check(RUN(HEALTHY, ", \"failed\": true, \"error\": {\"message\": \"loss is NaN\", \"hint\": \"\"}"),
          "failed");
    assert_non_null(strstr(diagnosis.findings[0].evidence, "loss is NaN"));
    check(RUN(HEALTHY, ", \"monitor\": {\"util_mean_percent\": 40, \"verdict\": \"data starved\"}"), "gpu");
    check(RUN(HEALTHY, ", \"monitor\": {\"util_mean_percent\": 90, \"verdict\": \"busy\"}"), "");
}

static void settings_and_advice(void **state)
{
    (void)state;
    check("{\"effects\": [{\"name\": \"train.compile\", \"requested\": true, \"in_effect\": false, \"why\": "
          "\"no GPU\"},"
          " {\"name\": \"data.root\", \"requested\": \"x\", \"in_effect\": \"x\", \"why\": null}]}",
          "settings");
    assert_non_null(strstr(diagnosis.findings[0].evidence, "train.compile (no GPU)"));
    check("{\"advice_rules\": [{\"id\": \"data_wait\", \"text\": \"wait\"}, {\"id\": \"overfitting\", "
          "\"text\": \"…\"}]}",
          "advice");
    check("{\"advice_rules\": [{\"id\": \"data_wait\", \"text\": \"wait\"}]}", "");
}

/* Nothing is known: no findings; a run of a second is not judged. */
static void unknown(void **state)
{
    (void)state;
    check("{}", "");
    assert_true(diagnosis.unmeasured_count >= 5);
    check("{\"steps_run\": 100, \"wall_s\": 1, \"stall\": [" ROW("read", "0.9") "]}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule),
        cmocka_unit_test(settings_and_advice),
        cmocka_unit_test(unknown),
    };
    return cmocka_run_group_tests_name("run_rules", tests, NULL, NULL);
}
