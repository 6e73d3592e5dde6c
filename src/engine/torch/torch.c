/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch: the user's own PyTorch computes. Opening, tensors, and which file runs which operation.
 */
#include "core/memory.h"
#include "engine/conv_gather.h"
#include "engine/half_op.h"
#include "engine/torch/torch_call.h"
#include "engine/torch/torch_place.h"
#include "engine/torch/torch_room.h"

#include <stdio.h>
#include <string.h>

static const stk__torch_op_kind *const kinds[STK_OP_COUNT] = {
    [STK_OP_CONV] = &stk__torch_conv,
    [STK_OP_CONV_TRANSPOSE] = &stk__torch_conv,
    [STK_OP_BATCH_NORM] = &stk__torch_norm,
    [STK_OP_RELU] = &stk__torch_activation,
    [STK_OP_SILU] = &stk__torch_activation,
    [STK_OP_GELU] = &stk__torch_activation,
    [STK_OP_SIGMOID] = &stk__torch_activation,
    [STK_OP_TANH] = &stk__torch_activation,
    [STK_OP_MAX_POOL] = &stk__torch_max_pool,
    [STK_OP_AVG_POOL] = &stk__torch_avg_pool,
    [STK_OP_GLOBAL_POOL] = &stk__torch_global_pool,
    [STK_OP_LINEAR] = &stk__torch_linear,
    [STK_OP_ADD] = &stk__torch_add_op,
    [STK_OP_CONCAT] = &stk__torch_concat,
    [STK_OP_RESIZE] = &stk__torch_resize,
    [STK_OP_DROPOUT] = &stk__torch_dropout,
    [STK_OP_LSTM] = &stk__torch_lstm,
    [STK_OP_AFFINE] = &stk__torch_affine,
    [STK_OP_CROSS_ENTROPY] = &stk__torch_cross_entropy,
    [STK_OP_L1] = &stk__torch_values,
    [STK_OP_MSE] = &stk__torch_values,
    [STK_OP_SMOOTH_L1] = &stk__torch_values,
    [STK_OP_POINTS] = &stk__torch_points,
    [STK_OP_CONFUSION] = &stk__torch_metric,
    [STK_OP_TOP_K] = &stk__torch_metric,
    [STK_OP_POINT_ERROR] = &stk__torch_metric,
    [STK_OP_VALUE_ERROR] = &stk__torch_metric,
    [STK_OP_BCE] = &stk__torch_labels,
    [STK_OP_LABEL_HITS] = &stk__torch_metric,
};

/* Both belong to the calling thread; no gradients are recorded, the explicit operators are called instead. */
static void prepare_thread(const stk__engine *engine)
{
    static _Thread_local int threads;
    const stk__torch_api *api = stk__torch_of(engine)->api;
    if (stk__torch_of(engine)->device.cuda)
        stk__torch_cuda_prepare_thread(stk__torch_of(engine)->device.cuda);
    if (threads == engine->info.threads) return;
    threads = engine->info.threads;
    if (api->set_num_threads) api->set_num_threads(threads);
    api->aoti_torch_grad_mode_set_enabled(false);
}

enum { CONSTANTS = 7 };

static void list_constants(stk__torch *made, stk__torch_handle *list[CONSTANTS])
{
    list[0] = &made->one, list[1] = &made->zero, list[2] = &made->step;
    list[3] = &made->norm, list[4] = &made->factor, list[5] = &made->unit, list[6] = &made->more;
}

/* Values that stay; they are not counted as alive. */
static stk_status make_constants(stk__torch *made, stk_error *error)
{
    const stk__torch_api *api = made->api;
    stk__torch_handle *list[CONSTANTS];
    stk__torch_scope s = stk__torch_begin(&made->front, error);
    list_constants(made, list);
    for (int i = 0; i < CONSTANTS && s.status == STK_OK; i++) {
        const bool host = list[i] == &made->unit, whole = list[i] == &made->more;
        const int64_t ones[] = {1, 1};
        const int32_t result =
            api->aoti_torch_empty_strided(list[i] == &made->norm ? 2 : host, ones, ones,
                                          host    ? api->aoti_torch_dtype_float64()
                                          : whole ? api->aoti_torch_dtype_int64()
                                                  : api->aoti_torch_dtype_float32(),
                                          host ? api->aoti_torch_device_type_cpu() : made->device.type,
                                          host ? 0 : made->device.index, list[i]);
        if (stk__torch_went_well(&s, result, "a constant"))
            stk__torch_fill(&s, *list[i], i == 0 || host || whole);
    }
    return stk__torch_end(&s);
}

static void close_engine(stk__engine *engine)
{
    stk__torch *made = stk__torch_of(engine);
    stk__torch_handle *list[CONSTANTS];
    list_constants(made, list);
    if (made->front.info.dry) {
        stk__free(made);
        return;
    }
    stk__torch_draws_close(&made->draws);
    if (made->places) stk__torch_room_close();
    for (int i = 0; i < CONSTANTS; i++)
        if (*list[i]) made->api->aoti_torch_delete_tensor_object(*list[i]);
    stk__torch_device_close(&made->device);
    stk__free(made);
}

/* A request for a GPU gets the reason for the GPU. */
static stk_status open_library(const stk__torch_api **api, const char *device, stk_error *error)
{
    const stk_status status = stk__torch_api_open(api, error);
    if (status != STK_ERROR_UNSUPPORTED || !error || !device || strncmp(device, "cuda", 4) != 0)
        return status;
    const stk_error why = *error;
    return stk__torch_device_refuse(device, why.message, why.hint, error);
}

static const char half_why[] = "PyTorch is not known to be faster with 16-bit types on CPUs; ! forces them";

static const char memory_why[] = "this PyTorch is not known to Stoker; it may allocate more";

static void describe(stk__torch *made, const stk__engine_options *options)
{
    stk__engine_info *info = &made->front.info;
    const stk__torch_api *api = made->api;
    *info = (stk__engine_info){.name = stk__engine_torch.name,
                               .threads = options->threads,
                               .kernel_layout = STK_TORCH_KERNEL,
                               .bf16 = STK_HALF_NATIVE,
                               .f16 = STK_HALF_NATIVE,
                               .half_why = half_why};
    snprintf(info->version, sizeof info->version, "PyTorch %d.%d.%d, %s", api->major, api->minor, api->patch,
             stk__torch_device_name(&made->device));
    memcpy(info->gpu_why, made->device.why, sizeof info->gpu_why);
    if (!made->device.cuda) return;
    info->device = STK_DEVICE_CUDA;
    info->device_index = made->device.index;
    stk__torch_cuda_tell_half(made->device.cuda, info);
    info->tf32 = stk__torch_cuda_set_tf32(made->device.cuda, !options->no_tf32);
    if (options->graphs) stk__torch_cuda_use_graphs(made->device.cuda, info);
    const bool set = stk__torch_cuda_set_algorithms(made->device.cuda, options->tune, options->deterministic);
    info->measures = set && options->tune;
    info->deterministic = set && options->deterministic;
}

/* A plan's: PyTorch is looked for, but not opened. */
static stk_status open_dry(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    stk__torch_version version;
    STK__TRY(stk__torch_api_find(&version, error));
    stk__torch *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an engine");
    made->front.ops = &stk__engine_torch;
    stk__torch_device_plan(options->device, &made->device);
    const bool gpu = made->device.dry_gpu, known = gpu || stk__torch_place_knows(version);
    made->front.info = (stk__engine_info){.name = stk__engine_torch.name,
                                          .version = "PyTorch",
                                          .threads = options->threads,
                                          .kernel_layout = STK_TORCH_KERNEL,
                                          .bf16 = gpu ? STK_HALF_FAST : STK_HALF_NATIVE,
                                          .f16 = gpu ? STK_HALF_FAST : STK_HALF_NATIVE,
                                          .half_why = half_why,
                                          .memory_why = known ? NULL : memory_why,
                                          .device = gpu ? STK_DEVICE_CUDA : STK_DEVICE_CPU,
                                          .device_index = made->device.index,
                                          .dry = true};
    *engine = &made->front;
    return STK_OK;
}

static stk_status open_engine(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    const stk__torch_api *api;
    STK__TRY(stk__torch_device_check(options->device, error)); /* before anybody installs a PyTorch for it */
    if (options->dry) return open_dry(engine, options, error);
    STK__TRY(open_library(&api, options->device, error));
    stk__torch *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an engine");
    *made = (stk__torch){.api = api};
    made->front.ops = &stk__engine_torch;
    stk_status status = stk__torch_device_open(api, options->device, &made->device, error);
    if (status != STK_OK) {
        stk__free(made);
        return status;
    }
    describe(made, options);
    if (stk__torch_device_is_host(&made->device))
        made->places = stk__torch_place_open(api->library, api->minor);
    if (made->places)
        stk__torch_room_open();
    else if (stk__torch_device_is_host(&made->device))
        made->front.info.memory_why = memory_why;
    prepare_thread(&made->front);
    status = make_constants(made, error);
    if (status != STK_OK) {
        close_engine(&made->front);
        return status;
    }
    *engine = &made->front;
    return STK_OK;
}

static stk_status zero_tensor(stk__tensor *tensor, stk_error *error)
{
    prepare_thread(tensor->engine);
    stk__torch_scope s = stk__torch_begin(tensor->engine, error);
    STK_TORCH_RUN(&s, "aten::zero_", "", STK_TORCH_T(stk__torch_dense(&s, tensor)));
    return stk__torch_end(&s);
}

static stk_status add_tensor(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    prepare_thread(target->engine);
    stk__torch_scope s = stk__torch_begin(target->engine, error);
    stk__torch_add(&s, stk__torch_dense(&s, target), stk__torch_dense(&s, source), 1);
    return stk__torch_end(&s);
}

static stk_status round_tensor(stk__tensor *target, const stk__tensor *source, stk_dtype through,
                               stk_error *error)
{
    prepare_thread(target->engine);
    stk__torch_scope s = stk__torch_begin(target->engine, error);
    stk__torch_handle from = stk__torch_dense(&s, source);
    if (through) from = stk__torch_convert(&s, from, stk__torch_dtype(&s, through));
    stk__torch_copy(&s, stk__torch_dense(&s, target), from);
    return stk__torch_end(&s);
}

static stk_status copy_tensor(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    if (target->memory == source->memory) return STK_OK;
    return round_tensor(target, source, STK_DTYPE_NONE, error);
}

/* Convolutions of 16 bits. Where the CPU lacks the instructions (of fp16 few have them) PyTorch does not hand
 * them to oneDNN: it lays out the input of every output pixel, of a 3x3 kernel nine times the whole batch,
 * and takes twice as long as in f32. */
static bool convolves_half(const stk__torch *engine, stk_dtype half)
{
    if (!stk__torch_device_is_host(&engine->device)) return true;
    return half == STK_DTYPE_BF16 && stk__cpu_level_found() >= STK_CPU_AVX512;
}

/* Products take what they are given in 16 bits, whatever the rest is; others where everything is of one type.
 * What is left is widened around our own f32 operation (half_op.h, by PyTorch's copies): LSTM, which keeps
 * its states in f32, affine, pixels that must be gathered, and the ends of a network. */
static bool is_native(const stk__torch *engine, const stk__op_spec *spec)
{
    if (spec->kind == STK_OP_LSTM || spec->kind == STK_OP_AFFINE) return false;
    if (spec->kind == STK_OP_LINEAR) return true;
    if (stk__op_is_product(spec->kind))
        return convolves_half(engine, spec->half) && !stk__conv_must_gather(spec);
    return !spec->f32_inputs && !spec->f32_output;
}

/* Batch norm's gradient is a new tensor, which PyTorch may fill in several goes through dy. */
static stk_status fit_host(stk__op *op, stk_error *error)
{
    stk__torch_plan_inside(op);
    op->needs.dx_apart = op->spec.kind == STK_OP_BATCH_NORM;
    if (op->engine->info.dry || !stk__torch_of(op->engine)->places) return STK_OK;
    return stk__torch_room_grow(op->needs.inside_bytes, error);
}

static stk_status create_op(stk__op *op, stk_error *error)
{
    if (op->spec.half && !is_native(stk__torch_of(op->engine), &op->spec))
        return stk__half_op_create(op, error);
    if (kinds[op->spec.kind]->needs) op->needs = kinds[op->spec.kind]->needs(op);
    if (stk__torch_device_is_host(&stk__torch_of(op->engine)->device)) STK__TRY(fit_host(op, error));
    if (op->spec.kind == STK_OP_DROPOUT && !op->engine->info.dry) stk__torch_draws_open(op->engine);
    return STK_OK;
}

static stk_status run_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    prepare_thread(op->engine);
    return kinds[op->spec.kind]->forward(op, io, error);
}

static stk_status run_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    prepare_thread(op->engine);
    return kinds[op->spec.kind]->backward(op, io, error);
}

static stk_status run_update(stk__engine *engine, const stk__update *update, stk_error *error)
{
    prepare_thread(engine);
    return stk__torch_update(engine, update, error);
}

static stk_status run_average(stk__engine *engine, const stk__tensor_list *average,
                              const stk__tensor_list *value, double decay, stk_error *error)
{
    prepare_thread(engine);
    return stk__torch_average(engine, average, value, decay, error);
}

const stk__engine_ops stk__engine_torch = {
    .name = "torch",
    .lists_gpu = stk__torch_device_lists_gpu,
    .open = open_engine,
    .close = close_engine,
    .sync = stk__torch_sync,
    .mark = stk__torch_mark,
    .is_busy = stk__torch_is_busy,
    .stream = stk__torch_stream,
    .measure = stk__torch_measure,
    .graph_begin = stk__torch_graph_begin,
    .graph_end = stk__torch_graph_end,
    .graph_launch = stk__torch_graph_launch,
    .graph_destroy = stk__torch_graph_destroy,
    .arena_create = stk__torch_arena_create,
    .arena_destroy = stk__torch_arena_destroy,
    .tensor_create = stk__torch_tensor_create,
    .tensor_destroy = stk__torch_tensor_destroy,
    .tensor_drop = stk__torch_tensor_drop,
    .tensor_map = stk__torch_layout_map,
    .tensor_map_new = stk__torch_layout_map_new,
    .tensor_unmap = stk__torch_layout_unmap,
    .fetch_begin = stk__torch_fetch_begin,
    .fetch_ask = stk__torch_fetch_ask,
    .fetch_wait = stk__torch_fetch_wait,
    .tensor_zero = zero_tensor,
    .tensor_add = add_tensor,
    .tensor_copy = copy_tensor,
    .tensor_round = round_tensor,
    .op_create = create_op,
    .forward = run_forward,
    .backward = run_backward,
    .update = run_update,
    .average = run_average,
};
