/* SPDX-License-Identifier: Apache-2.0 */
/* What is odd about files that were loaded all the same: a name that promises another format, warnings of a
 * decoder that leave the pixels right, a mask that had to be resized to its image. Counted when a batch is
 * delivered, each file once, so that the numbers and the first example depend on the stream alone, not on
 * workers, timing or the cache. */
#ifndef STK_LOADER_FILE_NOTES_H
#define STK_LOADER_FILE_NOTES_H

#include "core/memory.h"
#include "source/source.h"
#include "stoker/loader.h"

/* Of one sample; texts are constants. All NULL: nothing is odd. */
typedef struct stk__file_note {
    const char *image_format, *mask_format; /* what the file is where its name promises another format */
    const char *warning;                    /* of the image's decoder */
    const char *resized;                    /* what the mask's size is not: it was resized */
    bool image_resized;                     /* to the size of the first one, for which nobody asked */
} stk__file_note;

typedef enum stk__file_note_kind {
    STK_FILE_MISNAMED,
    STK_FILE_WARNING,
    STK_FILE_RESIZED, /* masks of another size than their image */
    STK_FILE_NOTE_KINDS
} stk__file_note_kind;

typedef struct stk__file_note_count {
    uint64_t files;
    uint64_t first_id; /* the first of the stream */
    stk__field first_field;
    const char *first_what; /* format or warning */
} stk__file_note_count;

typedef struct stk__file_notes {
    uint8_t *seen; /* [sample_count]: bits of what was counted; memory is taken where something is odd */
    uint64_t sample_count;
    stk__file_note_count kinds[STK_FILE_NOTE_KINDS];
} stk__file_notes;

stk_status stk__file_notes_init(stk__file_notes *notes, uint64_t sample_count, stk_error *error);
void stk__file_notes_fini(stk__file_notes *notes);

void stk__file_notes_add(stk__file_notes *notes, uint64_t id, const stk__file_note *note);

enum { STK_FILE_NOTE_BYTES = 8192 + 256 }; /* room for every line */

/* In one line, for people: "12 files misnamed: JPEG content as .png, 'x/y.png' first". False, and "": there
 * are none, or the loader is NULL. Threads: any. */
bool stk__loader_file_note(stk_loader *loader, stk__file_note_kind kind, char *text, size_t size);

#endif
