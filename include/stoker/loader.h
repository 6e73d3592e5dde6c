/* SPDX-License-Identifier: Apache-2.0 */
/* The loader: files in, batches out.
 *
 *     stk_loader_options options = STK_LOADER_OPTIONS_INIT;
 *     options.root = "faces";
 *     stk_loader *loader;
 *     stk_batch *batch;
 *     stk_error error;
 *     if (stk_loader_open(&loader, &options, &error) != STK_OK) …
 *     while (stk_loader_next(loader, &batch, &error) == STK_OK) {   // STK_END after each epoch
 *         … batch->images …
 *         stk_batch_release(batch);
 *     }
 *     stk_loader_close(&loader);
 *
 * The stream of batches is a function of the data set, seed and batch size alone: the same bytes for every
 * number of workers, prefetch depth and after every resume. */
#ifndef STOKER_LOADER_H
#define STOKER_LOADER_H

#include "stoker/batch.h"
#include "stoker/dataset.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stk_switch { STK_SWITCH_OFF = -1, STK_SWITCH_DEFAULT = 0, STK_SWITCH_ON = 1 } stk_switch;
/* Test: the part of a data set that it holds out itself; neither trained nor validated on. */
typedef enum stk_part { STK_PART_TRAIN, STK_PART_VAL, STK_PART_ALL, STK_PART_TEST } stk_part;
/* How a folder is read. Auto: by the names of its folders; where two readings are possible, opening stops. */
typedef enum stk_layout {
    STK_LAYOUT_AUTO,
    STK_LAYOUT_CLASSES, /* every folder is a class, whatever it is called */
    STK_LAYOUT_PAIRS,   /* images and masks, as one set */
    STK_LAYOUT_IMAGES,  /* images without labels */
    STK_LAYOUT_LIST,    /* the list that lies in it */
    STK_LAYOUT_PARTS    /* folders train, val, test; others are left out */
} stk_layout;
typedef enum stk_bad_sample { STK_BAD_FAIL, STK_BAD_REPLACE, STK_BAD_SKIP } stk_bad_sample;

/* STK_STORE_AUTO: u8 as decoded, or f32 when images are augmented or normalised. */
typedef enum stk_store {
    STK_STORE_AUTO,
    STK_STORE_U8,
    STK_STORE_F32,
    STK_STORE_F16,
    STK_STORE_BF16
} stk_store;
typedef enum stk_axes { STK_AXES_NHWC, STK_AXES_NCHW } stk_axes;
/* Fast: coarser inverse DCT, colours not interpolated; some levels off where colours change. */
typedef enum stk_jpeg { STK_JPEG_EXACT, STK_JPEG_FAST } stk_jpeg;
typedef enum stk_mask_store { STK_MASK_U8, STK_MASK_I64 } stk_mask_store;
/* Masks and points of images with an EXIF orientation were drawn on the pixels as stored, or upright. Auto:
 * each mask whose size proves it; others stop loading. */
typedef enum stk_mask_frame {
    STK_MASK_FRAME_AUTO,
    STK_MASK_FRAME_STORED,
    STK_MASK_FRAME_UPRIGHT
} stk_mask_frame;

#define STK_WORKERS_NONE (-1) /* load in the caller's thread */

/* Zero means default everywhere; names and defaults are those of `stoker load --help` (section data) and of
 * stk_option_describe. */
typedef struct stk_loader_options {
    size_t struct_size;   /* sizeof(stk_loader_options): see STK_INIT (status.h) */
    const char *root;     /* folder, list, series, or make:faces …; this or dataset must be set */
    const char *val_root; /* where STK_PART_VAL is, if not in root */
    stk_part part;
    stk_layout layout;
    const char *images, *masks;            /* folders below root; NULL: found by name */
    const char *mask_suffix, *mask_prefix; /* that a mask's name adds to its image's; "none"; NULL: found */
    const char *train_list, *val_list, *test_list; /* files with the name of a sample in each line */
    double val_split;                              /* share of samples held back for validation */
    int64_t split_seed;
    const char *columns;     /* of a list by role: "file=Image Name,label=species"; NULL: by their names */
    int64_t limit;           /* use only the first samples of the part; 0: all */
    int32_t image_size[2];   /* h, w; 0: as stored */
    int64_t channels;        /* 1, 3; 0: as found */
    int64_t num_classes;     /* ids of masks are checked against it; 0: from the data set, or unchecked */
    const char *mask_map;    /* "0:0,255:1", "threshold", "auto"; NULL or "none": ids as stored */
    const char *mask_colors; /* of RGB masks: a file, "voc" …, "auto"; NULL: they must be gray */
    stk_mask_frame mask_frame;
    stk_jpeg jpeg;   /* how JPEGs are decoded */
    stk_switch exif; /* turn images upright (on) */
    stk_store dtype; /* of images in a batch */
    stk_axes axes;   /* of images in a batch */
    stk_mask_store mask_dtype;
    /* Classes and points that change sides in mirrored samples: "auto" by their names, "none", or a list of
     * ids or names, "4:5,l_ear:r_ear"; NULL: auto. */
    const char *flip_pairs;
    double mean[3], std[3];  /* (v / 255 - mean) / std, per channel; 0: 0 and 1 */
    int64_t sequence_length; /* rows of a window; 0: 60 */
    int64_t batch_size;      /* per rank */
    int64_t num_workers;     /* threads; 0: by the rule; STK_WORKERS_NONE */
    int64_t prefetch_factor; /* batches per worker that may wait ready */
    const char *cache;       /* memory for decoded images: none, auto or a size ("8G"); NULL: none */
    stk_switch drop_last;    /* off */
    stk_switch shuffle;      /* on for training */
    const char *order;       /* sequential, full, blocks(k) */
    int64_t seed;
    stk_bad_sample on_bad_sample;
    double timeout_s;      /* after which something that hangs is named and given up */
    stk_switch pin_memory; /* on for batches that go to a GPU */
    stk_switch persistent_workers;
    int64_t rank, ranks; /* this loader's share of the global batch */
    uint64_t limit_bytes, limit_pixels, limit_memory_bytes;
    int64_t limit_scans, limit_warnings;
    double limit_time_s;

    /* How the training part is augmented: a preset ("strong"), or the section `augment` as YAML ("preset:
     * strong, hue: 0.2"). NULL: not at all. */
    const char *augment;

    /* Not settings of a file: */
    const char *device; /* where batches end: NULL or "cpu" is host memory, "cuda:0" that of a GPU. Then their
                           tensors lie there, sample_ids excepted; see stk_batch_wait and
                           stk_batch_release_after */
    bool dedicated_cpus; /* no engine runs beside: the default number of workers is the whole CPU budget */
    bool low_priority;   /* an engine on the same CPUs comes first: workers run at lower priority, and as many
                            as there are CPUs by default */
    uint64_t epochs;     /* stop reading ahead after so many; 0: without end */
    /* Samples from functions of yours instead of root (dataset.h); copied while the loader opens. root,
     * val_root and lists of parts are NULL then: a validation set is a loader of its own, or val_split. */
    const stk_dataset *dataset;
} stk_loader_options;

#define STK_LOADER_OPTIONS_INIT STK_INIT(stk_loader_options)

/* Sets one field by the name that its setting has in files and in `stoker load` ("num_workers",
 * "limits.pixels"; stk_option_describe of section data lists them), from a text as people write it ("auto",
 * "8G", "[0.5, 0.5, 0.5]"). A TEXT keeps the pointer: value must live until open. STK_ERROR_CONFIG: no such
 * name, with the nearest one as a hint, or no such value; nothing is changed. Threads: any, one at a time per
 * options. */
STK_API stk_status stk_loader_options_set(stk_loader_options *options, const char *name, const char *value,
                                          stk_error *error);

typedef struct stk_loader stk_loader;

/* On failure *loader is NULL and nothing is left behind. Texts in options need to live only during the call.
 * Threads: any. */
STK_API stk_status stk_loader_open(stk_loader **loader, const stk_loader_options *options, stk_error *error);

/* STK_OK: *batch is lent to the caller until stk_batch_release. STK_END: the epoch is over; the next call
 * begins the next one (or returns STK_END again after `epochs`). Threads: one at a time. */
STK_API stk_status stk_loader_next(stk_loader *loader, stk_batch **batch, stk_error *error);
/* The same, but STK_AGAIN, and *batch NULL, if there is none within timeout_s seconds (0: look, do not wait):
 * for programs that have something else to look at in between, such as signals. Nothing is lost; call again.
 * With STK_WORKERS_NONE the samples at hand are loaded first, however long that takes. Threads: one at a
 * time, with next. */
STK_API stk_status stk_loader_next_within(stk_loader *loader, stk_batch **batch, double timeout_s,
                                          stk_error *error);

/* Makes a waiting or coming next return STK_ERROR_INTERRUPTED. Does nothing with NULL. Threads: any; not from
 * a signal handler. */
STK_API void stk_loader_interrupt(stk_loader *loader);

/* Ends the threads. Waits for them up to timeout (0.5 s after an interrupt or a time-out), then gives up
 * those that hang, with their memory, and returns how many that were (leave by _exit then). Sets *loader to
 * NULL; does nothing, and returns 0, with NULL or NULL inside. All lent batches must have been released.
 * Threads: one, with no other call under way. */
STK_API int stk_loader_close(stk_loader **loader);

/* Files of a data set, by a word. */
typedef struct stk_data_count {
    const char *what;    /* left out: "webp files: unsupported format"; formats: "jpg" */
    const char *example; /* one of them; "" if there is none to show */
    uint64_t count;
    uint64_t masks; /* formats: so many masks, and count images */
} stk_data_count;

/* What was found and decided at open; belongs to the loader. */
typedef struct stk_loader_info {
    const char *layout;     /* "images and masks" */
    char fingerprint[33];   /* of the data set's keys */
    uint64_t sample_count;  /* of this part */
    uint64_t dataset_count; /* of the data set */
    uint64_t batches_per_epoch;
    int64_t batch_size, num_workers, slot_count;
    uint64_t cache_bytes;        /* what the cache will take if all samples have the common size; 0: none */
    uint64_t slot_bytes;         /* memory of one slot when all samples have the common size */
    int32_t h, w, channels;      /* common size of images; 0 without images */
    bool masks, classes, values; /* what each sample has: a mask, a class, a value */
    int32_t class_count;         /* 0: unknown */
    const char *const *class_names;
    int32_t point_count;                /* points of a sample; 0: none */
    int32_t window_rows, feature_count; /* of a series; 0: none */
    bool resident, pinned;              /* batches end in a GPU's memory; it copies from pinned slots */
    const char *const *point_names;     /* [point_count]; NULL: they have none */
    const char *found;                  /* how images, masks and parts were found; "": nothing to find */
    const stk_data_count *left_out;     /* [left_out_count]: what of the data set is not used */
    const stk_data_count *formats;      /* [format_count]: its files by extension */
    int32_t left_out_count, format_count;
    uint64_t unmasked_count;              /* images without mask: bad samples, see on_bad_sample */
    bool train_part, val_part, test_part; /* parts that the data set names itself */
    bool label_sets; /* each sample has any number of classes: labels are [n class_count] */
} stk_loader_info;

/* NULL for NULL. Threads: any: it never changes. */
STK_API const stk_loader_info *stk_loader_describe(const stk_loader *loader);

/* A setting that is in effect other than requested, or was left to the loader. */
typedef struct stk_loader_effect {
    const char *name;   /* "data.num_workers" */
    char requested[64]; /* as in a file of settings, cut if it is longer; empty: left to the loader */
    char in_effect[64]; /* empty: not in effect at all */
    char why[160];
} stk_loader_effect;

/* [*count], in the order of the decisions; belongs to the loader. NULL, and 0, if an argument is NULL.
 * Threads: any: they never change. */
STK_API const stk_loader_effect *stk_loader_effects(const stk_loader *loader, int *count);

/* The sample with this id (stk_batch.sample_ids, stk_ledger_entry): its key, the path below the root without
 * extension, which folder and packed shards of a data set share; and where it lies, as the ledger has it
 * ("faces/images/00017.jpg", "faces/faces-0003.tar!00017.jpg@1536"). STK_ERROR_ARGUMENT: there is no such id,
 * or it takes more than size bytes with its final zero (then text is ""). Threads: any. */
STK_API stk_status stk_loader_sample_key(const stk_loader *loader, int64_t id, char *text, size_t size,
                                         stk_error *error);
STK_API stk_status stk_loader_sample_path(const stk_loader *loader, int64_t id, char *text, size_t size,
                                          stk_error *error);

/* Where in the stream the next batch begins. Belongs to (data set, seed, order, part), not to workers or
 * ranks. */
typedef struct stk_loader_state {
    char fingerprint[33]; /* of the data set */
    uint64_t sample_count;
    int64_t seed;
    char order[32];
    char part[96]; /* of the data set: "all", or which and how it was split */
    uint64_t epoch;
    uint64_t position; /* global sample number in the epoch */
} stk_loader_state;

/* Where the batch that the next stk_loader_next returns begins. All zero for a loader that is NULL. Threads:
 * any; beside next it is the state before or after that call. */
STK_API void stk_loader_tell(stk_loader *loader, stk_loader_state *state);
/* Continues from there; costs nothing but the batches read ahead. STK_ERROR_STATE if it is another data
 * set's. Batches that are lent stay so. Threads: one at a time, with next. */
STK_API stk_status stk_loader_seek(stk_loader *loader, const stk_loader_state *state, stk_error *error);

enum { STK_LOADER_STATE_TEXT_BYTES = 1536 }; /* room for every state */

/* The state as one line of JSON, {"schema": 1, "fingerprint": …}, and back. print: STK_ERROR_ARGUMENT, and
 * text "", if size is too small. parse: keys that it does not know are ignored, so it takes the files of
 * `stoker load --state`, too; STK_ERROR_STATE, and *state as before, if text is no state. Threads: any. */
STK_API stk_status stk_loader_state_print(const stk_loader_state *state, char *text, size_t size,
                                          stk_error *error);
STK_API stk_status stk_loader_state_parse(stk_loader_state *state, const char *text, stk_error *error);

/* One bad sample. Texts live during the call. */
typedef struct stk_ledger_entry {
    uint64_t epoch, position;
    int64_t sample_id;
    stk_damage damage;
    const char *path, *detail;
    const char *action; /* "failed", "replaced", "skipped" */
} stk_ledger_entry;

/* Called from within stk_loader_next, in the order of the stream, once for each bad sample of the batch. */
typedef void (*stk_ledger_sink)(void *context, const stk_ledger_entry *entry);
/* sink NULL: none (default). context goes to every call of the sink and may be NULL. Does nothing with a
 * loader that is NULL. Threads: one at a time, with next. */
STK_API void stk_loader_set_ledger(stk_loader *loader, stk_ledger_sink sink, void *context);

/* What a worker does with its time; together they make up all of it. */
typedef enum stk_stage {
    STK_STAGE_READ,    /* files */
    STK_STAGE_DECODE,  /* images, resizing included; drawing */
    STK_STAGE_MASK,    /* masks */
    STK_STAGE_CACHE,   /* decoded images: copies into the cache and out of it */
    STK_STAGE_AUGMENT, /* the fused pass, mixing */
    STK_STAGE_OTHER,   /* our own book-keeping */
    STK_STAGE_IDLE,    /* asleep: all slots are full, or nothing is left */
    STK_STAGE_COUNT
} stk_stage;

enum { STK_STAGE_CAPACITY = 16 }; /* length of public arrays with a number per stage */

typedef struct stk_loader_stats {
    uint64_t samples, batches;         /* delivered */
    uint64_t bad_samples;              /* delivered, by any policy */
    int32_t damage_count, stage_count; /* classes and stages that this library knows; others are 0 below */
    uint64_t damages[STK_DAMAGE_CAPACITY]; /* bad_samples by stk_damage */
    uint64_t stage_ns[STK_STAGE_CAPACITY]; /* by stk_stage, summed over the workers */
    uint64_t wait_ns;                      /* time that next waited */
    uint64_t bytes_read;
    uint64_t cache_samples, cache_bytes; /* held now */
    uint64_t cache_hits;                 /* samples that came from the cache */
    uint64_t device_batches;             /* that a device made, and what they took by its own clock */
    uint64_t device_copy_ns, device_kernel_ns;
    uint64_t misnamed_files; /* delivered, each counted once: of another format than the extension says */
    uint64_t warning_files;  /* the same: with decoder warnings that are no damage, or were permitted */
    uint64_t resized_masks;  /* the same: of another size than their image, resized by nearest neighbor */
    uint64_t resized_images; /* delivered at the size of the first one, without an image_size that says so */
} stk_loader_stats;

/* Since open. All zero for a loader that is NULL. Threads: any. */
STK_API void stk_loader_get_stats(stk_loader *loader, stk_loader_stats *stats);
/* "decode"; "unknown" for numbers that this version does not have. Threads: any. */
STK_API const char *stk_stage_name(stk_stage stage);

#ifdef __cplusplus
}
#endif

#endif
