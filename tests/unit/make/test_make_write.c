/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets on a disk: layouts, markers, interruptions, failures. */
#include "core/file.h"
#include "core/hash.h"
#include "core/thread.h"
#include "image/jpeg_write.h"
#include "make/make_write.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <spng.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[PATH_MAX];

static int open_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/stoker-make-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    stk__thread_fault_set(NULL);
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *below(const char *name)
{
    static char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) fail();
    return path;
}

static bool exists(const char *name)
{
    return access(below(name), F_OK) == 0;
}

/* The content of a small file as text; released by the next call. */
static const char *text_of(const char *name)
{
    static char text[65536];
    stk__buffer buffer = {0};
    assert_int_equal(stk__file_read(below(name), sizeof text - 1, &buffer, NULL), STK_OK);
    memcpy(text, buffer.data, buffer.size_bytes);
    text[buffer.size_bytes] = '\0';
    stk__buffer_fini(&buffer);
    return text;
}

static int count_files(const char *name)
{
    int count = 0;
    DIR *entries = opendir(below(name));
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

static stk_status write_kind(stk__make_kind kind, uint64_t count, stk_error *error)
{
    const stk__make_options options = {.kind = kind, .folder = folder, .count = count, .workers = 2};
    stk__make_progress done;
    return stk__make_write(&options, &done, error);
}

static void faces_are_pairs(void **state)
{
    (void)state;
    const stk__make_options options = {.kind = STK_MAKE_FACES, .folder = folder, .count = 5, .workers = 2};
    stk__make_progress done;
    assert_int_equal(stk__make_write(&options, &done, NULL), STK_OK);
    assert_int_equal(count_files("images"), 5);
    assert_int_equal(count_files("masks"), 5);
    assert_true(exists("images/000004.jpg") && exists("masks/000004.png"));
    assert_int_equal(strncmp(text_of("classes.txt"), "background\nskin\nleft_brow\n", 26), 0);
    assert_string_equal(text_of(".stoker-make"),
                        "{\"kind\": \"faces\", \"seed\": 0, \"count\": 5, \"complete\": true}\n");
    assert_int_equal(done.samples, 5);
    assert_true(done.bytes > 5 * 45000);
}

static void captchas_have_a_list_of_points(void **state)
{
    (void)state;
    assert_int_equal(write_kind(STK_MAKE_CAPTCHA, 3, NULL), STK_OK);
    const char *text = text_of("points.csv");
    char expected[128];
    const stk__made made = stk__make_facts(STK_MAKE_CAPTCHA, 0, 0);
    snprintf(expected, sizeof expected,
             "file,gap_x,gap_y,slider_x,slider_y\nimages/000000.jpg,%.2f,%.2f,%.2f,%.2f\n",
             (double)made.points[0][0], (double)made.points[0][1], (double)made.points[1][0],
             (double)made.points[1][1]);
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
    assert_int_equal(count_files("images"), 3);
}

static void grey_shapes_lie_in_folders_of_classes(void **state)
{
    (void)state;
    assert_int_equal(write_kind(STK_MAKE_GRAY, 20, NULL), STK_OK);
    assert_int_equal(count_files("."), 10);
    assert_true(exists("arrow/000000.png") && exists("arrow/000010.png") && exists("wave/000019.png"));
}

static void a_series_reads_back_exactly(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = STK_MAKE_FEATURES + 1 };
    float values[ROWS * COLUMNS];
    assert_int_equal(write_kind(STK_MAKE_SERIES, ROWS, NULL), STK_OK);
    stk__make_series(0, 0, ROWS, values);
    const char *text = text_of("series.csv");
    assert_int_equal(strncmp(text, "f00,f01,", 8), 0);
    assert_non_null(strstr(text, ",f15,target\n"));
    text = strchr(text, '\n') + 1;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        char *end;
        assert_true(strtof(text, &end) == values[i]);
        assert_int_equal(*end, (i + 1) % COLUMNS ? ',' : '\n');
        text = end + 1;
    }
    assert_int_equal(*text, '\0');
}

static void the_same_command_writes_the_same_again(void **state)
{
    (void)state;
    stk__buffer first = {0}, second = {0};
    assert_int_equal(write_kind(STK_MAKE_GRAY, 10, NULL), STK_OK);
    assert_int_equal(stk__file_read(below("moon/000004.png"), 0, &first, NULL), STK_OK);
    assert_int_equal(write_kind(STK_MAKE_GRAY, 10, NULL), STK_OK);
    assert_int_equal(stk__file_read(below("moon/000004.png"), 0, &second, NULL), STK_OK);
    assert_int_equal(first.size_bytes, second.size_bytes);
    assert_memory_equal(first.data, second.data, first.size_bytes);
    assert_int_equal(count_files("moon"), 1);
    stk__buffer_fini(&first);
    stk__buffer_fini(&second);
}

static void other_content_is_not_overwritten(void **state)
{
    (void)state;
    stk_error error;
    stk__make_options options = {.kind = STK_MAKE_SERIES, .folder = folder, .count = 50};
    stk__make_progress done;
    assert_int_equal(write_kind(STK_MAKE_SERIES, 40, NULL), STK_OK);
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "other settings"));
    assert_int_equal(unlink(below(".stoker-make")), 0);
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "not made by stoker"));
    assert_non_null(strstr(error.hint, "--force"));
    options.force = true;
    assert_int_equal(stk__make_write(&options, &done, &error), STK_OK);
    assert_non_null(strstr(text_of(".stoker-make"), "\"count\": 50, \"complete\": true"));
}

static atomic_bool stop;

static void stop_soon(void *context, const stk__make_progress *progress)
{
    (void)context;
    assert_true(progress->samples <= progress->count);
    atomic_store(&stop, true);
}

static void an_interrupted_folder_can_be_completed(void **state)
{
    (void)state;
    stk_error error;
    stk__make_options options = {.kind = STK_MAKE_GRAY,
                                 .folder = folder,
                                 .count = 3000,
                                 .workers = 1,
                                 .stop = &stop,
                                 .show = stop_soon};
    stk__make_progress done;
    atomic_store(&stop, false);
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_INTERRUPTED);
    assert_true(done.samples < 3000);
    assert_non_null(strstr(text_of(".stoker-make"), "\"complete\": false"));
    options.stop = NULL;
    options.workers = 2;
    assert_int_equal(stk__make_write(&options, &done, &error), STK_OK);
    assert_int_equal(count_files("heart"), 300);
    assert_non_null(strstr(text_of(".stoker-make"), "\"complete\": true"));
    options.stop = &stop; /* true from the start */
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_INTERRUPTED);
}

static void an_interrupted_table_is_not_written(void **state)
{
    (void)state;
    const stk__make_options options = {
        .kind = STK_MAKE_SERIES, .folder = folder, .count = 2000, .stop = &stop};
    stk__make_progress done;
    atomic_store(&stop, true);
    assert_int_equal(stk__make_write(&options, &done, NULL), STK_ERROR_INTERRUPTED);
    assert_false(exists("series.csv"));
    uint64_t bytes = 0;
    assert_int_equal(stk__make_tables_write(&options, &bytes, NULL), STK_ERROR_INTERRUPTED);
    assert_false(exists("series.csv"));
}

static void a_failed_file_is_named_once(void **state)
{
    (void)state;
    stk_error error;
    const stk__make_options options = {
        .kind = STK_MAKE_GRAY, .folder = folder, .count = 40, .workers = 2, .force = true};
    stk__make_progress done;
    assert_int_equal(stk__folder_make(below("star/000017.png"), NULL), STK_OK);
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "star/000017.png"));
    assert_int_equal(count_files("star/000017.png"), 0);
}

/* Like a full disk, as far as a test without one can get. */
static void a_write_that_fails_in_the_middle_leaves_nothing_half(void **state)
{
    (void)state;
    stk_error error;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {4096, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const stk_status status = write_kind(STK_MAKE_GRAY, 20, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, STK_ERROR_IO);
    assert_int_equal(count_files("arrow"), 0);
}

static void wishes_that_cannot_be_met(void **state)
{
    (void)state;
    stk_error error;
    stk__make_progress done;
    stk__make_options options = {.kind = STK_MAKE_SERIES, .count = 10};
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_ARGUMENT);
    char name[PATH_MAX + 8];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    options.folder = name;
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_ARGUMENT);
    options.folder = folder;
    options.count = STK_MAKE_MOST + 1;
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_ARGUMENT);
    options.folder = "/dev/null/below";
    options.count = 10;
    assert_int_equal(stk__make_write(&options, &done, &error), STK_ERROR_IO);
}

static void too_little_space_is_said_before_the_start(void **state)
{
    (void)state;
    stk_error error;
    struct statvfs facts;
    assert_int_equal(statvfs(folder, &facts), 0);
    const double need = 90000.0 * STK_MAKE_MOST;
    if ((double)facts.f_bavail * (double)facts.f_frsize >= need) skip();
    assert_int_equal(write_kind(STK_MAKE_FACES, STK_MAKE_MOST, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "MB left"));
    assert_false(exists(".stoker-make"));
}

static bool second_thread_fails(void)
{
    static int starts;
    return ++starts % 2 == 0;
}

static void a_thread_that_does_not_start_fails_cleanly(void **state)
{
    (void)state;
    stk_error error;
    stk__thread_fault_set(second_thread_fails);
    assert_int_equal(write_kind(STK_MAKE_GRAY, 20, &error), STK_ERROR_THREAD);
}

static atomic_long allocations, frees, allowed;

static void *scarce(void *context, size_t size_bytes)
{
    (void)context;
    if (atomic_load(&allocations) >= atomic_load(&allowed)) return NULL;
    atomic_fetch_add(&allocations, 1);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void give_back(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    atomic_fetch_add(&frees, 1);
    free(memory);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const stk_allocator allocator = {.alloc = scarce, .release = give_back};
    stk_allocator_set(&allocator);
    for (int kind = 0; kind < STK_MAKE_COUNT; kind++) {
        stk_status status = STK_ERROR_MEMORY;
        for (long limit = 0; status != STK_OK; limit++) {
            stk_error error;
            const stk__make_options options = {
                .kind = (stk__make_kind)kind, .folder = folder, .count = 2, .workers = 1, .force = true};
            stk__make_progress done;
            atomic_store(&allocations, 0);
            atomic_store(&frees, 0);
            atomic_store(&allowed, limit);
            status = stk__make_write(&options, &done, &error);
            assert_true(status == STK_OK || status == STK_ERROR_MEMORY);
            assert_int_equal(atomic_load(&allocations), atomic_load(&frees));
            assert_true(limit < 100);
        }
    }
    stk_allocator_set(NULL);
}

/* --- encoders ----------------------------------------------------------------------------------------------
 */

static void check_png(stk__png_writer *writer, stk__pixels pixels, stk__png_filter filter)
{
    stk__buffer file = {0};
    uint8_t decoded[64 * 64];
    size_t size;
    assert_int_equal(stk__png_write(writer, pixels, &(stk__png_options){.filter = filter}, &file, NULL),
                     STK_OK);
    spng_ctx *png = spng_ctx_new(0);
    spng_set_png_buffer(png, file.data, file.size_bytes);
    spng_set_crc_action(png, SPNG_CRC_ERROR, SPNG_CRC_ERROR);
    assert_int_equal(spng_decoded_image_size(png, SPNG_FMT_PNG, &size), 0);
    assert_int_equal(size, pixels.w * pixels.h);
    assert_int_equal(spng_decode_image(png, decoded, size, SPNG_FMT_PNG, 0), 0);
    for (int y = 0; y < pixels.h; y++)
        assert_memory_equal(decoded + y * pixels.w, stk__pixels_row(pixels, y), (size_t)pixels.w);
    spng_ctx_free(png);
    stk__buffer_fini(&file);
}

static void png_reads_back(void **state)
{
    (void)state;
    stk__png_writer *writer = NULL;
    uint8_t data[64 * 64];
    assert_int_equal(stk__png_writer_create(&writer, STK_PNG_LEVEL_QUICK, NULL), STK_OK);
    for (int pattern = 0; pattern < 3; pattern++) {
        for (int i = 0; i < 64 * 64; i++)
            data[i] = (uint8_t)(pattern == 0 ? i * i * 31 : pattern == 1 ? i / 64 * 3 : i % 64 * 5);
        const int sizes[][2] = {{1, 1}, {1, 9}, {13, 1}, {17, 23}, {64, 64}};
        for (int s = 0; s < 5; s++)
            for (int filter = 0; filter < 3; filter++)
                check_png(writer, (stk__pixels){data, 64, sizes[s][0], sizes[s][1], 1},
                          (stk__png_filter)filter);
    }
    stk__png_writer_destroy(&writer);
    stk__png_writer_destroy(&writer);
}

static void jpeg_is_what_was_asked_for(void **state)
{
    (void)state;
    enum { SIDE = 400 };
    stk__buffer file = {0};
    uint8_t *noise = stk__alloc(SIDE * SIDE * 3);
    assert_non_null(noise);
    for (uint32_t i = 0, word = 1; i < SIDE * SIDE * 3; i++)
        noise[i] = (uint8_t)((word = word * 1664525 + 1013904223) >> 24);
    /* Noise is larger than the first room: the buffer has to grow on the way. */
    assert_int_equal(stk__jpeg_write(stk__pixels_dense(noise, SIDE, SIDE, 3), 95, &file, NULL), STK_OK);
    assert_true(file.size_bytes > 160 * 1024);
    struct jpeg_error_mgr failures;
    struct jpeg_decompress_struct codec = {.err = jpeg_std_error(&failures)};
    jpeg_create_decompress(&codec);
    jpeg_mem_src(&codec, file.data, file.size_bytes);
    jpeg_read_header(&codec, TRUE);
    assert_int_equal(codec.image_width, SIDE);
    assert_int_equal(codec.image_height, SIDE);
    assert_int_equal(codec.comp_info[0].h_samp_factor * 10 + codec.comp_info[0].v_samp_factor, 22);
    jpeg_start_decompress(&codec);
    uint8_t row[SIDE * 3], *rows[] = {row};
    while (codec.output_scanline < codec.output_height)
        assert_int_equal(jpeg_read_scanlines(&codec, rows, 1), 1);
    jpeg_finish_decompress(&codec);
    assert_int_equal(failures.num_warnings, 0);
    jpeg_destroy_decompress(&codec);
    stk_error error;
    assert_int_equal(stk__jpeg_write((stk__pixels){noise, 0, 70000, 1, 3}, 90, &file, &error),
                     STK_ERROR_DATA);
    stk__buffer_fini(&file);
    stk__free(noise);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, open_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(faces_are_pairs),
        IN_FOLDER(captchas_have_a_list_of_points),
        IN_FOLDER(grey_shapes_lie_in_folders_of_classes),
        IN_FOLDER(a_series_reads_back_exactly),
        IN_FOLDER(the_same_command_writes_the_same_again),
        IN_FOLDER(other_content_is_not_overwritten),
        IN_FOLDER(an_interrupted_folder_can_be_completed),
        IN_FOLDER(an_interrupted_table_is_not_written),
        IN_FOLDER(a_failed_file_is_named_once),
        IN_FOLDER(a_write_that_fails_in_the_middle_leaves_nothing_half),
        IN_FOLDER(wishes_that_cannot_be_met),
        IN_FOLDER(too_little_space_is_said_before_the_start),
        IN_FOLDER(a_thread_that_does_not_start_fails_cleanly),
        IN_FOLDER(every_allocation_may_fail),
        cmocka_unit_test(png_reads_back),
        cmocka_unit_test(jpeg_is_what_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
