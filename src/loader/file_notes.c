/* SPDX-License-Identifier: Apache-2.0 */
/* Odd files, counted by the consumer under the loader's lock: one byte per sample says what of it was
 * counted, so that epochs and substitutes do not count a file twice. The table is mapped, not touched, at
 * open; a data set without odd files takes no memory for it. */
#include "loader/file_notes.h"

#include "loader/pump.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SEEN_IMAGE = 1, SEEN_MASK = 2, SEEN_WARNING = 4, SEEN_RESIZED = 8, PATH_BYTES = 8192 };

stk_status stk__file_notes_init(stk__file_notes *notes, uint64_t sample_count, stk_error *error)
{
    notes->sample_count = sample_count;
    if (sample_count == 0) return STK_OK;
    notes->seen = stk__map(sample_count);
    return notes->seen ? STK_OK : stk__fail_memory(error, sample_count, "the notes about files");
}

void stk__file_notes_fini(stk__file_notes *notes)
{
    if (notes->seen) stk__unmap(notes->seen, notes->sample_count);
    notes->seen = NULL;
}

typedef struct finding {
    stk__file_note_kind kind;
    uint8_t bit;
    stk__field field;
    const char *what; /* NULL: nothing is odd */
} finding;

static void add_finding(stk__file_notes *notes, uint64_t id, const finding *found)
{
    if (!found->what || notes->seen[id] & found->bit) return;
    notes->seen[id] |= found->bit;
    stk__file_note_count *count = &notes->kinds[found->kind];
    if (count->files++) return;
    count->first_id = id;
    count->first_field = found->field;
    count->first_what = found->what;
}

void stk__file_notes_add(stk__file_notes *notes, uint64_t id, const stk__file_note *note)
{
    if (id >= notes->sample_count) return;
    const finding findings[] = {{STK_FILE_MISNAMED, SEEN_IMAGE, STK_FIELD_IMAGE, note->image_format},
                                {STK_FILE_MISNAMED, SEEN_MASK, STK_FIELD_MASK, note->mask_format},
                                {STK_FILE_WARNING, SEEN_WARNING, STK_FIELD_IMAGE, note->warning},
                                {STK_FILE_RESIZED, SEEN_RESIZED, STK_FIELD_MASK, note->resized}};
    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++)
        add_finding(notes, id, &findings[i]);
}

/* Of a path as sources print it: "a/b.png", "faces.tar!b.png@1536". */
static void find_extension(const char *path, char *text, size_t size)
{
    const char *dot = strrchr(path, '.');
    size_t length = 0;
    while (dot && length + 1 < size && isalnum((unsigned char)dot[length + 1]))
        length++;
    snprintf(text, size, "%.*s", (int)length, dot ? dot + 1 : "");
}

bool stk__loader_file_note(stk_loader *loader, stk__file_note_kind kind, char *text, size_t size)
{
    char path[PATH_BYTES], extension[32], what[128];
    *text = '\0';
    if (!loader) return false;
    pthread_mutex_lock(&loader->lock);
    const stk__file_note_count count = loader->file_notes.kinds[kind];
    pthread_mutex_unlock(&loader->lock);
    if (!count.files) return false;
    loader->source->ops->where(loader->source, count.first_id, count.first_field, path, sizeof path);
    find_extension(path, extension, sizeof extension);
    if (kind == STK_FILE_MISNAMED)
        snprintf(what, sizeof what, "misnamed: %s content as .%s", count.first_what, extension);
    else if (kind == STK_FILE_RESIZED)
        snprintf(what, sizeof what, "resized: a mask of another size than its %s", count.first_what);
    else
        snprintf(what, sizeof what, "with decoder warnings: %s", count.first_what);
    snprintf(text, size, "%llu %s %s, '%s'%s", (unsigned long long)count.files,
             count.files == 1 ? "file" : "files", what, path, count.files == 1 ? "" : " first");
    return true;
}
