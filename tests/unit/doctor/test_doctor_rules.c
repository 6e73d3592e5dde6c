/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the doctor: it fires on evidence made for it, with its numbers, and is silent on healthy
 * evidence, on unknown evidence and, if it is about GPUs, on a training on the CPU. */
#include "rule_faults.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct fault *fault_of(const stk__doctor_rule *rule)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (strcmp(faults[i].id, rule->id) == 0) return &faults[i];
    fail_msg("no test for the rule %s", rule->id);
    return NULL;
}

/* --- the tests -------------------------------------------------------------------------------------------
 */

static stk__tristate ask(const stk__doctor_rule *rule, const made_evidence *m, stk__doctor_finding *finding)
{
    stk__doctor_facts facts;
    stk__doctor_facts_of(&m->e, &facts);
    return stk__doctor_ask(rule, &facts, finding);
}

static void check_fault(const stk__doctor_rule *rule)
{
    made_evidence m;
    stk__doctor_finding f;
    const struct fault *fault = fault_of(rule);
    made_healthy_gpu(&m);
    fault->make(&m);
    if (ask(rule, &m, &f) != STK_YES) fail_msg("%s does not fire", rule->id);
    if (f.severity != fault->severity)
        fail_msg("%s: severity %s", rule->id, stk__doctor_severity_name(f.severity));
    if (isinf(fault->gain)   ? !isinf(f.gain)
        : isnan(fault->gain) ? !isnan(f.gain)
                             : !(fabs(f.gain - fault->gain) < 0.005))
        fail_msg("%s: gain %.4f, expected %.4f", rule->id, f.gain, fault->gain);
    if (!f.evidence[0] || !f.advice[0] || !f.formula[0] || !f.numbers[0].key)
        fail_msg("%s: something is not filled in", rule->id);
    if (strlen(f.evidence) + 1 >= sizeof f.evidence || strlen(f.advice) + 1 >= sizeof f.advice)
        fail_msg("%s: a text is cut off", rule->id);
    if (strstr(f.evidence, "nan") || strstr(f.advice, "nan"))
        fail_msg("%s: an unknown number is printed: %s; %s", rule->id, f.evidence, f.advice);
    if (rule->cuda) {
        snprintf(m.e.torch.device, sizeof m.e.torch.device, "cpu");
        if (ask(rule, &m, &f) != STK_NO) fail_msg("%s fires for a training on the CPU", rule->id);
    }
}

static void rules_fire(void **state)
{
    (void)state;
    assert_true(stk__doctor_rule_count() >= 35 && stk__doctor_rule_count() <= STK_DOCTOR_RULES_MOST);
    assert_int_equal(stk__doctor_rule_count(), sizeof faults / sizeof faults[0]);
    for (int i = 0; i < stk__doctor_rule_count(); i++)
        check_fault(stk__doctor_rule_at(i));
}

static void check_texts(const stk__doctor_rule *rule, const made_evidence *m)
{
    stk__doctor_finding f;
    if (ask(rule, m, &f) == STK_YES && (strstr(f.evidence, "nan") || strstr(f.advice, "nan")))
        fail_msg("%s prints an unknown number: %s; %s", rule->id, f.evidence, f.advice);
}

/* Each number of the machine, the GPU's memory and the like missing: what a rule still says has none of them.
 */
static void unknown_is_not_printed(void **state)
{
    (void)state;
    for (int i = 0; i < stk__doctor_rule_count(); i++) {
        const stk__doctor_rule *rule = stk__doctor_rule_at(i);
        for (int unknown = 0; unknown < 14; unknown++) {
            made_evidence m;
            made_healthy_gpu(&m);
            fault_of(rule)->make(&m);
            stk__machine_evidence *machine = &m.e.machine;
            double *const numbers[] = {&machine->cpus,
                                       &machine->quota_cpus,
                                       &machine->throttled_share,
                                       &machine->cpu_pressure,
                                       &machine->io_pressure,
                                       &machine->memory_pressure,
                                       &machine->cpu_share,
                                       &machine->memory_used_share,
                                       &machine->swap_in_bytes_per_s,
                                       &machine->swap_used_bytes,
                                       &machine->disk_read_bytes_per_s,
                                       &m.e.torch.cuda_peak_bytes,
                                       &m.e.gpu.other_memory_bytes,
                                       &m.processes[0].run_delay_share};
            *numbers[unknown] = NAN;
            check_texts(rule, &m);
        }
        made_evidence m;
        made_healthy_gpu(&m);
        fault_of(rule)->make(&m);
        m.gpus[0].hottest_c.known = STK_UNKNOWN;
        m.e.process_count = 0;
        check_texts(rule, &m);
    }
}

static void rules_are_described(void **state)
{
    (void)state;
    for (int i = 0; i < stk__doctor_rule_count(); i++) {
        const stk__doctor_rule *rule = stk__doctor_rule_at(i);
        assert_true(rule->id[0] && rule->title[0] && rule->measured[0] && rule->check);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(rule->id, stk__doctor_rule_at(k)->id);
    }
    assert_null(stk__doctor_rule_at(stk__doctor_rule_count()));
}

static void silent_on_unknown(void **state)
{
    static stk__diagnosis d;
    made_evidence m = {0};
    (void)state;
    stk__evidence_init(&m.e);
    stk__diagnose(&m.e, &d);
    if (d.count) fail_msg("%s fires on unknown evidence", d.findings[0].rule->id);
    /* It did not die; there is no GPU and no hook known; the rest was not measured. */
    assert_true(d.unmeasured_count >= stk__doctor_rule_count() - 3);
    assert_int_equal(d.worst, STK_DOCTOR_OK);

    m.e.hook_started = STK_YES; /* a hook that has seen nothing yet */
    stk__diagnose(&m.e, &d);
    if (d.count) fail_msg("%s fires on a hook without steps", d.findings[0].rule->id);
    snprintf(m.e.torch.device, sizeof m.e.torch.device, "cuda");
    stk__diagnose(&m.e, &d);
    if (d.count) fail_msg("%s fires on a GPU without steps", d.findings[0].rule->id);
}

static void silent_on_healthy(void **state)
{
    static stk__diagnosis d;
    made_evidence m;
    (void)state;
    made_healthy_cpu(&m);
    stk__diagnose(&m.e, &d);
    if (d.count) fail_msg("%s: %s", d.findings[0].rule->id, d.findings[0].evidence);
    made_healthy_gpu(&m);
    stk__diagnose(&m.e, &d);
    if (d.count) fail_msg("%s: %s", d.findings[0].rule->id, d.findings[0].evidence);
    assert_int_equal(d.unmeasured_count, 0);
}

/* A plain loop over a tensor: no workers, as a batch costs next to nothing. */
static void silent_on_plain_loop(void **state)
{
    static stk__diagnosis d;
    made_evidence m;
    (void)state;
    made_healthy_cpu(&m);
    m.loaders[0].num_workers = 0;
    m.optimizers[0].fused = m.optimizers[0].foreach = STK_NO;
    made_cause(&m, STK_CAUSE_OPTIMIZER, 20);
    made_site(&m, "item", false)->total_s = 1e-4;
    for (int i = 0; i < MADE_STEPS; i++) /* steps of 1 ms, 0.2 of them waiting */
        for (int cause = 0; cause < STK_CAUSE_OTHER; cause++) {
            m.steps[i].begin_ns = MADE_MS * (uint64_t)i * 10;
            m.steps[i].end_ns = MADE_MS * (uint64_t)(i + 1) * 10;
            m.steps[i].cause_ns[cause] = cause == STK_CAUSE_WAIT ? MADE_MS : MADE_MS / 2;
        }
    stk__diagnose(&m.e, &d);
    if (d.count) fail_msg("%s: %s", d.findings[0].rule->id, d.findings[0].evidence);
}

/* The largest gain first; what is unknown by its severity. */
static void ranking(void **state)
{
    static stk__diagnosis d;
    made_evidence m;
    (void)state;
    made_healthy_gpu(&m);
    loading_in_process(&m); /* gain 1 */
    made_cause(&m, STK_CAUSE_EVALUATION, 25);
    zeroed(&m);         /* info, unknown */
    autocast_false(&m); /* crit, unknown */
    stk__diagnose(&m.e, &d);
    assert_int_equal(d.worst, STK_DOCTOR_CRIT);
    assert_int_equal(d.count, 4);
    assert_string_equal(d.findings[0].rule->id, "workers_zero");
    assert_string_equal(d.findings[1].rule->id, "amp_not_active");
    assert_string_equal(d.findings[2].rule->id, "evaluation_often");
    assert_string_equal(d.findings[3].rule->id, "zero_grad_kept");
}

/* --- the field reports -----------------------------------------------------------------------------------
 */

static void check_found(const made_evidence *m, const char *const *ids)
{
    static stk__diagnosis d;
    stk__diagnose(&m->e, &d);
    for (; *ids; ids++) {
        bool found = false;
        for (int i = 0; i < d.count; i++)
            found = found || strcmp(d.findings[i].rule->id, *ids) == 0;
        if (!found) fail_msg("%s was not found", *ids);
    }
}

/* Augmentation on the CPU, 40 ms a batch, all workers busy; utilization 64 %. */
static void report_s0(void **state)
{
    made_evidence m;
    (void)state;
    made_healthy_gpu(&m);
    heavy_transforms(&m);
    m.gpus[0].util_mean_percent = made_reading(64);
    check_found(&m, (const char *const[]){"transforms_heavy", NULL});
}

/* 28 workers, AMP silently off, a compiled model that is not called, .item() every batch. */
static void report_s1(void **state)
{
    made_evidence m;
    (void)state;
    made_healthy_gpu(&m);
    many_workers(&m);
    autocast_false(&m);
    compiled_in_vain(&m);
    item_each_step(&m);
    check_found(&m, (const char *const[]){"amp_not_active", "compile_not_called", "sync_every_step",
                                          "workers_many", NULL});
}

/* No workers, evaluation every epoch. */
static void report_s2(void **state)
{
    made_evidence m;
    (void)state;
    made_healthy_gpu(&m);
    loading_in_process(&m);
    made_cause(&m, STK_CAUSE_EVALUATION, 25);
    check_found(&m, (const char *const[]){"workers_zero", "evaluation_often", NULL});
}

/* NumPy and PIL on the CPU: transforms and decoding, predictions copied each step, unpinned copies. */
static void report_s3(void **state)
{
    made_evidence m;
    (void)state;
    made_healthy_gpu(&m);
    heavy_transforms(&m);
    made_work(&m, STK_WORK_DECODE, "PIL.Image.load", 2);
    predictions(&m);
    unpinned(&m);
    check_found(&m, (const char *const[]){"transforms_heavy", "decode_heavy", "predictions_copied",
                                          "pin_memory_off", NULL});
}

/* A small sequence model: kernels too small, TF32 off, little memory used. */
static void report_s4(void **state)
{
    made_evidence m;
    (void)state;
    made_healthy_gpu(&m);
    small_kernels(&m);
    no_tf32(&m);
    small_batch(&m);
    check_found(&m, (const char *const[]){"launch_bound", "tf32_off", "batch_small", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_s0),
        cmocka_unit_test(report_s1),
        cmocka_unit_test(report_s2),
        cmocka_unit_test(report_s3),
        cmocka_unit_test(report_s4),
        cmocka_unit_test(rules_fire),
        cmocka_unit_test(rules_are_described),
        cmocka_unit_test(silent_on_unknown),
        cmocka_unit_test(silent_on_healthy),
        cmocka_unit_test(unknown_is_not_printed),
        cmocka_unit_test(ranking),
        cmocka_unit_test(silent_on_plain_loop),
    };
    return cmocka_run_group_tests_name("doctor_rules", tests, NULL, NULL);
}
