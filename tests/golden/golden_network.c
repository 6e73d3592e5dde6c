/* SPDX-License-Identifier: Apache-2.0 */
/* A network of a golden file made ready to run on an engine: network, model, passes for training and
 * evaluation, and a feed of the recorded batches. */
#include "golden_network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { SETTINGS = 16 };

static int read_settings(const json_t *about, const char *key, stk__network_setting settings[SETTINGS])
{
    int count = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(about, key), name, value)
    {
        assert_true(count < SETTINGS && json_is_integer(value));
        settings[count++] = (stk__network_setting){name, json_integer_value(value)};
    }
    return count;
}

static void read_network(golden_network *n, const stk__shape *input)
{
    stk_error error = {0};
    stk__network_setting settings[SETTINGS], facts[SETTINGS];
    const json_t *about = n->golden.about;
    const stk__network_request request = {.name = json_string_value(json_object_get(about, "network")),
                                          .settings = settings,
                                          .setting_count = read_settings(about, "settings", settings),
                                          .facts = facts,
                                          .fact_count = read_settings(about, "facts", facts)};
    GOLDEN_TRY(stk__network_read(&n->network, &request, &error));
    n->forms = stk__alloc((size_t)n->network->layer_count * sizeof *n->forms);
    assert_non_null(n->forms);
    GOLDEN_TRY(stk__network_shape(n->network, input, n->forms, &error));
}

static stk__op_spec read_loss(const json_t *json)
{
    stk__op_spec spec = {.kind = stk__op_find(json_string_value(json_object_get(json, "kind"))),
                         .label_smoothing = golden_number(json, "label_smoothing", 0),
                         .ignore_index = (int64_t)golden_number(json, "ignore_index", 0),
                         .ignores = json_object_get(json, "ignore_index") != NULL};
    const json_t *size = json_object_get(json, "image_size");
    for (size_t i = 0; i < 2 && size; i++)
        spec.image_size[i] = (int32_t)json_integer_value(json_array_get(size, i));
    assert_true(stk__op_is_loss(spec.kind));
    return spec;
}

static stk__op_spec metric_of(stk__task task, const stk__op_spec *loss)
{
    static const stk__op_kind kinds[] = {[STK_TASK_SEGMENTATION] = STK_OP_CONFUSION,
                                         [STK_TASK_POINTS] = STK_OP_POINT_ERROR,
                                         [STK_TASK_CLASSIFICATION] = STK_OP_TOP_K,
                                         [STK_TASK_REGRESSION] = STK_OP_VALUE_ERROR};
    stk__op_spec metric = *loss;
    metric.kind = kinds[task];
    metric.label_smoothing = 0;
    return metric;
}

static void make_passes(golden_network *n, const golden_network_options *options, const stk__shape *input)
{
    stk_error error = {0};
    stk__pass_request request = {.engine = options->engine,
                                 .network = n->network,
                                 .input = *input,
                                 .training = true,
                                 .recompute = options->recompute,
                                 .loss = read_loss(json_object_get(n->golden.about, "loss"))};
    request.metric = metric_of(n->network->task, &request.loss);
    GOLDEN_TRY(stk__pass_create(&n->training, &request, &error));
    request.training = request.recompute = false;
    GOLDEN_TRY(stk__pass_create(&n->evaluation, &request, &error));
    const size_t a = stk__pass_size(n->training), b = stk__pass_size(n->evaluation);
    GOLDEN_TRY(stk__arena_create(options->engine, a > b ? a : b, &n->arena, &error));
    GOLDEN_TRY(stk__pass_bind(n->training, n->model, n->arena, &error));
    GOLDEN_TRY(stk__pass_bind(n->evaluation, n->model, n->arena, &error));
}

static void make_feed(golden_network *n)
{
    static const char *const names[STK_LOSS_INPUTS] = {[STK_LOSS_TARGET] = "target",
                                                       [STK_LOSS_TARGET2] = "target2",
                                                       [STK_LOSS_LAMBDA] = "lambda",
                                                       [STK_LOSS_WEIGHTS] = "weights",
                                                       [STK_LOSS_CLASS_WEIGHTS] = "class_weights"};
    n->feed = (stk__pass_feed){.input = golden_read(&n->shelf, &n->golden, golden_find(&n->golden, "input")),
                               .loss_sums =
                                   golden_make(&n->shelf, &(stk__shape){1, {STK_LOSS_SUMS}}, STK_DTYPE_F64),
                               .grad_scale = 1};
    for (int i = 1; i < STK_LOSS_INPUTS; i++)
        n->feed.target[i] = golden_read(&n->shelf, &n->golden, golden_find(&n->golden, "%s", names[i]));
}

void golden_network_init(golden_network *n, const golden_network_options *options)
{
    stk_error error = {0};
    *n = (golden_network){0};
    golden_open(&n->golden, options->folder, options->name);
    golden_shelf_init(&n->shelf, options->engine);
    make_feed(n);
    const stk__shape *input = &stk__tensor_describe(n->feed.input)->shape;
    read_network(n, input);
    const bool adam = golden_network_update(n).kind == STK_OPTIMIZER_ADAMW;
    const stk__model_options model = {.training = true, .first = true, .second = adam, .seed = 7};
    GOLDEN_TRY(stk__model_create(&n->model, options->engine, n->network, n->forms, &model, &error));
    make_passes(n, options, input);
}

void golden_network_fini(golden_network *n)
{
    stk__pass_destroy(&n->training);
    stk__pass_destroy(&n->evaluation);
    stk__arena_destroy(&n->arena);
    stk__model_destroy(&n->model);
    stk__network_destroy(&n->network);
    stk__free(n->forms);
    golden_shelf_fini(&n->shelf);
    golden_close(&n->golden);
}

void golden_network_load(golden_network *n, const char *prefix)
{
    const size_t length = strlen(prefix);
    int found = 0;
    for (int i = 0; i < stk__safetensors_count(n->golden.file); i++) {
        const stk__safetensor *tensor = stk__safetensors_at(n->golden.file, i);
        if (strncmp(tensor->name, prefix, length) != 0 || tensor->name[length] != '.') continue;
        const stk__model_tensor *ours = stk__model_find(n->model, tensor->name + length + 1);
        if (!ours) fail_msg("the model has no '%s'", tensor->name + length + 1);
        golden_load(ours->value, &n->golden, tensor);
        found++;
    }
    for (int i = 0; i < n->model->count; i++)
        if (!golden_find(&n->golden, "%s.%s", prefix, n->model->tensors[i].name))
            fail_msg("PyTorch has no '%s'", n->model->tensors[i].name);
    assert_int_equal(found, n->model->count);
}

stk__update golden_network_update(const golden_network *n)
{
    const json_t *json = json_object_get(n->golden.about, "optimizer");
    const bool adam = strcmp(json_string_value(json_object_get(json, "kind")), "adamw") == 0;
    stk__update update = {.kind = adam ? STK_OPTIMIZER_ADAMW : STK_OPTIMIZER_SGD,
                          .lr = golden_number(json, "lr", 0),
                          .weight_decay = golden_number(json, "weight_decay", 0),
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = golden_number(json, "eps", 0),
                          .momentum = golden_number(json, "momentum", 0),
                          .grad_scale = 1,
                          .max_grad_norm = golden_number(json, "max_grad_norm", 0)};
    if (!n->model) return update;
    update.param = n->model->params;
    update.grad = n->model->grads;
    update.first = n->model->firsts;
    if (adam) update.second = n->model->seconds;
    return update;
}
