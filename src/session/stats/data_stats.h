/* SPDX-License-Identifier: Apache-2.0 */
/* What a data set is made of, added up in one pass over it: files and their formats, sizes, pixels, classes,
 * masks, points, columns of a series, contents that occur twice. Memory: a few MB, and 16 bytes a sample for
 * its content. Rules over it: data_findings.h; the pass itself: data_scan.h. */
#ifndef STK_SESSION_DATA_STATS_H
#define STK_SESSION_DATA_STATS_H

#include "loader/file_observer.h"
#include "session/stats/content_index.h"
#include "stoker/loader.h"

#include <pthread.h>

enum {
    STK_DATA_PATH_BYTES = 1024,
    STK_DATA_FORMATS = 8,
    STK_DATA_SIDES = 65536,      /* sides below are counted one by one */
    STK_DATA_SIZE_SLOTS = 16384, /* half of them: sizes that are told apart; a power of 2 */
    STK_DATA_CLASSES = 65536,    /* of labels, at most */
    STK_DATA_IDS = 256,          /* values of a mask */
    STK_DATA_IGNORED = 255,
    STK_DATA_TINY_PX = 8
};

/* How often, and where: of the sample with the lowest id, whatever the order of the workers. */
typedef struct stk__data_event {
    uint64_t count;
    int64_t id;                     /* meaningless while count is 0 */
    char path[STK_DATA_PATH_BYTES]; /* set at the end */
} stk__data_event;

static inline void stk__data_event_add(stk__data_event *event, int64_t id)
{
    if (event->count++ == 0 || id < event->id) event->id = id;
}

#define STK_DATA_BINARY_MAP "0:0,255:1" /* of masks in black and white */

typedef struct stk__data_files { /* of images, or of masks */
    uint64_t count;
    struct {
        const char *name;
        uint64_t count;
    } formats[STK_DATA_FORMATS];
    uint64_t gray, rgb, palette, deep; /* deep: more than 8 bits a channel */
    uint64_t turned;                   /* by EXIF */
    stk__data_event misnamed;
} stk__data_files;

typedef struct stk__data_size {
    int32_t w, h;
    uint64_t count;
} stk__data_size;

typedef struct stk__data_sizes { /* of images, upright */
    stk__data_size slots[STK_DATA_SIZE_SLOTS];
    uint64_t different, others; /* sizes in the slots; images whose size found none */
    uint64_t landscape, portrait, square;
    uint32_t w_counts[STK_DATA_SIDES], h_counts[STK_DATA_SIDES]; /* larger sides: in the last */
    stk__data_event tiny;
} stk__data_sizes;

/* Least, median and most of a side, in pixels. */
typedef struct stk__data_range {
    int32_t least, median, most;
} stk__data_range;

typedef struct stk__data_point {
    uint64_t visible, missing, outside; /* of the samples */
    double x_least, x_most, y_least, y_most;
} stk__data_point;

typedef struct stk__data_column { /* of a series */
    char name[64];
    double mean, std, least, most; /* of its numbers; NaN: there are none */
    uint64_t count, not_numbers;
    uint64_t gaps;    /* of a column that counts time in even steps */
    double step, gap; /* that step; the largest gap. 0: it does not */
} stk__data_column;

typedef struct stk__data_stats {
    /* Set by whoever opened the loader. */
    bool limited;                    /* not all samples of the part were looked at */
    bool size_fixed, channels_fixed; /* data.image_size, data.channels are set */
    bool masks_mapped, masks_binary; /* data.mask_map is in effect; it maps 255 to 1 */
    stk_loader_info info;            /* texts belong to the loader */
    stk__left_out left_out[STK_LEFT_OUT_MOST];
    int32_t left_out_count;
    uint32_t parts;
    uint64_t orphans;

    /* From files and pixels: written by all workers (lock). */
    pthread_mutex_t lock;
    stk__file_observer observer;
    stk__data_files files[2]; /* by stk__field */
    stk__data_sizes sizes;
    stk__content_index content;
    uint64_t pixels[3], sum[3], squares[3];                         /* per channel */
    stk__data_event constant;                                       /* images of one color */
    uint64_t mask_pixels[STK_DATA_IDS], mask_samples[STK_DATA_IDS]; /* with that id; that have it */
    uint64_t masks, beside_ignored;     /* beside: masks that have 255 and another id than 0 */
    stk__data_event all_zero, no_class; /* masks of id 0 alone; of 0 and ignored pixels */

    /* From the batches. */
    uint64_t samples;  /* bad ones included */
    uint64_t *labels;  /* [info.class_count], or NULL */
    uint64_t labelled; /* samples with sets of labels, also empty ones */
    stk__data_event unlabelled;
    double value_sum, value_squares, value_least, value_most;
    uint64_t value_count;
    stk__data_point *points; /* [info.point_count] */
    stk__data_event outside;
    int64_t first_id, last_id; /* of windows */

    /* At the end. */
    stk_loader_stats loaded;
    char masks_refused[384], masks_hint[256]; /* why training would refuse the masks; empty: it would not */
    stk__data_event damages[STK_DAMAGE_COUNT];
    stk__data_column *columns; /* [column_count]: features, then the target */
    int32_t column_count;
    uint64_t rows, bad_rows; /* of the series */
    stk__content_matches duplicates, overlap;
    char duplicate_paths[2][STK_DATA_PATH_BYTES], overlap_paths[2][STK_DATA_PATH_BYTES];
    const char *other_part; /* what it was compared with: "val", "train"; NULL: nothing */
    uint64_t other_samples, other_bad;
    char other_error[384]; /* why it could not be opened; empty: it could */
} stk__data_stats;

stk_status stk__data_stats_create(stk__data_stats **stats, stk_error *error);
void stk__data_stats_destroy(stk__data_stats **stats);

/* After the loader is open, which has stats->observer. options: as asked. */
stk_status stk__data_stats_start(stk__data_stats *stats, const stk_loader *loader,
                                 const stk_loader_options *options, stk_error *error);
void stk__data_stats_add(stk__data_stats *stats, const stk_batch *batch);
void stk__data_stats_add_bad(stk__data_stats *stats, const stk_ledger_entry *entry);
/* After the last batch: sorts contents, looks at the columns. */
stk_status stk__data_stats_finish(stk__data_stats *stats, stk_loader *loader, stk_error *error);

/* Of a channel's pixels, 0 to 1, and of the values: of those that were added up, at least one. */
typedef struct stk__data_moments {
    double mean, std;
} stk__data_moments;
stk__data_moments stk__data_stats_channel(const stk__data_stats *stats, int channel);
stk__data_moments stk__data_stats_values(const stk__data_stats *stats);

/* --- data_files.c ---------------------------------------------------------------------------------------
 */

/* Functions of the observer; context is the stats. */
stk_status stk__data_files_begin(void *stats, uint64_t sample_count, stk_error *error);
void stk__data_files_see(void *stats, const stk__observed_file *file);
void stk__data_pixels_see(void *stats, uint64_t id, stk__pixels image, stk__pixels mask); /* data_pixels.c */

stk__data_range stk__data_range_of(const uint32_t counts[STK_DATA_SIDES]);
/* The most frequent sizes, at most `most` of them; returns how many. */
int stk__data_sizes_common(const stk__data_sizes *sizes, stk__data_size *list, int most);

/* --- data_masks.c ---------------------------------------------------------------------------------------
 */

/* Masks of images with an EXIF orientation: headers are read again, if there are such images. */
stk_status stk__data_frames_judge(stk__data_stats *stats, const stk_loader *loader, stk_mask_frame frame,
                                  stk_error *error);
/* mask_map: as asked for, or NULL. */
stk_status stk__data_masks_judge(stk__data_stats *stats, const char *mask_map, stk_error *error);
stk_status stk__data_palettes_judge(stk__data_stats *stats, const stk_loader *loader, const char *mask_map,
                                    stk_error *error);

/* --- data_columns.c -------------------------------------------------------------------------------------
 */

/* Of the rows that windows first_id to last_id have. */
stk_status stk__data_columns_make(stk__data_stats *stats, const stk__series_table *table, stk_error *error);

/* --- classes --------------------------------------------------------------------------------------------
 */

/* Classes of labels or masks: pixels of masks, samples of labels. */
typedef struct stk__data_classes {
    int32_t count;           /* 0: there are none */
    const uint64_t *counts;  /* [count] pixels or samples */
    const uint64_t *samples; /* [count] that have the class; NULL: as counts */
    uint64_t total;          /* of counts */
} stk__data_classes;
stk__data_classes stk__data_classes_of(const stk__data_stats *stats);

#endif
