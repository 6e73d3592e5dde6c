/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of shards: the same stream as the folder they were made of, ranges, keys in several shards,
 * missing fields, and failing allocations on many threads. */
#include "shards_tree.h"

#include "core/pool.h"
#include "source/shards/shard.h"

#include <stdatomic.h>

/* A folder whose own path fits, but not those of its files. */
static void paths_that_are_too_long(void **state)
{
    (void)state;
    char here[PATH_MAX], name[256], root[PATH_MAX];
    memset(name, 'n', sizeof name);
    name[250] = '\0';
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(tree), 0);
    size_t length = (size_t)snprintf(root, sizeof root, "%s", tree);
    while (length + 251 < PATH_MAX - 1) {
        assert_int_equal(mkdir(name, 0755), 0);
        assert_int_equal(chdir(name), 0);
        length += (size_t)snprintf(root + length, sizeof root - length, "/%s", name);
    }
    memcpy(name + 240, ".tar", 5);
    tarball_text(&ball, "1.jpg", "x");
    tarball_write(&ball, name);
    stk_error error = {0};
    stk__source *source = NULL;
    const stk__source_options options = {.root = root};
    assert_int_equal(stk__source_open(&source, &options, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "is too long"));
    assert_int_equal(unlink(name), 0);
    assert_int_equal(chdir(here), 0);
    tarball_clear(&ball);
}

static void roots_that_vanish(void **state)
{
    (void)state;
    const stk__source_options options = {.root = tree};
    stk__site site = {.options = &options};
    stk_error error = {0};
    stk__source *source = NULL;
    snprintf(site.root, sizeof site.root, "%s", tree_path("none"));
    assert_int_equal(stk__shards_open(&source, &site, &error), STK_ERROR_IO);
    assert_null(source);
    assert_string_equal(error.place, site.root);
    assert_false(stk__shards_fit(site.root));
}

static void indexes_that_cannot_be_kept(void **state)
{
    (void)state;
    char *before = getenv("STOKER_CACHE_DIR");
    before = before ? strdup(before) : NULL;
    put_one("x.tar", "1.jpg", "x");
    tree_folder("x.tar.index");
    tree_file("cache", "a file, so no folder");
    setenv("STOKER_CACHE_DIR", tree_path("cache"), 1);
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 1);
    assert_non_null(strstr(logged, "indexes of 1 shard in"));
    stk__source_close(&source);
    if (before) setenv("STOKER_CACHE_DIR", before, 1);
    if (!before) unsetenv("STOKER_CACHE_DIR");
    free(before);
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
                  {"d0/x-{0..1000000}.tar", 0, "x-{0..1000000}.tar"}};
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
    assert_non_null(strstr(logged, "duplicate sample '1' in 'a.tar' and 'b.tar'"));
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
    stk__sample_facts facts;
    assert_int_equal(source->ops->facts(source, 1, &facts, NULL), STK_OK);
    assert_true(facts.label == 0 && facts.points[0] == 5 && facts.points[3] == 7);
    check_facts_damage(source, 2, STK_DAMAGE_BAD_FIELD, "cls is 9, but classes.txt has 2", "b.tar!2.jpg@");
    check_facts_damage(source, 3, STK_DAMAGE_BAD_FIELD, "the field 'cls' is missing", "b.tar!3.jpg@");
    check_facts_damage(source, 4, STK_DAMAGE_BAD_FIELD, "not the 2 points", "b.tar!4.jpg@");
    check_facts_damage(source, 5, STK_DAMAGE_BAD_FIELD, "not the 2 points", "b.tar!5.jpg@");
    assert_int_equal(source->ops->facts(source, 6, &facts, NULL), STK_OK);
    check_read(source, 6, STK_FIELD_IMAGE, "x", "jpg");
    check_read_damage(source, 6, STK_FIELD_MASK, STK_DAMAGE_MASK_MISSING, "b.tar!6.jpg@");
    check_facts_damage(source, 7, STK_DAMAGE_BAD_FIELD, "the field 'cls' is missing", "c.tar!7.jpg@0");
    stk__source_close(&source);
}

static void points_have_names(void **state)
{
    (void)state;
    tarball_text(&ball, "0.jpg", "x");
    tarball_text(&ball, "0.points.json", "[[1,2],[3,4]]");
    put("a.tar");
    static const char *const good[] = {"left_eye\nright_eye\n", "left_eye\r\nright_eye"};
    stk__source *source = tree_open();
    assert_null(source->info.point_names);
    stk__source_close(&source);
    for (int i = 0; i < 2; i++) {
        tree_file("points.txt", good[i]);
        source = tree_open();
        assert_string_equal(source->info.point_names[0], "left_eye");
        assert_string_equal(source->info.point_names[1], "right_eye");
        stk__source_close(&source);
    }
    tree_file("points.txt", "left_eye\n");
    tree_refused("", STK_ERROR_DATA, "'points.txt' has 1 name, but samples have 2 points", "points.txt");
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

static void other_things_beside(void **state)
{
    (void)state;
    put_one("a.tar", "1.jpg", "x");
    assert_int_equal(mkfifo(tree_path("b.tar"), 0600), 0); /* called so, but it has no places */
    tree_refused("", STK_ERROR_IO, "is not a regular file", "b.tar");
    assert_int_equal(remove(tree_path("b.tar")), 0);
    tree_folder("b.tar"); /* a class may be called so */
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 1);
    stk__source_close(&source);
    tree_file("class/2.jpg", "x");
    source = tree_open();
    assert_string_equal(source->info.layout, "folder of classes");
    assert_non_null(strstr(logged, "are ignored: the folder also has images"));
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
    tree_refused("empty/x.tar", STK_ERROR_DATA, "have no samples", "empty/x.tar");
    tree_file("text.tgz", "");
    tree_refused("text.tgz", STK_ERROR_DATA, "is a compressed archive, which cannot be read", "text.tgz");
    tree_file("zero/x.tar", "");
    source = open_as("zero");
    check_read_damage(source, 0, STK_FIELD_IMAGE, STK_DAMAGE_EMPTY, "zero/x.tar@0");
    check_key(source, 0, "x.tar@0");
    stk__source_close(&source);
    put_one("bad/x.tar", "1.jpg", "x");
    tree_file("bad/classes.txt", "");
    tree_refused("bad", STK_ERROR_DATA, "no names", "classes.txt");
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
        TEST(samples_of_several_shards),
        TEST(same_stream_as_the_folder),
        TEST(points_have_names),
        TEST(ranges_of_shards),
        TEST(parts),
        TEST(keys_of_several_shards),
        TEST(samples_that_lack_something),
        TEST(values_and_counts),
        TEST(large_members),
        TEST(other_things_beside),
        TEST(paths_that_are_too_long),
        TEST(roots_that_vanish),
        TEST(indexes_that_cannot_be_kept),
        TEST(memory_runs_out),
        TEST(memory_runs_out_for_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
