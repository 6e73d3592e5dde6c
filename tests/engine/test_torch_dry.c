/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch_dry [DEVICE [TESTS]]: every operation of the engine torch by PyTorch's own CUDA library, which
 * computes nothing here (tests/fake/cudart): it must take every call, in every mode and type, without making
 * the host wait, with launches that a GPU could do and pictures as NHWC. Values are not looked at. */
#include "dry_engine.h"

enum { TRIALS = 12 };

typedef enum mode {
    TRAINING,
    AGAIN,      /* a layer that is computed a second time, for its gradient */
    UNLEARNT,   /* no parameter has a gradient */
    EVALUATION, /* forward only */
    FROZEN,     /* as in evaluation, but gradients pass through it */
    MODES
} mode;

static const char *const mode_names[MODES] = {"training", "again", "unlearnt", "evaluation", "frozen"};
static const stk_dtype dtypes[] = {STK_DTYPE_NONE, STK_DTYPE_BF16, STK_DTYPE_F16};
static const char *const dtype_names[] = {"f32", "bf16", "f16"};
enum { DTYPES = 3 };

typedef struct dry_case {
    stk__op_kind kind;
    mode mode;
    int dtype;
    char name[64];
} dry_case;

static op_trial trial;
static op_result result;
static dry_case cases[STK_OP_COUNT * MODES * DTYPES];
static struct CMUnitTest tests[STK_OP_COUNT * MODES * DTYPES];

static void set_flags(op_flags *flags, mode m)
{
    flags->training = m == TRAINING || m == AGAIN || m == UNLEARNT;
    flags->again = m == AGAIN;
    flags->frozen = m == UNLEARNT ? ~0u : 0;
    if (m == UNLEARNT) flags->add_dparam = false;
}

/* The numbers are rounded when they are written. */
static void set_half(stk_dtype half)
{
    trial.spec.half = half;
    assert_int_equal(stk__op_describe(&trial.spec, &trial.form, NULL), STK_OK);
    trial.flags.in_place &= trial.form.in_place;
    trial.flags.gradient_in_place &= trial.form.gradient_in_place;
    for (int i = 0; half && i < trial.spec.inputs; i++)
        trial.x[i].dtype = half;
    if (half) trial.y.dtype = trial.dy.dtype = trial.form.output_dtype;
}

static void make_trial(const dry_case *c, uint64_t seed)
{
    op_trial_random(&trial, c->kind, seed, seed % 4 == 0);
    op_flags flags = trial.flags;
    const stk__op_spec spec = trial.spec;
    set_flags(&flags, c->mode);
    op_trial_fill(&trial, &spec, &flags, seed);
    set_half(dtypes[c->dtype]);
}

static void expect_counts(const dry_counts *before)
{
    dry_counts now;
    char text[512];
    dry_engine_counts(&now);
    const struct {
        const char *what;
        int64_t count;
    } none[] = {{"the host waited", now.waits - before->waits},
                {"a copy made the host wait", now.copy_waits - before->copy_waits},
                {"a launch was out of limits", now.out_of_limits - before->out_of_limits},
                {"a picture was NCHW", now.nchw - before->nchw},
                {"a call is missing in the dry libraries", now.missing - before->missing}};
    op_trial_print(&trial, text, sizeof text);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (none[i].count) fail_msg("%s %lld times; %s", none[i].what, (long long)none[i].count, text);
}

static void run_case(void **state)
{
    const dry_case *c = *state;
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        dry_counts before;
        op_rig rig;
        make_trial(c, seed);
        if (trial.spec.relu && !stk__engine_describe(dry_engine)->fuses) continue;
        op_rig_open(&rig, dry_engine, &trial);
        op_rig_load(&rig);
        dry_engine_counts(&before);
        op_rig_forward(&rig);
        if (c->mode != EVALUATION) op_rig_backward(&rig);
        expect_counts(&before);
        op_result_make(&result, &trial);
        op_rig_fetch(&rig, &result);
        op_rig_close(&rig);
    }
}

static size_t make_cases(void)
{
    size_t count = 0;
    for (int k = 0; k < STK_OP_COUNT; k++)
        for (int m = 0; m < MODES; m++)
            for (int t = 0; t < DTYPES; t++) {
                const bool judges = stk__op_is_loss((stk__op_kind)k) || stk__op_is_metric((stk__op_kind)k);
                dry_case *c = &cases[count];
                if (judges && (t > 0 || m > 0)) continue; /* they have neither modes nor 16 bits */
                *c = (dry_case){.kind = (stk__op_kind)k, .mode = (mode)m, .dtype = t};
                snprintf(c->name, sizeof c->name, "%s_%s_%s", stk__op_word(c->kind), mode_names[m],
                         dtype_names[t]);
                tests[count++] = (struct CMUnitTest){c->name, run_case, NULL, NULL, c};
            }
    return count;
}

int main(int argc, char **argv)
{
    rig_count_allocations();
    const int status = dry_engine_open(argc > 1 ? argv[1] : "cuda:0");
    if (status) return status;
    if (argc > 2) cmocka_set_test_filter(argv[2]);
    const int failed = _cmocka_run_group_tests("torch_dry", tests, make_cases(), NULL, NULL);
    stk__engine_close(&dry_engine);
    return failed;
}
