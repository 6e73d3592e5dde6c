/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of PyTorch operators by name through its stable C interface: arguments are converted to a stack of
 * 64-bit values, with who owns which handle decided per kind of argument in one table; errors keep
 * PyTorch's first sentence. Handles made inside a scope are freed at its end. */
#include "engine/torch/torch_call.h"

#include "engine/torch/torch_place.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Which PyTorch these calls were written for: it keeps the conventions of that one. */
static const uint64_t written_for = (uint64_t)STK_TORCH_MAJOR << 56 | (uint64_t)STK_TORCH_MINOR << 48;

stk__torch_scope stk__torch_begin(const stk__engine *engine, stk_error *error)
{
    stk__torch_place_begin();
    return (stk__torch_scope){.engine = stk__torch_of(engine), .error = error};
}

void stk__torch_release(stk__torch_scope *scope, int count)
{
    while (scope->count > count) {
        scope->engine->api->aoti_torch_delete_tensor_object(scope->held[--scope->count]);
        scope->engine->alive--;
    }
}

stk_status stk__torch_end(stk__torch_scope *scope)
{
    stk__torch_release(scope, 0);
    stk__torch_place_end();
    return scope->status;
}

stk__torch_handle stk__torch_hold(stk__torch_scope *scope, stk__torch_handle handle)
{
    assert(scope->count < STK_TORCH_HELD);
    scope->engine->alive++;
    return scope->held[scope->count++] = handle;
}

/* PyTorch's texts can have fifty lines: up to the first full stop or line end. */
static int first_sentence(const char *text)
{
    const char *end = text + strcspn(text, "\n");
    const char *stop = strstr(text, ". ");
    const ptrdiff_t length = stop && stop < end ? stop - text : end - text;
    return length > 240 ? 240 : (int)length;
}

/* A failure without a text, as before 2.13: on a GPU that is nearly full it is taken for a shortage, the only
 * one that a program can help. */
static bool is_full(const stk__torch *engine)
{
    enum { NEARLY = 8 };
    if (!engine->device.cuda) return false;
    const stk__engine_memory memory = stk__torch_cuda_measure(engine->device.cuda);
    return memory.free_bytes >= 0 && memory.free_bytes < memory.total_bytes / NEARLY;
}

static bool is_shortage(const stk__torch *engine, const char *text)
{
    if (!text) return is_full(engine);
    return strstr(text, "out of memory") || strstr(text, "can't allocate memory");
}

bool stk__torch_went_well(stk__torch_scope *scope, int32_t result, const char *what)
{
    if (result == 0) return true;
    if (scope->status != STK_OK) return false;
    const char *text = scope->engine->api->last_error ? scope->engine->api->last_error() : NULL;
    if (text && !*text) text = NULL;
    scope->status = is_shortage(scope->engine, text) ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
    if (!text)
        text = scope->status == STK_ERROR_MEMORY ? "no error message; the GPU is (almost) out of memory"
                                                 : "no error message";
    stk__fail(scope->error, scope->status, "PyTorch failed in '%s': %.*s", what, first_sentence(text), text);
    if (scope->status == STK_ERROR_MEMORY)
        stk__error_hint(scope->error, "lower data.batch_size");
    else
        stk__error_hint(scope->error, "run.engine=onednn trains without PyTorch");
    return false;
}

/* --- arguments on the stack of a call -------------------------------------------------------------------
 */

static uint64_t value_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void *pointer_of(uint64_t value)
{
    return (void *)(uintptr_t)value; /* NOLINT: that is how PyTorch has it */
}

static bool make_none(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    (void)scope, (void)arg;
    *value = 0;
    return true;
}

/* The call takes what it is given: always a handle of its own. */
static bool make_tensor(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    stk__torch_handle another = NULL;
    if (!arg->tensor) return false;
    const int32_t result = scope->engine->api->aoti_torch_new_tensor_handle(arg->tensor, &another);
    if (!stk__torch_went_well(scope, result, "a tensor's handle")) return false;
    scope->engine->alive++;
    *value = value_of(another);
    return true;
}

static void drop_tensor(stk__torch *engine, uint64_t value)
{
    engine->api->aoti_torch_delete_tensor_object(pointer_of(value));
    engine->alive--;
}

/* What is optional and given lies in a cell of its own, which the call deletes. */
static void put_in_cell(stk__torch *engine, uint64_t *value)
{
    uint64_t *cell = engine->api->operator_new(sizeof *cell);
    engine->alive++;
    *cell = *value;
    *value = value_of(cell);
}

static uint64_t drop_cell(stk__torch *engine, uint64_t value)
{
    uint64_t *cell = pointer_of(value);
    const uint64_t inner = *cell;
    engine->api->operator_delete(cell);
    engine->alive--;
    return inner;
}

static bool make_some_tensor(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    if (!arg->tensor) return make_none(scope, arg, value);
    if (!make_tensor(scope, arg, value)) return false;
    put_in_cell(scope->engine, value);
    return true;
}

static void drop_some_tensor(stk__torch *engine, uint64_t value)
{
    if (value) drop_tensor(engine, drop_cell(engine, value));
}

static bool make_int(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    (void)scope;
    memcpy(value, &arg->integer, sizeof *value); /* a real has its bits there, too */
    return true;
}

static bool make_some_int(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    make_int(scope, arg, value);
    put_in_cell(scope->engine, value);
    return true;
}

static void drop_some_int(stk__torch *engine, uint64_t value)
{
    drop_cell(engine, value);
}

static void drop_list(stk__torch *engine, uint64_t value)
{
    engine->api->torch_delete_list(pointer_of(value));
    engine->alive--;
}

/* Deleting a list forgets the handles in it. */
static void drop_tensor_list(stk__torch *engine, uint64_t value)
{
    size_t count = 0;
    uint64_t element;
    engine->api->torch_list_size(pointer_of(value), &count);
    for (size_t i = 0; i < count; i++)
        if (engine->api->torch_list_get_item(pointer_of(value), i, &element) == 0)
            drop_tensor(engine, element);
    drop_list(engine, value);
}

/* One element of a list. */
static bool make_element(stk__torch_scope *scope, const stk__torch_arg *list, size_t i, uint64_t *value)
{
    const int mark = scope->count;
    stk__torch_arg element = {.kind = STK_TORCH_INT};
    if (list->kind == STK_TORCH_BOOLS)
        element.integer = list->integer >> i & 1;
    else if (list->kind == STK_TORCH_INTS || list->kind == STK_TORCH_SOME_INTS)
        element.integer = list->ints[i];
    else if (list->kind == STK_TORCH_TENSORS)
        element = STK_TORCH_T(list->tensors[i]);
    else if (list->kind == STK_TORCH_REPEATED)
        element = STK_TORCH_T(list->tensor);
    else
        element = STK_TORCH_T(stk__torch_dense(scope, list->views[i]));
    const bool made = element.kind == STK_TORCH_TENSOR ? make_tensor(scope, &element, value)
                                                       : make_int(scope, &element, value);
    stk__torch_release(scope, mark);
    return made;
}

static bool is_tensor_list(const stk__torch_arg *list)
{
    return list->kind == STK_TORCH_TENSORS || list->kind == STK_TORCH_REPEATED ||
           list->kind == STK_TORCH_VIEWS;
}

static bool make_list(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    const stk__torch_api *api = scope->engine->api;
    void *list = NULL;
    if (!stk__torch_went_well(scope, api->torch_new_list_reserve_size(arg->count, &list), "a list"))
        return false;
    scope->engine->alive++;
    for (size_t i = 0; i < arg->count; i++) {
        uint64_t element;
        const bool made = make_element(scope, arg, i, &element);
        if (made && stk__torch_went_well(scope, api->torch_list_push_back(list, element), "a list")) continue;
        if (made && is_tensor_list(arg)) drop_tensor(scope->engine, element);
        (is_tensor_list(arg) ? drop_tensor_list : drop_list)(scope->engine, value_of(list));
        return false;
    }
    *value = value_of(list);
    return true;
}

static bool make_some_list(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    if (!make_list(scope, arg, value)) return false;
    put_in_cell(scope->engine, value);
    return true;
}

static void drop_some_list(stk__torch *engine, uint64_t value)
{
    drop_list(engine, drop_cell(engine, value));
}

static bool make_text(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value)
{
    void *string = NULL;
    const int32_t result = scope->engine->api->torch_new_string_handle(arg->text, strlen(arg->text), &string);
    if (!stk__torch_went_well(scope, result, "a text")) return false;
    scope->engine->alive++;
    *value = value_of(string);
    return true;
}

static void drop_text(stk__torch *engine, uint64_t value)
{
    engine->api->torch_delete_string(pointer_of(value));
    engine->alive--;
}

typedef struct value_kind {
    bool (*make)(stk__torch_scope *scope, const stk__torch_arg *arg, uint64_t *value);
    void (*drop)(stk__torch *engine, uint64_t value); /* NULL: nothing to release */
} value_kind;

static const value_kind kinds[STK_TORCH_KINDS] = {
    [STK_TORCH_NONE] = {make_none, NULL},
    [STK_TORCH_TENSOR] = {make_tensor, drop_tensor},
    [STK_TORCH_SOME_TENSOR] = {make_some_tensor, drop_some_tensor},
    [STK_TORCH_INT] = {make_int, NULL},
    [STK_TORCH_SOME_INT] = {make_some_int, drop_some_int},
    [STK_TORCH_REAL] = {make_int, NULL},
    [STK_TORCH_SOME_REAL] = {make_some_int, drop_some_int},
    [STK_TORCH_INTS] = {make_list, drop_list},
    [STK_TORCH_SOME_INTS] = {make_some_list, drop_some_list},
    [STK_TORCH_BOOLS] = {make_list, drop_list},
    [STK_TORCH_TENSORS] = {make_list, drop_tensor_list},
    [STK_TORCH_VIEWS] = {make_list, drop_tensor_list},
    [STK_TORCH_REPEATED] = {make_list, drop_tensor_list},
    [STK_TORCH_TEXT] = {make_text, drop_text},
};

static bool make_stack(stk__torch_scope *scope, const stk__torch_request *request, uint64_t *stack)
{
    for (int i = 0; i < request->arg_count; i++) {
        if (kinds[request->args[i].kind].make(scope, &request->args[i], &stack[i])) continue;
        assert(scope->status != STK_OK); /* else a tensor was forgotten */
        while (i-- > 0)
            if (kinds[request->args[i].kind].drop) kinds[request->args[i].kind].drop(scope->engine, stack[i]);
        return false;
    }
    return true;
}

stk__torch_handle stk__torch_call(stk__torch_scope *scope, stk__torch_request *request)
{
    uint64_t stack[STK_TORCH_ARGS] = {0}; /* nothing of another call is in it: tests look */
    assert(request->arg_count <= STK_TORCH_ARGS && request->result_count <= STK_TORCH_RESULTS);
    if (scope->status != STK_OK) return NULL;
    const long before = scope->engine->alive;
    if (!make_stack(scope, request, stack)) return NULL;
    const int32_t result =
        scope->engine->api->torch_call_dispatcher(request->name, request->overload, stack, written_for);
    scope->engine->alive = before; /* the call has taken its arguments, also when it fails */
    if (!stk__torch_went_well(scope, result, request->name)) return NULL;
    for (int i = 0; i < request->result_count; i++)
        request->result[i] = stk__torch_hold(scope, pointer_of(stack[i]));
    return request->result[0];
}
