/* SPDX-License-Identifier: Apache-2.0 */
/* Notes about odd files as rows of JSON: how many of each kind, and the sentence with the first of them.
 * Threads: any, as for the loader's statistics. */
#include "session/file_notes_json.h"

#include "core/json_text.h"

void stk__file_notes_append(json_t *rows, stk_loader *loader, const char *part)
{
    static const char *const ids[STK_FILE_NOTE_KINDS] = {"misnamed_files", "warning_files", "resized_masks"};
    char text[STK_FILE_NOTE_BYTES];
    stk_loader_stats stats;
    stk_loader_get_stats(loader, &stats);
    const uint64_t files[STK_FILE_NOTE_KINDS] = {stats.misnamed_files, stats.warning_files,
                                                 stats.resized_masks};
    for (int kind = 0; kind < STK_FILE_NOTE_KINDS; kind++)
        if (stk__loader_file_note(loader, (stk__file_note_kind)kind, text, sizeof text))
            json_array_append_new(rows,
                                  json_pack("{s:s, s:s?, s:I, s:o}", "id", ids[kind], "part", part, "files",
                                            (json_int_t)files[kind], "text", stk__json_string(text)));
}
