/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a pack goes to: may it be used, is there room? */
#ifndef STK_PACK_PACK_FOLDER_H
#define STK_PACK_PACK_FOLDER_H

#include "pack/pack_state.h"
#include "source/source.h"

/* STK_ERROR_ARGUMENT when the folder is the data set's own, or lies inside it. root may also be a file or
 * make:…. STK_ERROR_IO when the folder is relative to a current folder that was deleted. */
stk_status stk__pack_folder_check(const char *root, const char *folder, stk_error *error);

/* Makes it if need be, takes its lock (folder_lock.h) and reads its pack.json; *found: there is one. A folder
 * that holds something else is STK_ERROR_ARGUMENT and gets no lock. */
stk_status stk__pack_folder_open(const char *folder, int *lock, stk__pack_state *state, bool *found,
                                 stk_error *error);

/* STK_ERROR_IO when the disk has less than the least left that `what` ("the pack") needs; a warning when it
 * may be too little. */
stk_status stk__pack_folder_room(const char *folder, stk__pack_need need, const char *what, stk_error *error);

/* classes.txt, if the source's classes have names; else one of an earlier start is removed. STK_ERROR_DATA
 * for a name that cannot be a line. */
stk_status stk__pack_folder_classes(const char *folder, const stk__source_info *info, stk_error *error);
/* points.txt, if the source's points have names that can be lines; the same. */
stk_status stk__pack_folder_points(const char *folder, const stk__source_info *info, stk_error *error);

#endif
