/* SPDX-License-Identifier: Apache-2.0 */
/* A slot: the memory of one batch and its state. States change in pump.c under the loader's lock only:
 *
 *     free -> filling -> ready -> lent [-> returned] -> free
 */
#ifndef STK_LOADER_SLOT_H
#define STK_LOADER_SLOT_H

#include "device/device.h"
#include "device/host.h"
#include "loader/file_notes.h"
#include "loader/layout.h"
#include "loader/ledger.h"
#include "loader/spare.h"
#include "loader/stream.h"

typedef enum stk__slot_state {
    STK_SLOT_FREE,
    STK_SLOT_FILLING,
    STK_SLOT_READY,
    STK_SLOT_LENT,
    STK_SLOT_RETURNED /* in a device's memory only: until what is under way there is through with it */
} stk__slot_state;

typedef struct stk__slot {
    stk_batch batch; /* first: stk_batch_release gets this address */
    struct stk_loader *loader;
    stk__slot_state state;
    stk__step step;
    stk__order order;
    uint64_t partner[STK_LAYOUT_PARTNERS]; /* positions of the partners that other batches have */
    uint64_t places;                       /* to fill: the step's and those of partners, which come last */
    uint64_t claimed, finished;            /* places handed to workers, places done */
    stk__ledger ledger;                    /* bad samples of this batch */
    stk__file_note *file_notes;            /* [layout.places], written by who fills a place */
    stk_error error;                       /* of the lowest failed place */
    uint64_t error_place;
    stk__host_memory memory;
    stk__spare spare;           /* its offsets count from layout.spare_offset */
    stk__device_memory *device; /* the same on a device, or what pins the host's; NULL: neither */
    uint64_t returned_ns;       /* when, if the state is that */
} stk__slot;

/* device: that batches go through; NULL: none. pinned: its part of the host's memory shall be. filled: there
 * are enough samples for a full batch; else large pages would take more than is used. */
typedef struct stk__slot_memory {
    stk__device *device;
    bool pinned, filled;
} stk__slot_memory;

stk_status stk__slot_init(stk__slot *slot, const stk__layout *layout, stk__slot_memory memory,
                          stk_error *error);
void stk__slot_fini(stk__slot *slot);

/* Prepares the slot for a step: counts, ids, weights 1. */
void stk__slot_begin(stk__slot *slot, const stk__layout *layout, const stk__step *step);
/* Where in the epoch the sample of a place stands; places behind the step's own are partners'. */
static inline uint64_t stk__slot_position(const stk__slot *slot, uint64_t place)
{
    const stk__step *step = &slot->step;
    return place < step->count ? step->position + place : slot->partner[place - step->count];
}

/* Sets the tensors' shapes for the consumer. */
void stk__slot_finish(stk__slot *slot, const stk__layout *layout);

/* Room for decoded pixels of w x h: the place itself if it is kept so and has this size, else spare memory
 * (data NULL when that is used up, or when the system refuses: spare.refused). */
stk__pixels stk__slot_image(stk__slot *slot, const stk__layout *layout, uint64_t place, int32_t w, int32_t h);
stk__pixels stk__slot_mask(stk__slot *slot, const stk__layout *layout, uint64_t place, int32_t w, int32_t h);

void stk__slot_set_facts(stk__slot *slot, const stk__layout *layout, uint64_t place,
                         const stk__sample_facts *facts);
void stk__slot_set_id(stk__slot *slot, const stk__layout *layout, uint64_t place, uint64_t id);
/* Image 0, mask 255, label -1, points invisible, weight 0, views of width 0. */
void stk__slot_skip(stk__slot *slot, const stk__layout *layout, uint64_t place);

/* Finished images and masks: where the sample at a place is stored, in the memory of who finishes them. */
stk__augment_target stk__slot_target(stk__slot *slot, const stk__layout *layout, uint64_t place);
void *stk__slot_mask2(stk__slot *slot, const stk__layout *layout, uint64_t place);
stk__augment_block *stk__slot_block(stk__slot *slot, const stk__layout *layout, uint64_t place);
const stk_view *stk__slot_views(stk__slot *slot, const stk__layout *layout, stk__field field);

float *stk__slot_weights(stk__slot *slot, const stk__layout *layout);
float *stk__slot_lambdas(stk__slot *slot, const stk__layout *layout);
/* Two partners' labels: classes get the other as second, values are mixed. With itself: nothing is mixed. */
void stk__slot_mix_labels(stk__slot *slot, const stk__layout *layout, uint64_t a, uint64_t b, float lambda);
/* The class of the sample at a place; only with labels that are classes. */
/* A value, or the classes of a set: [label_count]. */
float *stk__slot_set(stk__slot *slot, const stk__layout *layout, uint64_t place);
int64_t *stk__slot_class(stk__slot *slot, const stk__layout *layout, uint64_t place);
float *stk__slot_points(stk__slot *slot, const stk__layout *layout, uint64_t place);

#endif
