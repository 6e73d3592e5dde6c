/* SPDX-License-Identifier: Apache-2.0 */
/* The files of shards: how many are open, what happens when they change, what is read ahead. */
#include "shards_tree.h"

#include "source/shards/shard_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

/* In place of the library's: storage that gives few bytes at a time, is interrupted, and then refuses. */
static atomic_int preadv_calls;
static int preadv_good = INT_MAX;

ssize_t preadv(int file, const struct iovec *parts, int count, off_t offset)
{
    const int call = preadv_calls++;
    if (preadv_good == INT_MAX) return syscall(SYS_preadv, file, parts, count, offset, 0);
    errno = call < preadv_good ? EINTR : EIO;
    if (call >= preadv_good || call % 2) return -1;
    return pread(file, parts[0].iov_base, parts[0].iov_len < 100 ? parts[0].iov_len : 100, offset);
}

static void storage_that_is_slow_and_refuses(void **state)
{
    (void)state;
    char text[2001];
    memset(text, 't', 2000);
    text[2000] = '\0';
    put_one("x.tar", "a.jpg", text);
    stk__source *source = tree_open();
    preadv_calls = 0;
    preadv_good = 100;
    check_read(source, 0, STK_FIELD_IMAGE, text, "jpg");
    assert_in_range(preadv_calls, 40, 60);
    preadv_calls = 0;
    preadv_good = 9;
    check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_READ_ERROR, "x.tar!a.jpg@0");
    preadv_good = INT_MAX;
    check_read(source, 0, STK_FIELD_IMAGE, text, "jpg");
    stk__source_close(&source);
}

static void check_changed(const stk__source *source)
{
    check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_SHARD_CHANGED, "x.tar!a.jpg@0");
}

static void write_at(const char *name, long offset, const char *text)
{
    FILE *file = fopen(tree_path(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void set_time(const char *name, const struct timespec *time)
{
    const struct timespec times[2] = {*time, *time};
    assert_int_equal(utimensat(AT_FDCWD, tree_path(name), times, 0), 0);
}

static int count_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 4; /* ., .., the folder itself, and the last that is none */
}

enum { MANY = 150, THREADS = 6, READS = 2000, LIMIT = 64 };

typedef struct reader {
    const stk__source *source;
    unsigned state;
    int wrong;
} reader;

static void *read_many(void *argument)
{
    reader *r = argument;
    stk__buffer buffer = {0};
    for (int i = 0; i < READS; i++) {
        char expected[16];
        const char *extension;
        const uint64_t id = (uint64_t)rand_r(&r->state) % MANY;
        if (i % 7 == 0) r->source->ops->hint(r->source, id);
        r->wrong += r->source->ops->read(r->source, id, STK_FIELD_IMAGE, &buffer, &extension, NULL) != STK_OK;
        const int length = snprintf(expected, sizeof expected, "%03d", (int)id);
        r->wrong +=
            buffer.size_bytes != (size_t)length || memcmp(buffer.data, expected, buffer.size_bytes) != 0;
    }
    stk__buffer_fini(&buffer);
    return NULL;
}

/* How many pages of a file are in memory. */
static size_t resident_pages(const char *name, size_t size)
{
    const size_t pages = (size + 4095) / 4096;
    unsigned char *seen = calloc(1, pages);
    const int file = open(tree_path(name), O_RDONLY | O_CLOEXEC);
    assert_true(seen && file >= 0);
    void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    assert_true(mapped != MAP_FAILED);
    assert_int_equal(mincore(mapped, size, seen), 0);
    size_t count = 0;
    for (size_t i = 0; i < pages; i++)
        count += seen[i] & 1;
    munmap(mapped, size);
    close(file);
    free(seen);
    return count;
}

static void forget(const char *name)
{
    const int file = open(tree_path(name), O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static void write_ball_at(const char *name, uint64_t offset)
{
    const int file = open(tree_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, ball.bytes.data, ball.bytes.size_bytes, (off_t)offset),
                     ball.bytes.size_bytes);
    assert_int_equal(close(file), 0);
}

/* Whatever is done to a shard behind the source's back: never other pixels. */
static void shards_that_change(void **state)
{
    (void)state;
    struct stat facts;
    const struct timespec old = {.tv_sec = 1000};
    for (int open_before = 0; open_before < 2; open_before++)
        for (int way = 0; way < 6; way++) {
            tarball_text(&ball, "a.jpg", "good");
            put("x.tar");
            set_time("x.tar", &old);
            stk__source *source = tree_open();
            if (open_before) check_read(source, 0, STK_FIELD_IMAGE, "good", "jpg");
            if (way == 0) write_at("x.tar", 512, "evil");
            if (way == 1) assert_int_equal(truncate(tree_path("x.tar"), 514), 0);
            if (way == 2) assert_int_equal(truncate(tree_path("x.tar"), 100), 0);
            if (way == 3) write_at("x.tar", 2, "evil"); /* the header, and the time as it was */
            if (way == 3) set_time("x.tar", &old);
            if (way == 4) assert_int_equal(unlink(tree_path("x.tar")), 0);
            if (way == 5) {
                assert_int_equal(unlink(tree_path("x.tar")), 0);
                tarball_text(&ball, "a.jpg", "evil");
                put("x.tar");
            }
            if (way < 4)
                check_changed(source);
            else if (open_before) /* the file that was indexed is still open */
                check_read(source, 0, STK_FIELD_IMAGE, "good", "jpg");
            else if (way == 4)
                check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_MISSING, "x.tar");
            else
                check_changed(source);
            stk__source_close(&source);
            if (stat(tree_path("x.tar"), &facts) == 0) assert_int_equal(unlink(tree_path("x.tar")), 0);
        }
}

static void many_shards_with_few_files(void **state)
{
    (void)state;
    struct rlimit before, low;
    for (int i = 0; i < MANY; i++) {
        char name[32], member[32], text[8];
        snprintf(name, sizeof name, "x-%03d.tar", i);
        snprintf(member, sizeof member, "%03d.jpg", i);
        snprintf(text, sizeof text, "%03d", i);
        put_one(name, member, text);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, MANY);
    const int files = count_files();
    pthread_t threads[THREADS];
    reader readers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (reader){.source = source, .state = (unsigned)i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    assert_in_range(count_files() - files, 1, LIMIT / 4);
    stk__source_close(&source);
    assert_int_equal(count_files(), files);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void files_of_shards(void **state)
{
    (void)state;
    stk__shard_files *files = NULL;
    stk__shard_loan a, b, c, again;
    stk_error error = {0};
    char path[PATH_MAX];
    tree_file("f", "x");
    snprintf(path, sizeof path, "%s", tree_path("f"));
    assert_int_equal(stk__shard_files_create(&files, 10, 2, NULL), STK_OK);
    assert_false(stk__shard_files_find(files, 0, &a));
    assert_int_equal(stk__shard_files_open(files, 0, path, &a, NULL), STK_OK);
    assert_true(stk__shard_files_find(files, 0, &again));
    assert_int_equal(again.file, a.file);
    stk__shard_files_return(files, again);
    assert_int_equal(stk__shard_files_open(files, 0, path, &again, NULL), STK_OK); /* another was faster */
    assert_int_equal(again.place, -1);
    stk__shard_files_return(files, again);
    assert_int_equal(stk__shard_files_open(files, 1, path, &b, NULL), STK_OK);
    assert_int_equal(stk__shard_files_open(files, 2, path, &c, NULL), STK_OK); /* no place is left */
    assert_int_equal(c.place, -1);
    stk__shard_files_return(files, c);
    stk__shard_files_return(files, a);
    assert_true(stk__shard_files_find(files, 0, &a));
    stk__shard_files_return(files, a);
    stk__shard_files_return(files, b);
    assert_int_equal(stk__shard_files_open(files, 2, path, &c, NULL),
                     STK_OK); /* instead of 1: older than 0 */
    assert_true(stk__shard_files_find(files, 2, &again));
    stk__shard_files_return(files, again);
    stk__shard_files_return(files, c);
    assert_int_equal(stk__shard_files_open(files, 3, tree_path("none"), &c, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MISSING);
    stk__shard_files_destroy(&files);
    assert_null(files);
    stk__shard_files_destroy(&files);
}

/* Others have taken all files of the process: idle ones of ours are given up for it. */
static void files_that_others_took(void **state)
{
    (void)state;
    struct rlimit before, low;
    stk__shard_files *files = NULL;
    stk__shard_loan loans[3];
    stk_error error = {0};
    int taken[LIMIT], count = 0;
    char path[PATH_MAX];
    tree_file("f", "x");
    snprintf(path, sizeof path, "%s", tree_path("f"));
    assert_int_equal(stk__shard_files_create(&files, 10, 8, NULL), STK_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(stk__shard_files_open(files, i, path, &loans[i], NULL), STK_OK);
    stk__shard_files_return(files, loans[0]);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (count < LIMIT && (taken[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    assert_int_equal(stk__shard_files_open(files, 2, path, &loans[2], &error), STK_OK);
    assert_false(stk__shard_files_find(files, 0, &loans[0]));
    assert_int_equal(stk__shard_files_open(files, 3, path, &loans[0], &error), STK_ERROR_IO);
    assert_non_null(strstr(error.hint, "ulimit -n"));
    while (count)
        close(taken[--count]);
    stk__shard_files_return(files, loans[1]);
    stk__shard_files_return(files, loans[2]);
    stk__shard_files_destroy(&files);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Samples side by side are brought in as a whole, the others stay where they are. */
static void runs_are_read_ahead(void **state)
{
    (void)state;
    enum { SAMPLES = 40, BYTES = 100000, RUN = 10 };
    uint8_t *much = calloc(1, BYTES);
    assert_non_null(much);
    for (int i = 0; i < SAMPLES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%02d.jpg", i);
        tarball_file(&ball, name, much, BYTES);
        snprintf(name, sizeof name, "%02d.txt", i);
        tarball_text(&ball, name, "passed over");
    }
    free(much);
    const size_t size = ball.bytes.size_bytes;
    put("x.tar");
    stk__source *source = tree_open();
    forget("x.tar");
    if (resident_pages("x.tar", size) > 4) {
        stk__source_close(&source);
        print_message("this file system keeps its files in memory: nothing to see\n");
        skip();
    }
    source->ops->hint_run(source, 20, RUN);
    size_t pages = 0;
    for (int tries = 0; tries < 200 && pages < RUN * BYTES / 4096; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        pages = resident_pages("x.tar", size);
    }
    assert_in_range(pages, RUN * BYTES / 4096, 2 * RUN * BYTES / 4096);
    stk__source_close(&source);
}

/* Two holes of 9 GiB, whose sizes no octal field can say: one by GNU's binary number, one by pax. */
static void shards_beyond_8_gib(void **state)
{
    (void)state;
    const uint64_t hole = UINT64_C(9) << 30;
    char size[32];
    uint64_t at = 0;
    tarball_text(&ball, "1.jpg", "first");
    tarball_header(&ball, "hole", '0', hole);
    write_ball_at("x.tar", at);
    at += ball.bytes.size_bytes + hole;
    tarball_clear(&ball);
    tarball_text(&ball, "2.jpg", "second");
    snprintf(size, sizeof size, "%llu", (unsigned long long)hole);
    tarball_record(&ball, 'x', "size", size);
    tarball_header(&ball, "hole", '0', 0);
    write_ball_at("x.tar", at);
    at += ball.bytes.size_bytes + hole;
    tarball_clear(&ball);
    tarball_text(&ball, "3.jpg", "third");
    tarball_end(&ball);
    write_ball_at("x.tar", at);
    tarball_clear(&ball);
    char where[64];
    for (int turn = 0; turn < 2; turn++) { /* built, then found */
        stk__source *source = tree_open();
        assert_int_equal(source->info.count, 3);
        check_read(source, 0, STK_FIELD_IMAGE, "first", "jpg");
        check_read(source, 1, STK_FIELD_IMAGE, "second", "jpg");
        check_read(source, 2, STK_FIELD_IMAGE, "third", "jpg");
        snprintf(where, sizeof where, "x.tar!3.jpg@%llu", (unsigned long long)at);
        check_where(source, 2, STK_FIELD_IMAGE, where);
        stk__source_close(&source);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(storage_that_is_slow_and_refuses),
        TEST(shards_that_change),
        TEST(many_shards_with_few_files),
        TEST(files_of_shards),
        TEST(files_that_others_took),
        TEST(runs_are_read_ahead),
        TEST(shards_beyond_8_gib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
