/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a data set that files of names tell: data.train_list, data.val_list, data.test_list, or VOC's
 * ImageSets. */
#ifndef STK_SOURCE_PART_LISTS_H
#define STK_SOURCE_PART_LISTS_H

#include "source/files.h"

/* Some were named, by settings or by the layout. */
bool stk__part_lists_given(const stk__site *site);

/* Leaves the samples of the site's part in the sorted catalog, and tells info->parts; others were counted in
 * info->left_out. Count and fingerprint are the caller's to make anew. */
stk_status stk__part_lists_apply(stk__files *files, const stk__site *site, stk_error *error);

#endif
