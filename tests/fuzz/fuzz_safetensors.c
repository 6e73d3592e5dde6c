/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a safetensors file: refused with a place, or an independent reader of JSON (jansson) finds the
 * same tensors in the header, they fill the data part side by side, and the header written anew reads back as
 * the same. As weights, and as the model of a checkpoint, it fills a model or leaves it alone. */
#include "fuzz.h"

#include "support/small_model.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *read_header(const uint8_t *data, size_t size)
{
    uint64_t length = 0;
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)data[i] << 8 * i;
    assert(length <= size - 8);
    return json_loadb((const char *)data + 8, length, JSON_REJECT_DUPLICATES, NULL);
}

static void check_tensor(const json_t *header, const stk__safetensor *tensor)
{
    const json_t *entry = json_object_get(header, tensor->name), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    assert(json_object_size(entry) == 3);
    assert(json_integer_value(json_array_get(offsets, 0)) == (json_int_t)tensor->offset_bytes);
    assert(json_integer_value(json_array_get(offsets, 1)) ==
           (json_int_t)(tensor->offset_bytes + tensor->size_bytes));
    if (tensor->dtype == STK_DTYPE_NONE) return;
    assert((int)json_array_size(shape) == tensor->shape.ndim);
    for (int i = 0; i < tensor->shape.ndim; i++)
        assert(json_integer_value(json_array_get(shape, (size_t)i)) == tensor->shape.dim[i]);
    const int64_t bytes = stk__shape_count(&tensor->shape) * stk_dtype_bytes(tensor->dtype);
    assert((uint64_t)bytes == tensor->size_bytes);
}

static void read_tensor(const stk__safetensors *file, const stk__safetensor *tensor)
{
    stk_error error = {0};
    uint8_t *data = malloc(tensor->size_bytes + 1);
    assert(data);
    const stk_status status = stk__safetensors_read(file, tensor, data, &error);
    assert(status == STK_OK);
    free(data);
}

static void check_file(const stk__safetensors *file, const uint8_t *data, size_t size)
{
    json_t *header = read_header(data, size);
    const json_t *metadata = json_object_get(header, "__metadata__"), *value;
    const char *key;
    uint64_t end = 0;
    assert(header);
    assert((int)(json_object_size(header) - (metadata != NULL)) == stk__safetensors_count(file));
    for (int i = 0; i < stk__safetensors_count(file); i++) {
        const stk__safetensor *tensor = stk__safetensors_at(file, i);
        assert(tensor->offset_bytes == end && stk__safetensors_find(file, tensor->name) == tensor);
        end += tensor->size_bytes;
        check_tensor(header, tensor);
        read_tensor(file, tensor);
    }
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
        assert(strcmp(stk__safetensors_metadata(file, key), json_string_value(value)) == 0);
    json_decref(header);
}

/* Only what we can write: dtypes that we have, larger elements in front. */
static bool can_be_written(const stk__safetensor *tensors, int count)
{
    for (int i = 0; i < count; i++) {
        if (tensors[i].dtype == STK_DTYPE_NONE) return false;
        if (i && stk_dtype_bytes(tensors[i].dtype) > stk_dtype_bytes(tensors[i - 1].dtype)) return false;
    }
    return true;
}

static void check_again(const stk__safetensors *file, const stk__safetensor *tensors, int count,
                        const stk__buffer *text)
{
    stk__safetensors *again = NULL;
    stk_error error = {0};
    const char *path = fuzz_file("again.safetensors", text->data, text->size_bytes);
    const stk_status status = stk__safetensors_open(&again, path, &error);
    assert(status == STK_OK && stk__safetensors_count(again) == count);
    for (int i = 0; i < count; i++) {
        const stk__safetensor *written = &tensors[i], *read = stk__safetensors_find(again, written->name);
        const stk__safetensor *first = stk__safetensors_find(file, written->name);
        assert(read && read->dtype == written->dtype && stk__shape_equal(&read->shape, &first->shape));
        assert(read->offset_bytes == first->offset_bytes && read->size_bytes == first->size_bytes);
    }
    stk__safetensors_close(&again);
}

static void write_again(const stk__safetensors *file)
{
    const int count = stk__safetensors_count(file);
    stk__safetensor *tensors = calloc((size_t)count + 1, sizeof *tensors);
    stk__buffer text = {0};
    uint64_t data_bytes = 0;
    assert(tensors);
    for (int i = 0; i < count; i++) {
        tensors[i] = *stk__safetensors_at(file, i);
        data_bytes += tensors[i].size_bytes;
    }
    if (can_be_written(tensors, count)) {
        stk_status status = stk__safetensors_header(tensors, count, NULL, 0, &text, NULL);
        assert(status == STK_OK);
        const size_t header = text.size_bytes;
        status = stk__buffer_reserve(&text, header + data_bytes, NULL);
        assert(status == STK_OK);
        text.size_bytes += data_bytes;
        check_again(file, tensors, count, &text);
    }
    stk__buffer_fini(&text);
    free(tensors);
}

/* --- into a model -------------------------------------------------------------------------------------- */

static stk__model *model;

static void remove_model(void)
{
    small_model_remove(&model);
}

static void make_model(void)
{
    if (model) return;
    model = small_model_make(&(small_options){.average = true});
    atexit(remove_model);
}

static void load_weights(const char *path, bool readable)
{
    stk__weights_report report;
    stk_error error = {0};
    small_model_fill(model, 1);
    const stk_status status = stk__weights_load(path, model, &report, &error);
    if (readable) assert(report.loaded + report.missing + report.misfits == model->count);
    if (status == STK_OK) {
        assert(readable && report.loaded > 0);
        return;
    }
    assert(status == STK_ERROR_DATA && report.loaded == 0);
    assert(small_model_is(model, 1, SMALL_EVERYTHING));
    fuzz_check_failure(status, &error);
    fuzz_check_place(&error, path);
}

static void load_checkpoint(bool readable)
{
    stk_error error = {0};
    small_model_fill(model, 2);
    const stk_status status = stk__checkpoint_read_model(fuzz_folder(), model, false, &error);
    assert(readable || status == STK_ERROR_DATA);
    if (status == STK_OK) return;
    assert(status == STK_ERROR_DATA || status == STK_ERROR_STATE);
    assert(small_model_is(model, 2, SMALL_EVERYTHING));
    fuzz_check_failure(status, &error);
    fuzz_check_place(&error, fuzz_folder());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stk__safetensors *file = NULL;
    stk_error error = {0};
    fuzz_limit_memory(64 << 20);
    make_model();
    const char *path = fuzz_file("model.safetensors", data, size);
    const stk_status status = stk__safetensors_open(&file, path, &error);
    assert((status == STK_OK) == (file != NULL));
    if (file) {
        check_file(file, data, size);
        write_again(file);
    } else {
        assert(status == STK_ERROR_DATA);
        fuzz_check_failure(status, &error);
        fuzz_check_place(&error, path);
    }
    load_weights(path, file != NULL);
    load_checkpoint(file != NULL);
    stk__safetensors_close(&file);
    return 0;
}

/* The length in front of the header mostly fits what follows. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (size < 16 || seed % 4 == 0) return size;
    size_t end = size;
    while (end > 9 && data[end - 1] != '}')
        end--;
    if (end == 9) return size;
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)((uint64_t)(end - 8) >> 8 * i);
    return size;
}
