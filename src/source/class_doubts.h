/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that would become classes, but look like something else: data sets of their own, … */
#ifndef STK_SOURCE_CLASS_DOUBTS_H
#define STK_SOURCE_CLASS_DOUBTS_H

#include "source/files.h"
#include "source/folder_words.h"

/* Of a scanned folder whose classes are numbered. STK_ERROR_DATA names the folder and the settings that
 * choose; for data.layout=auto alone. */
stk_status stk__class_doubts_refuse(const stk__files *files, const stk__site *site, stk_error *error);

/* The part of it that names of folders and files tell; setting: what reads them as classes all the same. */
stk_status stk__class_names_refuse(const stk__files *files, const char *setting, stk_error *error);

#endif
