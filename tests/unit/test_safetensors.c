/* The format of weights: what we write we read, what others write too, and nothing malformed gets in. */
#include "train/safetensors.h"

#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* A file in memory, by the name /proc/self/fd/N. */
typedef struct memory_file {
    int file;
    char path[32];
} memory_file;

static memory_file make_file(void)
{
    memory_file f = {.file = memfd_create("safetensors", MFD_CLOEXEC)};
    assert_true(f.file >= 0);
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.file);
    return f;
}

static void put(const memory_file *f, const void *data, size_t size)
{
    assert_int_equal(ftruncate(f->file, 0), 0);
    assert_int_equal(pwrite(f->file, data, size, 0), (ssize_t)size);
}

/* 8 bytes length, the header, data_bytes zeros. */
static void put_header(const memory_file *f, const char *header, size_t header_bytes, size_t data_bytes)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)header_bytes >> 8 * i);
    put(f, length, 8);
    assert_int_equal(pwrite(f->file, header, header_bytes, 8), (ssize_t)header_bytes);
    assert_int_equal(ftruncate(f->file, (off_t)(8 + header_bytes + data_bytes)), 0);
}

static stk__safetensors *open_good(const char *path)
{
    stk__safetensors *file;
    stk_error error = {0};
    if (stk__safetensors_open(&file, path, &error) != STK_OK) fail_msg("%s: %s", path, error.message);
    return file;
}

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

/* --- ours ---------------------------------------------------------------------------------------------- */

static stk_status build(stk__buffer *text, stk_error *error)
{
    static const char *const metadata[][2] = {{"format", "pt"}, {"quo\"te\\", "line\n"}};
    stk__safetensor tensors[] = {
        {.name = "norm.num_batches_tracked", .dtype = STK_DTYPE_I64},
        {.name = "conv.weight", .dtype = STK_DTYPE_F32, .shape = {4, {2, 1, 3, 1}}},
        {.name = "empty", .dtype = STK_DTYPE_F32, .shape = {2, {0, 4}}},
        {.name = "h\xc3\xa4lfte", .dtype = STK_DTYPE_F16, .shape = {1, {3}}},
        {.name = "mask", .dtype = STK_DTYPE_U8, .shape = {1, {5}}},
    };
    STK__TRY(stk__safetensors_header(tensors, 5, metadata, 2, text, error));
    uint8_t data[8 + 24 + 6 + 5];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    assert_int_equal(tensors[4].offset_bytes + tensors[4].size_bytes, sizeof data);
    return stk__buffer_append(text, data, sizeof data, error);
}

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
    {"{}x", 0, "something follows its end"},
    {"{}{}", 0, "something follows its end"},
    {"{\"a\"}", 0, "':' is missing"},
    {"{\"a\":3}", 0, "'{' is missing"},
    {"{\"a\":{}}", 0, "a string is missing"},
    {"{\"a", 0, "a string without an end"},
    {"{\"a\\", 0, "an impossible escape"},
    {"{\"a\\x\":1}", 0, "an impossible escape"},
    {"{\"\\u00g0\":1}", 0, "an impossible escape"},
    {"{\"\\u0000\":1}", 0, "an impossible escape"},
    {"{\"\\u12", 0, "an impossible escape"},
    {"{\"\\ud800\":1}", 0, "an impossible escape"},
    {"{\"\\ud800\\n\":1}", 0, "an impossible escape"},
    {"{\"\\ud800\\u0041\":1}", 0, "an impossible escape"},
    {"{\"\\udc00\":1}", 0, "an impossible escape"},
    {"{\"\x01\":1}", 0, "a control character"},
    {"{\"\x80\":1}", 0, "not UTF-8"},
    {"{\"\xc0\x80\":1}", 0, "not UTF-8"},
    {"{\"\xe0\x80\x80\":1}", 0, "not UTF-8"},
    {"{\"\xf0\x80\x80\x80\":1}", 0, "not UTF-8"},
    {"{\"\xed\xa0\x80\":1}", 0, "not UTF-8"},
    {"{\"\xf4\x90\x80\x80\":1}", 0, "not UTF-8"},
    {"{\"\xf5\x80\x80\x80\":1}", 0, "not UTF-8"},
    {"{\"\xe2\x82", 0, "not UTF-8"},
    {"{\"\xe2\x82\":1}", 0, "not UTF-8"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[2]"), 2, "without dtype, shape or data_offsets"},
    {TENSOR("\"dtype\":\"U8\",\"data_offsets\":[0,2]"), 2, "without dtype, shape or data_offsets"},
    {TENSOR("\"shape\":[2],\"data_offsets\":[0,2]"), 2, "without dtype, shape or data_offsets"},
    {TENSOR(WHOLE ",\"more\":1"), 2, "something else than"},
    {TENSOR(WHOLE ","), 2, "a string is missing"},
    {TENSOR("\"dtype\" \"U8\""), 2, "':' is missing"},
    {TENSOR(WHOLE ",\"dtype\":\"U8\""), 2, "dtype is there twice"},
    {TENSOR(WHOLE ",\"shape\":[2]"), 2, "shape is there twice"},
    {TENSOR(WHOLE ",\"data_offsets\":[0,2]"), 2, "data_offsets is there twice"},
    {"{\"a\":{" WHOLE "]}", 2, "'}' is missing"},
    {"{\"a\":{" WHOLE "}]", 2, "'}' is missing"},
    {TENSOR("\"dtype\":3"), 2, "a string is missing"},
    {TENSOR("\"dtype\":\"U9\""), 2, "an unknown dtype"},
    {TENSOR("\"shape\":2"), 2, "'[' is missing"},
    {TENSOR("\"shape\":[2"), 2, "']' is missing"},
    {TENSOR("\"shape\":[-2]"), 2, "a whole number is missing"},
    {TENSOR("\"shape\":[2.0]"), 2, "']' is missing"},
    {TENSOR("\"shape\":[2e3]"), 2, "']' is missing"},
    {TENSOR("\"shape\":[02]"), 2, "zeros in front"},
    {TENSOR("\"shape\":[9223372036854775808]"), 2, "a number that is too large"},
    {TENSOR("\"shape\":[99999999999999999999999]"), 2, "a number that is too large"},
    {TENSOR("\"shape\":[4294967296,4294967296]"), 2, "a shape that is too large"},
    {TENSOR("\"shape\":[[2]]"), 2, "a whole number is missing"},
    {TENSOR("\"data_offsets\":0"), 2, "'[' is missing"},
    {TENSOR("\"data_offsets\":[0]"), 2, "',' is missing"},
    {TENSOR("\"data_offsets\":[0,]"), 2, "a whole number is missing"},
    {TENSOR("\"data_offsets\":[,2]"), 2, "a whole number is missing"},
    {TENSOR("\"data_offsets\":[0,2,4]"), 2, "']' is missing"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,2]"), 2, "do not fit shape"},
    {TENSOR("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,2]"), 2, "do not fit shape"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]"), 2, "do not fit shape"},
    {TENSOR("\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,2]"), 2,
     "do not fit shape"},
    {TENSOR("\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]"), 3, "begins at 1 instead of 0"},
    {TENSOR(WHOLE), 3, "3 bytes of data where the header has 2"},
    {TENSOR(WHOLE), 1, "1 bytes of data where the header has 2"},
    {"{}", 1, "1 bytes of data where the header has 0"},
    {"{\"a\":{" WHOLE "},\"b\":{" WHOLE "}}", 2, "'b' begins at 0 instead of 2"},
    {"{\"a\":{" WHOLE "},\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}", 4,
     "tensor 'a' is there twice"},
    {"{\"__metadata__\":3}", 0, "'{' is missing"},
    {"{\"__metadata__\":{\"a\"}}", 0, "':' is missing"},
    {"{\"__metadata__\":{\"a\":3}}", 0, "a string is missing"},
    {"{\"__metadata__\":{3:\"a\"}}", 0, "a string is missing"},
    {"{\"__metadata__\":{\"a\":\"b\"", 0, "'}' is missing"},
    {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0, "metadata 'a' is there twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ is there twice"},
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
    refuse(f.path, STK_ERROR_DATA, "a whole number is missing");
    for (int i = 0; i + 5 <= DEPTH; i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    put_header(&f, deep, DEPTH, 0);
    refuse(f.path, STK_ERROR_DATA, "something else than");
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
    refuse(w.path, STK_ERROR_IO, "is no file");
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
    assert_non_null(strstr(error.message, "ends too early"));
    assert_int_equal(stk__safetensors_read(file, weight, (void *)1, &error), STK_ERROR_IO); /* EFAULT */
    assert_non_null(strstr(error.message, "cannot read"));
    stk__safetensors_close(&file);
    stk__buffer_fini(&text);
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
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(depth_is_no_danger),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(files_may_shrink_or_fail_later),
        cmocka_unit_test(mutations_never_crash),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
