/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker does: fills single places of slots. It owns its decoder, buffers and clock. */
#ifndef STK_LOADER_WORKER_H
#define STK_LOADER_WORKER_H

#include "augment/plan.h"
#include "core/thread.h"
#include "decode/decode.h"
#include "loader/cache.h"
#include "loader/file_observer.h"
#include "augment/flip_pairs.h"
#include "loader/mask_frame.h"
#include "loader/slot.h"
#include "stoker/loader.h"

/* Everything about loading a sample that is decided at open and never changes after. */
typedef struct stk__recipe {
    const stk__source *source;
    stk__layout layout;
    stk__limits limits;
    int32_t target_w, target_h; /* 0: as stored */
    bool target_is_found;       /* the target is the size of the first image: nobody asked for it */
    const stk__plan *plan;      /* NULL: samples stay as decoded */
    bool crops;                 /* the plan does: it needs sources in full size */
    stk__augment_kernel kernel; /* NULL: a device finishes the batch */
    float scale[3], bias[3];    /* normalisation */
    bool exif;
    bool coarse;       /* JPEGs, faster */
    bool must_be_grey; /* channels was left open and the samples looked at were grey */
    stk_bad_sample policy;
    uint8_t mask_map[256];
    bool mask_mapped[256];
    stk__mask_options mask;
    stk__mask_frame_rule frame;
    stk__flip flip;                     /* what changes sides in mirrored samples; it belongs to the loader */
    const stk__file_observer *observer; /* NULL: nobody looks at the files */
    stk__cache *cache;                  /* NULL: every sample is decoded every time */
    pthread_mutex_t *lock;              /* guards the slots' ledgers */
} stk__recipe;

typedef struct stk__worker {
    const stk__recipe *recipe;
    struct stk_loader *loader;
    stk__thread *thread;
    char name[16];
    stk__decoder *decoder;
    stk__buffer bytes;        /* of the file being decoded */
    stk__buffer image, mask;  /* decoded pixels, when the fused pass writes the slot */
    stk__buffer scratch;      /* of the fused pass */
    stk__buffer facts;        /* room for label, points and window, if the source needs some */
    stk_error error;          /* of the last sample */
    stk__file_note note;      /* of the sample being decoded */
    uint64_t read_average_ns; /* sliding */
    /* The clock: written by the worker, read by the watchdog and by measure. */
    _Atomic uint64_t sample_id;
    _Atomic int field; /* stk__field being read or decoded */
    _Atomic uint64_t since_ns;
    _Atomic int stage; /* stk_stage */
    _Atomic uint64_t stage_ns[STK_STAGE_COUNT];
    _Atomic uint64_t bytes_read;
    _Atomic uint64_t cache_hits;
} stk__worker;

stk_status stk__worker_init(stk__worker *worker, const stk__recipe *recipe, stk_error *error);
void stk__worker_fini(stk__worker *worker);

/* Books the time since the last call on the stage that was, and begins another. */
void stk__worker_enter(stk__worker *worker, stk_stage stage);

/* A watch over workers: looks now and then, and does not count the time the whole process was stopped
 * (Ctrl-Z). */
typedef struct stk__watch {
    uint64_t pause_ns; /* between two looks */
    uint64_t last_ns, awake_ns;
} stk__watch;

stk__watch stk__watch_make(double timeout_s);
void stk__watch_look(stk__watch *watch);
/* How long the worker has been in its stage at the last look; 0 when it has nothing to do. */
uint64_t stk__watch_busy_ns(const stk__watch *watch, const stk__worker *worker);

/* Reads and checks the header of a sample's image: its upright size. Used to look at a data set at open. */
stk_status stk__worker_peek(stk__worker *worker, uint64_t id, stk__picture *picture);

/* Loads the sample that belongs at a place, by the policy for bad ones. On failure worker->error tells. */
stk_status stk__worker_fill(stk__worker *worker, stk__slot *slot, const stk__stream *stream, uint64_t place);

/* frame_inquiry.c: the frame of masks whose own sizes do not tell, by other samples; AUTO: they do not tell
 * either. STK_ERROR_DATA: they contradict each other. */
stk_status stk__loader_ask_frame(struct stk_loader *loader, stk_mask_frame *frame, stk_error *error);

#endif
