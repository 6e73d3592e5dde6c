/* SPDX-License-Identifier: Apache-2.0 */
/* How folders are read: names, the table of folders by part and kind, rules from images to masks, and lists
 * of parts. Data sets as a whole are in tests/layouts. */
#include "source_tree.h"

#include "source/extension.h"
#include "source/folder_look.h"
#include "source/pair_rules.h"

static void names_of_folders(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        stk__folder_kind kind;
        uint32_t part;
        bool weak;
    } rows[] = {
        {"images", STK_FOLDER_IMAGES, 0, false},
        {"JPEGImages", STK_FOLDER_IMAGES, 0, false},
        {"CelebA-HQ-img", STK_FOLDER_IMAGES, 0, false},
        {"Ground Truth", STK_FOLDER_MASKS, 0, false},
        {"gt", STK_FOLDER_MASKS, 0, true},
        {"train", STK_FOLDER_PLAIN, STK_SOURCE_TRAIN, false},
        {"Training", STK_FOLDER_PLAIN, STK_SOURCE_TRAIN, false},
        {"valid", STK_FOLDER_PLAIN, STK_SOURCE_VAL, false},
        {"validation_set", STK_FOLDER_PLAIN, STK_SOURCE_VAL, false},
        {"val2017", STK_FOLDER_PLAIN, STK_SOURCE_VAL, false},
        {"stage1_train", STK_FOLDER_PLAIN, STK_SOURCE_TRAIN, false},
        {"stage1", STK_FOLDER_PLAIN, 0, false},
        {"testannot", STK_FOLDER_MASKS, STK_SOURCE_TEST, false},
        {"train_masks", STK_FOLDER_MASKS, STK_SOURCE_TRAIN, false},
        {"masks-val", STK_FOLDER_MASKS, STK_SOURCE_VAL, false},
        {"labelsTr", STK_FOLDER_MASKS, STK_SOURCE_TRAIN, false},
        {"CelebAMask-HQ-mask-anno", STK_FOLDER_PART_MASKS, 0, false},
        {"CelebAMaskHQ-mask", STK_FOLDER_MASKS, 0, false},
        {"SegmentationObject", STK_FOLDER_ASIDE, 0, false},
        {"cat", STK_FOLDER_PLAIN, 0, false},
        {"trainer", STK_FOLDER_PLAIN, 0, false},
        {"no_mask", STK_FOLDER_PLAIN, 0, false},
        {"testament", STK_FOLDER_PLAIN, 0, false},
        {"valley", STK_FOLDER_PLAIN, 0, false},
        {"", STK_FOLDER_PLAIN, 0, false},
        {"masks_of_a_name_that_is_longer_than_any_word_in_the_tables_of_names", STK_FOLDER_PLAIN, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const stk__folder_word word = stk__folder_word_of(rows[i].name);
        if (word.kind != rows[i].kind || word.part != rows[i].part) print_error("'%s'\n", rows[i].name);
        assert_int_equal(word.kind, rows[i].kind);
        assert_int_equal(word.part, rows[i].part);
        assert_int_equal(word.weak, rows[i].weak);
    }
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        assert_int_equal(stk__part_bit(stk__part_name(part)), part);
    assert_int_equal(stk__part_bit(NULL), 0);
    assert_int_equal(stk__part_bit("all"), 0);
}

/* Only the first folders by name stay, whatever the order of readdir. */
static void a_look_is_bounded_and_sorted(void **state)
{
    (void)state;
    char name[32];
    for (int i = 99; i >= 0; i--) {
        snprintf(name, sizeof name, "class%02d", i * 37 % 100);
        tree_folder(name);
    }
    tree_folder("masks");
    tree_folder(".hidden");
    tree_file("a.tar", "");
    stk__folder_look look;
    assert_true(stk__folder_look_at(&look, tree));
    assert_int_equal(look.plain_count, STK_LOOK_PLAIN);
    assert_int_equal(look.word_count, 1);
    assert_string_equal(look.words[0].name, "masks");
    for (int i = 0; i < STK_LOOK_PLAIN; i++) {
        snprintf(name, sizeof name, "class%02d", i);
        assert_string_equal(look.plain[i].name, name);
    }
    assert_true(look.whole && look.shards && !look.images);
    assert_false(stk__folder_look_at(&look, tree_path("nowhere")));
    tree_file("masks/deep/er/x.TXT", "");
    stk__folder_content content = stk__folder_content_of(tree_path("masks"));
    assert_false(content.images || content.tables || content.shards);
    assert_string_equal(content.other, "txt");
    tree_file("masks/deep/er/still/y.png", "");
    content = stk__folder_content_of(tree_path("masks"));
    assert_true(content.images);
    assert_string_equal(content.image, "deep/er/still/y");
}

static stk__catalog catalog_of(const char *const *keys, size_t count)
{
    stk__catalog catalog = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(stk__catalog_add(&catalog, keys[i], strlen(keys[i]), 0, NULL), STK_OK);
    stk__catalog_sort(&catalog);
    return catalog;
}

static void rules_go_both_ways(void **state)
{
    (void)state;
    for (int i = 0; stk__pair_rule_at(i); i++) {
        const stk__pair_rule *rule = stk__pair_rule_at(i);
        char image[128], mask[128], back[128];
        snprintf(image, sizeof image, "d/%s17%s", rule->image_prefix, rule->image_suffix);
        const size_t length = stk__pair_rule_mask(rule, image, strlen(image), mask, sizeof mask);
        assert_true(length > 0);
        assert_string_not_equal(image, mask);
        assert_int_equal(stk__pair_rule_image(rule, mask, length, back, sizeof back), strlen(image));
        assert_string_equal(back, image);
        assert_int_equal(stk__pair_rule_mask(rule, image, strlen(image), mask, 4), 0); /* no room */
    }
    assert_null(stk__pair_rule_at(-1));
    assert_false(stk__pair_rule_is_beside(-1));
    const stk__pair_rule mask = {.mask_suffix = "_mask"};
    char key[64];
    assert_int_equal(stk__pair_rule_image(&mask, "d/_mask", 7, key, sizeof key), 0);  /* of nothing */
    assert_int_equal(stk__pair_rule_image(&mask, "d_mask/x", 8, key, sizeof key), 0); /* of a folder */
}

static void rules_are_found(void **state)
{
    (void)state;
    static const char *const images[] = {"a", "b", "s/c"}, *const suffixed[] = {"a_gt", "b_gt", "s/c_gt"},
                             *const two[] = {"a_gt", "a_mask", "b_gt"}, *const strange[] = {"q", "r_gt"},
                             *const beside[] = {"a", "a_mask", "ask", "b", "c_mask", "mask_b"};
    stk__catalog of_images = catalog_of(images, 3), masks = catalog_of(suffixed, 3);
    stk__pair_found found = stk__pair_rules_find(&of_images, &masks);
    assert_string_equal(stk__pair_rule_at(found.best)->mask_suffix, "_gt");
    assert_int_equal(found.second, -1);
    stk__catalog_fini(&masks);
    masks = catalog_of(two, 3);
    found = stk__pair_rules_find(&of_images, &masks);
    assert_string_equal(stk__pair_rule_at(found.best)->mask_suffix, "_gt");
    assert_string_equal(stk__pair_rule_at(found.second)->mask_suffix, "_mask");
    stk__catalog_fini(&masks);
    masks = catalog_of(strange, 2);
    assert_int_equal(stk__pair_rules_find(&of_images, &masks).best, -1);
    stk__catalog_fini(&masks);
    int rule;
    masks = catalog_of(beside, 6);
    assert_int_equal(stk__pair_rules_beside(&masks, &rule), 2); /* a_mask and mask_b; there is no c */
    assert_string_equal(stk__pair_rule_at(rule)->mask_suffix, "_mask");
    assert_int_equal(stk__pair_rules_beside(&of_images, &rule), 0);
    assert_int_equal(rule, -1);
    stk__catalog_fini(&masks);
    stk__catalog_fini(&of_images);
}

/* What a pair by rule reads, and where a mask that is missing would be. */
static void masks_are_read_by_the_rule(void **state)
{
    (void)state;
    tree_file("img/s/x_image.png", "X");
    tree_file("img/s/y_image.png", "Y");
    tree_file("ann/s/x_mask.PNG", "mx");
    stk__source *source = tree_open();
    assert_int_equal(source->info.count, 2);
    assert_int_equal(source->info.unmasked, 1);
    check_key(source, 0, "s/x_image");
    check_read(source, 0, STK_FIELD_IMAGE, "X", "png");
    check_read(source, 0, STK_FIELD_MASK, "mx", "png");
    check_read_damage(source, 1, STK_FIELD_MASK, STK_DAMAGE_MASK_MISSING, "/ann/s/y_mask.png");
    stk__source_close(&source);
}

static stk__reading find(const char *part, stk_layout layout)
{
    const stk__source_options options = {.root = tree, .part = part, .layout = layout};
    stk__reading reading;
    failure = (stk_error){0};
    const stk_status status = stk__layout_find(&reading, &options, &failure);
    assert_int_equal(status, failure.code);
    return reading;
}

static void readings(void **state)
{
    (void)state;
    tree_file("train/images/a.png", "");
    tree_file("train/masks/a.png", "");
    tree_file("Valid/images/b.png", "");
    tree_file("Valid/masks/b.png", "");
    stk__reading reading = find("val", STK_LAYOUT_AUTO);
    assert_int_equal(reading.parts, STK_SOURCE_TRAIN | STK_SOURCE_VAL);
    assert_int_equal(reading.part, STK_SOURCE_VAL);
    assert_string_equal(reading.part_name, "Valid");
    assert_true(reading.pairs && !reading.voc);
    assert_string_equal(reading.images, tree_path("Valid/images"));
    assert_string_equal(reading.masks, tree_path("Valid/masks"));
    assert_string_equal(reading.siblings[0], tree_path("train"));
    assert_true(reading.no_shards);
    reading = find(NULL, STK_LAYOUT_AUTO);
    assert_int_equal(failure.code, STK_ERROR_CONFIG);
    assert_int_equal(reading.parts, STK_SOURCE_TRAIN | STK_SOURCE_VAL); /* told all the same */
    assert_non_null(strstr(failure.message, "has folders train and Valid: load one of them"));
    reading = find("train", STK_LAYOUT_CLASSES);
    assert_int_equal(failure.code, STK_OK);
    assert_true(!reading.parts && !reading.pairs);
    assert_string_equal(reading.root, tree);
    tree_file("cat/1.png", "");
    find("train", STK_LAYOUT_AUTO);
    assert_int_equal(failure.code, STK_ERROR_DATA);
    assert_non_null(strstr(failure.message, "can be read in two ways"));
    reading = find("train", STK_LAYOUT_PARTS);
    assert_int_equal(failure.code, STK_OK);
    assert_string_equal(reading.images, tree_path("train/images"));
}

static void memory_runs_out(void **state)
{
    (void)state;
    tree_file("voc/JPEGImages/a.jpg", "");
    tree_file("voc/JPEGImages/b.jpg", "");
    tree_file("voc/SegmentationClass/a.png", "");
    tree_file("voc/ImageSets/Segmentation/train.txt", "a\nb\n");
    check_poor_memory("voc", "train");
    tree_file("beside/a.jpg", "");
    tree_file("beside/a_mask.png", "");
    check_poor_memory("beside", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_folders),
        cmocka_unit_test_setup_teardown(a_look_is_bounded_and_sorted, tree_make, tree_remove),
        cmocka_unit_test(rules_go_both_ways),
        cmocka_unit_test(rules_are_found),
        cmocka_unit_test_setup_teardown(masks_are_read_by_the_rule, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(readings, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(memory_runs_out, tree_make, tree_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
