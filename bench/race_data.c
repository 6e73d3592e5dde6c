#include "race_data.h"

#include "cli.h"

#include "core/file.h"
#include "pack/pack.h"

#include <limits.h>
#include <stdlib.h>
#include <jpeglib.h>

stk_status stk__packed_make(const char *root, const char *folder, stk_error *error)
{
    const stk__pack_request request = {.root = root, .folder = folder, .stop = stk__interrupt_flag()};
    stk__pack_report report;
    return stk__pack_run(&request, &report, error);
}

/* The bare loop has decoded every file already, so libjpeg's own way with errors, to exit, will do. */
static stk_status make_progressive(const stk__buffer *file, const char *path, stk_error *error)
{
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct in = {.err = jpeg_std_error(&errors)};
    struct jpeg_compress_struct out = {.err = &errors};
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    jpeg_create_decompress(&in);
    jpeg_create_compress(&out);
    jpeg_mem_src(&in, file->data, file->size_bytes);
    jpeg_mem_dest(&out, &bytes, &size);
    jpeg_read_header(&in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&in);
    jpeg_copy_critical_parameters(&in, &out);
    jpeg_simple_progression(&out);
    jpeg_write_coefficients(&out, coefficients);
    jpeg_finish_compress(&out);
    jpeg_finish_decompress(&in);
    jpeg_destroy_compress(&out);
    jpeg_destroy_decompress(&in);
    const stk__buffer made = {.data = bytes, .size_bytes = size};
    const stk_status status = stk__file_write(path, made, STK_FILE_QUICK, error);
    free(bytes);
    return status;
}

stk_status stk__progressive_make(const stk__source *source, uint64_t count, const char *folder,
                                 stk_error *error)
{
    stk__buffer file = {0};
    stk_status status = stk__folder_make(folder, error);
    for (uint64_t id = 0; id < count && status == STK_OK; id++) {
        char from[PATH_MAX], to[PATH_MAX];
        source->ops->where(source, id, STK_FIELD_IMAGE, from, sizeof from);
        snprintf(to, sizeof to, "%s/%06llu.jpg", folder, (unsigned long long)id);
        status = stk__file_read(from, 0, &file, error);
        if (status == STK_OK) status = make_progressive(&file, to, error);
        if (atomic_load(stk__interrupt_flag()))
            status = stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    }
    stk__buffer_fini(&file);
    return status;
}
