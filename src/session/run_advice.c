/* SPDX-License-Identifier: Apache-2.0 */
/* One sentence of advice, from the stall table: the largest share that a setting can lower decides. */
#include "session/run_json.h"

#include <stdio.h>
#include <string.h>

static const char *wait_advice(const stk__session *s, stk__stall_row row)
{
    if (s->data.num_workers == STK_WORKERS_NONE)
        return "data.num_workers=0 loads in the training thread: leave it to auto";
    switch (row) {
    case STK_STALL_READ:
        if (strncmp(s->data.root, "make:", 5) == 0)
            return "samples are drawn too slowly: write them to files once, by stoker make";
        return "files come too slowly: more data.num_workers, a faster disk, or data.order=blocks(256)";
    case STK_STALL_AUGMENT:
        return "augmentation is the slowest stage: a lighter augment.preset, or more data.num_workers";
    default:
        return "decoding is the slowest stage: more data.num_workers, or store images at data.image_size";
    }
}

void stk__run_advice(const stk__session *s, const stk__stall *stall, double wall_s, char *text, size_t size)
{
    const double wait = wall_s > 0 ? stk__stall_wait_ns(stall) * 1e-9 / wall_s : 0;
    const double eval = stk__stall_share(stall, STK_STALL_EVAL, wall_s),
                 saving = stk__stall_share(stall, STK_STALL_CHECKPOINT, wall_s);
    stk__stall_row slowest = STK_STALL_READ;
    for (int row = STK_STALL_DECODE; row <= STK_STALL_AUGMENT; row++)
        if (stall->row_ns[row] > stall->row_ns[slowest]) slowest = (stk__stall_row)row;
    *text = '\0';
    if (wait > 0.05 && wait >= eval && wait >= saving)
        snprintf(text, size, "%.0f %% of the time went by waiting for data; %s", 100 * wait,
                 wait_advice(s, slowest));
    else if (eval > 0.15 && eval >= saving)
        snprintf(
            text, size,
            "%.0f %% of the time went into evaluation; train.eval_interval=%lld would take a third of it",
            100 * eval, (long long)(3 * s->train.eval_interval));
    else if (saving > 0.05)
        snprintf(text, size,
                 "%.0f %% of the time went into checkpoints; train.checkpoint_interval=%lld would take a "
                 "third of it",
                 100 * saving, (long long)(3 * s->train.checkpoint_interval));
    else if (stk__stall_share(stall, STK_STALL_OPTIMISER, wall_s) > 0.2)
        snprintf(
            text, size,
            "%.0f %% of the time went into changing weights; a larger data.batch_size does it less often",
            100 * stk__stall_share(stall, STK_STALL_OPTIMISER, wall_s));
}
