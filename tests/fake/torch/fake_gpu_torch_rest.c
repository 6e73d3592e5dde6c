/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake PyTorch leaves to the real one: lists and texts, which are noted in the book, and the rest.
 */
#include "fake_gpu_torch.h"

#include <stdio.h>

FAKE_EXPORT int32_t torch_new_list_reserve_size(size_t size, void **list);
int32_t torch_new_list_reserve_size(size_t size, void **list)
{
    return fake_noted(fake_real_open()->api->torch_new_list_reserve_size(size, list), list,
                      (fake_thing){.list = true});
}

FAKE_EXPORT int32_t torch_list_push_back(void *list, uint64_t value);
int32_t torch_list_push_back(void *list, uint64_t value)
{
    fake_thing thing, element;
    if (fake_take((const void *)(uintptr_t)value, &element)) { /* NOLINT: as PyTorch has it */
        fake_take(list, &thing);
        thing.gpus |= element.gpus;
        thing.host |= element.host;
        fake_put(thing);
    }
    return fake_real_open()->api->torch_list_push_back(list, value);
}

FAKE_EXPORT int32_t torch_list_size(void *list, size_t *size);
int32_t torch_list_size(void *list, size_t *size)
{
    return fake_real_open()->api->torch_list_size(list, size);
}

FAKE_EXPORT int32_t torch_list_get_item(void *list, size_t index, uint64_t *value);
int32_t torch_list_get_item(void *list, size_t index, uint64_t *value)
{
    return fake_real_open()->api->torch_list_get_item(list, index, value);
}

FAKE_EXPORT int32_t torch_delete_list(void *list);
int32_t torch_delete_list(void *list)
{
    fake_thing gone;
    fake_take(list, &gone);
    return fake_real_open()->api->torch_delete_list(list);
}

FAKE_EXPORT int32_t torch_new_string_handle(const char *text, size_t length, void **string);
int32_t torch_new_string_handle(const char *text, size_t length, void **string)
{
    fake_thing thing = {0};
    snprintf(thing.text, sizeof thing.text, "%s", text);
    return fake_noted(fake_real_open()->api->torch_new_string_handle(text, length, string), string, thing);
}

FAKE_EXPORT int32_t torch_delete_string(void *string);
int32_t torch_delete_string(void *string)
{
    fake_thing gone;
    fake_take(string, &gone);
    return fake_real_open()->api->torch_delete_string(string);
}

/* Cells of optional arguments, the only memory that comes from here. */
FAKE_EXPORT void *_Znwm(size_t size);
void *_Znwm(size_t size)
{
    void *memory = fake_real_open()->api->operator_new(size);
    fake_put((fake_thing){.key = memory, .cell = true});
    return memory;
}

FAKE_EXPORT void _ZdlPv(void *memory);
void _ZdlPv(void *memory)
{
    fake_thing gone;
    fake_take(memory, &gone);
    fake_real_open()->api->operator_delete(memory);
}

/* --- the rest is PyTorch's -------------------------------------------------------------------------------
 */

#define PASS_ON(result, name, parameters, call)                                                              \
    FAKE_EXPORT result name parameters;                                                                      \
    result name parameters                                                                                   \
    {                                                                                                        \
        return call;                                                                                         \
    }
PASS_ON(uint64_t, aoti_torch_abi_version, (void), fake_real_open()->api->aoti_torch_abi_version())
PASS_ON(int32_t, aoti_torch_get_dtype, (stk__torch_handle tensor, int32_t *dtype),
        fake_real_open()->api->aoti_torch_get_dtype(tensor, dtype))
PASS_ON(int32_t, aoti_torch_get_strides, (stk__torch_handle tensor, int64_t **strides),
        fake_real_open()->api->aoti_torch_get_strides(tensor, strides))
PASS_ON(void, aoti_torch_grad_mode_set_enabled, (bool enabled),
        fake_real_open()->api->aoti_torch_grad_mode_set_enabled(enabled))
PASS_ON(int32_t, aoti_torch_device_type_cpu, (void), fake_real_open()->api->aoti_torch_device_type_cpu())
PASS_ON(int32_t, aoti_torch_dtype_float32, (void), fake_real_open()->api->aoti_torch_dtype_float32())
PASS_ON(int32_t, aoti_torch_dtype_float64, (void), fake_real_open()->api->aoti_torch_dtype_float64())
PASS_ON(int32_t, aoti_torch_dtype_int64, (void), fake_real_open()->api->aoti_torch_dtype_int64())
PASS_ON(int32_t, aoti_torch_dtype_uint8, (void), fake_real_open()->api->aoti_torch_dtype_uint8())
PASS_ON(int32_t, aoti_torch_dtype_bool, (void), fake_real_open()->api->aoti_torch_dtype_bool())
PASS_ON(int32_t, aoti_torch_dtype_bfloat16, (void), fake_real_open()->bfloat16())
PASS_ON(int32_t, aoti_torch_dtype_float16, (void), fake_real_open()->half())
PASS_ON(void, _ZN2at15set_num_threadsEi, (int threads), fake_real_open()->api->set_num_threads(threads))
PASS_ON(void *, _ZN2at13globalContextEv, (void), fake_real_open()->cuda->context())
PASS_ON(void, _ZN2at7Context18setAllowTF32CuBLASEb, (void *context, bool allow),
        fake_real_open()->cuda->allow_products(context, allow))
PASS_ON(void, _ZN2at7Context17setAllowTF32CuDNNEb, (void *context, bool allow),
        fake_real_open()->cuda->allow_convolutions(context, allow))
PASS_ON(void, _ZN2at7Context19setFloat32PrecisionENS_14Float32BackendENS_9Float32OpENS_16Float32PrecisionE,
        (void *context, int backend, int op, int precision),
        fake_real_open()->cuda->set_precision(context, backend, op, precision))
PASS_ON(void, _ZN2at7Context17setBenchmarkCuDNNEb, (void *context, bool on),
        fake_real_open()->cuda->set_benchmark(context, on))
PASS_ON(void, _ZN2at7Context21setDeterministicCuDNNEb, (void *context, bool on),
        fake_real_open()->cuda->set_deterministic(context, on))
PASS_ON(void, _ZN2at7Context26setDeterministicAlgorithmsEbb, (void *context, bool on, bool only_warn),
        fake_real_open()->cuda->set_deterministic_all(context, on, only_warn))
