/* SPDX-License-Identifier: Apache-2.0 */
/* A loader that Python opened, and the batches of it that Python still holds. The loader is closed when its
 * object and the last array of its last batch are gone, in whatever order. Nothing here needs the
 * interpreter: whoever frees an array may do it from any thread, without the GIL. */
#ifndef STK_PYTHON_LOAN_H
#define STK_PYTHON_LOAN_H

#include <stoker/stoker.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct stk__shared_loader {
    atomic_int refs; /* its object in Python, a call that is under way, and every loan */
    atomic_int lent; /* slots that are out */
    stk_loader *loader;
    pid_t pid; /* of the process that has its threads; a fork's child has none */
} stk__shared_loader;

/* Takes the loader, also when it fails: NULL, and the loader is closed. */
stk__shared_loader *stk__shared_loader_create(stk_loader *loader);
void stk__shared_loader_retain(stk__shared_loader *shared);
/* The last one closes the loader, which waits for its threads. Does nothing to it in a fork's child. */
void stk__shared_loader_release(stk__shared_loader *shared);
bool stk__shared_loader_is_forked(const stk__shared_loader *shared);

/* A batch that is lent, or a copy of one. */
typedef struct stk__loan {
    atomic_int refs;          /* arrays of it */
    stk__shared_loader *from; /* NULL: a copy */
    stk_batch *batch;         /* what the arrays describe; of a copy its own, behind this struct */
    void *stream;             /* of a batch on a GPU: whose work may still read it when the last array goes */
    struct stk__loan_pool *pool; /* of results: where its memory goes back to */
    size_t room_bytes;           /* of it */
} stk__loan;

/* Takes the batch: it is released with the last reference. NULL: out of memory, and it is released now. */
stk__loan *stk__loan_create(stk__shared_loader *from, stk_batch *batch);
/* The same with a copy of all its tensors in host memory; the batch itself is released at once. */
stk__loan *stk__loan_copy(stk_batch *batch);
void stk__loan_retain(stk__loan *loan);
void stk__loan_release(stk__loan *loan);
/* Would stk__loan_release close a loader, and so wait? A guess, for who holds the GIL. */
bool stk__loan_ends_loader(const stk__loan *loan);

/* The tensors of a batch in the order in which Python gets them. */
enum { STK_LOAN_TENSORS = 10 };
stk_tensor *stk__loan_tensor(stk_batch *batch, int index);

#endif
