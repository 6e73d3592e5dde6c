/* SPDX-License-Identifier: Apache-2.0 */
/* One sample at a time: what its members hold. */
#include "source/shards/shard_facts.h"
#include "packer_rig.h"

/* --- fields -------------------------------------------------------------------------------------------- */

static void a_folder_of_classes(void **state)
{
    (void)state;
    put_jpeg("cat/b.x%1.jpg", 24, 16, &(pictures_jpeg_options){0});
    put_png("dog/a.png", 24, 16, &(pictures_png_options){.colour = 2});
    open_packer();
    pack(0);
    assert_string_equal(describe(), "cat/b%2Ex%251.jpg cat/b%2Ex%251.cls=0");
    assert_false(packed.kept);
    pack(1);
    assert_string_equal(describe(), "dog/a.png dog/a.cls=1");
    close_packer();
}

static void a_list_with_values_and_points(void **state)
{
    (void)state;
    put_png("a.png", 9, 9, &(pictures_png_options){.colour = 2});
    put_png("b.png", 9, 9, &(pictures_png_options){.colour = 2});
    tree_file("labels.csv", "file,value,a_x,a_y,b_x,b_y\na.png,0.1,1.5,2,3,4\nb.png,-12,,,1e-3,0.1\n");
    open_packer();
    pack(0);
    assert_string_equal(describe(), "a.png a.value=0.1 a.points.json=[[1.5, 2, 1], [3, 4, 1]]");
    pack(1);
    assert_string_equal(describe(), "b.png b.value=-12 b.points.json=[[0, 0, 0], [0.001, 0.1, 1]]");
    close_packer();
}

/* Bit for bit, though they are written short. */
static void points_come_back_as_they_were(void **state)
{
    (void)state;
    put_png("a.png", 9, 9, &(pictures_png_options){.colour = 2});
    tree_file("labels.csv",
              "file,a_x,a_y,b_x,b_y,c_x,c_y,d_x,d_y\n"
              "a.png,0.3333333333,-0,16777217,3.4028234e38,1.5e-45,-1.17549435e-38,1e10,5.0000005\n");
    open_packer();
    pack(0);
    stk__sample_facts facts;
    stk__shard_fault fault = {0};
    stk__buffer member = {0}, points = {0};
    char name[NAME_BYTES];
    assert_true(find_member(1, name, &member));
    assert_int_equal(
        stk__shard_read_points((const char *)member.data, member.size_bytes, &points, &fault, NULL), STK_OK);
    assert_int_equal(fault.damage, STK_DAMAGE_NONE);
    assert_int_equal(source->ops->facts(source, 0, &facts, NULL), STK_OK);
    assert_int_equal(points.size_bytes, 4 * 3 * sizeof(float));
    assert_memory_equal(points.data, facts.points, points.size_bytes);
    stk__buffer_fini(&member);
    stk__buffer_fini(&points);
    close_packer();
}

static void images_that_are_copied(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, member = {0};
    static const uint8_t values[6 * 4] = {1, 2, 3};
    char name[NAME_BYTES];
    pictures_npy(&bytes, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 6), }\n", values,
                 sizeof values);
    put("a.npy", &bytes);
    put_png("b.png", 11, 7, &(pictures_png_options){.colour = 6, .interlaced = true, .extra = true});
    put_png("c.png", 11, 7, &(pictures_png_options){.colour = 2, .depth = 16});
    open_packer();
    static const char *const names[] = {"a.npy", "b.png", "c.png"};
    for (uint64_t id = 0; id < 3; id++) {
        pack(id);
        assert_true(find_member(0, name, &member));
        assert_string_equal(name, names[id]);
        bytes = load(name);
        assert_int_equal(member.size_bytes, bytes.size_bytes);
        assert_memory_equal(member.data, bytes.data, bytes.size_bytes);
        assert_int_equal(packed.source_bytes, bytes.size_bytes);
        assert_false(find_member(1, name, &member));
        stk__buffer_fini(&bytes);
    }
    stk__buffer_fini(&member);
    close_packer();
}

/* --- masks --------------------------------------------------------------------------------------------- */

static stk__pixels decode_ids(stk__encoded bytes, stk__picture *picture)
{
    const stk__mask_options options = {.orientation = 1};
    assert_int_equal(stk__decode_header(packer.decoder, bytes, NULL, picture, NULL), STK_OK);
    stk__pixels ids = make_target(picture->w, picture->h, 1);
    assert_int_equal(stk__decode_mask(packer.decoder, bytes, picture, &options, ids, NULL), STK_OK);
    return ids;
}

/* The mask of sample id in the shard has the ids of the file; returns its chunks, without the palette's
 * place. */
static stk__png check_mask(uint64_t id, const char *file)
{
    stk__buffer member = {0};
    char name[NAME_BYTES];
    stk__picture a, b;
    stk__png png;
    pack(id);
    assert_true(find_member(1, name, &member));
    assert_non_null(strstr(name, ".mask.png"));
    stk__buffer original = load(file);
    stk__pixels before = decode_ids(as_encoded(&original), &a), after = decode_ids(as_encoded(&member), &b);
    assert_int_equal(a.w, b.w);
    assert_int_equal(a.h, b.h);
    assert_memory_equal(before.data, after.data, size_of(before));
    assert_int_equal(stk__png_read_chunks(as_encoded(&member), &png, NULL), STK_OK);
    assert_true(stk__png_is_simple(&png));
    png.palette = NULL;
    stk__free(before.data);
    stk__free(after.data);
    stk__buffer_fini(&original);
    stk__buffer_fini(&member);
    return png;
}

static void masks_of_every_kind(void **state)
{
    (void)state;
    static const uint8_t colours[8][3] = {{9, 9, 9}, {1, 2, 3}, {200, 0, 0}};
    static const pictures_png_options kinds[] = {
        {.colour = 0},
        {.colour = 0, .depth = 1},
        {.colour = 0, .depth = 2},
        {.colour = 0, .depth = 4},
        {.colour = 0, .depth = 16},
        {.colour = 0, .filter = PICTURES_FILTER_MIX, .idat_bytes = 7},
        {.colour = 0, .interlaced = true},
        {.colour = 4},
        {.colour = 4, .depth = 16, .interlaced = true},
        {.colour = 3, .palette = colours[0], .palette_count = 8},
        {.colour = 3, .depth = 4, .palette = colours[0], .palette_count = 8},
        {.colour = 3,
         .depth = 4,
         .palette = colours[0],
         .palette_count = 8,
         .interlaced = true,
         .extra = true},
    };
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    char image[KINDS][32], mask[KINDS][32];
    for (int i = 0; i < KINDS; i++) {
        snprintf(image[i], sizeof image[i], "images/%02d.jpg", i);
        snprintf(mask[i], sizeof mask[i], "masks/%02d.png", i);
        put_jpeg(image[i], 23, 17, &(pictures_jpeg_options){0});
        put_png(mask[i], 23, 17, &kinds[i]);
    }
    open_packer();
    for (int i = 0; i < KINDS; i++) {
        const stk__png png = check_mask((uint64_t)i, mask[i]);
        assert_int_equal(png.colour, kinds[i].colour == 3 ? STK_PNG_PALETTE : STK_PNG_GREY);
        if (kinds[i].colour == 3) assert_int_equal(png.palette_count, 8);
    }
    close_packer();
}

static void masks_of_arrays(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    static const uint8_t ids[6 * 4] = {1, 2, 3, 255};
    pictures_npy(&bytes, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 6), }\n", ids, sizeof ids);
    put("masks/a.npy", &bytes);
    put_jpeg("images/a.jpg", 6, 4, &(pictures_jpeg_options){0});
    open_packer();
    assert_int_equal(check_mask(0, "masks/a.npy").colour, STK_PNG_GREY);
    close_packer();
}

/* A mask drawn over the image as stored, or over the upright one. */
static void masks_of_turned_images(void **state)
{
    (void)state;
    put_jpeg("images/a.jpg", 24, 16, &(pictures_jpeg_options){.orientation = 6});
    put_jpeg("images/b.jpg", 24, 16, &(pictures_jpeg_options){.orientation = 6});
    put_jpeg("images/c.jpg", 24, 16, &(pictures_jpeg_options){.orientation = 3});
    put_png("masks/a.png", 24, 16, &(pictures_png_options){0});
    put_png("masks/b.png", 16, 24, &(pictures_png_options){0});
    put_png("masks/c.png", 16, 24, &(pictures_png_options){0});
    open_packer();
    check_mask(0, "masks/a.png");
    check_mask(1, "masks/b.png");
    check_bad(2, STK_DAMAGE_MASK_SIZE, "the mask is 16x24, its image 24x16", "masks/c.png");
    close_packer();
}

/* Of the same aspect, smaller and larger: stored in their own size. */
static void masks_of_other_sizes(void **state)
{
    (void)state;
    put_jpeg("images/a.jpg", 24, 16, &(pictures_jpeg_options){0});
    put_jpeg("images/b.jpg", 24, 16, &(pictures_jpeg_options){0});
    put_jpeg("images/c.jpg", 24, 16, &(pictures_jpeg_options){.orientation = 6});
    put_jpeg("images/d.jpg", 24, 16, &(pictures_jpeg_options){0});
    put_png("masks/a.png", 12, 8, &(pictures_png_options){0});
    put_png("masks/b.png", 48, 32, &(pictures_png_options){0});
    put_png("masks/c.png", 8, 12, &(pictures_png_options){0});
    put_png("masks/d.png", 12, 12, &(pictures_png_options){0});
    open_packer();
    check_mask(0, "masks/a.png");
    check_mask(1, "masks/b.png");
    check_mask(2, "masks/c.png");
    check_bad(3, STK_DAMAGE_MASK_SIZE, "the mask is 12x12, its image 24x16: another aspect", "masks/d.png");
    close_packer();
}

/* --- JPEGs --------------------------------------------------------------------------------------------- */

/* Cuts a progressive JPEG off behind its first scan: libjpeg then guesses the rest smoothly. */
static void put_first_scan(const char *name)
{
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(96, 96, 3, 5);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.progressive = true});
    stk__free(drawn.data);
    size_t at = 0;
    while (memcmp(bytes.data + at, "\xFF\xDA", 2) != 0)
        at++;
    while (memcmp(bytes.data + at, "\xFF\xC4", 2) != 0)
        at++;
    memcpy(bytes.data + at, "\xFF\xD9", 2);
    bytes.size_bytes = at + 2;
    put(name, &bytes);
}

static void jpegs_that_stay_as_they_were(void **state)
{
    (void)state;
    put_first_scan("a.jpg");
    put_jpeg("b.jpg", 64, 64, &(pictures_jpeg_options){.luma = {4, 4}, .scan_repeats = 1});
    put_jpeg("c.jpg", 64, 64, &(pictures_jpeg_options){0});
    open_packer();
    check_bad(0, STK_DAMAGE_TRUNCATED, "lacks its last scans", "a.jpg");
    char name[NAME_BYTES];
    stk__buffer member = {0}, bytes = load("b.jpg");
    pack(1);
    assert_true(packed.kept);
    assert_true(find_member(0, name, &member));
    assert_string_equal(name, "b.jpg");
    assert_int_equal(member.size_bytes, bytes.size_bytes);
    assert_memory_equal(member.data, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&member);
    stk__buffer_fini(&bytes);
    pack(2);
    assert_false(packed.kept);
    close_packer();
}

/* In a shard they have the extension of what they are, and no bytes too many. */
static void misnamed_and_odd_files(void **state)
{
    (void)state;
    static const char *const expected[] = {"a.jpg", "b.png", "c.jpg"};
    put_jpeg("a.png", 40, 30, &(pictures_jpeg_options){0});
    put_png("b.jpg", 40, 30, &(pictures_png_options){.colour = 2});
    stk__buffer bytes = load("a.png"), odd = {0};
    assert_int_equal(stk__buffer_append(&odd, bytes.data, bytes.size_bytes - 2, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&odd, "twenty bytes too many\xFF\xD9", 23, NULL), STK_OK);
    tree_bytes("c.jpg", odd.data, odd.size_bytes);
    open_packer();
    for (uint64_t id = 0; id < 3; id++) {
        char name[NAME_BYTES];
        stk__buffer member = {0};
        stk__picture picture;
        pack(id);
        assert_false(packed.kept);
        assert_true(find_member(0, name, &member));
        assert_string_equal(name, expected[id]);
        assert_int_equal(
            stk__decode_header(packer.decoder, as_encoded(&member), strrchr(name, '.') + 1, &picture, NULL),
            STK_OK);
        assert_false(picture.misnamed);
        stk__buffer_fini(&member);
    }
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&odd);
    close_packer();
}

/* Baseline decodes faster. */
static void arithmetic_jpegs_are_rewritten(void **state)
{
    (void)state;
    stk__buffer member = {0};
    char name[NAME_BYTES];
    stk__picture picture;
    put_jpeg("a.jpg", 40, 30, &(pictures_jpeg_options){.arithmetic = true, .orientation = 5});
    open_packer();
    pack(0);
    assert_false(packed.kept);
    assert_true(find_member(0, name, &member));
    assert_int_equal(stk__decode_header(packer.decoder, as_encoded(&member), "jpg", &picture, NULL), STK_OK);
    assert_int_equal(picture.orientation, 5);
    stk__buffer_fini(&member);
    close_packer();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_of_classes),           TEST(a_list_with_values_and_points),
        TEST(points_come_back_as_they_were), TEST(images_that_are_copied),
        TEST(masks_of_every_kind),           TEST(masks_of_arrays),
        TEST(masks_of_turned_images),        TEST(masks_of_other_sizes),
        TEST(jpegs_that_stay_as_they_were),  TEST(arithmetic_jpegs_are_rewritten),
        TEST(misnamed_and_odd_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
