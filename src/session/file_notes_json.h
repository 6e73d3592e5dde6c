/* SPDX-License-Identifier: Apache-2.0 */
/* Notes about odd files (loader/file_notes.h) as JSON, in run.json and in the reports of load and stats. */
#ifndef STK_SESSION_FILE_NOTES_JSON_H
#define STK_SESSION_FILE_NOTES_JSON_H

#include "loader/file_notes.h"

#include <jansson.h>

/* Appends {"id": "misnamed_files", "part": part or null, "files": 12, "text": "12 files misnamed: …"} for
 * each kind that came up. loader NULL: none. */
void stk__file_notes_append(json_t *rows, stk_loader *loader, const char *part);

#endif
