/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files written by PyTorch (safetensors with JSON in the metadata): loads tensors onto an engine,
 * compares results and keeps the largest relative difference per file. */
#include "golden_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { SHELF_BYTES = 64 << 20 };

void golden_must(stk_status status, const stk_error *error, const char *what)
{
    if (status != STK_OK) fail_msg("%s: %s (%s)", what, error->message, error->place);
}

static stk_status open_engine(const char *name, stk__engine **engine, stk_error *error)
{
    char alone[32];
    const char *conv = strchr(name, ':');
    snprintf(alone, sizeof alone, "%.*s", (int)strcspn(name, ":"), name);
    const stk__engine_options options = {
        .name = alone, .threads = 2, .conv = conv ? STK_CONV_WINOGRAD : STK_CONV_AUTO};
    return stk__engine_open(engine, &options, error);
}

bool golden_engine_is_here(const char *name)
{
    stk_error error = {0};
    stk__engine *engine;
    const stk_status status = open_engine(name, &engine, &error);
    stk__engine_close(&engine);
    if (status == STK_ERROR_UNSUPPORTED) printf("skipped: %s: %s\n", name, error.message);
    return status != STK_ERROR_UNSUPPORTED;
}

stk__engine *golden_engine_open(const char *name)
{
    stk_error error = {0};
    stk__engine *engine;
    GOLDEN_TRY(open_engine(name, &engine, &error));
    return engine;
}

void golden_open(golden_file *golden, const char *folder, const char *name)
{
    char path[1024];
    stk_error error = {0};
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    GOLDEN_TRY(stk__safetensors_open(&golden->file, path, &error));
    const char *about = stk__safetensors_metadata(golden->file, "about");
    assert_non_null(about);
    golden->about = json_loads(about, 0, NULL);
    assert_non_null(golden->about);
}

void golden_close(golden_file *golden)
{
    json_decref(golden->about);
    golden->about = NULL;
    stk__safetensors_close(&golden->file);
}

const stk__safetensor *golden_find(const golden_file *golden, const char *format, ...)
{
    char name[160];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    return stk__safetensors_find(golden->file, name);
}

void golden_shelf_init(golden_shelf *shelf, stk__engine *engine)
{
    stk_error error = {0};
    *shelf = (golden_shelf){.engine = engine};
    GOLDEN_TRY(stk__arena_create(engine, SHELF_BYTES, &shelf->arena, &error));
}

void golden_shelf_clear(golden_shelf *shelf)
{
    while (shelf->count)
        stk__tensor_destroy(&shelf->tensor[--shelf->count]);
    shelf->used_bytes = 0;
}

void golden_shelf_fini(golden_shelf *shelf)
{
    golden_shelf_clear(shelf);
    stk__arena_destroy(&shelf->arena);
}

static void *buffer_of(const stk__tensor *tensor, size_t *size_bytes)
{
    const stk__tensor_desc *desc = stk__tensor_describe(tensor);
    *size_bytes = (size_t)stk__shape_count(&desc->shape) * (size_t)stk_dtype_bytes(desc->dtype);
    void *data = stk__alloc(*size_bytes);
    assert_non_null(data);
    return data;
}

stk__tensor *golden_make(golden_shelf *shelf, const stk__shape *shape, stk_dtype dtype)
{
    stk_error error = {0};
    const stk__tensor_desc desc = {.shape = *shape, .dtype = dtype};
    const size_t size_bytes = stk__tensor_size(shelf->engine, &desc);
    assert_true(shelf->count < GOLDEN_TENSORS && shelf->used_bytes + size_bytes <= SHELF_BYTES);
    stk__tensor **made = &shelf->tensor[shelf->count++];
    GOLDEN_TRY(stk__tensor_create(shelf->engine, &desc, shelf->arena, shelf->used_bytes, made, &error));
    shelf->used_bytes += size_bytes;
    size_t bytes;
    void *data = buffer_of(*made, &bytes);
    memset(data, 255, bytes);
    GOLDEN_TRY(stk__tensor_write(*made, data, bytes, &error));
    stk__free(data);
    return *made;
}

stk__tensor *golden_make_bytes(golden_shelf *shelf, size_t size_bytes)
{
    if (!size_bytes) return NULL;
    return golden_make(shelf, &(stk__shape){1, {(int64_t)size_bytes}}, STK_DTYPE_U8);
}

void golden_load(stk__tensor *target, const golden_file *golden, const stk__safetensor *tensor)
{
    stk_error error = {0};
    const stk__tensor_desc *desc = stk__tensor_describe(target);
    if (!stk__shape_equal(&desc->shape, &tensor->shape) || desc->dtype != tensor->dtype) {
        char ours[96], theirs[96];
        stk__shape_print(&desc->shape, ours, sizeof ours);
        stk__shape_print(&tensor->shape, theirs, sizeof theirs);
        fail_msg("%s is [%s] here and [%s] in PyTorch", tensor->name, ours, theirs);
    }
    size_t bytes;
    void *data = buffer_of(target, &bytes);
    assert_int_equal(bytes, tensor->size_bytes);
    GOLDEN_TRY(stk__safetensors_read(golden->file, tensor, data, &error));
    GOLDEN_TRY(stk__tensor_write(target, data, bytes, &error));
    stk__free(data);
}

stk__tensor *golden_read(golden_shelf *shelf, const golden_file *golden, const stk__safetensor *tensor)
{
    if (!tensor) return NULL;
    stk__tensor *made = golden_make(shelf, &tensor->shape, tensor->dtype);
    golden_load(made, golden, tensor);
    return made;
}

static double value_at(const void *data, stk_dtype dtype, int64_t i)
{
    if (dtype == STK_DTYPE_F32) return (double)((const float *)data)[i];
    if (dtype == STK_DTYPE_F64) return ((const double *)data)[i];
    assert_true(dtype == STK_DTYPE_I64);
    return (double)((const int64_t *)data)[i];
}

/* Where the golden tensor is 0, ours must be. */
static void note(golden_tally *tally, const char *where, double off, double size)
{
    const double share = off == 0 ? 0 : off / size;
    tally->count++;
    if (!(share <= tally->bound))
        fail_msg("%s of %s: off by %g, more than %g", tally->kind, where, share, tally->bound);
    if (share < tally->worst) return;
    tally->worst = share;
    snprintf(tally->where, sizeof tally->where, "%s", where);
}

void golden_compare_numbers(golden_tally *tally, const char *where, const double *ours, const double *theirs,
                            int64_t count)
{
    double off = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        off += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
        size += theirs[i] * theirs[i];
    }
    note(tally, where, sqrt(off), sqrt(size));
}

void golden_compare(golden_tally *tally, stk__tensor *ours, const golden_file *golden,
                    const stk__safetensor *theirs)
{
    stk_error error = {0};
    const stk__tensor_desc *desc = stk__tensor_describe(ours);
    size_t bytes;
    void *made = buffer_of(ours, &bytes), *read = buffer_of(ours, &bytes);
    assert_non_null(theirs);
    if (bytes != theirs->size_bytes || desc->dtype != theirs->dtype)
        fail_msg("%s has another size than here", theirs->name);
    GOLDEN_TRY(stk__tensor_read(ours, made, bytes, &error));
    GOLDEN_TRY(stk__safetensors_read(golden->file, theirs, read, &error));
    double off = 0, size = 0;
    for (int64_t i = 0; i < stk__shape_count(&desc->shape); i++) {
        const double a = value_at(made, desc->dtype, i), b = value_at(read, desc->dtype, i);
        if (desc->dtype == STK_DTYPE_I64 && a != b)
            fail_msg("%s: %g instead of %g at %lld", theirs->name, a, b, (long long)i);
        off += (a - b) * (a - b);
        size += b * b;
    }
    note(tally, theirs->name, sqrt(off), sqrt(size));
    stk__free(made);
    stk__free(read);
}

void golden_print(const golden_tally *tally)
{
    assert_true(tally->count > 0);
    print_message("%-12s %4d compared, largest deviation %.2e of %.0e (%s)\n", tally->kind, tally->count,
                  tally->worst, tally->bound, tally->where);
}

double golden_number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : value ? json_number_value(value) : otherwise;
}
