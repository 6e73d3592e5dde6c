/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that cannot be packed, and memory that runs out. */
#include "support/fail_alloc.h"
#include "packer_rig.h"

/* --- bad samples --------------------------------------------------------------------------------------- */

static void bad_images(void **state)
{
    (void)state;
    stk__buffer bytes;
    put_jpeg("a.jpg", 40, 30, &(pictures_jpeg_options){0});
    bytes = load("a.jpg");
    tree_bytes("b.jpg", bytes.data, bytes.size_bytes / 2);
    tree_bytes("c.png", bytes.data, bytes.size_bytes);
    stk__buffer_fini(&bytes);
    tree_file("d.jpg", "");
    tree_link("nowhere.jpg", "e.jpg");
    put_jpeg("f.jpg", 40, 30, &(pictures_jpeg_options){.arithmetic = true});
    bytes = load("f.jpg");
    tree_bytes("g.jpg", bytes.data, bytes.size_bytes / 2); /* arithmetic and cut off */
    stk__buffer_fini(&bytes);
    tree_file("h.png", "no picture");
    put_png("\xFF.png", 8, 8, &(pictures_png_options){.colour = 2});
    open_packer();
    check_bad(1, STK_DAMAGE_TRUNCATED, "Premature end", "b.jpg");
    pack(2); /* misnamed only */
    check_bad(3, STK_DAMAGE_EMPTY, "is empty", "d.jpg");
    check_bad(4, STK_DAMAGE_DANGLING_LINK, "cannot open", "e.jpg");
    pack(5);
    check_bad(6, STK_DAMAGE_TRUNCATED, "Premature end", "g.jpg");
    check_bad(7, STK_DAMAGE_NOT_AN_IMAGE, "not a JPEG", "h.png");
    check_bad(8, STK_DAMAGE_BAD_NAME, "not UTF-8", ".png");
    pack(0); /* still good */
    close_packer();
}

static void bad_masks(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    char path[64];
    stk__buffer bytes = {0};
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "images/%s.jpg", names[i]);
        put_jpeg(path, 16, 8, &(pictures_jpeg_options){0});
    }
    uint16_t rgb[16 * 8 * 3] = {1, 2, 3};
    pictures_png(&bytes, rgb, 16, 8, &(pictures_png_options){.colour = 2});
    put("masks/a.png", &bytes);
    put_jpeg("masks/b.jpg", 16, 8, &(pictures_jpeg_options){0});
    uint16_t wide[16 * 8] = {300};
    pictures_png(&bytes, wide, 16, 8, &(pictures_png_options){.depth = 16});
    put("masks/c.png", &bytes);
    put_png("masks/d.png", 8, 8, &(pictures_png_options){0});
    open_packer();
    check_bad(0, STK_DAMAGE_MASK_FORMAT, "RGB image with color #010203", "masks/a.png");
    check_bad(1, STK_DAMAGE_MASK_FORMAT, "JPEG", "masks/b.jpg");
    check_bad(2, STK_DAMAGE_MASK_IDS, "300", "masks/c.png");
    check_bad(3, STK_DAMAGE_MASK_SIZE, "8x8", "masks/d.png");
    check_bad(4, STK_DAMAGE_MASK_MISSING, "no mask", "masks/e.png");
    close_packer();
}

static void bad_rows(void **state)
{
    (void)state;
    put_png("a.png", 9, 9, &(pictures_png_options){.colour = 2});
    tree_file("labels.csv", "file,value\na.png,1\nb.png,none\n");
    open_packer();
    pack(0);
    check_bad(1, STK_DAMAGE_BAD_ROW, "not a finite number", "labels.csv:3");
    close_packer();
}

/* Who reads the shard takes no longer texts. */
static void more_points_than_a_field_may_have(void **state)
{
    (void)state;
    enum { COUNT = 8000 };
    char text[COUNT * 6 + 64] = "{\"file\": \"a.png\", \"points\": [[0,1]";
    put_png("a.png", 9, 9, &(pictures_png_options){.colour = 2});
    size_t used = strlen(text);
    for (int i = 1; i < COUNT; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",[0,1]");
    snprintf(text + used, sizeof text - used, "]}\n");
    tree_file("labels.jsonl", text);
    open_packer();
    check_bad(0, STK_DAMAGE_BAD_FIELD, "8000 points are 88000 bytes of text, the maximum is 65536", "a.png");
    close_packer();
}

/* Dots cost three bytes in a shard: a key that a folder can have may be too long for a member. */
static void names_that_are_too_long(void **state)
{
    (void)state;
    char name[PATH_MAX] = "", part[256];
    memset(part, '.', 200);
    part[0] = 'a';
    snprintf(part + 200, 2, "/");
    for (int i = 0; i < 7; i++)
        strcat(name, part);
    tree_folder(name);
    strcat(name, "x.png");
    put_png(name, 9, 9, &(pictures_png_options){.colour = 2});
    tree_folder("b"); /* one folder in a folder alone would not be a class */
    put_png("b/y.png", 9, 9, &(pictures_png_options){.colour = 2});
    open_packer();
    check_bad(0, STK_DAMAGE_BAD_NAME, "too long", "x.png");
    close_packer();
}

/* --- memory -------------------------------------------------------------------------------------------- */

static stk_status pack_once(void *context, stk_error *error)
{
    (void)context;
    stk__packer own = {0};
    stk__packed out = {0};
    stk_status status = stk__packer_init(&own, source, &stk__limits_default, error);
    for (uint64_t id = 0; status == STK_OK && id < source->info.count; id++)
        status = stk__packer_pack(&own, id, &out, error);
    stk__buffer_fini(&out.tar);
    stk__packer_fini(&own);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    put_jpeg("images/a.jpg", 60, 40, &(pictures_jpeg_options){.progressive = true, .orientation = 8});
    put_jpeg("images/b.jpg", 60, 40, &(pictures_jpeg_options){.arithmetic = true});
    put_png("images/c.png", 60, 40, &(pictures_png_options){.colour = 2});
    put_png("masks/a.png", 60, 40, &(pictures_png_options){0});
    put_png("masks/b.png", 60, 40, &(pictures_png_options){0});
    put_png("masks/c.png", 60, 40, &(pictures_png_options){0});
    open_packer();
    assert_true(fail_alloc_each(pack_once, NULL) > 12);
    close_packer();
}

static void memory_runs_out_for_texts(void **state)
{
    (void)state;
    put_png("a.png", 9, 9, &(pictures_png_options){.colour = 2});
    tree_file("labels.csv", "file,value,a_x,a_y\na.png,0.1,1.5,2\n");
    open_packer();
    assert_true(fail_alloc_each(pack_once, NULL) > 10);
    close_packer();
}

/* Nothing is allocated per sample once all have been seen. */
static void nothing_is_allocated_after_warm_up(void **state)
{
    (void)state;
    put_jpeg("images/a.jpg", 60, 40, &(pictures_jpeg_options){.progressive = true});
    put_jpeg("images/b.jpg", 64, 48, &(pictures_jpeg_options){0});
    put_png("masks/a.png", 60, 40, &(pictures_png_options){0});
    put_png("masks/b.png", 64, 48, &(pictures_png_options){0});
    open_packer();
    fail_alloc none = {.left = -1};
    for (int round = 0; round < 2; round++)
        for (uint64_t id = 0; id < 2; id++)
            pack(id);
    none.left = 0;
    fail_alloc_set(&none);
    stk_status status = stk__packer_pack(&packer, 0, &packed, NULL);
    if (status == STK_OK) status = stk__packer_pack(&packer, 1, &packed, NULL);
    fail_alloc_set(NULL);
    assert_int_equal(status, STK_OK);
    close_packer();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_images),
        TEST(bad_masks),
        TEST(bad_rows),
        TEST(more_points_than_a_field_may_have),
        TEST(names_that_are_too_long),
        TEST(memory_runs_out),
        TEST(memory_runs_out_for_texts),
        TEST(nothing_is_allocated_after_warm_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
