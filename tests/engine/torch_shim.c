/* SPDX-License-Identifier: Apache-2.0 */
/* A layer between the engine torch and PyTorch's C interface: it books every handle, refuses the n-th call
 * on request, and reports what was never freed or freed twice. */
#include "torch_shim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { PLACES = 4096, STACK = 16 }; /* the engine's stack has as many values; unused ones are 0 */

typedef struct thing {
    uint64_t address; /* 0: a free place */
    torch_shim_kind kind;
    bool kept;     /* its release was left out */
    uint64_t list; /* that holds it, and goes to PyTorch with it; deleting the list does not release it */
} thing;

torch_shim torch_shim_state;
static stk__torch_api real, *table;
static thing things[PLACES];
static int thing_count; /* places that were ever used */

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void *pointer_at(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT: as PyTorch has it */
}

static thing *find(uint64_t address)
{
    for (int i = thing_count - 1; i >= 0; i--)
        if (things[i].address == address) return &things[i];
    return NULL;
}

static void enter(const void *pointer, torch_shim_kind kind)
{
    thing *place = find(0);
    if (!place) {
        assert_true(thing_count < PLACES);
        place = &things[thing_count++];
    }
    *place = (thing){.address = address_of(pointer), .kind = kind};
}

static void strike(thing *gone)
{
    gone->address = 0;
    while (thing_count > 0 && things[thing_count - 1].address == 0)
        thing_count--;
}

long torch_shim_alive(void)
{
    long alive = 0;
    for (int i = 0; i < thing_count; i++)
        alive += things[i].address != 0;
    return alive;
}

static void give_back(torch_shim_kind kind, uint64_t address)
{
    void *pointer = pointer_at(address);
    if (kind == TORCH_SHIM_TENSOR) assert_int_equal(real.aoti_torch_delete_tensor_object(pointer), 0);
    if (kind == TORCH_SHIM_LIST) assert_int_equal(real.torch_delete_list(pointer), 0);
    if (kind == TORCH_SHIM_TEXT) assert_int_equal(real.torch_delete_string(pointer), 0);
    if (kind == TORCH_SHIM_CELL) real.operator_delete(pointer);
}

void torch_shim_forget_kept(void)
{
    for (int i = thing_count - 1; i >= 0; i--) {
        const thing left = things[i];
        if (!left.address || !left.kept) continue;
        strike(&things[i]);
        give_back(left.kind, left.address);
    }
}

/* --- calls ----------------------------------------------------------------------------------------------
 */

static bool is_refused(void)
{
    torch_shim_state.calls++;
    return torch_shim_state.refuse > 0 && --torch_shim_state.refuse == 0;
}

/* What the book has is PyTorch's now; drop: its part is played, too. */
static void take(uint64_t address, bool drop)
{
    thing *given = address ? find(address) : NULL;
    if (!given) return; /* a number, or nothing */
    const torch_shim_kind kind = given->kind;
    if (kind == TORCH_SHIM_CELL) take(*(const uint64_t *)pointer_at(address), drop);
    for (int i = thing_count - 1; kind == TORCH_SHIM_LIST && i >= 0; i--)
        if (i < thing_count && things[i].address && things[i].list == address) take(things[i].address, drop);
    strike(find(address));
    if (drop) give_back(kind, address);
}

/* How many tensors an operator hands out. */
static int results_of(const char *name)
{
    if (strncmp(name, "aten::_foreach_", 15) == 0 || strncmp(name, "aten::_fused_", 13) == 0) return 0;
    if (strncmp(name, "aten::native_batch_norm", 23) == 0) return 3;
    if (strcmp(name, "aten::convolution_backward") == 0) return 3;
    return strcmp(name, "aten::max_pool2d_with_indices") == 0 ? 2 : 1;
}

static int32_t call_dispatcher(const char *name, const char *overload, uint64_t *stack, uint64_t version)
{
    const bool refused = is_refused();
    torch_shim_state.dispatched++;
    for (int i = 0; i < STACK; i++)
        take(stack[i], refused);
    if (refused) return 1;
    const int32_t result = real.torch_call_dispatcher(name, overload, stack, version);
    for (int i = 0; result == 0 && i < results_of(name); i++)
        enter(pointer_at(stack[i]), TORCH_SHIM_TENSOR);
    return result;
}

static int32_t noted(int32_t result, void *const *made, torch_shim_kind kind)
{
    if (result == 0) enter(*made, kind);
    return result;
}

static int32_t new_list(size_t size, void **list)
{
    return is_refused() ? 1 : noted(real.torch_new_list_reserve_size(size, list), list, TORCH_SHIM_LIST);
}

static int32_t push_back(void *list, uint64_t value)
{
    if (is_refused()) return 1;
    const int32_t result = real.torch_list_push_back(list, value);
    thing *element = result == 0 && value ? find(value) : NULL;
    if (element) element->list = address_of(list);
    return result;
}

static int32_t new_string(const char *text, size_t length, void **string)
{
    if (is_refused()) return 1;
    return noted(real.torch_new_string_handle(text, length, string), string, TORCH_SHIM_TEXT);
}

static int32_t from_blob(void *data, int64_t ndim, const int64_t *size, const int64_t *stride, int64_t offset,
                         int32_t dtype, int32_t device_type, int32_t device_index, stk__torch_handle *tensor)
{
    if (is_refused()) return 1;
    return noted(real.aoti_torch_create_tensor_from_blob(data, ndim, size, stride, offset, dtype, device_type,
                                                         device_index, tensor),
                 tensor, TORCH_SHIM_TENSOR);
}

static int32_t new_empty(int64_t ndim, const int64_t *size, const int64_t *stride, int32_t dtype,
                         int32_t device_type, int32_t device_index, stk__torch_handle *tensor)
{
    if (is_refused()) return 1;
    return noted(real.aoti_torch_empty_strided(ndim, size, stride, dtype, device_type, device_index, tensor),
                 tensor, TORCH_SHIM_TENSOR);
}

static int32_t new_handle(stk__torch_handle tensor, stk__torch_handle *another)
{
    if (is_refused()) return 1;
    return noted(real.aoti_torch_new_tensor_handle(tensor, another), another, TORCH_SHIM_TENSOR);
}

static int32_t get_data(stk__torch_handle tensor, void **data)
{
    return is_refused() ? 1 : real.aoti_torch_get_data_ptr(tensor, data);
}

static int32_t get_dtype(stk__torch_handle tensor, int32_t *dtype)
{
    return is_refused() ? 1 : real.aoti_torch_get_dtype(tensor, dtype);
}

static int32_t get_strides(stk__torch_handle tensor, int64_t **strides)
{
    return is_refused() ? 1 : real.aoti_torch_get_strides(tensor, strides);
}

static int32_t new_number(double value, stk__torch_handle *tensor)
{
    if (is_refused()) return 1;
    return noted(real.aoti_torch_scalar_to_tensor_float64(value, tensor), tensor, TORCH_SHIM_TENSOR);
}

static int32_t fill(stk__torch_handle tensor, double value)
{
    return is_refused() ? 1 : real.aoti_torch_aten_fill__Scalar(tensor, value);
}

static void *new_cell(size_t size)
{
    void *cell = real.operator_new(size);
    enter(cell, TORCH_SHIM_CELL);
    return cell;
}

/* --- releases -------------------------------------------------------------------------------------------
 */

static int32_t release(void *pointer, torch_shim_kind kind)
{
    thing *known = find(address_of(pointer));
    if (!known || known->kind != kind || known->kept)
        fail_msg("something is released that was not handed out, or twice");
    torch_shim_state.releases++;
    torch_shim_state.released[kind]++;
    if (torch_shim_state.keep > 0 && --torch_shim_state.keep == 0) {
        torch_shim_state.kept = kind;
        known->kept = true;
        return 0;
    }
    strike(known);
    give_back(kind, address_of(pointer));
    return 0;
}

static int32_t delete_tensor(stk__torch_handle tensor)
{
    return release(tensor, TORCH_SHIM_TENSOR);
}

static int32_t delete_list(void *list)
{
    return release(list, TORCH_SHIM_LIST);
}

static int32_t delete_string(void *string)
{
    return release(string, TORCH_SHIM_TEXT);
}

static void delete_cell(void *cell)
{
    release(cell, TORCH_SHIM_CELL);
}

/* --- the table ------------------------------------------------------------------------------------------
 */

const char *torch_shim_reason(void)
{
    return "The shim said no. This is its second sentence.\nframe #0: and a line behind it";
}

void torch_shim_explain(const char *(*say)(void))
{
    table->last_error = say;
}

stk_status torch_shim_put(stk_error *error)
{
    const stk__torch_api *found;
    STK__TRY(stk__torch_api_open(&found, error));
    real = *found;
    torch_shim_state.real = &real;
    table = (stk__torch_api *)found; /* nobody else has an engine yet */
    table->last_error = torch_shim_reason;
    table->torch_call_dispatcher = call_dispatcher;
    table->torch_new_list_reserve_size = new_list;
    table->torch_list_push_back = push_back;
    table->torch_delete_list = delete_list;
    table->torch_new_string_handle = new_string;
    table->torch_delete_string = delete_string;
    table->aoti_torch_create_tensor_from_blob = from_blob;
    table->aoti_torch_empty_strided = new_empty;
    table->aoti_torch_new_tensor_handle = new_handle;
    table->aoti_torch_get_data_ptr = get_data;
    table->aoti_torch_get_dtype = get_dtype;
    table->aoti_torch_get_strides = get_strides;
    table->aoti_torch_scalar_to_tensor_float64 = new_number;
    table->aoti_torch_aten_fill__Scalar = fill;
    table->aoti_torch_delete_tensor_object = delete_tensor;
    table->operator_new = new_cell;
    table->operator_delete = delete_cell;
    return STK_OK;
}

void torch_shim_expect_told(const stk_error *error)
{
    const char *reason = strstr(error->message, "': ");
    if (strncmp(error->message, "PyTorch failed in '", 19) != 0 || !reason ||
        strcmp(reason, "': The shim said no") != 0)
        fail_msg("'%s'", error->message);
    assert_string_equal(error->hint, "run.engine=onednn trains without PyTorch");
}
