/* SPDX-License-Identifier: Apache-2.0 */
/* A model made by hand on an engine that only holds tensors, with values that are a function of step and
 * index: for tests of checkpoints, including failing maps. */
#include "support/small_model.h"

#include "core/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

int small_model_fail_map = -1, small_model_fail_unmap = -1;

static bool fails(int *countdown)
{
    return *countdown >= 0 && (*countdown)-- == 0;
}

static stk_status make_arena(stk__engine *engine, size_t size_bytes, stk__arena **arena, stk_error *error)
{
    (void)error;
    *arena = stk__alloc(sizeof **arena);
    assert_non_null(*arena);
    **arena = (stk__arena){.engine = engine, .memory = stk__alloc(size_bytes), .size_bytes = size_bytes};
    assert_non_null((*arena)->memory);
    return STK_OK;
}

static void remove_arena(stk__arena *arena)
{
    stk__free(arena->memory);
    stk__free(arena);
}

static stk_status map(stk__tensor *tensor, stk_tensor *view, stk_error *error)
{
    if (fails(&small_model_fail_map)) return stk__fail(error, STK_ERROR_MEMORY, "no map today");
    *view =
        (stk_tensor){.data = tensor->memory, .dtype = tensor->desc.dtype, .ndim = tensor->desc.shape.ndim};
    memcpy(view->shape, tensor->desc.shape.dim, (size_t)view->ndim * sizeof view->shape[0]);
    return STK_OK;
}

static stk_status unmap(stk__tensor *tensor, const stk_tensor *view, bool changed, stk_error *error)
{
    (void)tensor, (void)view, (void)changed;
    return fails(&small_model_fail_unmap) ? stk__fail(error, STK_ERROR_IO, "no unmap today") : STK_OK;
}

static stk_status copy(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    (void)error;
    memcpy(target->memory, source->memory, source->size_bytes);
    return STK_OK;
}

static const stk__engine_ops holder_ops = {.name = "holder",
                                           .arena_create = make_arena,
                                           .arena_destroy = remove_arena,
                                           .tensor_map = map,
                                           .tensor_unmap = unmap,
                                           .tensor_copy = copy};
static stk__engine holder = {.ops = &holder_ops};

enum { TENSOR_COUNT = 6, ARENA_SHARE_BYTES = 1 << 12 };

static stk__tensor *make_tensor(stk__model *model, const stk__tensor_desc *desc)
{
    stk__tensor *tensor;
    assert_int_equal(stk__tensor_create(&holder, desc, model->arena, model->size_bytes, &tensor, NULL),
                     STK_OK);
    model->size_bytes += tensor->size_bytes;
    return tensor;
}

static void add(stk__model *model, const small_options *options, const stk__model_tensor *form)
{
    stk__model_tensor *t = &model->tensors[model->count++];
    *t = *form;
    if (t->desc.dtype == STK_DTYPE_NONE) t->desc.dtype = STK_DTYPE_F32;
    t->value = make_tensor(model, &t->desc);
    if (t->trainable && options->optimizer >= SMALL_SGD) t->first = make_tensor(model, &t->desc);
    if (t->trainable && options->optimizer >= SMALL_ADAMW) t->second = make_tensor(model, &t->desc);
    if (options->average && t->desc.dtype == STK_DTYPE_F32) t->average = make_tensor(model, &t->desc);
}

stk__model *small_model_make(const small_options *options)
{
    const int64_t head = options->head ? options->head : 5;
    const stk__model_tensor forms[TENSOR_COUNT] = {
        {.name = "stem.conv.weight", .trainable = true, .desc.shape = {4, {2, 3, 1, 3}}},
        {.name = "stem.norm.weight", .trainable = true, .desc.shape = {1, {7}}},
        {.name = "stem.norm.running_mean", .buffer = true, .desc.shape = {1, {7}}},
        {.name = "stem.norm.num_batches_tracked", .buffer = true, .desc.dtype = STK_DTYPE_I64},
        {.name = "head.weight", .trainable = true, .desc.shape = {2, {head, 3}}},
        {.name = "head.bias", .desc.shape = {1, {3}}},
    };
    stk__model *model = stk__alloc(sizeof *model);
    assert_non_null(model);
    model->engine = &holder;
    model->tensors = stk__alloc(sizeof forms);
    assert_non_null(model->tensors);
    const size_t size = 4 * TENSOR_COUNT * ARENA_SHARE_BYTES + 64 * (size_t)head;
    assert_int_equal(stk__arena_create(&holder, size, &model->arena, NULL), STK_OK);
    for (int i = 0; i < TENSOR_COUNT; i++)
        add(model, options, &forms[i]);
    return model;
}

void small_model_remove(stk__model **model)
{
    for (int i = 0; i < (*model)->count; i++) {
        stk__model_tensor *t = &(*model)->tensors[i];
        stk__tensor_destroy(&t->value);
        stk__tensor_destroy(&t->first);
        stk__tensor_destroy(&t->second);
        stk__tensor_destroy(&t->average);
    }
    stk__arena_destroy(&(*model)->arena);
    stk__free((*model)->tensors);
    stk__free(*model);
    *model = NULL;
}

/* Small whole numbers, exact in a float; tests/cut/test_checkpoint_cut.py knows them too. */
static int64_t element(uint64_t step, int tensor, int kind, int64_t index)
{
    return ((int64_t)step * 1000 + tensor * 100 + kind * 10 + index) % 65536;
}

static bool visit(stk__tensor *tensor, uint64_t step, int which, int kind, bool compare)
{
    bool same = true;
    if (!tensor) return true;
    const int64_t count = stk__shape_count(&tensor->desc.shape);
    for (int64_t i = 0; i < count; i++) {
        const int64_t whole = element(step, which, kind, i);
        const float real = (float)whole;
        const bool integer = tensor->desc.dtype == STK_DTYPE_I64;
        const size_t size = integer ? sizeof whole : sizeof real;
        const void *wanted = integer ? (const void *)&whole : &real;
        char *at = (char *)tensor->memory + (size_t)i * size;
        same &= memcmp(at, wanted, size) == 0;
        if (!compare) memcpy(at, wanted, size);
    }
    return same;
}

enum { VALUE, FIRST, SECOND, AVERAGE };

static bool visit_everything(stk__model *model, uint64_t step, bool compare)
{
    bool same = true;
    for (int i = 0; i < model->count; i++) {
        stk__model_tensor *t = &model->tensors[i];
        same &= visit(t->value, step, i, VALUE, compare);
        same &= visit(t->first, step, i, FIRST, compare);
        same &= visit(t->second, step, i, SECOND, compare);
        same &= visit(t->average, step, i, AVERAGE, compare);
    }
    return same;
}

void small_model_fill(stk__model *model, uint64_t step)
{
    visit_everything(model, step, false);
}

bool small_model_is(stk__model *model, uint64_t step, small_part part)
{
    bool same = true;
    if (part == SMALL_EVERYTHING) return visit_everything(model, step, true);
    for (int i = 0; i < model->count; i++) {
        stk__tensor *value = model->tensors[i].value;
        const bool averaged = part == SMALL_AVERAGED && value->desc.dtype == STK_DTYPE_F32;
        same &= visit(value, step, i, averaged ? AVERAGE : VALUE, true);
    }
    return same;
}
