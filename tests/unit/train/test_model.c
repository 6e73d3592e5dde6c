/* SPDX-License-Identifier: Apache-2.0 */
/* Models: names, values at the start, what is frozen, and where everything lies. */
#include "pass_helpers.h"

#include "train/freeze.h"

#include <math.h>

enum { WIDE = 300 }; /* a tensor of several pieces of drawing */

static void net_small(net *n)
{
    *n = (net){0};
    int at = net_conv(n, "enc.stem", STK_LAYER_INPUT, 4, 3);
    at = net_op(n, "enc.bn", STK_OP_BATCH_NORM, at);
    at = net_op(n, "enc.relu", STK_OP_RELU, at);
    at = net_op(n, "mean", STK_OP_GLOBAL_POOL, at);
    at = net_add(n, "wide", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = WIDE}, at, 0);
    at = net_add(n, "deep", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = WIDE}, at, 0);
    net_add(n, "head", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = NET_CLASSES, .no_bias = true}, at,
            0);
    n->network.task = STK_TASK_CLASSIFICATION;
}

typedef struct made {
    net n;
    stk__engine *engine;
    stk__op_form forms[NET_LAYERS];
    stk__model *model;
} made;

static stk_status make(made *m, stk__model_options options, stk_error *error)
{
    const stk__shape input = {4, {2, 8, 8, 3}};
    net_small(&m->n);
    m->model = NULL;
    assert_int_equal(stk__engine_open(&m->engine, &(stk__engine_options){.name = "reference"}, NULL), STK_OK);
    assert_int_equal(stk__network_shape(&m->n.network, &input, m->forms, NULL), STK_OK);
    return stk__model_create(&m->model, m->engine, &m->n.network, m->forms, &options, error);
}

static void drop(made *m)
{
    stk__model_destroy(&m->model);
    assert_null(m->model);
    stk__engine_close(&m->engine);
}

static const float *values_of(const made *m, const char *name)
{
    const stk__model_tensor *tensor = stk__model_find(m->model, name);
    assert_non_null(tensor);
    return tensor->value->memory;
}

static void tensors_are_named_and_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"enc.stem.weight",
                                        "enc.stem.bias",
                                        "enc.bn.weight",
                                        "enc.bn.bias",
                                        "enc.bn.running_mean",
                                        "enc.bn.running_var",
                                        "enc.bn.num_batches_tracked",
                                        "wide.weight",
                                        "wide.bias",
                                        "deep.weight",
                                        "deep.bias",
                                        "head.weight"};
    made m;
    assert_int_equal(make(&m, (stk__model_options){.seed = 1}, NULL), STK_OK);
    assert_int_equal(m.model->count, 12);
    for (int i = 0; i < 12; i++) {
        const stk__model_tensor *tensor = &m.model->tensors[i];
        assert_string_equal(tensor->name, names[i]);
        assert_ptr_equal(stk__model_find(m.model, names[i]), tensor);
        assert_int_equal(tensor->buffer, i >= 4 && i <= 6);
        assert_int_equal(tensor->trainable, !tensor->buffer);
        assert_true(i >= m.model->layer_first[tensor->layer] && i < m.model->layer_first[tensor->layer + 1]);
        assert_null(tensor->grad);
        assert_null(tensor->average);
    }
    assert_int_equal(m.model->layer_first[7], 12);
    assert_int_equal(m.model->param_count, 4 * 27 + 4 + 8 + 4 * WIDE + WIDE + WIDE * WIDE + WIDE + 3 * WIDE);
    assert_int_equal(m.model->trainable_count, m.model->param_count);
    assert_null(stk__model_find(m.model, "enc.stem"));
    assert_null(stk__model_find(m.model, "head.bias"));
    drop(&m);
}

/* The formula of model.h, element by element. */
static void check_drawn(const made *m, const char *name, uint64_t seed, double fan_in)
{
    const stk__model_tensor *tensor = stk__model_find(m->model, name);
    const float *value = tensor->value->memory;
    double sum = 0, largest = 0;
    const int64_t count = stk__shape_count(&tensor->desc.shape);
    for (int64_t e = 0; e < count; e++) {
        const stk__random random =
            stk__random_draw((stk__random_at){.seed = seed,
                                              .sample = (uint32_t)(tensor - m->model->tensors),
                                              .operation = STK_OPERATION_WEIGHTS,
                                              .draw = (uint32_t)(e / 4)});
        const double want = (2.0 * stk__random_unit(random.word[e % 4]) - 1.0) / sqrt(fan_in);
        assert_true(value[e] == (float)want);
        sum += value[e];
        largest = fmax(largest, fabs(value[e]));
    }
    assert_true(largest <= 1 / sqrt(fan_in) && largest > 0.9 / sqrt(fan_in));
    assert_true(fabs(sum) < 4 * sqrt((double)count / 3 / fan_in));
}

static void values_start_as_pytorchs(void **state)
{
    (void)state;
    made m;
    assert_int_equal(make(&m, (stk__model_options){.seed = 1234567890123}, NULL), STK_OK);
    check_drawn(&m, "enc.stem.weight", 1234567890123, 27);
    check_drawn(&m, "wide.bias", 1234567890123, 4);
    check_drawn(&m, "deep.weight", 1234567890123, WIDE);
    for (int i = 0; i < 4; i++) {
        assert_true(values_of(&m, "enc.bn.weight")[i] == 1 && values_of(&m, "enc.bn.bias")[i] == 0);
        assert_true(values_of(&m, "enc.bn.running_var")[i] == 1);
        assert_true(values_of(&m, "enc.bn.running_mean")[i] == 0);
    }
    int64_t batches = 7;
    stk__model_tensor *tracked = stk__model_find(m.model, "enc.bn.num_batches_tracked");
    assert_int_equal(stk__tensor_read(tracked->value, &batches, sizeof batches, NULL), STK_OK);
    assert_int_equal(batches, 0);
    drop(&m);
}

static void another_seed_draws_others(void **state)
{
    (void)state;
    made a, b, c;
    assert_int_equal(make(&a, (stk__model_options){.seed = 1}, NULL), STK_OK);
    assert_int_equal(make(&b, (stk__model_options){.seed = 1, .training = true, .freeze = "deep"}, NULL),
                     STK_OK);
    assert_int_equal(make(&c, (stk__model_options){.seed = 2}, NULL), STK_OK);
    const size_t size = WIDE * WIDE * sizeof(float);
    assert_memory_equal(values_of(&a, "deep.weight"), values_of(&b, "deep.weight"), size);
    assert_memory_not_equal(values_of(&a, "deep.weight"), values_of(&c, "deep.weight"), size);
    drop(&a);
    drop(&b);
    drop(&c);
}

static void patterns_match_names_and_beginnings(void **state)
{
    (void)state;
    static const struct {
        const char *freeze, *layer;
        bool matches;
    } rows[] = {
        {NULL, "enc.stem", false},      {"", "enc.stem", false},         {"enc", "enc.stem", true},
        {"enc", "encoder.stem", false}, {"enc*", "encoder.stem", true},  {"enc.stem", "enc.stem", true},
        {"enc.stem", "enc", false},     {"enc.st", "enc.stem", false},   {"stem", "enc.stem", false},
        {"*.stem", "enc.stem", true},   {"*stem", "enc.stem", true},     {"*", "anything.at.all", true},
        {"a, enc", "enc.stem", true},   {"a  enc\tb", "enc.stem", true}, {"e*c.s*m", "enc.stem", true},
        {"e*c.s*x", "enc.stem", false}, {"*.bn*", "a.conv.bn12", true},  {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},     {",enc,", "enc", true},          {"enc.", "enc.stem", false},
        {"**m", "enc.stem", true},      {"layer1*", "layer1.0.a", true}, {"layer1", "layer10.a", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (stk__freeze_matches(rows[i].freeze, rows[i].layer) != rows[i].matches)
            fail_msg("'%s' and '%s'", rows[i].freeze ? rows[i].freeze : "NULL", rows[i].layer);
}

static void frozen_tensors_have_no_gradient(void **state)
{
    (void)state;
    made m;
    const stk__model_options options = {
        .training = true, .first = true, .second = true, .freeze = "enc deep"};
    assert_int_equal(make(&m, options, NULL), STK_OK);
    for (int i = 0; i < m.model->count; i++) {
        const stk__model_tensor *tensor = &m.model->tensors[i];
        const bool learns = strncmp(tensor->name, "wide", 4) == 0 || strncmp(tensor->name, "head", 4) == 0;
        assert_int_equal(tensor->trainable, learns);
        assert_int_equal(tensor->grad != NULL, learns);
        assert_int_equal(tensor->first != NULL, learns);
        assert_int_equal(tensor->second != NULL, learns);
    }
    assert_int_equal(m.model->trainable_count, 4 * WIDE + WIDE + 3 * WIDE);
    assert_int_equal(m.model->params.count, 3);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"wide.weight", "wide.bias", "head.weight"};
        const stk__model_tensor *tensor = stk__model_find(m.model, names[i]);
        assert_ptr_equal(m.model->params.tensor[i], tensor->value);
        assert_ptr_equal(m.model->grads.tensor[i], tensor->grad);
        assert_ptr_equal(m.model->firsts.tensor[i], tensor->first);
        assert_ptr_equal(m.model->seconds.tensor[i], tensor->second);
    }
    drop(&m);
}

static void only_what_is_asked_for_is_there(void **state)
{
    (void)state;
    made m;
    assert_int_equal(make(&m, (stk__model_options){.training = true, .first = true}, NULL), STK_OK);
    assert_int_equal(m.model->grads.count, 9);
    assert_int_equal(m.model->firsts.count, 9);
    assert_int_equal(m.model->seconds.count, 0);
    assert_int_equal(m.model->averages.count, 0);
    assert_int_equal(m.model->values.count, 11);
    const stk__model_bytes bytes = stk__model_measure(m.model);
    assert_true(bytes.params == bytes.grads && bytes.optimizer == bytes.grads && bytes.averages == 0);
    assert_int_equal(bytes.buffers, 3 * 64);
    assert_int_equal(bytes.params + bytes.buffers + bytes.grads + bytes.optimizer, m.model->size_bytes);
    drop(&m);
    assert_int_equal(make(&m, (stk__model_options){.first = true, .second = true}, NULL), STK_OK);
    assert_int_equal(m.model->grads.count + m.model->firsts.count + m.model->seconds.count, 0);
    drop(&m);
}

/* Every tensor gets bytes of its own; none of them is changed by another. */
static void nothing_overlaps(void **state)
{
    (void)state;
    made m;
    const stk__model_options options = {.training = true, .first = true, .second = true, .average = true};
    assert_int_equal(make(&m, options, NULL), STK_OK);
    stk__tensor *all[5 * 12];
    int count = 0;
    for (int i = 0; i < m.model->count; i++) {
        const stk__model_tensor *t = &m.model->tensors[i];
        stk__tensor *const parts[] = {t->value, t->grad, t->first, t->second, t->average};
        for (int k = 0; k < 5; k++)
            if (parts[k]) all[count++] = parts[k];
    }
    assert_int_equal(count, 12 + 3 * 9 + 11);
    for (int i = 0; i < count; i++)
        memset(all[i]->memory, i + 1, all[i]->size_bytes);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < all[i]->size_bytes; k++)
            assert_int_equal(((uint8_t *)all[i]->memory)[k], i + 1);
    drop(&m);
}

/* Only buffers are put back, and all of them. */
static void buffers_are_kept_and_put_back(void **state)
{
    (void)state;
    made m;
    assert_int_equal(make(&m, (stk__model_options){.training = true, .average = true, .spare = true}, NULL),
                     STK_OK);
    const stk__model_bytes bytes = stk__model_measure(m.model);
    assert_int_equal(bytes.buffers, 2 * 3 * 64);
    assert_int_equal(bytes.params + bytes.buffers + bytes.grads + bytes.averages, m.model->size_bytes);
    for (int value = 1; value <= 2; value++) {
        for (int i = 0; i < m.model->count; i++)
            memset(m.model->tensors[i].value->memory, value, m.model->tensors[i].value->size_bytes);
        if (value == 1) assert_int_equal(stk__model_keep_buffers(m.model, NULL), STK_OK);
    }
    assert_int_equal(stk__model_restore_buffers(m.model, NULL), STK_OK);
    for (int i = 0; i < m.model->count; i++) {
        const stk__model_tensor *t = &m.model->tensors[i];
        for (size_t k = 0; k < t->value->size_bytes; k++)
            assert_int_equal(((uint8_t *)t->value->memory)[k], t->buffer ? 1 : 2);
    }
    drop(&m);
}

static void averages_begin_as_copies_and_swap(void **state)
{
    (void)state;
    made m;
    const stk__model_options options = {.training = true, .average = true, .freeze = "deep", .seed = 4};
    assert_int_equal(make(&m, options, NULL), STK_OK);
    stk__model_tensor *wide = stk__model_find(m.model, "wide.weight");
    assert_int_equal(m.model->averages.count, 11);
    assert_int_equal(m.model->values.count, 11);
    for (size_t i = 0; i < 11; i++)
        assert_true(same_bits(m.model->averages.tensor[i], m.model->values.tensor[i]));
    assert_null(stk__model_find(m.model, "enc.bn.num_batches_tracked")->average);
    assert_non_null(stk__model_find(m.model, "deep.weight")->average);
    stk__tensor *value = wide->value, *average = wide->average;
    stk__model_swap_average(m.model);
    assert_true(wide->value == average && wide->average == value);
    for (int i = 0, at = 0, trained = 0; i < m.model->count; i++) {
        const stk__model_tensor *tensor = &m.model->tensors[i];
        if (tensor->grad) assert_ptr_equal(m.model->params.tensor[trained++], tensor->value);
        if (!tensor->average) continue;
        assert_ptr_equal(m.model->values.tensor[at], tensor->value);
        assert_ptr_equal(m.model->averages.tensor[at++], tensor->average);
    }
    stk__model_swap_average(m.model);
    assert_true(wide->value == value && wide->average == average);
    drop(&m);
}

static void a_pattern_without_effect_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *freeze, *says, *hint;
    } rows[] = {
        {"enc dep", "'dep'", "did you mean 'deep'?"},
        {"emc", "'emc'", "did you mean 'enc'?"},
        {"enc.stam", "'enc.stam'", "did you mean 'enc.stem'?"},
        {"enc.relu", "'enc.relu' has no parameters", ""},
        {"mean", "'mean' has no parameters", ""},
        {"zzzzzzzzz*", "'zzzzzzzzz*'", "--plan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        made m;
        stk_error error = {0};
        const stk__model_options options = {.training = true, .freeze = rows[i].freeze};
        assert_int_equal(make(&m, options, &error), STK_ERROR_CONFIG);
        assert_null(m.model);
        if (!strstr(error.message, rows[i].says)) fail_msg("%s", error.message);
        if (!strstr(error.hint, rows[i].hint)) fail_msg("%s: %s", error.message, error.hint);
        drop(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_named_and_in_order),
        cmocka_unit_test(values_start_as_pytorchs),
        cmocka_unit_test(another_seed_draws_others),
        cmocka_unit_test(patterns_match_names_and_beginnings),
        cmocka_unit_test(frozen_tensors_have_no_gradient),
        cmocka_unit_test(only_what_is_asked_for_is_there),
        cmocka_unit_test(nothing_overlaps),
        cmocka_unit_test(buffers_are_kept_and_put_back),
        cmocka_unit_test(averages_begin_as_copies_and_swap),
        cmocka_unit_test(a_pattern_without_effect_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
