/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of parts: which file belongs to which image and class, what is left out or refused, and the bundle of
 * an image, whose parts are painted by the decoder one over the other. */
#include "decode/decode.h"
#include "image/part_bundle.h"
#include "support/pictures.h"
#include "unit/source/source_tree.h"

#define IMAGES "CelebA-HQ-img/"
#define MASKS  "CelebAMask-HQ-mask-anno/"

enum { W = 5, H = 3 };

/* A mask of W x H (or other): the rows from `row` on have this value. */
static void put_part(const char *name, int row, uint8_t value, int w, int channels)
{
    stk__buffer bytes = {0};
    const stk__pixels mask = pictures_draw(w, H, channels, 0);
    for (int i = 0; i < w * H * channels; i++)
        mask.data[i] = i / (w * channels) >= row ? value : 0;
    pictures_png_plain(&bytes, mask, 0);
    tree_bytes(name, bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
    stk__free(mask.data);
}

/* Reads the mask of a sample and decodes it as a loader does. */
static stk_status load_mask(const stk__source *source, uint64_t id, uint8_t ids[W * H], stk_error *error)
{
    stk__buffer bytes = {0};
    stk__decoder *decoder;
    stk__picture picture = {0};
    const char *extension = NULL;
    memset(error, 0, sizeof *error);
    assert_int_equal(stk__decoder_create(&decoder, NULL, error), STK_OK);
    stk_status status = source->ops->read(source, id, STK_FIELD_MASK, &bytes, &extension, error);
    const stk__encoded encoded = {bytes.data, bytes.size_bytes};
    if (status == STK_OK) status = stk__decode_header(decoder, encoded, extension, &picture, error);
    if (status == STK_OK) {
        assert_false(picture.misnamed);
        assert_int_equal(picture.channels, 1);
        assert_int_equal(picture.w * picture.h, W * H);
        status = stk__decode_mask(decoder, encoded, &picture,
                                  &(stk__mask_options){.orientation = 1, .class_count = 19, .ignore = 255},
                                  stk__pixels_dense(ids, W, H, 1), error);
        assert_int_equal(
            stk__decode_image(decoder, encoded, &picture, stk__pixels_dense(NULL, W, H, 1), NULL),
            STK_ERROR_ARGUMENT);
    }
    stk__decoder_destroy(&decoder);
    stk__buffer_fini(&bytes);
    return status;
}

static void check_rows(const stk__source *source, uint64_t id, const uint8_t rows[H])
{
    uint8_t ids[W * H];
    stk_error error;
    const stk_status status = load_mask(source, id, ids, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
    for (int i = 0; i < W * H; i++)
        assert_int_equal(ids[i], rows[i / W]);
}

static void check_damage(const stk__source *source, uint64_t id, stk_damage damage, const char *place)
{
    uint8_t ids[W * H];
    stk_error error;
    assert_int_equal(load_mask(source, id, ids, &error), STK_ERROR_SAMPLE);
    if (!strstr(error.place, place)) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(error.damage, damage);
    assert_non_null(strstr(error.place, place));
}

static void check_where(const stk__source *source, uint64_t id, stk__field field, const char *expected)
{
    char path[PATH_MAX];
    source->ops->where(source, id, field, path, sizeof path);
    assert_string_equal(path, tree_path(expected));
}

static void parts_are_painted_in_the_order_of_classes(void **state)
{
    (void)state;
    tree_file(IMAGES "0.jpg", "image");
    tree_file(IMAGES "12.jpg", "");
    tree_file(IMAGES "2000.jpg", "");
    put_part(MASKS "0/00000_skin.png", 0, 255, W, 3);
    put_part(MASKS "0/00000_cloth.png", 2, 255, W, 3);
    put_part(MASKS "0/00000_hair.png", 1, 255, W, 1);
    put_part(MASKS "1/02000_l_lip.png", 1, 1, W, 1); /* 0 and 1 will do, too */
    put_part(MASKS "0/00007_skin.png", 0, 255, W, 1);
    tree_file(MASKS "0/notes.txt", "");
    stk__source *source = tree_open();
    const stk__source_info *info = &source->info;
    assert_string_equal(info->layout, "images and masks of parts");
    assert_int_equal(info->count, 3);
    assert_int_equal(info->unmasked, 1);
    assert_int_equal(info->class_count, 19);
    assert_string_equal(info->class_names[13], "hair");
    assert_int_equal(info->left_out_count, 2);
    assert_string_equal(info->left_out[0].what, "txt files: not images");
    assert_string_equal(info->left_out[1].what, "masks without an image");
    assert_string_equal(info->left_out[1].example, "0/00007_skin.png");
    check_key(source, 1, "12");
    check_read(source, 0, STK_FIELD_IMAGE, "image", "jpg");
    check_rows(source, 0, (const uint8_t[]){1, 13, 18});
    check_rows(source, 2, (const uint8_t[]){0, 12, 12});
    check_damage(source, 1, STK_DAMAGE_MASK_MISSING, MASKS "0/00012_*.png");
    check_where(source, 0, STK_FIELD_IMAGE, IMAGES "0.jpg");
    check_where(source, 0, STK_FIELD_MASK, MASKS "0/00000_*.png");
    stk__source_close(&source);
}

static void names_other_than_numbers(void **state)
{
    (void)state;
    tree_file(IMAGES "00003.jpg", "");
    tree_file(IMAGES "a_b.jpg", "");
    tree_file(IMAGES "no_mask.jpg", "");
    put_part(MASKS "00003_neck_l.png", 2, 255, W, 1);
    put_part(MASKS "more/a_b_r_ear.png", 1, 255, W, 1);
    stk__source *source = tree_open();
    check_rows(source, 0, (const uint8_t[]){0, 0, 16});
    check_rows(source, 1, (const uint8_t[]){0, 9, 9});
    check_damage(source, 2, STK_DAMAGE_MASK_MISSING, MASKS "no_mask_*.png");
    stk__source_close(&source);
}

static void classes_in_another_order(void **state)
{
    (void)state;
    tree_file(IMAGES "0.jpg", "");
    put_part(MASKS "0/00000_skin.png", 0, 255, W, 1);
    put_part(MASKS "0/00000_hair.png", 1, 255, W, 1);
    tree_file("classes.txt",
              "none\nhair\nskin\nnose\neye_g\nl_eye\nr_eye\nl_brow\nr_brow\nl_ear\nr_ear\nmouth\n"
              "u_lip\nl_lip\nhat\near_r\nneck_l\nneck\ncloth\n");
    stk__source *source = tree_open();
    assert_string_equal(source->info.class_names[0], "none");
    check_rows(source, 0, (const uint8_t[]){2, 2, 2}); /* skin is painted over hair */
    stk__source_close(&source);
    tree_file("classes.txt", "skin\nhair\n");
    tree_refused("", STK_ERROR_DATA, "classes.txt has 2 names", "classes.txt");
    tree_file("classes.txt",
              "skin\nnone\nhair\nnose\neye_g\nl_eye\nr_eye\nl_brow\nr_brow\nl_ear\nr_ear\nmouth\n"
              "u_lip\nl_lip\nhat\near_r\nneck_l\nneck\ncloth\n");
    tree_refused("", STK_ERROR_DATA, "class 0 of classes.txt is 'skin'", "classes.txt");
}

/* Each damage names the file that has it. */
static void damaged_parts(void **state)
{
    (void)state;
    enum { EMPTY, LEVEL, LARGE, TEXT, BLURRED, GONE, KINDS };
    char name[128];
    for (int i = 0; i < KINDS; i++) {
        snprintf(name, sizeof name, IMAGES "%d.jpg", i);
        tree_file(name, "");
        snprintf(name, sizeof name, MASKS "0/%05d_skin.png", i);
        put_part(name, 0, 255, W, 1);
        snprintf(name, sizeof name, MASKS "0/%05d_hair.png", i);
        if (i == EMPTY) tree_file(name, "");
        if (i == LEVEL) put_part(name, 1, 128, W, 3);
        if (i == LARGE) put_part(name, 1, 255, W + 1, 1);
        if (i == TEXT || i == GONE) tree_file(name, "no image");
        if (i != BLURRED) continue;
        stk__buffer bytes = {0};
        stk__pixels pixels = pictures_draw(W, H, 1, 1);
        pictures_jpeg(&bytes, pixels, &(pictures_jpeg_options){.space = PICTURES_GREY});
        tree_bytes(name, bytes.data, bytes.size_bytes);
        stk__free(pixels.data);
        stk__buffer_fini(&bytes);
    }
    stk__source *source = tree_open();
    assert_int_equal(unlink(tree_path(MASKS "0/00005_hair.png")), 0);
    static const stk_damage damages[] = {STK_DAMAGE_EMPTY,       STK_DAMAGE_MASK_IDS,
                                         STK_DAMAGE_MASK_SIZE,   STK_DAMAGE_NOT_AN_IMAGE,
                                         STK_DAMAGE_MASK_FORMAT, STK_DAMAGE_MISSING};
    for (uint64_t i = 0; i < KINDS; i++) {
        snprintf(name, sizeof name, MASKS "0/%05d_hair.png", (int)i);
        check_damage(source, i, damages[i], name);
    }
    stk__source_close(&source);
}

static void what_is_refused(void **state)
{
    (void)state;
    tree_file("name/" IMAGES "0.jpg", "");
    tree_file("name/" MASKS "0/00000_beard.png", "");
    tree_refused("name", STK_ERROR_DATA, "'beard' is not the name of a part", "0/00000_beard.png");
    tree_file("plain/" IMAGES "0.jpg", "");
    tree_file("plain/" MASKS "0/skin.png", "");
    tree_refused("plain", STK_ERROR_DATA, "'skin' is not the name of a part", "0/skin.png");
    tree_file("strange/" IMAGES "0.jpg", "");
    tree_file("strange/" MASKS "0/00001_skin.png", "");
    tree_refused("strange", STK_ERROR_DATA, "no mask belongs to an image", "0/00001_skin.png");
    tree_file("two/" IMAGES "0.jpg", "");
    tree_file("two/" MASKS "0/00000_skin.png", "");
    tree_file("two/" MASKS "1/00000_hair.png", "");
    tree_refused("two", STK_ERROR_DATA, "lie in two places", "1/00000_hair.png");
    tree_file("kinds/" IMAGES "0.jpg", "");
    tree_file("kinds/" MASKS "0/00000_hair.npy", "");
    tree_file("kinds/" MASKS "0/00000_skin.png", "");
    tree_refused("kinds", STK_ERROR_DATA, "lie in two places", "0/00000_skin.png");
    tree_file("twice/" IMAGES "0.jpg", "");
    tree_file("twice/" MASKS "0/00000_skin.npy", "");
    tree_file("twice/" MASKS "0/00000_skin.png", "");
    tree_refused("twice", STK_ERROR_DATA, "only their extensions differ", "0/00000_skin.png");
    tree_file("none/" IMAGES "0.jpg", "");
    tree_folder("none/" MASKS "0");
    tree_refused("none", STK_ERROR_DATA, "found no images", "CelebAMask-HQ-mask-anno");
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_file("parts/" IMAGES "0.jpg", "");
    tree_file("parts/" IMAGES "1.jpg", "");
    tree_file("parts/" MASKS "0/00000_skin.png", "");
    tree_file("parts/" MASKS "0/00001_skin.png", "");
    tree_file("parts/" MASKS "0/00002_skin.png", "");
    check_poor_memory("parts", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_are_painted_in_the_order_of_classes),
        TEST(names_other_than_numbers),
        TEST(classes_in_another_order),
        TEST(damaged_parts),
        TEST(what_is_refused),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
