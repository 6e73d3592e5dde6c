/* SPDX-License-Identifier: Apache-2.0 */
/* The format of weights: what we write we read, and what others write too. */
#include "safetensors_helpers.h"

#include "support/fail_alloc.h"

static void what_is_written_is_read(void **state)
{
    (void)state;
    const memory_file f = make_file();
    stk__buffer text = {0};
    uint8_t data[24];
    assert_int_equal(build(&text, NULL), STK_OK);
    put(&f, text.data, text.size_bytes);
    stk__safetensors *file = open_good(f.path);
    assert_int_equal(stk__safetensors_count(file), 5);
    assert_string_equal(stk__safetensors_metadata(file, "format"), "pt");
    assert_string_equal(stk__safetensors_metadata(file, "quo\"te\\"), "line\n");
    assert_null(stk__safetensors_metadata(file, "nothing"));
    assert_null(stk__safetensors_find(file, "conv"));
    const stk__safetensor *scalar = stk__safetensors_find(file, "norm.num_batches_tracked");
    assert_ptr_equal(scalar, stk__safetensors_at(file, 0));
    assert_int_equal(scalar->shape.ndim, 0);
    assert_int_equal(scalar->size_bytes, 8);
    assert_int_equal(scalar->dtype, STK_DTYPE_I64);
    const stk__safetensor *weight = stk__safetensors_find(file, "conv.weight");
    assert_true(stk__shape_equal(&weight->shape, &(stk__shape){4, {2, 1, 3, 1}}));
    assert_int_equal(stk__safetensors_read(file, weight, data, NULL), STK_OK);
    for (int i = 0; i < 24; i++)
        assert_int_equal(data[i], 8 + i);
    assert_int_equal(stk__safetensors_find(file, "empty")->size_bytes, 0);
    assert_int_equal(stk__safetensors_find(file, "h\xc3\xa4lfte")->dtype, STK_DTYPE_F16);
    assert_int_equal(stk__safetensors_find(file, "mask")->offset_bytes, 38);
    stk__safetensors_close(&file);
    stk__safetensors_close(&file);
    stk__buffer_fini(&text);
    close(f.file);
}

static void headers_are_padded_and_tensors_aligned(void **state)
{
    (void)state;
    char name[16] = "";
    for (int i = 0; i < 9; i++) {
        stk__buffer text = {0};
        strcat(name, "a");
        stk__safetensor tensor = {.name = name, .dtype = STK_DTYPE_F64, .shape = {1, {1}}};
        assert_int_equal(stk__safetensors_header(&tensor, 1, NULL, 0, &text, NULL), STK_OK);
        assert_int_equal(text.size_bytes % 8, 0);
        assert_int_equal(text.data[0], text.size_bytes - 8);
        stk__buffer_fini(&text);
    }
    stk__buffer text = {0};
    stk_error error;
    stk__safetensor mixed[] = {{.name = "small", .dtype = STK_DTYPE_F32, .shape = {1, {1}}},
                               {.name = "large", .dtype = STK_DTYPE_I64}};
    assert_int_equal(stk__safetensors_header(mixed, 2, NULL, 0, &text, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "'large' has larger elements"));
    mixed[0].dtype = STK_DTYPE_NONE;
    assert_int_equal(stk__safetensors_header(mixed, 1, NULL, 0, &text, &error), STK_ERROR_ARGUMENT);
    assert_int_equal(text.size_bytes, 0);
}

/* --- others' ------------------------------------------------------------------------------------------- */

#define U8_OF(size) "{\"dtype\":\"U8\",\"shape\":[" #size "],\"data_offsets\":[0," #size "]}"

static void others_headers_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *name; /* NULL: no tensor */
        stk_dtype dtype;
    } cases[] = {
        {"{}", 0, NULL, 0},
        {"{ }   \n\t\r ", 0, NULL, 0},
        {"{\"__metadata__\":{}}", 0, NULL, 0},
        {"{\"a\":" U8_OF(3) "}", 3, "a", STK_DTYPE_U8},
        {"{ \"a\" : { \"shape\" : [ 1 , 3 ] , \"data_offsets\" : [ 0 , 6 ] , \"dtype\" : \"BF16\" } }", 6,
         "a", STK_DTYPE_BF16},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,2],\"data_offsets\":[0,8]}}", 8, "a", STK_DTYPE_NONE},
        {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "a", STK_DTYPE_NONE},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775807],\"data_offsets\":[0,0]}}", 0, "a",
         STK_DTYPE_F32},
        {"{\"\\u00e4\\/\\\"\\\\\\b\\f\\n\\r\\t\\ud83d\\ude00\\u20AC\":" U8_OF(1) "}", 1,
         "\xc3\xa4/\"\\\b\f\n\r\t\xf0\x9f\x98\x80\xe2\x82\xac", STK_DTYPE_U8},
        {"{\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xe0\xa0\x80\xf0\x90\x80\x80\":" U8_OF(1) "}", 1,
         "\xf4\x8f\xbf\xbf\xed\x9f\xbf\xe0\xa0\x80\xf0\x90\x80\x80", STK_DTYPE_U8},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},\"a\":" U8_OF(1) "}", 3, "b",
         STK_DTYPE_U8},
    };
    const memory_file f = make_file();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_header(&f, cases[i].header, strlen(cases[i].header), cases[i].data_bytes);
        stk__safetensors *file = open_good(f.path);
        if (!cases[i].name) {
            assert_int_equal(stk__safetensors_count(file), 0);
            assert_null(stk__safetensors_find(file, "a"));
        } else {
            const stk__safetensor *tensor = stk__safetensors_find(file, cases[i].name);
            if (!tensor) fail_msg("case %zu: no '%s'", i, cases[i].name);
            assert_int_equal(tensor->dtype, cases[i].dtype);
        }
        stk__safetensors_close(&file);
    }
    close(f.file);
}

static void files_may_shrink_or_fail_later(void **state)
{
    (void)state;
    const memory_file f = make_file();
    stk__buffer text = {0};
    stk_error error = {0};
    uint8_t data[24];
    assert_int_equal(build(&text, NULL), STK_OK);
    put(&f, text.data, text.size_bytes);
    stk__safetensors *file = open_good(f.path);
    const stk__safetensor *weight = stk__safetensors_find(file, "conv.weight");
    assert_int_equal(ftruncate(f.file, (off_t)text.size_bytes - 30), 0);
    assert_int_equal(stk__safetensors_read(file, weight, data, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.message, "is truncated"));
    assert_int_equal(stk__safetensors_read(file, weight, (void *)1, &error), STK_ERROR_IO); /* EFAULT */
    assert_non_null(strstr(error.message, "cannot read"));
    stk__safetensors_close(&file);
    stk__buffer_fini(&text);
    close(f.file);
}

/* --- memory -------------------------------------------------------------------------------------------- */

static stk_status write_and_read(void *context, stk_error *error)
{
    const memory_file *f = context;
    stk__buffer text = {0};
    stk_status status = build(&text, error);
    if (status == STK_OK) {
        put(f, text.data, text.size_bytes);
        stk__safetensors *file;
        status = stk__safetensors_open(&file, f->path, error);
        stk__safetensors_close(&file);
    }
    stk__buffer_fini(&text);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    memory_file f = make_file();
    assert_true(fail_alloc_each(write_and_read, &f) > 8);
    close(f.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(headers_are_padded_and_tensors_aligned),
        cmocka_unit_test(others_headers_are_understood),
        cmocka_unit_test(files_may_shrink_or_fail_later),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
