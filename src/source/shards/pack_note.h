/* SPDX-License-Identifier: Apache-2.0 */
/* What `stoker pack` has written down about a folder of shards, in pack.json: whether it came to its end, and
 * how many samples and shards there should be. */
#ifndef STK_SOURCE_PACK_NOTE_H
#define STK_SOURCE_PACK_NOTE_H

#include "source/kinds.h"
#include "source/shards/shards.h"

#define STK_PACK_NOTE_FILE "pack.json"

typedef struct stk__pack_note {
    bool complete;   /* all parts */
    int64_t samples; /* of this part when it is complete; -1: not known */
    int64_t shards;  /* of this part so far; -1: not known */
} stk__pack_note;

/* part: "train", "val" or NULL. False when the text is not such a note, or lacks the part. */
bool stk__pack_note_read(const char *text, size_t length, const char *part, stk__pack_note *note);

/* Warns when the shards are not all that was packed. */
void stk__pack_note_tell(const stk__shards *shards, const stk__site *site);

/* Fails when the folder holds a pack that was stopped before it had shards to read. */
stk_status stk__pack_note_refuse(const char *folder, stk_error *error);

#endif
