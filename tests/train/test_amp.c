/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision in the trainer: it learns in 16 bits, skips what fp16 cannot hold, and says where that
 * began. */
#include "trainer_helpers.h"

#include "support/fail_alloc.h"

#include <stdlib.h>
#include <unistd.h>

static const char network_text[] = "name: own\n"
                                   "task: regression\n"
                                   "layers:\n"
                                   "  - {op: lstm, name: lstm, hidden: 6, last: true}\n"
                                   "  - {op: batch_norm, name: bn}\n"
                                   "  - {op: relu, name: relu}\n"
                                   "  - {op: dropout, name: drop, drop: 0.1}\n"
                                   "  - {op: linear, name: middle, channels: 8}\n"
                                   "  - {op: tanh, name: tanh}\n"
                                   "  - {op: linear, name: head, channels: 1}\n";
static char network_path[] = "/tmp/stoker-amp-XXXXXX";

/* A network of our own, without constants that the data decide. */
static void prepare_own(fixture *f, stk__amp amp)
{
    prepare(f);
    f->model = (stk__model_settings){.file = network_path};
    f->settings.amp = (int)amp;
    f->train.small = f->val.small = true;
}

static bool can(stk__amp amp)
{
    stk__engine *engine;
    assert_int_equal(stk__engine_open(&engine, &(stk__engine_options){.name = engine_name}, NULL), STK_OK);
    const stk__engine_info *info = stk__engine_describe(engine);
    const bool bf16 = amp == STK_AMP_BF16_FORCED;
    const bool found = (bf16 ? info->bf16 : info->f16) != STK_HALF_NONE;
    stk__engine_close(&engine);
    return found;
}

static stk__tensor *tensor_of(const fixture *f, const char *name)
{
    stk__model_tensor *found = stk__model_find(stk__trainer_describe(f->trainer)->model, name);
    assert_non_null(found);
    return found->value;
}

/* First value of a tensor; returns what it was. */
static float put_first(fixture *f, const char *name, float value)
{
    stk_tensor view;
    stk__tensor *tensor = tensor_of(f, name);
    assert_int_equal(stk__tensor_map(tensor, &view, NULL), STK_OK);
    const float was = *(float *)view.data;
    *(float *)view.data = value;
    assert_int_equal(stk__tensor_unmap(tensor, &view, true, NULL), STK_OK);
    return was;
}

static void sixteen_bits_learn(void **state)
{
    (void)state;
    for (stk__amp amp = STK_AMP_BF16_FORCED; amp <= STK_AMP_FP16_FORCED; amp++) {
        fixture f;
        if (!can(amp)) continue;
        prepare(&f);
        f.settings.amp = (int)amp;
        f.settings.ema = 0.5;
        f.settings.accumulation = amp == STK_AMP_FP16_FORCED ? 1 : 2;
        open_it(&f);
        train_epoch(&f);
        const double first = loss_of(&f);
        for (int epoch = 1; epoch < 40; epoch++)
            train_epoch(&f);
        loss_of(&f);
        train_epoch(&f);
        assert_true(loss_of(&f) < 0.25 * first);
        stk__score score;
        assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
        assert_true(score.values[0] > 0.5);
        assert_true((stk__trainer_where(f.trainer).loss_scale > 0) == (amp == STK_AMP_FP16_FORCED));
        stk__trainer_close(&f.trainer);
    }
}

static void a_skipped_step_changes_nothing(void **state)
{
    (void)state;
    static char before[MODEL_BYTES], after[MODEL_BYTES];
    fixture f;
    if (!can(STK_AMP_FP16_FORCED)) skip();
    prepare_own(&f, STK_AMP_FP16_FORCED);
    f.settings.ema = 0.9;
    f.optimizer.schedule = STK_SCHEDULE_COSINE;
    open_it(&f);
    for (int i = 0; stk__trainer_where(f.trainer).step < 2 || stk__trainer_where(f.trainer).batch != 1; i++) {
        step_over_epochs(&f); /* the first ones may be too large */
        assert_true(i < 30);
    }
    const stk__trainer_place was = stk__trainer_where(f.trainer);
    const float weight = put_first(&f, "middle.bias", NAN);
    const size_t size = copy_model(&f, before, false);
    assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK);
    assert_int_equal(copy_model(&f, after, false), size);
    assert_memory_equal(before, after, size); /* the running statistics of the batch norm, too */
    const stk__trainer_place now = stk__trainer_where(f.trainer);
    assert_true(now.step == was.step && now.lr == was.lr && now.batch == was.batch + 1);
    assert_true(now.skipped == was.skipped + 1 && now.loss_scale == was.loss_scale / 2);
    stk__trainer_log log; /* a loss that is no number is forgotten, with what was counted before it */
    assert_int_equal(stk__trainer_read(f.trainer, &log, &f.error), STK_OK);
    assert_true(isnan(log.score.loss) && log.score.counted == 0 && isfinite(log.grad_norm));
    put_first(&f, "middle.bias", weight);
    assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK);
    assert_int_equal(stk__trainer_where(f.trainer).step, was.step + 1);
    assert_int_equal(stk__trainer_where(f.trainer).skipped, now.skipped);
    assert_true(isfinite(loss_of(&f)));
    stk__trainer_close(&f.trainer);
}

/* Steps until it gives up; returns how many were taken. */
static int step_to_the_end(fixture *f)
{
    int steps = 0;
    stk_status status;
    while ((status = stk__trainer_step(f->trainer, &f->error)) == STK_OK || status == STK_END)
        assert_true((steps += status == STK_OK) < 100);
    assert_int_equal(status, STK_ERROR_DATA);
    return steps + 1;
}

static void the_first_bad_layer_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        float value;
        int far;
        const char *where, *layer;
    } cases[] = {
        {"bn.weight", 1e9F, -1, "first in the output of", "of layer 'bn'"},
        {"middle.weight", 1e6F, -1, "first in the output of",
         "of layer 'middle'"}, /* fp16 has nothing above 65504 */
        {"head.bias", INFINITY, -1, "first in the output of", "of layer 'head'"},
        {NULL, 0, 0, "first in the gradient of", "of layer 'head'"}, /* its own, or that of its weights */
    };
    if (!can(STK_AMP_FP16_FORCED)) skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        prepare_own(&f, STK_AMP_FP16_FORCED);
        f.settings.amp_max_skips = 6;
        f.settings.amp_scale_floor = cases[i].tensor ? 8192 : 32768;
        f.settings.compile = i % 2 ? STK_SWITCH_OFF : STK_SWITCH_ON;
        if (cases[i].far == 0) f.setup.feed.batches_per_epoch = 1;
        if (cases[i].far == 0) f.setup.feed.last_batch_size = BATCH;
        f.train.far = cases[i].far;
        open_it(&f);
        if (cases[i].tensor) put_first(&f, cases[i].tensor, cases[i].value);
        if (cases[i].far == 0)
            for (int k = 0; k < 5; k++, f.train.batch = 0) /* the far batch again and again */
                assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK);
        const int steps = step_to_the_end(&f);
        assert_int_equal(steps, cases[i].far == 0 ? 1 : 6);
        assert_non_null(strstr(f.error.message, "6 steps in a row"));
        if (!strstr(f.error.message, cases[i].where) || !strstr(f.error.message, cases[i].layer))
            fail_msg("%s %s: %s", cases[i].where, cases[i].layer, f.error.message);
        assert_non_null(strstr(f.error.hint, "train.amp"));
        assert_true(stk__trainer_where(f.trainer).loss_scale == f.settings.amp_scale_floor);
        assert_int_equal(stk__trainer_where(f.trainer).step, 0);
        assert_int_equal(stk__trainer_where(f.trainer).skipped, 6);
        stk__trainer_close(&f.trainer);
    }
}

static stk_status next_without_numbers(void *context, stk_batch **batch, stk_error *error)
{
    const stk_status status = next(context, batch, error);
    if (status == STK_OK) ((made_feed *)context)->windows[3] = NAN;
    return status;
}

static void bad_input_is_named(void **state)
{
    (void)state;
    fixture f;
    if (!can(STK_AMP_FP16_FORCED)) skip();
    prepare_own(&f, STK_AMP_FP16_FORCED);
    f.settings.amp_max_skips = 1;
    f.setup.feed.next = next_without_numbers;
    open_it(&f);
    assert_int_equal(step_to_the_end(&f), 1);
    assert_non_null(strstr(f.error.message, "first in the input"));
    stk__trainer_close(&f.trainer);
}

/* One batch of each epoch overflows; the scale falls and grows. Cut anywhere, the rest has the same bits. */
static void a_saved_scale_goes_on(void **state)
{
    (void)state;
    enum { STEPS = 14, CUT = 8 };
    static char tensors[MODEL_BYTES];
    double losses[STEPS], scales[STEPS];
    fixture f[2];
    json_t *saved = NULL;
    if (!can(STK_AMP_FP16_FORCED)) skip();
    for (int run = 0; run < 2; run++) {
        prepare_own(&f[run], STK_AMP_FP16_FORCED);
        f[run].settings.amp_growth_interval = 3;
        f[run].settings.gradient_checkpointing = run ? STK_SWITCH_ON : STK_SWITCH_OFF;
        f[run].train.far = 2;
        f[run].setup.seed = 7;
        open_it(&f[run]);
        if (run) copy_model(&f[1], tensors, true);
        if (run) assert_int_equal(stk__trainer_seek(f[1].trainer, saved, &f[1].error), STK_OK);
        for (int i = run ? CUT + 1 : 0; i < STEPS; i++) {
            step_over_epochs(&f[run]);
            const double loss = loss_of(&f[run]), scale = stk__trainer_where(f[run].trainer).loss_scale;
            if (run) assert_true(memcmp(&loss, &losses[i], sizeof loss) == 0 && scale == scales[i]);
            losses[i] = loss, scales[i] = scale;
            if (run || i != CUT) continue;
            saved = stk__trainer_tell(f[0].trainer);
            copy_model(&f[0], tensors, false);
        }
    }
    const stk__trainer_place a = stk__trainer_where(f[0].trainer), b = stk__trainer_where(f[1].trainer);
    assert_true(a.skipped >= 3 && b.skipped == a.skipped && a.step == STEPS - a.skipped && b.step == a.step);
    assert_true(scales[2] == scales[1] / 2 && scales[5] == 2 * scales[2]); /* three good ones later */
    json_object_set_new(json_object_get(saved, "loss_scale"), "scale", json_real(-1));
    assert_int_equal(stk__trainer_seek(f[1].trainer, saved, &f[1].error), STK_ERROR_STATE);
    json_object_del(saved, "loss_scale"); /* of a run in float32: a new scale begins */
    assert_int_equal(stk__trainer_seek(f[1].trainer, saved, &f[1].error), STK_OK);
    json_decref(saved);
    stk__trainer_close(&f[0].trainer);
    stk__trainer_close(&f[1].trainer);
}

static const stk__trainer_effect *effect_of(const fixture *f, const char *name)
{
    int count;
    const stk__trainer_effect *effects = stk__trainer_effects(f->trainer, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, name) == 0) return &effects[i];
    return NULL;
}

/* Asked for politely, float32 stays where it is faster; with ! it does not. */
static void what_is_in_effect_is_told(void **state)
{
    (void)state;
    static const stk__amp asked[] = {STK_AMP_AUTO, STK_AMP_ON, STK_AMP_OFF, STK_AMP_BF16, STK_AMP_FP16};
    fixture f;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        prepare_own(&f, asked[i]);
        open_it(&f);
        const stk__trainer_info *info = stk__trainer_describe(f.trainer);
        const stk__trainer_effect *effect = effect_of(&f, "train.amp");
        const bool fast = info->engine->bf16 == STK_HALF_FAST || info->engine->f16 == STK_HALF_FAST;
        if (asked[i] == STK_AMP_OFF)
            assert_null(effect);
        else if (!fast)
            assert_true(effect && strcmp(effect->in_effect, "f32") == 0 && effect->why[0]);
        if (!fast) assert_true(info->half == STK_DTYPE_NONE);
        if (info->half != STK_DTYPE_F16)
            assert_string_equal(effect_of(&f, "train.amp_max_skips")->in_effect, "");
        stk__trainer_close(&f.trainer);
    }
    for (stk__amp amp = STK_AMP_BF16_FORCED; amp <= STK_AMP_FP16_FORCED; amp++) {
        prepare_own(&f, amp);
        if (!can(amp)) {
            assert_int_equal(stk__trainer_open(&f.trainer, &f.setup, &f.error), STK_ERROR_UNSUPPORTED);
            assert_non_null(strstr(f.error.message, "does not support"));
            continue;
        }
        open_it(&f);
        assert_true(stk__trainer_describe(f.trainer)->half ==
                    (amp == STK_AMP_BF16_FORCED ? STK_DTYPE_BF16 : STK_DTYPE_F16));
        assert_true((effect_of(&f, "train.amp_max_skips") == NULL) == (amp == STK_AMP_FP16_FORCED));
        stk__trainer_close(&f.trainer);
    }
}

/* Frozen layers, computing again, sums of gradients, an average, clipping: all at once, and nothing is
 * allocated. */
static void everything_goes_together(void **state)
{
    (void)state;
    for (stk__amp amp = STK_AMP_BF16_FORCED; amp <= STK_AMP_FP16_FORCED; amp++) {
        static char before[MODEL_BYTES], after[MODEL_BYTES];
        fail_alloc allocator = {.left = -1};
        fixture f;
        stk__score score;
        if (!can(amp)) continue;
        prepare_own(&f, amp);
        f.model.freeze = "lstm";
        f.settings.gradient_checkpointing = STK_SWITCH_ON;
        f.settings.accumulation = 2;
        f.settings.ema = 0.9;
        f.settings.max_grad_norm = 1;
        f.train.far = amp == STK_AMP_FP16_FORCED ? 1 : -1; /* the second part of a step */
        fail_alloc_set(&allocator);
        open_it(&f);
        const size_t frozen =
            (size_t)stk__shape_count(&tensor_of(&f, "lstm.weight_ih_l0")->desc.shape) * sizeof(float);
        assert_int_equal(stk__tensor_read(tensor_of(&f, "lstm.weight_ih_l0"), before, frozen, NULL), STK_OK);
        train_epoch(&f);
        assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
        loss_of(&f);
        allocator.left = 0;
        train_epoch(&f);
        assert_int_equal(stk__trainer_evaluate(f.trainer, &score, &f.error), STK_OK);
        assert_true(isfinite(score.loss) && isfinite(loss_of(&f)));
        assert_int_equal(stk__tensor_read(tensor_of(&f, "lstm.weight_ih_l0"), after, frozen, NULL), STK_OK);
        assert_memory_equal(before, after, frozen);
        assert_int_equal(stk__trainer_where(f.trainer).skipped, amp == STK_AMP_FP16_FORCED ? 2 : 0);
        assert_int_equal(stk__trainer_where(f.trainer).step, amp == STK_AMP_FP16_FORCED ? 4 : 6);
        stk__trainer_close(&f.trainer);
        assert_int_equal(allocator.alive, 0);
        fail_alloc_set(NULL);
    }
}

static stk_status open_and_step(void *unused, stk_error *error)
{
    (void)unused;
    fixture f;
    prepare_own(&f, STK_AMP_FP16_FORCED);
    stk_status status = stk__trainer_open(&f.trainer, &f.setup, error);
    if (status == STK_OK) status = stk__trainer_step(f.trainer, error);
    stk__trainer_close(&f.trainer);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (!can(STK_AMP_FP16_FORCED)) skip();
    assert_int_equal(open_and_step(NULL, NULL), STK_OK);
    assert_true(fail_alloc_each(open_and_step, NULL) > 50);
}

static int write_network(void **state)
{
    (void)state;
    const int file = mkstemps(network_path, 0);
    const bool written =
        file >= 0 && write(file, network_text, sizeof network_text - 1) == sizeof network_text - 1;
    return written && close(file) == 0 ? 0 : 1;
}

static int remove_network(void **state)
{
    (void)state;
    return unlink(network_path);
}

int main(int argc, char **argv)
{
    if (argc > 1) engine_name = argv[1];
    if (look_for_engine()) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits_learn),           cmocka_unit_test(a_skipped_step_changes_nothing),
        cmocka_unit_test(the_first_bad_layer_is_named), cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(a_saved_scale_goes_on),        cmocka_unit_test(what_is_in_effect_is_told),
        cmocka_unit_test(everything_goes_together),     cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, write_network, remove_network);
}
