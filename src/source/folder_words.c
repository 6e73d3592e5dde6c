/* SPDX-License-Identifier: Apache-2.0 */
/* Names that people give to folders of images and masks, as a table. A name is one word of it, a part of the
 * data set (part_words.c), or a part and a kind: train_masks, trainannot, images_val, train2017. Pure. */
#include "source/folder_words.h"

#include "source/part_words.h"
#include "source/source.h"

#include <ctype.h>
#include <string.h>

typedef struct kind_word {
    const char *name;
    stk__folder_kind kind;
    bool weak;
} kind_word;

static const kind_word kinds[] = {
    {"images", STK_FOLDER_IMAGES, false},
    {"image", STK_FOLDER_IMAGES, false},
    {"imgs", STK_FOLDER_IMAGES, false},
    {"img", STK_FOLDER_IMAGES, false},
    {"jpegimages", STK_FOLDER_IMAGES, false},
    {"img_dir", STK_FOLDER_IMAGES, false},
    {"image_dir", STK_FOLDER_IMAGES, false},
    {"celeba_hq_img", STK_FOLDER_IMAGES, false},
    {"leftimg8bit", STK_FOLDER_IMAGES, false},
    {"original_images", STK_FOLDER_IMAGES, false},
    {"rgb", STK_FOLDER_IMAGES, true},
    {"photos", STK_FOLDER_IMAGES, true},
    {"photo", STK_FOLDER_IMAGES, true},
    {"pictures", STK_FOLDER_IMAGES, true},
    {"inputs", STK_FOLDER_IMAGES, true},
    {"input", STK_FOLDER_IMAGES, true},
    {"x", STK_FOLDER_IMAGES, true},
    {"masks", STK_FOLDER_MASKS, false},
    {"mask", STK_FOLDER_MASKS, false},
    {"labels", STK_FOLDER_MASKS, false},
    {"label", STK_FOLDER_MASKS, true},
    {"annotations", STK_FOLDER_MASKS, false},
    {"annotation", STK_FOLDER_MASKS, false},
    {"annots", STK_FOLDER_MASKS, false},
    {"annot", STK_FOLDER_MASKS, false},
    {"ann_dir", STK_FOLDER_MASKS, false},
    {"ann", STK_FOLDER_MASKS, true},
    {"gt", STK_FOLDER_MASKS, true},
    {"gts", STK_FOLDER_MASKS, true},
    {"gtfine", STK_FOLDER_MASKS, false},
    {"gtcoarse", STK_FOLDER_MASKS, false},
    {"ground_truth", STK_FOLDER_MASKS, false},
    {"groundtruth", STK_FOLDER_MASKS, false},
    {"label_images", STK_FOLDER_MASKS, false},
    {"segmentationclass", STK_FOLDER_MASKS, false},
    {"segmentationclassaug", STK_FOLDER_MASKS, false},
    {"segmentationclassraw", STK_FOLDER_MASKS, false},
    {"celebamask_hq_mask", STK_FOLDER_MASKS, false},
    {"celebamaskhq_mask", STK_FOLDER_MASKS, false}, /* as the data set's own g_mask.py writes it */
    {"segmentations", STK_FOLDER_MASKS, false},
    {"segmentation", STK_FOLDER_MASKS, false},
    {"segmentation_masks", STK_FOLDER_MASKS, false},
    {"segs", STK_FOLDER_MASKS, true},
    {"seg", STK_FOLDER_MASKS, true},
    {"trimaps", STK_FOLDER_MASKS, false},
    {"targets", STK_FOLDER_MASKS, true},
    {"target", STK_FOLDER_MASKS, true},
    {"y", STK_FOLDER_MASKS, true},
    {"outputs", STK_FOLDER_MASKS, true},
    {"output", STK_FOLDER_MASKS, true},
    {"segmentationobject", STK_FOLDER_ASIDE, false},
    {"segmentationclasspng", STK_FOLDER_ASIDE, false}, /* labelme2voc writes the same masks in three ways */
    {"segmentationclassnpy", STK_FOLDER_ASIDE, false},
    {"segmentationclassvisualization", STK_FOLDER_ASIDE, false},
    {"segmentationobjectpng", STK_FOLDER_ASIDE, false},
    {"segmentationobjectnpy", STK_FOLDER_ASIDE, false},
    {"segmentationobjectvisualization", STK_FOLDER_ASIDE, false},
    {"imagesets", STK_FOLDER_ASIDE, false},
    {"celebamask_hq_mask_anno", STK_FOLDER_PART_MASKS, false},
};

/* nnU-Net writes the part behind the word, without anything between. */
static const struct {
    const char *name;
    stk__folder_word word;
} whole[] = {
    {"imagestr", {STK_FOLDER_IMAGES, STK_SOURCE_TRAIN, false}},
    {"labelstr", {STK_FOLDER_MASKS, STK_SOURCE_TRAIN, false}},
    {"imagests", {STK_FOLDER_IMAGES, STK_SOURCE_TEST, false}},
    {"labelsts", {STK_FOLDER_MASKS, STK_SOURCE_TEST, false}},
};

static const char *const neutral[] = {"", "set", "data", "dataset"}; /* behind the name of a part */

enum { NAME_BYTES = 64 };
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static bool simplify(const char *name, char text[NAME_BYTES])
{
    const size_t length = strlen(name);
    if (length >= NAME_BYTES) return false;
    for (size_t i = 0; i <= length; i++) {
        const unsigned char c = (unsigned char)name[i];
        text[i] = (char)(c == '-' || c == ' ' ? '_' : tolower(c));
    }
    return true;
}

static bool find_kind(const char *text, stk__folder_word *word)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(text, kinds[i].name) == 0) {
            word->kind = kinds[i].kind;
            word->weak = kinds[i].weak;
            return true;
        }
    return false;
}

/* What may follow the name of a part: nothing, a year, "set", or a kind. */
static bool find_rest(const char *rest, stk__folder_word *word)
{
    if (strspn(rest, "0123456789") == strlen(rest)) return true;
    rest += *rest == '_';
    for (size_t i = 0; i < COUNT(neutral); i++)
        if (strcmp(rest, neutral[i]) == 0) return true;
    return find_kind(rest, word);
}

static bool find_part_first(const char *text, stk__folder_word *word)
{
    if (strncmp(text, "stage1_", 7) == 0 || strncmp(text, "stage2_", 7) == 0) text += 7; /* Kaggle */
    for (size_t i = 0; i < STK_PART_WORDS; i++) {
        const stk__part_word *part = &stk__part_words[i];
        const size_t length = strlen(part->name);
        stk__folder_word found = {.part = part->part};
        if (!part->folder || strncmp(text, part->name, length) != 0) continue;
        if (!find_rest(text + length, &found)) continue;
        found.weak = false;
        *word = found;
        return true;
    }
    return false;
}

static bool find_part_last(char *text, stk__folder_word *word)
{
    char *split = strrchr(text, '_');
    if (!split) return false;
    *split = '\0';
    stk__folder_word found = {.part = stk__part_of_folder(split + 1, strlen(split + 1))};
    if (!found.part || !find_kind(text, &found)) return false;
    if (found.kind != STK_FOLDER_IMAGES && found.kind != STK_FOLDER_MASKS) return false;
    *word = (stk__folder_word){.kind = found.kind, .part = found.part};
    return true;
}

stk__folder_word stk__folder_word_of(const char *name)
{
    char text[NAME_BYTES];
    stk__folder_word word = {0};
    if (!simplify(name, text) || find_kind(text, &word) || find_part_first(text, &word)) return word;
    for (size_t i = 0; i < COUNT(whole); i++)
        if (strcmp(text, whole[i].name) == 0) return whole[i].word;
    find_part_last(text, &word);
    return word;
}
