/* A slot: the memory of one batch and its state. States change in loader.c under the loader's lock only:
 *
 *     free -> filling -> ready -> lent -> free
 */
#ifndef STK_LOADER_SLOT_H
#define STK_LOADER_SLOT_H

#include "device/host.h"
#include "image/pixels.h"
#include "loader/ledger.h"
#include "loader/stream.h"
#include "source/source.h"
#include "stoker/batch.h"

#include <stdatomic.h>

typedef enum stk__slot_state {
    STK_SLOT_FREE,
    STK_SLOT_FILLING,
    STK_SLOT_READY,
    STK_SLOT_LENT
} stk__slot_state;

/* Where everything of a batch lies in a slot's memory; the same for all slots of a loader. */
typedef struct stk__layout {
    int64_t batch_size;
    int32_t w, h, channels; /* the common size; 0 without images */
    bool images, masks;
    stk__label_kind label;
    int32_t point_count, window_rows, window_columns;
    size_t mask_offset, view_offset, label_offset, point_offset, window_offset, id_offset, weight_offset;
    size_t spare_offset; /* from here to the end: images that do not have the common size */
    size_t total_bytes;
} stk__layout;

stk__layout stk__layout_make(const stk__source_info *info, int64_t batch_size, stk__pixels common,
                             size_t spare_bytes);

typedef struct stk__slot {
    stk_batch batch; /* first: stk_batch_release gets this address */
    struct stk_loader *loader;
    stk__slot_state state;
    stk__step step;
    stk__order order;
    uint64_t claimed, finished; /* places handed to workers, places done */
    stk__ledger ledger;         /* bad samples of this batch */
    stk_error error;            /* of the lowest failed place */
    uint64_t error_place;
    atomic_size_t spare_used;
    stk__host_memory memory;
} stk__slot;

stk_status stk__slot_init(stk__slot *slot, const stk__layout *layout, stk_error *error);
void stk__slot_fini(stk__slot *slot);

/* Prepares the slot for a step: counts, ids, weights 1. */
void stk__slot_begin(stk__slot *slot, const stk__layout *layout, const stk__step *step);
/* Sets the tensors' shapes for the consumer. */
void stk__slot_finish(stk__slot *slot, const stk__layout *layout);

/* Room for an image of w x h at a place: the common place, or spare memory when the size is another one (data
 * NULL when that is used up). */
stk__pixels stk__slot_image(stk__slot *slot, const stk__layout *layout, uint64_t place, int32_t w, int32_t h);
stk__pixels stk__slot_mask(stk__slot *slot, const stk__layout *layout, uint64_t place, int32_t w, int32_t h);

void stk__slot_set_facts(stk__slot *slot, const stk__layout *layout, uint64_t place, const stk__facts *facts);
void stk__slot_set_id(stk__slot *slot, const stk__layout *layout, uint64_t place, uint64_t id);
/* Image 0, mask 255, label -1, points invisible, weight 0. */
void stk__slot_skip(stk__slot *slot, const stk__layout *layout, uint64_t place);

float *stk__slot_points(stk__slot *slot, const stk__layout *layout, uint64_t place);

#endif
