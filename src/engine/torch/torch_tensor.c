/* SPDX-License-Identifier: Apache-2.0 */
/* Our memory as PyTorch's tensors, and the small steps that many operations are made of. Views cost no copy:
 * pictures [n h w c] are PyTorch's channels_last. */
#include "engine/torch/torch_call.h"

#include "engine/torch/torch_place.h"
#include "engine/torch/torch_room.h"

#include <assert.h>

static int32_t dtype_of(const stk__torch_api *api, stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_F64:
        return api->aoti_torch_dtype_float64();
    case STK_DTYPE_I64:
        return api->aoti_torch_dtype_int64();
    case STK_DTYPE_U8:
        return api->aoti_torch_dtype_uint8();
    case STK_DTYPE_F16:
        return api->aoti_torch_dtype_float16();
    case STK_DTYPE_BF16:
        return api->aoti_torch_dtype_bfloat16();
    default:
        assert(dtype == STK_DTYPE_F32);
        return api->aoti_torch_dtype_float32();
    }
}

int32_t stk__torch_dtype(const stk__torch_scope *scope, stk_dtype dtype)
{
    return dtype_of(scope->engine->api, dtype);
}

stk__torch_form stk__torch_dense_form(const stk__torch *engine, stk_dtype dtype, const stk__shape *shape)
{
    stk__torch_form form = {.ndim = shape->ndim, .dtype = dtype_of(engine->api, dtype)};
    int64_t stride = 1;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        form.size[i] = shape->dim[i];
        form.stride[i] = stride;
        stride *= shape->dim[i];
    }
    return form;
}

static stk__torch_handle wrap(stk__torch_scope *scope, void *memory, const stk__torch_form *form)
{
    stk__torch_handle made = NULL;
    const stk__torch *engine = scope->engine;
    if (scope->status != STK_OK) return NULL;
    const int32_t result = engine->api->aoti_torch_create_tensor_from_blob(
        memory, form->ndim, form->size, form->stride, form->offset, form->dtype, engine->device.type,
        engine->device.index, &made);
    return stk__torch_went_well(scope, result, "a view of memory") ? stk__torch_hold(scope, made) : NULL;
}

stk__torch_handle stk__torch_view(stk__torch_scope *scope, const stk__tensor *tensor,
                                  const stk__torch_form *form)
{
    return tensor ? wrap(scope, tensor->memory, form) : NULL;
}

stk__torch_handle stk__torch_part(stk__torch_scope *scope, const stk__tensor *memory, size_t offset_bytes,
                                  const stk__torch_form *form)
{
    return wrap(scope, (char *)memory->memory + offset_bytes, form);
}

stk__torch_handle stk__torch_shaped(stk__torch_scope *scope, const stk__tensor *tensor,
                                    const stk__shape *shape)
{
    if (!tensor) return NULL;
    const stk__torch_form form = stk__torch_dense_form(scope->engine, tensor->desc.dtype, shape);
    return stk__torch_view(scope, tensor, &form);
}

static stk__torch_form picture_form(const stk__torch *engine, stk_dtype dtype, const stk__shape *shape)
{
    const int64_t *dim = shape->dim, last = dim[shape->ndim - 1];
    if (shape->ndim != 4)
        return stk__torch_dense_form(engine, dtype, &(stk__shape){2, {stk__shape_count(shape) / last, last}});
    const int64_t n = dim[0], h = dim[1], w = dim[2], c = dim[3];
    return (stk__torch_form){.ndim = 4,
                             .size = {n, c, h, w},
                             .stride = {h * w * c, 1, w * c, c},
                             .dtype = dtype_of(engine->api, dtype)};
}

static stk__torch_form own_form(const stk__torch *engine, const stk__tensor_desc *desc)
{
    const int64_t *dim = desc->shape.dim;
    if (desc->layout != STK_TORCH_KERNEL) return stk__torch_dense_form(engine, desc->dtype, &desc->shape);
    return picture_form(engine, desc->dtype, &(stk__shape){4, {dim[0], dim[2], dim[3], dim[1]}});
}

/* Weights, statistics and the optimiser's memory are shown in every step: on a GPU each view costs a question
 * to the driver. */
stk__torch_handle stk__torch_dense(stk__torch_scope *scope, const stk__tensor *tensor)
{
    if (!tensor) return NULL;
    const bool keeps = tensor->self == tensor && tensor->place && tensor->memory == tensor->place;
    if (keeps && tensor->view) return tensor->view;
    const stk__torch_form form = own_form(scope->engine, &tensor->desc);
    const stk__torch_handle made = stk__torch_view(scope, tensor, &form);
    if (!keeps || !made) return made;
    ((stk__tensor *)tensor)->view = made; /* out of the scope, into the tensor */
    scope->count--;
    scope->engine->alive--;
    scope->engine->views++;
    return made;
}

stk_status stk__torch_tensor_create(stk__tensor *tensor, stk_error *error)
{
    (void)error;
    tensor->self = tensor;
    return STK_OK;
}

void stk__torch_tensor_destroy(stk__tensor *tensor)
{
    stk__torch *engine = stk__torch_of(tensor->engine);
    stk__torch_tensor_drop(tensor);
    if (!tensor->view) return;
    engine->api->aoti_torch_delete_tensor_object(tensor->view);
    engine->views--;
    tensor->view = NULL;
}

stk__torch_handle stk__torch_rows(stk__torch_scope *scope, const stk__tensor *tensor, int64_t c)
{
    if (!tensor) return NULL;
    const stk__shape rows = {2, {stk__shape_count(&tensor->desc.shape) / c, c}};
    return stk__torch_shaped(scope, tensor, &rows);
}

stk__torch_handle stk__torch_picture(stk__torch_scope *scope, const stk__tensor *tensor,
                                     const stk__shape *shape)
{
    if (!tensor) return NULL;
    const stk__torch_form form = picture_form(scope->engine, tensor->desc.dtype, shape);
    return stk__torch_view(scope, tensor, &form);
}

void stk__torch_tensor_drop(stk__tensor *tensor)
{
    stk__torch *engine = stk__torch_of(tensor->engine);
    if (!tensor->own) return;
    engine->api->aoti_torch_delete_tensor_object(tensor->own);
    engine->taken--;
    tensor->own = NULL;
    tensor->memory = tensor->place;
}

static bool lies_as(stk__torch_scope *scope, stk__torch_handle result, const stk__torch_form *form)
{
    const stk__torch_api *api = scope->engine->api;
    int64_t *stride = NULL;
    int32_t dtype = -1;
    if (!stk__torch_went_well(scope, api->aoti_torch_get_dtype(result, &dtype), "a tensor's type") ||
        !stk__torch_went_well(scope, api->aoti_torch_get_strides(result, &stride), "a tensor's strides"))
        return false;
    bool same = dtype == form->dtype;
    for (int i = 0; i < form->ndim; i++)
        same = same && (form->size[i] == 1 || stride[i] == form->stride[i]);
    return same;
}

void stk__torch_expect(const stk__tensor *tensor)
{
    if (!tensor || !tensor->place) return;
    const stk__tensor_desc *desc = &tensor->desc;
    const size_t bytes = (size_t)stk__shape_count(&desc->shape) * (size_t)stk_dtype_bytes(desc->dtype);
    stk__torch_place_expect(tensor->place, bytes, tensor->turn);
}

typedef enum whereabouts { ELSEWHERE, IN_PLACE, TO_COPY } whereabouts;

/* Where a result lies; if it would have been another's turn, the next time it is. */
static whereabouts find_result(stk__torch_scope *scope, stk__tensor *tensor, stk__torch_handle result)
{
    void *data = NULL;
    if (!tensor->place ||
        !stk__torch_went_well(scope, scope->engine->api->aoti_torch_get_data_ptr(result, &data),
                              "a tensor's address"))
        return ELSEWHERE;
    const int turn = stk__torch_place_arrive(tensor->place, data);
    if (data == tensor->place) return IN_PLACE;
    if (turn >= 0) tensor->turn = turn;
    return turn >= 0 || stk__torch_room_has(data) ? TO_COPY : ELSEWHERE;
}

/* A handle of its own keeps the memory alive. On a GPU it comes from PyTorch's store, in the order of its
 * stream. */
static void take_over(stk__torch_scope *scope, stk__tensor *tensor, stk__torch_handle result)
{
    const stk__torch_api *api = scope->engine->api;
    stk__torch_handle kept = NULL;
    void *data = NULL;
    if (!stk__torch_went_well(scope, api->aoti_torch_new_tensor_handle(result, &kept), "a tensor's handle"))
        return;
    if (!stk__torch_went_well(scope, api->aoti_torch_get_data_ptr(kept, &data), "a tensor's address")) {
        api->aoti_torch_delete_tensor_object(kept);
        return;
    }
    scope->engine->taken++;
    tensor->own = kept;
    tensor->memory = data;
}

/* A tensor outside of arenas belongs to a caller who reads the values at its address. */
static void take_as(stk__torch_scope *scope, stk__tensor *tensor, const stk__torch_form *form,
                    stk__torch_handle result)
{
    if (scope->status != STK_OK) return;
    stk__torch_tensor_drop(tensor);
    const whereabouts where = find_result(scope, tensor, result);
    if (where == IN_PLACE && lies_as(scope, result, form)) return;
    if (where == IN_PLACE) /* in another order: it cannot be copied onto itself */
        result = STK_TORCH_RUN(scope, "aten::clone", "", STK_TORCH_T(result), STK_TORCH_NOTHING);
    if (tensor->place && where == ELSEWHERE && lies_as(scope, result, form))
        take_over(scope, tensor, result);
    else
        stk__torch_copy(scope, stk__torch_view(scope, tensor, form), result);
}

void stk__torch_take(stk__torch_scope *scope, stk__tensor *tensor, stk__torch_handle result)
{
    const stk__torch_form form = own_form(scope->engine, &tensor->desc);
    take_as(scope, tensor, &form, result);
}

void stk__torch_take_picture(stk__torch_scope *scope, stk__tensor *tensor, const stk__shape *shape,
                             stk__torch_handle result)
{
    const stk__torch_form form = picture_form(scope->engine, tensor->desc.dtype, shape);
    take_as(scope, tensor, &form, result);
}

stk__torch_handle stk__torch_number(stk__torch_scope *scope, double value)
{
    stk__torch_handle made = NULL;
    if (scope->status != STK_OK) return NULL;
    const int32_t result = scope->engine->api->aoti_torch_scalar_to_tensor_float64(value, &made);
    return stk__torch_went_well(scope, result, "a number") ? stk__torch_hold(scope, made) : NULL;
}

stk__torch_handle stk__torch_divisor(stk__torch_scope *scope, double value)
{
    const stk__torch *engine = scope->engine;
    stk__torch_handle made = NULL;
    if (scope->status != STK_OK) return NULL;
    const int32_t result =
        engine->api->aoti_torch_empty_strided(0, NULL, NULL, engine->api->aoti_torch_dtype_float64(),
                                              engine->device.type, engine->device.index, &made);
    if (!stk__torch_went_well(scope, result, "a number")) return NULL;
    stk__torch_hold(scope, made);
    stk__torch_fill(scope, made, value);
    return made;
}

void stk__torch_copy(stk__torch_scope *scope, stk__torch_handle target, stk__torch_handle source)
{
    const int mark = scope->count;
    STK_TORCH_RUN(scope, "aten::copy_", "", STK_TORCH_T(target), STK_TORCH_T(source), STK_TORCH_I(false));
    stk__torch_release(scope, mark);
}

/* Of one value on the host, whatever the device. */
static stk__torch_handle factor_of(stk__torch_scope *scope, const double *value)
{
    const stk__torch_api *api = scope->engine->api;
    stk__torch_handle made = NULL;
    if (*value == 1) return scope->engine->unit;
    const int32_t result = api->aoti_torch_create_tensor_from_blob(
        (void *)value, 1, &(int64_t){1}, &(int64_t){1}, 0, api->aoti_torch_dtype_float64(),
        api->aoti_torch_device_type_cpu(), 0, &made);
    return stk__torch_went_well(scope, result, "a factor") ? stk__torch_hold(scope, made) : NULL;
}

/* The only in-place addition whose factor is not a Scalar. */
void stk__torch_add_product(stk__torch_scope *scope, stk__torch_handle target, stk__torch_handle a,
                            stk__torch_handle b, double factor)
{
    const int mark = scope->count;
    if (scope->status != STK_OK) return;
    STK_TORCH_RUN_VOID(scope, "aten::_foreach_addcmul_", "Tensor", STK_TORCH_LIST(&target, 1),
                       STK_TORCH_LIST(&a, 1), STK_TORCH_LIST(&b, 1), STK_TORCH_T(factor_of(scope, &factor)));
    stk__torch_release(scope, mark);
}

void stk__torch_add(stk__torch_scope *scope, stk__torch_handle target, stk__torch_handle source,
                    double factor)
{
    stk__torch_add_product(scope, target, source, scope->engine->one, factor);
}

void stk__torch_count_up(stk__torch_scope *scope, const stk__tensor *tensor)
{
    const stk__torch_handle more = scope->engine->more;
    stk__torch_add_product(scope, stk__torch_dense(scope, tensor), more, more, 1);
}

void stk__torch_learn(stk__torch_scope *scope, const stk__op_io *io, int param, stk__torch_handle gradient)
{
    const stk__tensor *dparam = stk__torch_at(io->dparam, param);
    if (!dparam) return;
    const int mark = scope->count;
    const stk__torch_handle target = stk__torch_dense(scope, dparam);
    if (io->add_dparam) /* of any two types: it is done in the larger one */
        stk__torch_add(scope, target, gradient, 1);
    else
        stk__torch_copy(scope, target, gradient);
    stk__torch_release(scope, mark);
}

void stk__torch_expect_learned(const stk__op_io *io, int64_t wanted)
{
    for (int i = 0; i < 2 && !io->add_dparam; i++)
        if (wanted >> (i + 1) & 1) stk__torch_expect(stk__torch_at(io->dparam, i));
}

/* Who updates the weights looks for it where it was the last time: there a graph must have written it, too.
 */
void stk__torch_learn_own(stk__torch_scope *scope, const stk__op_io *io, int param,
                          stk__torch_handle gradient)
{
    stk__tensor *dparam = stk__torch_at(io->dparam, param);
    if (dparam && !io->add_dparam && !scope->engine->front.info.graphs)
        stk__torch_take(scope, dparam, gradient);
    else
        stk__torch_learn(scope, io, param, gradient);
}

stk__torch_handle stk__torch_multiply(stk__torch_scope *scope, stk__torch_handle a, stk__torch_handle b)
{
    return STK_TORCH_RUN(scope, "aten::mul", "Tensor", STK_TORCH_T(a), STK_TORCH_T(b));
}

stk__torch_handle stk__torch_sum(stk__torch_scope *scope, stk__torch_handle values)
{
    return STK_TORCH_RUN(scope, "aten::sum", "", STK_TORCH_T(values),
                         STK_TORCH_SOME_I(scope->engine->api->aoti_torch_dtype_float64()));
}

void stk__torch_fill(stk__torch_scope *scope, stk__torch_handle target, double value)
{
    if (scope->status != STK_OK) return;
    stk__torch_went_well(scope, scope->engine->api->aoti_torch_aten_fill__Scalar(target, value),
                         "aten::fill_");
}

stk__torch_handle stk__torch_factor(stk__torch_scope *scope, const stk__op *op, stk__torch_handle source,
                                    stk_dtype dtype)
{
    if (!op->spec.half || dtype == op->spec.half || !source) return source;
    return stk__torch_convert(scope, source, stk__torch_dtype(scope, op->spec.half));
}

stk__torch_handle stk__torch_convert(stk__torch_scope *scope, stk__torch_handle source, int32_t dtype)
{
    return STK_TORCH_RUN(scope, "aten::_to_copy", "", STK_TORCH_T(source), STK_TORCH_SOME_I(dtype),
                         STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_NOTHING, STK_TORCH_I(false),
                         STK_TORCH_NOTHING);
}
