/* SPDX-License-Identifier: Apache-2.0 */
/* Malformed and hostile files of weights: refused with a reason, never a crash. */
#include "safetensors_helpers.h"

static void refuse(const char *path, stk_status code, const char *message)
{
    stk__safetensors *file = NULL;
    stk_error error = {0};
    const stk_status status = stk__safetensors_open(&file, path, &error);
    if (status != code || !strstr(error.message, message))
        fail_msg("wanted '%s', got %d '%s'", message, status, error.message);
    assert_null(file);
    assert_string_equal(error.place, path);
    assert_int_equal(stk__safetensors_open(&file, path, NULL), code);
}

#define TENSOR(inside) "{\"a\":{" inside "}}"
#define WHOLE          "\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *message;
} malformed[] = {
    {"", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {"{", 0, "a string is missing"},
    {"{}x", 0, "trailing data after its end"},
    {"{}{}", 0, "trailing data after its end"},
    {"{\"a\"}", 0, "':' is missing"},
    {"{\"a\":3}", 0, "'{' is missing"},
    {"{\"a\":{}}", 0, "a string is missing"},
    {"{\"a", 0, "an unterminated string"},
    {"{\"a\\", 0, "an invalid escape"},
    {"{\"a\\x\":1}", 0, "an invalid escape"},
    {"{\"\\u00g0\":1}", 0, "an invalid escape"},
    {"{\"\\u0000\":1}", 0, "an invalid escape"},
    {"{\"\\u12", 0, "an invalid escape"},
    {"{\"\\ud800\":1}", 0, "an invalid escape"},
    {"{\"\\ud800\\n\":1}", 0, "an invalid escape"},
    {"{\"\\ud800\\u0041\":1}", 0, "an invalid escape"},
    {"{\"\\udc00\":1}", 0, "an invalid escape"},
    {"{\"\x01\":1}", 0, "a control character"},
    {"{\"\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xc0\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xe0\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xf0\x80\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xed\xa0\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xf4\x90\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xf5\x80\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xe2\x82", 0, "invalid UTF-8"},
    {"{\"\xe2\x82\":1}", 0, "invalid UTF-8"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[2]"), 2, "without dtype, shape or data_offsets"},
    {TENSOR("\"dtype\":\"U8\",\"data_offsets\":[0,2]"), 2, "without dtype, shape or data_offsets"},
    {TENSOR("\"shape\":[2],\"data_offsets\":[0,2]"), 2, "without dtype, shape or data_offsets"},
    {TENSOR(WHOLE ",\"more\":1"), 2, "an unknown key"},
    {TENSOR(WHOLE ","), 2, "a string is missing"},
    {TENSOR("\"dtype\" \"U8\""), 2, "':' is missing"},
    {TENSOR(WHOLE ",\"dtype\":\"U8\""), 2, "duplicate dtype"},
    {TENSOR(WHOLE ",\"shape\":[2]"), 2, "duplicate shape"},
    {TENSOR(WHOLE ",\"data_offsets\":[0,2]"), 2, "duplicate data_offsets"},
    {"{\"a\":{" WHOLE "]}", 2, "'}' is missing"},
    {"{\"a\":{" WHOLE "}]", 2, "'}' is missing"},
    {TENSOR("\"dtype\":3"), 2, "a string is missing"},
    {TENSOR("\"dtype\":\"U9\""), 2, "an unknown dtype"},
    {TENSOR("\"shape\":2"), 2, "'[' is missing"},
    {TENSOR("\"shape\":[2"), 2, "']' is missing"},
    {TENSOR("\"shape\":[-2]"), 2, "an integer is missing"},
    {TENSOR("\"shape\":[2.0]"), 2, "']' is missing"},
    {TENSOR("\"shape\":[2e3]"), 2, "']' is missing"},
    {TENSOR("\"shape\":[02]"), 2, "leading zeros"},
    {TENSOR("\"shape\":[9223372036854775808]"), 2, "a number that is too large"},
    {TENSOR("\"shape\":[99999999999999999999999]"), 2, "a number that is too large"},
    {TENSOR("\"shape\":[4294967296,4294967296]"), 2, "a shape that is too large"},
    {TENSOR("\"shape\":[[2]]"), 2, "an integer is missing"},
    {TENSOR("\"data_offsets\":0"), 2, "'[' is missing"},
    {TENSOR("\"data_offsets\":[0]"), 2, "',' is missing"},
    {TENSOR("\"data_offsets\":[0,]"), 2, "an integer is missing"},
    {TENSOR("\"data_offsets\":[,2]"), 2, "an integer is missing"},
    {TENSOR("\"data_offsets\":[0,2,4]"), 2, "']' is missing"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,2]"), 2, "do not match shape"},
    {TENSOR("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,2]"), 2, "do not match shape"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]"), 2, "do not match shape"},
    {TENSOR("\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,2]"), 2,
     "do not match shape"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]"), 3, "begins at 1 instead of 0"},
    {TENSOR(WHOLE), 3, "3 bytes of data where the header has 2"},
    {TENSOR(WHOLE), 1, "1 bytes of data where the header has 2"},
    {"{}", 1, "1 bytes of data where the header has 0"},
    {"{\"a\":{" WHOLE "},\"b\":{" WHOLE "}}", 2, "'b' begins at 0 instead of 2"},
    {"{\"a\":{" WHOLE "},\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}", 4,
     "duplicate tensor 'a'"},
    {"{\"__metadata__\":3}", 0, "'{' is missing"},
    {"{\"__metadata__\":{\"a\"}}", 0, "':' is missing"},
    {"{\"__metadata__\":{\"a\":3}}", 0, "a string is missing"},
    {"{\"__metadata__\":{3:\"a\"}}", 0, "a string is missing"},
    {"{\"__metadata__\":{\"a\":\"b\"", 0, "'}' is missing"},
    {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0, "duplicate metadata 'a'"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate __metadata__"},
};

static void malformed_headers_are_refused(void **state)
{
    (void)state;
    const memory_file f = make_file();
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        put_header(&f, malformed[i].header, strlen(malformed[i].header), malformed[i].data_bytes);
        refuse(f.path, STK_ERROR_DATA, malformed[i].message);
    }
    close(f.file);
}

/* Nesting costs nothing, since nothing may be nested. */
static void depth_is_no_danger(void **state)
{
    (void)state;
    enum { DEPTH = 1 << 20 };
    const memory_file f = make_file();
    char *deep = malloc(DEPTH);
    assert_non_null(deep);
    memset(deep, '[', DEPTH);
    memcpy(deep, "{\"a\":{\"shape\":", 14);
    put_header(&f, deep, DEPTH, 0);
    refuse(f.path, STK_ERROR_DATA, "an integer is missing");
    for (int i = 0; i + 5 <= DEPTH; i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    put_header(&f, deep, DEPTH, 0);
    refuse(f.path, STK_ERROR_DATA, "an unknown key");
    free(deep);
    close(f.file);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    const memory_file f = make_file();
    stk__safetensors *file;
    stk_error error = {0};
    workspace w = workspace_make();
    refuse(w.path, STK_ERROR_IO, "is not a regular file");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/missing", w.path);
    refuse(path, STK_ERROR_IO, "cannot open");
    refuse(f.path, STK_ERROR_DATA, "0 bytes are too few");
    put(&f, "\7\0\0\0\0\0\0", 7);
    refuse(f.path, STK_ERROR_DATA, "7 bytes are too few");
    put(&f, "\3\0\0\0\0\0\0\0{}", 10);
    refuse(f.path, STK_ERROR_DATA, "a header of 3 bytes");
    put(&f, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    refuse(f.path, STK_ERROR_DATA, "a header of 18446744073709551615 bytes");
    put(&f, "\1\341\365\5\0\0\0\0", 8); /* 100,000,001, and that much is there */
    assert_int_equal(ftruncate(f.file, 200000000), 0);
    refuse(f.path, STK_ERROR_DATA, "a header of 100000001 bytes");
    put(&f, "PK\3\4........", 12);
    assert_int_equal(stk__safetensors_open(&file, f.path, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.hint, "torch.save"));
    put(&f, "\x80\2........", 10);
    assert_int_equal(stk__safetensors_open(&file, f.path, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.hint, "torch.save"));
    workspace_remove(&w);
    close(f.file);
}

/* --- chance -------------------------------------------------------------------------------------------- */

/* Whatever was opened must be as the header of safetensors.h promises. */
static void check_promises(const stk__safetensors *file, uint64_t data_bytes)
{
    uint8_t data[256];
    uint64_t next = 0;
    for (int i = 0; i < stk__safetensors_count(file); i++) {
        const stk__safetensor *t = stk__safetensors_at(file, i);
        assert_int_equal(t->offset_bytes, next);
        next += t->size_bytes;
        if (t->dtype != STK_DTYPE_NONE)
            assert_int_equal(stk__shape_count(&t->shape) * stk_dtype_bytes(t->dtype), t->size_bytes);
        assert_ptr_equal(stk__safetensors_find(file, t->name), t);
        assert_true(t->size_bytes <= sizeof data);
        assert_int_equal(stk__safetensors_read(file, t, data, NULL), STK_OK);
    }
    assert_int_equal(next, data_bytes);
}

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static size_t mutate(uint8_t *bytes, size_t size, size_t room, uint32_t *seed)
{
    static const char telling[] = "{}[]\",:\\u0129-\x80\xff \n";
    for (uint32_t changes = 1 + draw(seed) % 3; changes; changes--) {
        const size_t at = draw(seed) % size;
        switch (draw(seed) % 6) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << draw(seed) % 8);
            break;
        case 1:
            bytes[at] = (uint8_t)telling[draw(seed) % (sizeof telling - 1)];
            break;
        case 2:
            size = at + 1;
            break;
        case 3:
            memmove(bytes + at, bytes + at + 1, size - at - 1);
            if (size > 1) size--;
            break;
        case 4:
            if (size == room) break;
            memmove(bytes + at + 1, bytes + at, size - at);
            size++;
            break;
        default:
            bytes[draw(seed) % (size < 8 ? size : 8)] = (uint8_t)draw(seed);
            break;
        }
    }
    return size;
}

static void mutations_never_crash(void **state)
{
    (void)state;
    enum { TIMES = 20000, ROOM = 1024 };
    const memory_file f = make_file();
    stk__buffer text = {0};
    uint8_t bytes[ROOM];
    uint32_t seed = 20240607;
    int opened = 0;
    assert_int_equal(build(&text, NULL), STK_OK);
    assert_true(text.size_bytes + 8 < ROOM);
    for (int i = 0; i < TIMES; i++) {
        memcpy(bytes, text.data, text.size_bytes);
        const size_t size = mutate(bytes, text.size_bytes, ROOM, &seed);
        uint64_t header_bytes;
        memcpy(&header_bytes, bytes, sizeof header_bytes);
        put(&f, bytes, size);
        stk__safetensors *file;
        stk_error error = {0};
        if (stk__safetensors_open(&file, f.path, &error) == STK_OK) {
            check_promises(file, size - 8 - header_bytes);
            stk__safetensors_close(&file);
            opened++;
        } else {
            assert_int_equal(error.code, STK_ERROR_DATA);
        }
    }
    assert_in_range(opened, TIMES / 100, TIMES / 2); /* both ends of the parser were met */
    stk__buffer_fini(&text);
    close(f.file);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    const memory_file f = make_file();
    stk__buffer text = {0};
    stk__safetensors *file;
    assert_int_equal(build(&text, NULL), STK_OK);
    for (size_t size = 0; size < text.size_bytes; size++) {
        put(&f, text.data, size);
        assert_int_equal(stk__safetensors_open(&file, f.path, NULL), STK_ERROR_DATA);
    }
    stk__buffer_fini(&text);
    close(f.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_headers_are_refused), cmocka_unit_test(depth_is_no_danger),
        cmocka_unit_test(wrong_files_are_refused),       cmocka_unit_test(mutations_never_crash),
        cmocka_unit_test(every_truncation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
