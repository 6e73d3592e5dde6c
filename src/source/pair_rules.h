/* SPDX-License-Identifier: Apache-2.0 */
/* How the name of a mask follows from the name of its image: x_mask.png of x.jpg, mask_x.png, x_mask.png of
 * x_image.png … */
#ifndef STK_SOURCE_PAIR_RULES_H
#define STK_SOURCE_PAIR_RULES_H

#include "source/catalog.h"

enum { STK_AFFIX_BYTES = 40 };

/* image: folder/ + image_prefix + x + image_suffix; mask: folder/ + mask_prefix + x + mask_suffix. All empty:
 * the same name. */
typedef struct stk__pair_rule {
    char image_prefix[STK_AFFIX_BYTES], image_suffix[STK_AFFIX_BYTES];
    char mask_prefix[STK_AFFIX_BYTES], mask_suffix[STK_AFFIX_BYTES];
} stk__pair_rule;

/* The key of the image of a mask, or of the mask of an image, cut to size; its length, or 0 when the rule
 * does not fit the name. */
size_t stk__pair_rule_image(const stk__pair_rule *rule, const char *mask, size_t length, char *key,
                            size_t size);
size_t stk__pair_rule_mask(const stk__pair_rule *rule, const char *image, size_t length, char *key,
                           size_t size);

/* "x.jpg with x_mask" */
void stk__pair_rule_print(const stk__pair_rule *rule, char text[128]);

/* The known rules, in the order of preference; NULL behind the last one. */
const stk__pair_rule *stk__pair_rule_at(int index);
/* Gives a rule for masks what known rule `index` takes off an image's name (x_image, x_mask); false: nothing.
 */
bool stk__pair_rule_replace(stk__pair_rule *rule, int index);
/* A rule whose masks may lie in the folder of the images: their names say that they are masks. */
bool stk__pair_rule_is_beside(int index);

/* Which known rules pair masks with images, by up to 256 of the masks: the best, and a second one that pairs
 * others of them (-1: none). Sorted catalogs; masks may be the images' own: then only names that say so. */
typedef struct stk__pair_found {
    int best, second;
} stk__pair_found;
stk__pair_found stk__pair_rules_find(const stk__catalog *images, const stk__catalog *masks);

/* What this mask's name adds to that of an image, "1_exp" to "1", as a rule that half of the masks follow. */
bool stk__pair_rule_guess(const stk__catalog *images, const stk__catalog *masks, const stk__entry *mask,
                          stk__pair_rule *rule);

/* x_mask_1, if there is an image x: by a rule that may lie beside, but for the number. */
bool stk__pair_rules_further(const stk__catalog *catalog, const stk__entry *entry);

/* How many entries are masks of others by any rule that may lie beside; *rule is the one with the most. */
uint64_t stk__pair_rules_beside(const stk__catalog *catalog, int *rule);

#endif
