#include "source_tree.h"

#include "core/pool.h"
#include "source/shard_files.h"
#include "source/shards.h"
#include "support/tarball.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static char logged[8192];

static void keep_log(void *context, stk_log_level level, const char *line)
{
    (void)context;
    if (level < STK_LOG_INFO) snprintf(logged, sizeof logged, "%s", line);
}

static int begin(void **state)
{
    logged[0] = '\0';
    stk_log_set(keep_log, NULL, STK_LOG_INFO);
    return tree_make(state);
}

static int finish(void **state)
{
    stk_log_set(NULL, NULL, STK_LOG_WARNING);
    return tree_remove(state);
}

static tarball ball;

/* Writes what is in the ball as a shard of the tree, with its index gone. */
static void put(const char *name)
{
    char path[PATH_MAX];
    tree_file(name, "");
    snprintf(path, sizeof path, "%s", tree_path(name));
    tarball_end(&ball);
    tarball_write(&ball, path);
    tarball_clear(&ball);
    strcat(path, ".index");
    remove(path);
}

static void put_one(const char *shard, const char *member, const char *text)
{
    tarball_text(&ball, member, text);
    put(shard);
}

static stk__source *open_as(const char *name)
{
    stk__source *source = tree_open_as(name, NULL, 0);
    if (!source) print_error("%s (%s)\n", failure.message, failure.place);
    assert_non_null(source);
    return source;
}

static void check_where(const stk__source *source, uint64_t id, stk__field field, const char *expected)
{
    char text[PATH_MAX];
    source->ops->where(source, id, field, text, sizeof text);
    assert_string_equal(text, tree_path(expected));
}

static void samples_of_several_shards(void **state)
{
    (void)state;
    tarball_text(&ball, "b/2.jpg", "two");
    tarball_text(&ball, "b/2.mask.png", "m2");
    tarball_text(&ball, "b/2.cls", "3");
    tarball_text(&ball, "a.jpg", "a");
    tarball_text(&ball, "a.npy", "ma");
    tarball_text(&ball, "a.cls", "0");
    put("x-1.tar");
    tarball_end(&ball);
    put("x-2.tar"); /* without samples */
    tarball_text(&ball, "b/1.PNG", "one");
    tarball_text(&ball, "b/1.seg.png", "m1");
    tarball_text(&ball, "b/1.cls", "1");
    put("x-3.TAR");
    tree_file("notes.txt", "");
    tree_file("classes.txt", "sky\nsea\nsand\nship\n");
    stk__source *source = tree_open();
    const stk__source_info *info = &source->info;
    assert_string_equal(source->ops->name, "shards");
    assert_string_equal(info->layout, "shards");
    assert_int_equal(info->count, 3);
    assert_true(info->images && info->masks && info->label == STK_LABEL_CLASS && info->point_count == 0);
    assert_int_equal(info->class_count, 4);
    assert_string_equal(info->class_names[3], "ship");
    const stk__digest expected = stk__digest_of("a\0b/1\0b/2", 10);
    assert_memory_equal(&info->fingerprint, &expected, sizeof expected);
    check_key(source, 0, "a");
    check_key(source, 1, "b/1");
    check_key(source, 2, "b/2");
    check_read(source, 0, STK_FIELD_IMAGE, "a", "jpg");
    check_read(source, 0, STK_FIELD_MASK, "ma", "npy");
    check_read(source, 1, STK_FIELD_IMAGE, "one", "png");
    check_read(source, 1, STK_FIELD_MASK, "m1", "png");
    check_read(source, 2, STK_FIELD_MASK, "m2", "png");
    assert_true(label_of(source, 0) == 0 && label_of(source, 1) == 1 && label_of(source, 2) == 3);
    check_where(source, 0, STK_FIELD_IMAGE, "x-1.tar!a.jpg@3072");
    check_where(source, 0, STK_FIELD_MASK, "x-1.tar!a.npy@4096");
    check_where(source, 1, STK_FIELD_IMAGE, "x-3.TAR!b/1.PNG@0");
    check_where(source, 1, STK_FIELD_MASK, "x-3.TAR!b/1.seg.png@1024");
    source->ops->hint_run(source, 0, 3);
    stk__source_close(&source);
}

static void same_stream_as_the_folder(void **state)
{
    (void)state;
    tree_file("folder/images/a.b/x%.jpg", "1");
    tree_file("folder/images/c.jpg", "2");
    tree_file("folder/masks/a.b/x%.png", "3");
    tree_file("folder/masks/c.png", "4");
    tarball_record(&ball, 'g', STK_SHARD_KEYS_RECORD, STK_SHARD_KEYS_ESCAPED);
    tarball_text(&ball, "c.jpg", "2");
    tarball_text(&ball, "c.mask.png", "4");
    tarball_text(&ball, "a%2Eb/x%25.jpg", "1");
    tarball_text(&ball, "a%2Eb/x%25.mask.png", "3");
    put("packed/x.tar");
    stk__source *folder = open_as("folder"), *packed = open_as("packed"), *one = open_as("packed/x.tar");
    assert_memory_equal(&folder->info.fingerprint, &packed->info.fingerprint, sizeof(stk__digest));
    assert_memory_equal(&folder->info.fingerprint, &one->info.fingerprint, sizeof(stk__digest));
    check_key(packed, 0, "a.b/x%");
    check_read(packed, 0, STK_FIELD_MASK, "3", "png");
    check_where(packed, 0, STK_FIELD_MASK, "packed/x.tar!a%2Eb/x%25.mask.png@4096");
    stk__source_close(&folder);
    stk__source_close(&packed);
    stk__source_close(&one);
}

static void ranges_of_shards(void **state)
{
    (void)state;
    const char *const names[] = {"d0/x-08.tar", "d0/x-09.tar", "d0/x-10.tar", "d0/x-11.tar", "d1/x-09.tar"};
    for (int i = 0; i < 5; i++) {
        char member[16];
        snprintf(member, sizeof member, "%d.jpg", i);
        put_one(names[i], member, "x");
    }
    const struct {
        const char *range;
        uint64_t count;
        const char *where;
    } ranges[] = {{"d0/x-{09..10}.tar", 2, "d0/x-09.tar!1.jpg@0"},
                  {"d0/x-{08..11}.tar", 4, "d0/x-08.tar!0.jpg@0"},
                  {"d0/x-{8..8}.tar", 0, "d0/x-8.tar"},
                  {"d0/x-{10..11}.tar", 2, "d0/x-10.tar!2.jpg@0"},
                  {"d0/x-1{0..1}.tar", 2, "d0/x-10.tar!2.jpg@0"},
                  {"d{0..1}/x-0{9..9}.tar", 2, "d0/x-09.tar!1.jpg@0"},
                  {"d{0..1}/x-{09..10}.tar", 0, "d1/x-10.tar"},
                  {"d0/x-{11..09}.tar", 0, "x-{11..09}.tar"},
                  {"d0/x-{09..10}.tgz", 0, "x-{09..10}.tgz"},
                  {"d0/x-{a..b}.tar", 0, "x-{a..b}.tar"},
                  {"d0/x-{0..1000000}.tar", 0, ".tar"}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        stk__source *source = tree_open_as(ranges[i].range, NULL, 0);
        assert_int_equal(source ? source->info.count : 0, ranges[i].count);
        if (source)
            check_where(source, 0, STK_FIELD_IMAGE, ranges[i].where);
        else
            assert_non_null(strstr(failure.place, ranges[i].where));
        stk__source_close(&source);
    }
    put_one("d0/x-{09..10}.tar", "really.jpg", "x"); /* a file of that name comes first */
    stk__source *source = open_as("d0/x-{09..10}.tar");
    check_key(source, 0, "really");
    stk__source_close(&source);
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(tree_path("d0")), 0);
    stk_error error = {0};
    const stk__source_options range = {.root = "x-{08..09}.tar"}, one = {.root = "x-08.tar"};
    assert_int_equal(stk__source_open(&source, &range, &error), STK_OK);
    check_read(source, 1, STK_FIELD_IMAGE, "x", "jpg");
    stk__source_close(&source);
    assert_int_equal(stk__source_open(&source, &one, &error), STK_OK);
    check_read(source, 0, STK_FIELD_IMAGE, "x", "jpg");
    stk__source_close(&source);
    assert_int_equal(chdir(here), 0);
}

static void parts(void **state)
{
    (void)state;
    put_one("train/x.tar", "1.jpg", "x");
    put_one("val/x.tar", "2.jpg", "x");
    tree_file("classes.txt", "one\ntwo\n");
    stk__source *source = tree_open_as("", "val", 0);
    assert_non_null(source);
    assert_string_equal(source->info.layout, "shards in val/");
    assert_int_equal(source->info.class_count, 2);
    check_key(source, 0, "2");
    stk__source_close(&source);
}

static void keys_of_several_shards(void **state)
{
    (void)state;
    tarball_text(&ball, "1.jpg", "a1");
    tarball_text(&ball, "3.webp", "x");
    const size_t broken = tarball_text(&ball, "2.jpg", "x");
    ball.bytes.data[broken] ^= 1;
    put("a.tar");
    put_one("b.tar", "1.jpg", "b1");
    stk__source *source = tree_open();
    assert_non_null(strstr(logged, "'1' is a sample of 'a.tar' and of 'b.tar'"));
    assert_int_equal(source->info.count, 4);
    check_key(source, 0, "a.tar/1");
    check_key(source, 1, "a.tar/3");
    check_key(source, 2, "a.tar@2048");
    check_key(source, 3, "b.tar/1");
    check_read(source, 0, STK_FIELD_IMAGE, "a1", "jpg");
    check_read(source, 3, STK_FIELD_IMAGE, "b1", "jpg");
    check_where(source, 3, STK_FIELD_IMAGE, "b.tar!1.jpg@0");
    check_read_damage(source, 1, STK_FIELD_IMAGE, STK_DAMAGE_NO_IMAGE, "a.tar!3@1024");
    check_read_damage(source, 2, STK_FIELD_IMAGE, STK_DAMAGE_BAD_CHECKSUM, "a.tar@2048");
    check_facts_damage(source, 2, STK_DAMAGE_BAD_CHECKSUM, "checksum", "a.tar@2048");
    source->ops->hint(source, 2);
    stk__source_close(&source);
}

static void samples_that_lack_something(void **state)
{
    (void)state;
    tarball_text(&ball, "0.jpg", "x");
    tarball_text(&ball, "0.cls", "1");
    tarball_text(&ball, "0.points.json", "[[1,2],[3,4]]");
    tarball_text(&ball, "0.mask.png", "m");
    put("a.tar");
    const char *const cls[] = {"0", "9", NULL, "1", "1", "1"}, *const points[] = {"[[5,6],[7,8]]",
                                                                                  "[[5,6],[7,8]]",
                                                                                  "[[5,6],[7,8]]",
                                                                                  "[[5,6]]",
                                                                                  NULL,
                                                                                  "[[5,6],[7,8]]"};
    for (int i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.jpg", i + 1);
        tarball_text(&ball, name, "x");
        snprintf(name, sizeof name, "%d.cls", i + 1);
        if (cls[i]) tarball_text(&ball, name, cls[i]);
        if (!cls[i]) snprintf(name, sizeof name, "%d.value", i + 1);
        if (!cls[i]) tarball_text(&ball, name, "1");
        snprintf(name, sizeof name, "%d.points.json", i + 1);
        if (points[i]) tarball_text(&ball, name, points[i]);
        snprintf(name, sizeof name, "%d.mask.png", i + 1);
        if (i != 5) tarball_text(&ball, name, "m");
    }
    put("b.tar");
    tarball_text(&ball, "7.jpg", "x");
    put("c.tar");
    tree_file("classes.txt", "one\ntwo\n");
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 8);
    assert_int_equal(source->info.point_count, 2);
    assert_int_equal(source->info.label, STK_LABEL_CLASS);
    stk__facts facts;
    assert_int_equal(source->ops->facts(source, 1, &facts, NULL), STK_OK);
    assert_true(facts.label == 0 && facts.points[0] == 5 && facts.points[3] == 7);
    check_facts_damage(source, 2, STK_DAMAGE_BAD_FIELD, "cls is 9, but classes.txt has 2", "b.tar!2.jpg@");
    check_facts_damage(source, 3, STK_DAMAGE_BAD_FIELD, "no field 'cls'", "b.tar!3.jpg@");
    check_facts_damage(source, 4, STK_DAMAGE_BAD_FIELD, "not the 2 points", "b.tar!4.jpg@");
    check_facts_damage(source, 5, STK_DAMAGE_BAD_FIELD, "not the 2 points", "b.tar!5.jpg@");
    assert_int_equal(source->ops->facts(source, 6, &facts, NULL), STK_OK);
    check_read(source, 6, STK_FIELD_IMAGE, "x", "jpg");
    check_read_damage(source, 6, STK_FIELD_MASK, STK_DAMAGE_MASK_MISSING, "b.tar!6.jpg@");
    check_facts_damage(source, 7, STK_DAMAGE_BAD_FIELD, "no field 'cls'", "c.tar!7.jpg@0");
    stk__source_close(&source);
}

static void values_and_counts(void **state)
{
    (void)state;
    tarball_text(&ball, "a.png", "x");
    tarball_text(&ball, "a.value", "-2.5");
    put("v.tar");
    stk__source *source = tree_open();
    assert_int_equal(source->info.label, STK_LABEL_VALUE);
    assert_int_equal(source->info.class_count, 0);
    assert_true(label_of(source, 0) == -2.5);
    stk__buffer buffer = {0};
    const char *extension;
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_MASK, &buffer, &extension, NULL),
                     STK_ERROR_ARGUMENT);
    stk__source_close(&source);
    tarball_text(&ball, "a.png", "x");
    tarball_text(&ball, "a.cls", "41");
    put("v.tar");
    source = tree_open();
    assert_int_equal(source->info.class_count, 42);
    stk__source_close(&source);
    tarball_text(&ball, "a.png", "x");
    tarball_text(&ball, "a.points.json", "[[1,2]]");
    put("v.tar");
    put_one("w.tar", "b.png", "x");
    source = tree_open();
    assert_int_equal(source->info.label, STK_LABEL_NONE);
    assert_int_equal(source->info.point_count, 1);
    check_facts_damage(source, 1, STK_DAMAGE_BAD_FIELD, "not the 1 points", "w.tar");
    stk__source_close(&source);
}

static void large_members(void **state)
{
    (void)state;
    uint8_t *much = calloc(1, (1 << 20) + 1);
    assert_non_null(much);
    tarball_file(&ball, "a.jpg", much, 1 << 20);
    tarball_file(&ball, "b.jpg", much, (1 << 20) + 1);
    tarball_text(&ball, "c.jpg", "");
    put("x.tar");
    stk__source *source = tree_open();
    stk__buffer buffer = {0};
    const char *extension;
    assert_int_equal(source->ops->read(source, 0, STK_FIELD_IMAGE, &buffer, &extension, NULL), STK_OK);
    assert_int_equal(buffer.size_bytes, 1 << 20);
    assert_true(buffer.capacity_bytes >= buffer.size_bytes + 64);
    check_read_damage(source, 1, STK_FIELD_IMAGE, STK_DAMAGE_TOO_MANY_BYTES, "x.tar!b.jpg@1049088");
    check_read(source, 2, STK_FIELD_IMAGE, "", "jpg");
    stk__buffer_fini(&buffer);
    stk__source_close(&source);
    free(much);
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

static void other_things_beside(void **state)
{
    (void)state;
    put_one("a.tar", "1.jpg", "x");
    tree_folder("b.tar"); /* called so, but no shard: it cannot be read */
    tree_refused("", STK_ERROR_IO, "cannot read the shard", "b.tar");
    assert_int_equal(rmdir(tree_path("b.tar")), 0);
    tree_file("class/2.jpg", "x");
    stk__source *source = tree_open();
    assert_string_equal(source->info.layout, "folder of classes");
    assert_non_null(strstr(logged, "are not used: there are images beside"));
    stk__source_close(&source);
    assert_int_equal(remove(tree_path("class/2.jpg")), 0);
    tree_file("class/notes.txt", "");
    source = tree_open();
    assert_string_equal(source->info.layout, "shards");
    stk__source_close(&source);
    tree_file("other/.hidden.tar", "");
    tree_refused("other", STK_ERROR_DATA, "found no images", "other");
    tarball_end(&ball);
    put("empty/x.tar");
    tree_refused("empty", STK_ERROR_DATA, "have no samples", "empty");
    tree_file("text.tgz", "");
    tree_refused("text.tgz", STK_ERROR_DATA, "neither a list, a series nor a shard", "text.tgz");
    tree_file("zero/x.tar", "");
    source = open_as("zero");
    check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_EMPTY, "zero/x.tar@0");
    check_key(source, 0, "x.tar@0");
    stk__source_close(&source);
    put_one("bad/x.tar", "1.jpg", "x");
    tree_file("bad/classes.txt", "");
    tree_refused("bad", STK_ERROR_DATA, "no names", "classes.txt");
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

static void write_ball_at(const char *name, uint64_t offset)
{
    const int file = open(tree_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, ball.bytes.data, ball.bytes.size_bytes, (off_t)offset),
                     ball.bytes.size_bytes);
    assert_int_equal(close(file), 0);
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

static void memory_runs_out(void **state)
{
    (void)state;
    tarball_text(&ball, "1.jpg", "x");
    tarball_text(&ball, "1.mask.png", "x");
    tarball_text(&ball, "1.cls", "1");
    tarball_text(&ball, "1.points.json", "[[1,2]]");
    tarball_text(&ball, "2.jpg", "x");
    tarball_text(&ball, "3.webp", "x");
    put("set/a.tar");
    tarball_text(&ball, "1.jpg", "x");
    const size_t broken = tarball_text(&ball, "4.jpg", "x");
    ball.bytes.data[broken] ^= 1;
    put("set/b.tar");
    tree_file("set/classes.txt", "one\ntwo\n");
    check_poor_memory("set", NULL); /* builds the indexes on its way */
    check_poor_memory("set", NULL);
    check_poor_memory("set/a.tar", NULL);
}

static _Atomic long allocations_left, alive;

static void *alloc_some(void *context, size_t size_bytes)
{
    (void)context;
    if (atomic_fetch_sub(&allocations_left, 1) <= 0) return NULL;
    atomic_fetch_add(&alive, 1);
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void release_some(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    atomic_fetch_sub(&alive, 1);
    free(memory);
}

/* Indexes that several threads build: the first allocations succeed, then none. */
static void memory_runs_out_for_many(void **state)
{
    (void)state;
    enum { SHARDS = 40 };
    const stk_allocator allocator = {.alloc = alloc_some, .release = release_some};
    char name[32];
    for (int i = 0; i < SHARDS; i++) {
        snprintf(name, sizeof name, "%d.jpg", i);
        tarball_text(&ball, name, "x");
        snprintf(name, sizeof name, "x-%02d.tar", i);
        put(name);
    }
    stk__pool_stop();
    bool opened = false;
    for (long n = 0; !opened; n += 1 + n / 8) {
        assert_true(n < 10000);
        for (int i = 0; n % 2 && i < SHARDS; i++) {
            snprintf(name, sizeof name, "x-%02d.tar.index", i);
            remove(tree_path(name));
        }
        atomic_store(&allocations_left, n);
        stk_allocator_set(&allocator);
        stk__source *source = tree_open_as("", NULL, 0);
        opened = source != NULL;
        if (opened) assert_int_equal(source->info.count, SHARDS);
        if (!opened) assert_int_equal(failure.code, STK_ERROR_MEMORY);
        stk__source_close(&source);
        stk__pool_stop();
        stk_allocator_set(NULL);
        assert_int_equal(atomic_load(&alive), 0);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(samples_of_several_shards),  TEST(same_stream_as_the_folder),
        TEST(ranges_of_shards),           TEST(parts),
        TEST(keys_of_several_shards),     TEST(samples_that_lack_something),
        TEST(values_and_counts),          TEST(large_members),
        TEST(shards_that_change),         TEST(other_things_beside),
        TEST(many_shards_with_few_files), TEST(files_of_shards),
        TEST(files_that_others_took),     TEST(runs_are_read_ahead),
        TEST(shards_beyond_8_gib),        TEST(memory_runs_out),
        TEST(memory_runs_out_for_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
