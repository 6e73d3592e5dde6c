/* SPDX-License-Identifier: Apache-2.0 */
/* Images and masks that lie in the same folders, found while a folder is scanned (folder.c); what masks of
 * parts (part_masks.c) have in common with them. */
#ifndef STK_SOURCE_PAIRS_H
#define STK_SOURCE_PAIRS_H

#include "source/files.h"

/* The rule that data.mask_suffix and data.mask_prefix make; false: neither is set. */
bool stk__pairs_rule_set(const stk__source_options *options, stk__pair_rule *rule);

/* Takes the masks of other entries out of the sorted catalog; how many they were. */
uint64_t stk__pairs_separate(stk__files *files, const stk__pair_rule *rule);
/* Leaves out x_mask_1, x_mask_2 of an image x: an image has one mask. */
void stk__pairs_leave_further(stk__files *files);

/* A sorted catalog of images and masks becomes a source of pairs. */
stk_status stk__pairs_beside(stk__files *files, const stk__site *site, const stk__pair_rule *rule,
                             stk_error *error);

/* files->images into the sorted catalog; and, when each entry has its mask_extension, what the source tells:
 * parts by lists, counts, names of classes. Ops are those of pairs then. */
stk_status stk__pairs_scan_images(stk__files *files, const stk__site *site, stk_error *error);
stk_status stk__pairs_finish(stk__files *files, const stk__site *site, stk_error *error);
stk_status stk__pairs_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                            stk_error *error);

#endif
