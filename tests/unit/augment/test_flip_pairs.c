/* SPDX-License-Identifier: Apache-2.0 */
/* Names of left and right: which belong together, which only look like it, and what is done with the pairs.
 */
#include "augment/flip_pairs.h"
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* names: one after the other, with '|' between them. pairs as printed. */
typedef struct row {
    const char *names, *pairs;
} row;

static const row rows[] = {
    /* words at the beginning, at the end, between */
    {"left_eye|right_eye", "0:1"},
    {"right_eye|nose|left_eye", "0:2"},
    {"l_brow|r_brow|l_eye|r_eye|l_ear|r_ear", "0:1,2:3,4:5"},
    {"eye_left|eye_right", "0:1"},
    {"ear_l|ear_r", "0:1"},
    {"l.arm|r.arm|arm", "0:1"},
    {"Hand.L|Hand.R|thumb.01.L|thumb.01.R", "0:1,2:3"},
    {"l-ear|r-ear", "0:1"},
    {"l ear|r ear", "0:1"},
    {"ear (l)|ear (r)", "0:1"},
    {"upper_left_arm|upper_right_arm", "0:1"},
    {"turn left|turn right|straight", "0:1"},
    {"no_left_turn|no_right_turn", "0:1"},
    {"top_left|top_right|bottom_left|bottom_right", "0:1,2:3"},
    {"rib_left_1|rib_left_2|rib_right_1|rib_right_2", "0:2,1:3"},
    {"left|right", "0:1"},
    {"Left|Right|Center", "0:1"},
    {"l|r", "0:1"},
    {"L|R|background", "0:1"},
    {"lt_lung|rt_lung", "0:1"},
    {"Lung_Lt|Lung_Rt", "0:1"},
    {"ctx-lh-cuneus|ctx-rh-cuneus", "0:1"},
    /* glued, and by capitals */
    {"lefteye|righteye|nose|leftmouth|rightmouth", "0:1,3:4"},
    {"eyeleft|eyeright", "0:1"},
    {"leftEye|rightEye", "0:1"},
    {"LeftEye|RightEye", "0:1"},
    {"EyeLeft|EyeRight", "0:1"},
    {"eyeLeftCorner|eyeRightCorner", "0:1"},
    {"LEFT_EYE|RIGHT_EYE", "0:1"},
    {"LShoulder|RShoulder|LHip|RHip", "0:1,2:3"},
    {"lEye|rEye", "0:1"},
    {"HandL|HandR", "0:1"},
    {"left1|right1", "0:1"},
    {"body_LHip|body_RHip", "0:1"},
    /* cases may differ; all sides of a name change */
    {"Left_eye|right_eye", "0:1"},
    {"left_eye_left_corner|left_eye_right_corner|right_eye_left_corner|right_eye_right_corner", "0:3,1:2"},
    {"left_to_right|right_to_left", "0:1"},
    /* other languages */
    {"左眼|右眼", "0:1"},
    {"背景|皮肤|左眉|右眉|左眼|右眼|左耳|右耳|鼻", "2:3,4:5,6:7"},
    {"左|右", "0:1"},
    {"向左转|向右转|直行", "0:1"},
    {"眼_左|眼_右", "0:1"},
    {"左目|右目", "0:1"},
    {"왼쪽 눈|오른쪽 눈", "0:1"},
    {"auge_links|auge_rechts", "0:1"},
    {"linkes auge|rechtes auge|linke hand|rechte hand", "0:1,2:3"},
    {"main_gauche|main_droite|oeil_gauche|oeil_droit", "0:1,2:3"},
    {"mano izquierda|mano derecha", "0:1"},
    {"olho_esquerdo|olho_direito", "0:1"},
    {"occhio_sinistro|occhio_destro", "0:1"},
    /* one side alone is no pair: lips, an earring, a necklace */
    {"left_eye|nose", ""},
    {"skin|l_brow|r_brow|l_eye|r_eye|eye_g|l_ear|r_ear|ear_r|nose|mouth|u_lip|l_lip|neck|neck_l|cloth|hair|"
     "hat",
     "1:2,3:4,6:7"},
    {"ear_r|neck_l|l_lip|u_lip", ""},
    {"right|wrong", ""},
    {"左手|手", ""},
    {"左右", ""},
    /* letters within words are no sides */
    {"level|rever", ""},
    {"lamp|ramp", ""},
    {"lake|rake|lace|race|lead|read", ""},
    {"lr|rl", ""},
    {"light|right", ""},
    {"lbrow|rbrow", ""},
    {"L1|R1|L2|R2", ""},
    {"earl|earr", ""},
    {"EARL|EARR", ""},
    {"LR|RR", ""},
    {"all|arr", ""},
    {"lt1|rt1", ""},
    {"bell|berr", ""},
    /* L and R of an alphabet */
    {"A|B|L|R|Z", ""},
    {"l|r|m", ""},
    {"K|L|R|l_eye|r_eye", "3:4"},
    /* which of the two? */
    {"left_eye|Left_eye|right_eye", ""},
    {"l_eye|left_eye|r_eye|right_eye", ""},
    {"left_eye|left_eye|nose", ""},
    /* nothing to look at */
    {"nose", ""},
    {"a|b|c", ""},
    {"|left", ""},
};

static stk__flip_names split(char *text, const char **list, int32_t most)
{
    stk__flip_names names = {list, 0};
    for (char *at = text; at; names.count++) {
        char *bar = strchr(at, '|');
        assert_true(names.count < most);
        list[names.count] = at;
        if (bar) *bar++ = '\0';
        at = bar;
    }
    return names;
}

static void names_make_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512], printed[128];
        const char *list[32];
        stk__flip_pairs pairs;
        assert_true(strlen(rows[i].names) < sizeof text);
        strcpy(text, rows[i].names);
        assert_int_equal(stk__flip_pairs_find(&pairs, split(text, list, 32), NULL), STK_OK);
        stk__flip_pairs_print(&pairs, printed, sizeof printed);
        if (strcmp(printed, rows[i].pairs) != 0) print_error("%s\n", rows[i].names);
        assert_string_equal(printed, rows[i].pairs);
        stk__flip_pairs_fini(&pairs);
    }
}

static void no_names_are_no_pairs(void **state)
{
    (void)state;
    stk__flip_pairs pairs = {0};
    assert_int_equal(stk__flip_pairs_find(&pairs, (stk__flip_names){NULL, 5}, NULL), STK_OK);
    assert_int_equal(pairs.count, 0);
    assert_int_equal(stk__flip_pairs_find(&pairs, (stk__flip_names){0}, NULL), STK_OK);
    assert_int_equal(pairs.count, 0);
}

static stk_status find_once(void *context, stk_error *error)
{
    static const char *const list[] = {"l_eye", "r_eye"};
    stk__flip_pairs pairs;
    (void)context;
    const stk_status status = stk__flip_pairs_find(&pairs, (stk__flip_names){list, 2}, error);
    stk__flip_pairs_fini(&pairs);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_alloc_each(find_once, NULL), 3);
}

static void a_number_has_one_partner(void **state)
{
    (void)state;
    stk__flip_pairs pairs = {0};
    assert_int_equal(stk__flip_pairs_reserve(&pairs, 3, NULL), STK_OK);
    assert_true(stk__flip_pairs_add(&pairs, 5, 4));
    assert_false(stk__flip_pairs_add(&pairs, 4, 6));
    assert_false(stk__flip_pairs_add(&pairs, 6, 5));
    assert_false(stk__flip_pairs_add(&pairs, 7, 7));
    assert_true(stk__flip_pairs_add(&pairs, 6, 7));
    assert_int_equal(pairs.count, 2);
    assert_int_equal(pairs.pairs[0].a, 4);
    stk__flip_pairs_fini(&pairs);
    assert_null(pairs.pairs);
}

static void a_long_list_is_cut(void **state)
{
    (void)state;
    stk__flip_pairs pairs = {0};
    char text[15];
    assert_int_equal(stk__flip_pairs_reserve(&pairs, 5, NULL), STK_OK);
    stk__flip_pairs_print(&pairs, text, sizeof text);
    assert_string_equal(text, "");
    for (int32_t i = 0; i < 5; i++)
        stk__flip_pairs_add(&pairs, 2 * i, 2 * i + 1);
    stk__flip_pairs_print(&pairs, text, sizeof text);
    assert_string_equal(text, "0:1,2:3 …");
    pairs.count = 3;
    stk__flip_pairs_print(&pairs, text, 12);
    assert_string_equal(text, "0:1,2:3,4:5");
    stk__flip_pairs_fini(&pairs);
}

static stk__flip make_flip(void)
{
    stk__flip flip = {.on = true};
    stk__flip_pairs *all[] = {&flip.masks, &flip.labels, &flip.points};
    for (int k = 0; k < 3; k++) {
        assert_int_equal(stk__flip_pairs_reserve(all[k], 2, NULL), STK_OK);
        assert_true(stk__flip_pairs_add(all[k], 1, 2));
        assert_true(stk__flip_pairs_add(all[k], 0, 4));
    }
    stk__flip_make_ids(&flip);
    return flip;
}

/* Areas, single pixels, sizes that are no multiple of eight; in place and from one to the other; twice is as
 * before. */
static void ids_change_sides(void **state)
{
    (void)state;
    static const uint8_t expected[256] = {4, 2, 1, 3, 0};
    stk__flip flip = make_flip();
    for (int i = 0; i < 256; i++)
        assert_int_equal(flip.ids[i], i < 5 ? expected[i] : i);
    uint8_t from[7 * 31 + 8], to[sizeof from], again[sizeof from];
    for (int32_t w = 1; w <= 31; w++)
        for (int pattern = 0; pattern < 4; pattern++) {
            for (size_t i = 0; i < sizeof from; i++)
                from[i] = (uint8_t)(pattern == 0   ? 1
                                    : pattern == 1 ? i / 29 % 6
                                    : pattern == 2 ? i * 7 % 256
                                                   : 255 * (i % 2));
            memset(to, 99, sizeof to);
            const stk__pixels a = stk__pixels_dense(from, w, 7, 1), b = stk__pixels_dense(to, w, 7, 1);
            const size_t size = (size_t)w * 7;
            stk__flip_mask(&flip, a, b);
            for (size_t i = 0; i < sizeof to; i++)
                assert_int_equal(to[i], i < size ? flip.ids[from[i]] : 99);
            memcpy(again, to, sizeof to);
            stk__flip_mask(&flip, stk__pixels_dense(again, w, 7, 1), stk__pixels_dense(again, w, 7, 1));
            assert_memory_equal(again, from, size);
            assert_int_equal(again[size], 99);
        }
    stk__flip_fini(&flip);
}

static void points_and_labels_change_sides(void **state)
{
    (void)state;
    stk__flip flip = make_flip();
    float points[5][3];
    for (int i = 0; i < 15; i++)
        points[i / 3][i % 3] = (float)i;
    stk__flip_points(&flip, points[0]);
    static const int order[] = {4, 2, 1, 3, 0};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 3; k++)
            assert_true(points[i][k] == (float)(3 * order[i] + k));
        assert_int_equal(stk__flip_label(&flip, i), order[i]);
    }
    assert_int_equal(stk__flip_label(&flip, -1), -1);
    assert_int_equal(stk__flip_label(&flip, 1000), 1000);
    stk__flip_fini(&flip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_make_pairs),
        cmocka_unit_test(no_names_are_no_pairs),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_number_has_one_partner),
        cmocka_unit_test(a_long_list_is_cut),
        cmocka_unit_test(ids_change_sides),
        cmocka_unit_test(points_and_labels_change_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
