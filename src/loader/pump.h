/* SPDX-License-Identifier: Apache-2.0 */
/* The moving part of the loader: steps are opened in order, workers claim places of open steps, finished
 * slots wait for the consumer. Everything marked (lock) is guarded by stk_loader.lock. */
#ifndef STK_LOADER_PUMP_H
#define STK_LOADER_PUMP_H

#include "device/device.h"
#include "decode/inflate_gate.h"
#include "loader/loader_open.h"
#include "loader/mask_decision.h"
#include "decode/mask_palette.h"
#include "loader/worker.h"

enum { STK_LOADER_EFFECTS = 32 };

struct stk_loader {
    /* Decided at open. */
    stk_loader_info info;
    stk_data_count left_out[STK_LEFT_OUT_MOST], formats[STK_FORMATS_MOST]; /* that info points to */
    stk_loader_effect effects[STK_LOADER_EFFECTS];
    int effect_count;
    const stk_loader_options *asked;            /* during open only, as given: what effects say of requests */
    const stk__augment_settings *asked_augment; /* the same; NULL: none */
    stk__source *source;
    bool source_borrowed;       /* the opener's own: not closed here */
    stk__plan *plan;            /* NULL: samples stay as decoded */
    bool augments;              /* the plan draws, by data.seed */
    stk__device *device;        /* that augments batches; NULL: the workers do */
    stk__device *target_device; /* in whose memory batches end, may be the same; NULL: the host's */
    bool pinned;                /* the host's memory of slots shall be */
    stk__picture common;        /* upright, as the probe found most images */
    uint64_t read_bytes;        /* buffer that the probe's reads took */
    uint64_t index_bytes;       /* of the source: lists of samples */
    stk__recipe recipe;         /* its cache belongs to the loader */
    stk__mask_palette *palette; /* data.mask_colors; NULL: none */
    stk__mask_decision masks;   /* by a look at them; looked false: settings alone */
    pthread_mutex_t frame_lock; /* guards the next three (frame_inquiry.c) */
    bool frame_asked;           /* other samples have been asked for the frame of masks */
    stk_mask_frame frame;       /* what they came to; AUTO: nothing */
    stk_error frame_error;      /* they contradict each other */
    stk__inflate_gate gate;     /* for the decoders of all workers */
    double timeout_s;
    int64_t seed;
    char order[32], part[96]; /* as in stk_loader_state */
    uint64_t epochs;          /* 0: without end */
    uint64_t chunk;           /* places a worker claims at once */
    int64_t prefetch_factor;  /* batches per worker that may wait */
    uint64_t limit_memory_bytes;
    bool held; /* configured only: no slots, no cache, no threads until stk__loader_start */
    stk__cache_options cache_options; /* held: of the cache that it will have; budget_bytes 0: none */

    stk__worker *workers; /* [worker_count]; the only one runs in the caller's thread when threads is 0 */
    int worker_count, thread_count;
    bool low_priority; /* workers run at lower priority */
    stk__slot *slots;  /* [slot_count] */
    int slot_count;
    stk__thread *watchdog;
    stk__thread *device_thread; /* makes all calls of the device; NULL without, or when the caller does it */

    pthread_mutex_t lock;
    pthread_cond_t work;  /* for workers: a slot got free, or it is time to go */
    pthread_cond_t full;  /* for the device's thread: a slot is full, or it is time to go */
    pthread_cond_t ready; /* for the consumer: a slot got ready, or something failed */
    pthread_cond_t watch; /* for the watchdog: it is time to go */
    bool locks_made;

    stk__stream stream;                 /* (lock), changed by seek while no worker is busy */
    uint64_t open_step;                 /* (lock) next step to open */
    uint64_t deliver_step;              /* (lock) next step to hand out */
    uint64_t end_step;                  /* (lock) first step that will not be opened */
    uint64_t epoch;                     /* (lock) of the batch handed out last */
    stk__slot *filling;                 /* (lock) the slot whose places are being claimed */
    stk__slot **in_flight;              /* (lock) [slot_count]: slot of step number modulo slot_count */
    bool stopping, paused, interrupted; /* (lock) */
    uint64_t device_since_ns;           /* (lock) when the device's thread began what it is at; 0: it rests */
    stk_error failure;                  /* (lock) code STK_OK while all is well */

    stk_ledger_sink sink;
    void *sink_context;
    stk__file_notes file_notes; /* (lock) of what was delivered */
    stk_loader_stats stats;     /* consumer's part: samples, batches, bad, wait */
};

/* Threads of the loader. */
void stk__pump_work(void *worker);   /* main of a worker thread */
void stk__pump_finish(void *loader); /* main of the device's thread */
void stk__pump_watch(void *loader);  /* main of the watchdog */

stk_status stk__pump_start(stk_loader *loader, stk_error *error);
/* Returns how many threads had to be given up. */
int stk__pump_stop(stk_loader *loader);

/* Sets where the stream starts; no worker may be busy. (lock) */
void stk__pump_rewind(stk_loader *loader, uint64_t epoch, uint64_t position);
/* Where a slot that is handed back goes: at once free, or when the device is through with it. (lock) */
void stk__pump_return(stk_loader *loader, stk__slot *slot);
/* Waits until no worker is busy and takes back all slots that are not lent. (lock) */
stk_status stk__pump_pause(stk_loader *loader, stk_error *error);

/* The slot of the next step, ready; fills it in this thread when there are no workers. STK_AGAIN: not before
 * the deadline, and it has been looked at or filled once. (lock) */
stk_status stk__pump_take(stk_loader *loader, stk__slot **slot, uint64_t deadline_ns, stk_error *error);

/* read_ahead.c: called by a worker before it fills a place. */
void stk__read_ahead(const stk__worker *worker, const stk__slot *slot, uint64_t place);

/* settings.c: options to decisions; settings_augment.c: those about finishing images. */
stk_status stk__loader_configure(stk_loader *loader, const stk__loader_setup *setup, stk_error *error);
/* settings_data.c: the source, the samples of it that are loaded, and what is told of it. */
stk_status stk__loader_open_source(stk_loader *loader, const stk_loader_options *options, stk_error *error);
stk_status stk__loader_choose_part(stk_loader *loader, const stk_loader_options *options, stk_error *error);
void stk__loader_describe_data(stk_loader *loader);
/* worker_count.c: their number, and the default with its rule in words (a constant). */
void stk__loader_choose_workers(stk_loader *loader, const stk_loader_options *options);
int stk__loader_default_workers(const stk_loader_options *options, int cpus, const char **why);
stk_status stk__loader_choose_storage(stk_loader *loader, const stk_loader_options *options,
                                      const stk__augment_settings *augment, stk__storage *store,
                                      stk_error *error);

/* settings_masks.c: what is done with masks; looks at them if setup or settings say so, and then changes
 * options. The second fills the classes of the info in. */
stk_status stk__loader_choose_masks(stk_loader *loader, const stk__loader_setup *setup,
                                    stk_loader_options *options, stk_error *error);
void stk__loader_describe_masks(stk_loader *loader);
/* settings_flip.c: what changes sides in mirrored samples (data.flip_pairs). The plan must be there. */
stk_status stk__loader_choose_flip(stk_loader *loader, const stk_loader_options *options, stk_error *error);

/* settings_cache.c: makes the cache that data.cache asks for. Slots must have been decided on. */
stk_status stk__loader_choose_cache(stk_loader *loader, const stk_loader_options *options, stk_error *error);
/* Of a loader that was held: the cache that was decided on. */
stk_status stk__loader_make_cache(stk_loader *loader, stk_error *error);

/* loader_effects.c: effects. The last one tells of everything that was asked for and has no use. */
void stk__loader_note(stk_loader *loader, const char *name, const char *in_effect, const char *why, ...)
    STK__PRINTF(4, 5);
void stk__loader_note_number(stk_loader *loader, const char *name, uint64_t value, const char *why);
void stk__loader_note_all(stk_loader *loader, const stk_loader_options *asked);
void stk__loader_note_pinned(stk_loader *loader, const stk_loader_options *asked); /* slots are made */

/* The device that slots' memory is shared with: where batches end, or else go through. NULL: none. */
static inline stk__device *stk__loader_partner(const stk_loader *loader)
{
    return loader->target_device               ? loader->target_device
           : stk__device_keeps(loader->device) ? loader->device
                                               : NULL;
}

/* probe.c: looks at a few samples for the common size and the channels. picture: what most need. */
stk_status stk__loader_probe(stk_loader *loader, stk__picture *common, stk_error *error);

#endif
