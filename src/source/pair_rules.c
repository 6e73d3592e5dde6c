/* SPDX-License-Identifier: Apache-2.0 */
/* Names of masks, as tables: what stands before and behind the part that a mask and its image share. Rules
 * are tried on a spread of the masks; those that lie beside their images are found by their endings in one
 * walk along the catalog. Pure; one thread, while a source opens. */
#include "source/pair_rules.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef struct known_rule {
    stk__pair_rule rule;
    bool beside;
} known_rule;

/* clang-format off */
#define SUFFIX(suffix, beside) {{"", "", "", suffix}, beside}
#define PREFIX(prefix) {{"", "", prefix, ""}, true}
#define SUFFIXES(image, mask) {{"", image, "", mask}, true}
#define PREFIXES(image, mask) {{image, "", mask, ""}, true}
static const known_rule rules[] = {
    SUFFIX("_mask", true), SUFFIX("_masks", true), SUFFIX("-mask", true), SUFFIX(" mask", true),
    SUFFIX("_Mask", true), SUFFIX("_segmentation", true), SUFFIX("_seg", true), SUFFIX("_gt", true), SUFFIX("_GT", true),
    SUFFIX("_label", true), SUFFIX("_labels", true), SUFFIX("_annotation", true), SUFFIX("_groundtruth", true),
    SUFFIX("_matte", true), SUFFIX("_L", false), SUFFIX("_P", false), SUFFIX("_anno", true),
    PREFIX("mask_"), PREFIX("mask-"), PREFIX("gt_"), PREFIX("label_"), PREFIX("seg_"),
    SUFFIXES("_image", "_mask"), SUFFIXES("_img", "_mask"), SUFFIXES("_sat", "_mask"),
    SUFFIXES("_image", "_label"), SUFFIXES("_image", "_gt"), SUFFIXES("_image", "_seg"), SUFFIXES("_img", "_gt"),
    SUFFIXES("_img", "_label"), SUFFIXES("_img", "_seg"), SUFFIXES("_leftImg8bit", "_gtFine_labelTrainIds"),
    SUFFIXES("_leftImg8bit", "_gtFine_labelIds"), SUFFIXES("_leftImg8bit", "_gtCoarse_labelTrainIds"),
    SUFFIXES("_leftImg8bit", "_gtCoarse_labelIds"), SUFFIXES("_RGB", "_label"), SUFFIXES("_RGB", "_mask"),
    SUFFIXES("_rgb", "_label"), SUFFIXES("_rgb", "_mask"), SUFFIXES("_training", "_manual1"), SUFFIXES("_test", "_manual1"),
    PREFIXES("image_", "mask_"), PREFIXES("img_", "mask_"), PREFIXES("image_", "label_"), PREFIXES("img_", "label_"),
    PREFIXES("image_", "gt_"), PREFIXES("img_", "gt_"),
    {{"", "_0000", "", ""}, false}, {{"", "_image", "", ""}, false}, {{"", "_img", "", ""}, false},
};
/* clang-format on */

enum { RULE_COUNT = sizeof rules / sizeof rules[0], TRIES = 256 };

const stk__pair_rule *stk__pair_rule_at(int index)
{
    return index >= 0 && index < RULE_COUNT ? &rules[index].rule : NULL;
}

bool stk__pair_rule_replace(stk__pair_rule *rule, int index)
{
    const stk__pair_rule *known = stk__pair_rule_at(index);
    if (!known || (!*known->image_prefix && !*known->image_suffix)) return false;
    memcpy(rule->image_prefix, known->image_prefix, sizeof rule->image_prefix);
    memcpy(rule->image_suffix, known->image_suffix, sizeof rule->image_suffix);
    return true;
}

bool stk__pair_rule_is_beside(int index)
{
    return index >= 0 && index < RULE_COUNT && rules[index].beside;
}

/* folder/ + old affixes + x -> folder/ + new affixes + x */
typedef struct exchange {
    const char *old_prefix, *old_suffix, *new_prefix, *new_suffix;
} exchange;

static size_t rename_key(const exchange *e, const char *from, size_t length, char *key, size_t size)
{
    const char *slash = memrchr(from, '/', length), *name = slash ? slash + 1 : from;
    const size_t name_length = length - (size_t)(name - from), prefix = strlen(e->old_prefix),
                 suffix = strlen(e->old_suffix);
    if (name_length <= prefix + suffix || memcmp(name, e->old_prefix, prefix) != 0 ||
        memcmp(from + length - suffix, e->old_suffix, suffix) != 0)
        return 0;
    const int written = snprintf(key, size, "%.*s%s%.*s%s", (int)(name - from), from, e->new_prefix,
                                 (int)(name_length - prefix - suffix), name + prefix, e->new_suffix);
    return written > 0 && (size_t)written < size ? (size_t)written : 0;
}

size_t stk__pair_rule_image(const stk__pair_rule *rule, const char *mask, size_t length, char *key,
                            size_t size)
{
    const exchange e = {rule->mask_prefix, rule->mask_suffix, rule->image_prefix, rule->image_suffix};
    return rename_key(&e, mask, length, key, size);
}

size_t stk__pair_rule_mask(const stk__pair_rule *rule, const char *image, size_t length, char *key,
                           size_t size)
{
    const exchange e = {rule->image_prefix, rule->image_suffix, rule->mask_prefix, rule->mask_suffix};
    return rename_key(&e, image, length, key, size);
}

void stk__pair_rule_print(const stk__pair_rule *rule, char text[128])
{
    snprintf(text, 128, "'%.24sx%.24s' has the mask '%.24sx%.24s'", rule->image_prefix, rule->image_suffix,
             rule->mask_prefix, rule->mask_suffix);
}

static bool fits(const stk__pair_rule *rule, const stk__catalog *images, const stk__catalog *masks,
                 const stk__entry *mask)
{
    char key[4096];
    const size_t length =
        stk__pair_rule_image(rule, stk__catalog_key(masks, mask), mask->length, key, sizeof key);
    return length && stk__catalog_find(images, key, length);
}

stk__pair_found stk__pair_rules_find(const stk__catalog *images, const stk__catalog *masks)
{
    stk__pair_found found = {-1, -1};
    const uint64_t count = stk__catalog_count(masks), tries = count < TRIES ? count : TRIES;
    uint64_t hits[RULE_COUNT] = {0};
    for (int r = 0; r < RULE_COUNT; r++)
        for (uint64_t i = 0; i < tries; i++)
            hits[r] += fits(&rules[r].rule, images, masks, stk__catalog_at(masks, i * count / tries));
    for (int r = 0; r < RULE_COUNT; r++)
        if (hits[r] && (found.best < 0 || hits[r] > hits[found.best])) found.best = r;
    for (int r = 0; r < RULE_COUNT; r++)
        if (hits[r] && r != found.best && (found.second < 0 || hits[r] > hits[found.second]))
            found.second = r;
    return found;
}

/* Half of the masks or more have an image by this rule. */
static bool pairs_half(const stk__catalog *images, const stk__catalog *masks, const stk__pair_rule *rule)
{
    const uint64_t count = stk__catalog_count(masks);
    uint64_t hits = 0;
    for (uint64_t m = 0; m < count; m++) {
        char key[4096];
        const stk__entry *mask = stk__catalog_at(masks, m);
        const size_t length =
            stk__pair_rule_image(rule, stk__catalog_key(masks, mask), mask->length, key, sizeof key);
        hits += length && stk__catalog_find(images, key, length);
    }
    return 2 * hits >= count;
}

bool stk__pair_rule_guess(const stk__catalog *images, const stk__catalog *masks, const stk__entry *mask,
                          stk__pair_rule *rule)
{
    const char *key = stk__catalog_key(masks, mask), *slash = strrchr(key, '/'),
               *name = slash ? slash + 1 : key;
    const size_t length = strlen(name);
    for (size_t cut = 1; cut < length && cut < STK_AFFIX_BYTES; cut++) {
        *rule = (stk__pair_rule){.mask_suffix = ""};
        snprintf(rule->mask_suffix, sizeof rule->mask_suffix, "%s", name + length - cut);
        if (stk__catalog_find(images, key, strlen(key) - cut) && pairs_half(images, masks, rule)) return true;
        *rule = (stk__pair_rule){.mask_suffix = ""};
        snprintf(rule->mask_prefix, sizeof rule->mask_prefix, "%.*s", (int)cut, name);
        char image[4096];
        const size_t size = stk__pair_rule_image(rule, key, strlen(key), image, sizeof image);
        if (size && stk__catalog_find(images, image, size) && pairs_half(images, masks, rule)) return true;
    }
    return false;
}

/* Ends or begins like one of the rules: this passes over most names of images. */
static bool could_be_mask(const char *key, size_t length)
{
    static const char ends[][4] = {"ask", "sks", "ion", "seg", "_gt", "_GT",
                                   "bel", "els", "uth", "tte", "nno", "Ids"};
    static const char *const starts[] = {"mask", "gt_", "label_", "seg_"};
    const char *slash = memrchr(key, '/', length), *name = slash ? slash + 1 : key;
    if (length > 3 && strchr("kstTlhenog", key[length - 1]))
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
            if (memcmp(key + length - 3, ends[i], 3) == 0) return true;
    if (strchr("mgls", *name))
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
            if (strncmp(name, starts[i], strlen(starts[i])) == 0) return true;
    return false;
}

/* Of very many names a thousand are drawn first: where one in fifty is a mask's, none of them being one has a
 * chance of 1e-9. Masks follow their images in the order of names, so an even spread would not do. */
static bool could_have_masks(const stk__catalog *catalog)
{
    enum { DRAWS = 1024, FEW = 4096 };
    const uint64_t count = stk__catalog_count(catalog);
    if (count <= FEW) return true;
    for (uint64_t i = 1; i <= DRAWS; i++) {
        const stk__entry *entry = stk__catalog_at(catalog, (i * UINT64_C(0x9E3779B97F4A7C15) >> 20) % count);
        if (entry->length && could_be_mask(stk__catalog_key(catalog, entry), entry->length)) return true;
    }
    return false;
}

uint64_t stk__pair_rules_beside(const stk__catalog *catalog, int *rule)
{
    uint64_t hits[RULE_COUNT] = {0}, all = 0;
    *rule = -1;
    if (!could_have_masks(catalog)) return 0;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        if (!entry->length || !could_be_mask(stk__catalog_key(catalog, entry), entry->length)) continue;
        bool hit = false;
        for (int r = 0; r < RULE_COUNT && !hit; r++)
            if (rules[r].beside && fits(&rules[r].rule, catalog, catalog, entry)) {
                hits[r]++;
                hit = true;
            }
        all += hit;
    }
    for (int r = 0; r < RULE_COUNT; r++)
        if (hits[r] && (*rule < 0 || hits[r] > hits[*rule])) *rule = r;
    return all;
}

/* "x_mask_1", "x_mask (2)": its length without the number; 0: there is none. */
static size_t without_number(const char *key, size_t length)
{
    size_t end = length - (length && key[length - 1] == ')');
    const size_t digits = end;
    while (end && isdigit((unsigned char)key[end - 1]))
        end--;
    if (end == digits) return 0;
    while (end && strchr("_-. (", key[end - 1]))
        end--;
    return end;
}

bool stk__pair_rules_further(const stk__catalog *catalog, const stk__entry *entry)
{
    const char *key = stk__catalog_key(catalog, entry);
    const size_t length = without_number(key, entry->length);
    char image[PATH_MAX];
    for (int i = 0; length && stk__pair_rule_at(i); i++) {
        if (!stk__pair_rule_is_beside(i)) continue;
        const size_t size = stk__pair_rule_image(stk__pair_rule_at(i), key, length, image, sizeof image);
        if (size && stk__catalog_find(catalog, image, size)) return true;
    }
    return false;
}
