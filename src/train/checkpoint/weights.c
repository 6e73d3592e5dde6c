/* SPDX-License-Identifier: Apache-2.0 */
/* Starting weights: as much of a file as fits. */
#include "train/checkpoint/checkpoint_tensors.h"

#include "core/durable.h"
#include "core/half.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* from: elements of dtype, not aligned. */
static void convert(const uint8_t *from, stk_dtype dtype, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        double real;
        if (dtype == STK_DTYPE_F64) {
            memcpy(&real, from + i * sizeof real, sizeof real);
            to[i] = (float)real;
            continue;
        }
        memcpy(&half, from + i * sizeof half, sizeof half);
        to[i] = dtype == STK_DTYPE_F16 ? stk__half_to_float(half) : stk__bfloat_to_float(half);
    }
}

static bool is_convertible(stk_dtype from, stk_dtype to)
{
    return from == to || (to == STK_DTYPE_F32 &&
                          (from == STK_DTYPE_F16 || from == STK_DTYPE_BF16 || from == STK_DTYPE_F64));
}

static stk_status read_into(const stk__safetensors *file, const stk__safetensor *there,
                            const stk_tensor *view, stk__buffer *scratch, stk_error *error)
{
    if (there->dtype == view->dtype) return stk__safetensors_read(file, there, view->data, error);
    STK__TRY(stk__buffer_reserve(scratch, there->size_bytes, error));
    STK__TRY(stk__safetensors_read(file, there, scratch->data, error));
    convert(scratch->data, there->dtype, view->data, (size_t)stk__shape_count(&there->shape));
    return STK_OK;
}

static stk_status load_tensor(const stk__safetensors *file, const stk__safetensor *there,
                              stk__model_tensor *tensor, stk__buffer *scratch, stk_error *error)
{
    stk_tensor view;
    STK__TRY(stk__tensor_map(tensor->value, &view, error));
    const stk_status status = read_into(file, there, &view, scratch, error);
    STK__TRY(stk__tensor_unmap(tensor->value, &view, true, status == STK_OK ? error : NULL));
    if (status == STK_OK && tensor->average) return stk__tensor_copy(tensor->average, tensor->value, error);
    return status;
}

/* "F32 [5 x 3]" */
static void print_kind(stk_dtype dtype, const stk__shape *shape, char *text, size_t size)
{
    static const char *const words[] = {
        [STK_DTYPE_U8] = "U8",     [STK_DTYPE_I64] = "I64", [STK_DTYPE_F16] = "F16",
        [STK_DTYPE_BF16] = "BF16", [STK_DTYPE_F32] = "F32", [STK_DTYPE_F64] = "F64"};
    char dims[40];
    stk__shape_print(shape, dims, sizeof dims);
    if (dtype == STK_DTYPE_NONE)
        snprintf(text, size, "an unsupported dtype");
    else
        snprintf(text, size, "%s [%s]", words[dtype], dims);
}

static void note_misfit(const stk__model_tensor *tensor, const stk__safetensor *there,
                        stk__weights_report *report)
{
    char wanted[48], got[48];
    if (report->misfits++) return;
    print_kind(tensor->desc.dtype, &tensor->desc.shape, wanted, sizeof wanted);
    print_kind(there->dtype, &there->shape, got, sizeof got);
    snprintf(report->first_misfit, sizeof report->first_misfit, "%.40s: %s in the file, %s here",
             tensor->name, got, wanted);
}

static stk_status load_fitting(const stk__safetensors *file, stk__model *model, stk__weights_report *report,
                               stk__buffer *scratch, stk_error *error)
{
    for (int i = 0; i < model->count; i++) {
        stk__model_tensor *tensor = &model->tensors[i];
        const stk__safetensor *there = stk__safetensors_find(file, tensor->name);
        if (!there) {
            if (report->missing++ == 0)
                snprintf(report->first_missing, sizeof report->first_missing, "%s", tensor->name);
        } else if (!is_convertible(there->dtype, tensor->desc.dtype) ||
                   !stk__shape_equal(&there->shape, &tensor->desc.shape)) {
            note_misfit(tensor, there, report);
        } else {
            STK__TRY(load_tensor(file, there, tensor, scratch, error));
            report->loaded++;
        }
    }
    return STK_OK;
}

static bool has_tensor(const stk__model *model, const char *name)
{
    for (int i = 0; i < model->count; i++)
        if (strcmp(model->tensors[i].name, name) == 0) return true;
    return false;
}

static void note_unknown(const stk__safetensors *file, const stk__model *model, stk__weights_report *report)
{
    for (int i = 0; i < stk__safetensors_count(file); i++) {
        const char *name = stk__safetensors_at(file, i)->name;
        if (!has_tensor(model, name) && report->unknown++ == 0)
            snprintf(report->first_unknown, sizeof report->first_unknown, "%s", name);
    }
}

static stk_status refuse_nothing(const char *path, const stk__model *model, const stk__weights_report *report,
                                 stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "none of its tensors matches the network");
    stk__error_place(error, "%s", path);
    if (report->misfits)
        stk__error_hint(error, "%s", report->first_misfit);
    else if (report->unknown && model->count)
        stk__error_hint(error, "its names are like '%.80s', those of the network like '%.80s'",
                        report->first_unknown, model->tensors[0].name);
    return STK_ERROR_DATA;
}

stk_status stk__weights_load(const char *path, stk__model *model, stk__weights_report *report,
                             stk_error *error)
{
    char inside[PATH_MAX];
    struct stat facts;
    stk__safetensors *file;
    stk__buffer scratch = {0};
    *report = (stk__weights_report){0};
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        const char *name = stk__checkpoint_files[STK_CHECKPOINT_MODEL];
        STK__TRY(stk__durable_join(inside, sizeof inside, path, name, error));
        path = inside;
    }
    STK__TRY(stk__safetensors_open(&file, path, error));
    stk_status status = load_fitting(file, model, report, &scratch, error);
    if (status == STK_OK) note_unknown(file, model, report);
    if (status == STK_OK && report->loaded == 0) status = refuse_nothing(path, model, report, error);
    stk__buffer_fini(&scratch);
    stk__safetensors_close(&file);
    return status;
}
