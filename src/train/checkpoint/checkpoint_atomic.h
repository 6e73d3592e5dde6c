/* SPDX-License-Identifier: Apache-2.0 */
/* Every system call that changes a folder of checkpoints. One checkpoint is written like this, by one thread:
 *
 *     begin     mkdir .tmp-NAME (what crashes have left over is removed first)
 *     open      open .tmp-NAME/model.safetensors        )
 *     put       write …                                 ) for each file,
 *     close     fsync, close; its line of SUMS          ) SUMS is the last
 *     commit    fsync .tmp-NAME, rename to NAME, fsync of the folder
 *     fini      without a commit: removes .tmp-NAME
 *
 * and old ones are removed by `discard`: rename to .trash-NAME, fsync of the folder, unlink. */
#ifndef STK_TRAIN_CHECKPOINT_ATOMIC_H
#define STK_TRAIN_CHECKPOINT_ATOMIC_H

#include "core/hash.h"
#include "core/memory.h"

#include <limits.h>

#define STK_CHECKPOINT_SUMS "SUMS"

typedef struct stk__checkpoint_atomic { /* begin/fini */
    const char *folder;
    char temporary[PATH_MAX], final[PATH_MAX];
    bool made, committed;
    /* The file that is open: */
    int file; /* -1: none */
    const char *file_name;
    char path[PATH_MAX];
    stk__hash *hash;     /* of what was put */
    stk__buffer pending; /* put, but not written yet */
    /* Lines of SUMS, as of sha256sum: a digest (XXH3-128), two blanks, a name. The last line is "# " and the
     * digest of all before. */
    stk__buffer sums;
} stk__checkpoint_atomic;

/* Fini is due also when begin fails. folder must outlive io. */
stk_status stk__checkpoint_atomic_begin(stk__checkpoint_atomic *io, const char *folder, const char *name,
                                        stk_error *error);
stk_status stk__checkpoint_atomic_open(stk__checkpoint_atomic *io, const char *name, stk_error *error);
stk_status stk__checkpoint_atomic_put(stk__checkpoint_atomic *io, const void *data, size_t size_bytes,
                                      stk_error *error);
stk_status stk__checkpoint_atomic_close(stk__checkpoint_atomic *io, stk_error *error);
/* Fails before the rename: nothing has happened yet. Behind it the checkpoint is there, but a power cut may
 * undo that. */
stk_status stk__checkpoint_atomic_commit(stk__checkpoint_atomic *io, stk_error *error);
void stk__checkpoint_atomic_fini(stk__checkpoint_atomic *io);

/* Names of checkpoints that are needed no more. All are tried; the error is that of the first that failed. */
stk_status stk__checkpoint_atomic_discard(const char *folder, const char *const *names, int count,
                                          stk_error *error);

#endif
