/* SPDX-License-Identifier: Apache-2.0 */
/* Where samples come from. A source knows how many there are, their keys, labels, points and windows, and can
 * read the encoded bytes of their images and masks. It decodes nothing. After open it never changes: every
 * function below may be called from any thread at the same time.
 *
 * A sample's id is the rank of its key in bytewise order; key = path below the root (or images/) without its
 * last extension. */
#ifndef STK_SOURCE_SOURCE_H
#define STK_SOURCE_SOURCE_H

#include "core/file_stamp.h"
#include "core/memory.h"
#include "stoker/loader.h"

#include <stdbool.h>

/* The public ones (stoker/dataset.h). With STK_LABEL_SET class_count and class_names are known. */
typedef stk_field stk__field;
typedef stk_label_kind stk__label_kind;

/* Parts that a data set itself names: by folders, lists of keys or a column of a list. */
enum { STK_SOURCE_TRAIN = 1, STK_SOURCE_VAL = 2, STK_SOURCE_TEST = 4 };

/* Files, rows or columns of the data set that are not used, by reason: "webp files: unsupported format". */
typedef struct stk__left_out {
    char what[96];
    char example[160]; /* one of them; may be empty */
    uint64_t count;
} stk__left_out;

enum { STK_LEFT_OUT_MOST = 16, STK_FORMATS_MOST = 4 };

typedef struct stk__source_info {
    const char *layout;      /* "folder of classes", "images and masks", … : for people */
    uint64_t count;          /* samples, > 0 */
    stk__digest fingerprint; /* over the sorted keys */
    bool images, masks;      /* what each sample has */
    bool folder;             /* files of a folder, read by its layout */
    bool called; /* facts and read call functions of the program's (caller.c): they may take time */
    stk__label_kind label;
    int32_t point_count;                 /* points per sample, 0: none */
    const char *const *point_names;      /* [point_count] or NULL */
    int32_t window_rows, window_columns; /* of a series, 0: none */
    int32_t class_count;                 /* 0: unknown */
    const char *const *class_names;      /* [class_count] or NULL */
    uint32_t parts; /* bits of the parts that the data set names; 0: none, the loader may split it */
    stk__left_out left_out[STK_LEFT_OUT_MOST];
    int32_t left_out_count;
    uint64_t orphans; /* files without a partner that were left aside (masks without image, …) */
    char how[160];    /* how images, masks and parts were found; empty: there was nothing to find */
    struct {
        char extension[8];
        uint64_t images, masks;
    } formats[STK_FORMATS_MOST]; /* files by extension, in lower case */
    int32_t format_count;
    uint64_t unmasked; /* images without mask: bad samples when they are loaded */
} stk__source_info;

/* What is known of a sample without reading a file. Pointers live as long as the source. */
typedef struct stk__sample_facts {
    double label;        /* class number or value */
    const float *points; /* [point_count][3]: x, y, visible */
    const float *window; /* [window_rows][window_columns] */
    const uint8_t *set;  /* [class_count]: 1 for each class that the sample has; of STK_LABEL_SET */
    stk__buffer *room;   /* in: memory for facts that are made for this call; only caller.c needs it, and its
                            pointers live until the room is used again */
} stk__sample_facts;

/* The table of a series as a whole. Pointers live as long as the source. */
typedef struct stk__series_table {
    const float *features; /* [row_count][column_count]; what is not a number is NaN */
    const float *targets;  /* [row_count] */
    uint64_t row_count;
    int32_t column_count, target_column; /* features; place of the target among all columns, from 0 */
    const char *names; /* of all columns, zero-terminated, one after the other; NULL: they have none */
} stk__series_table;

typedef struct stk__source_options {
    const char *root;     /* folder, list file, series file, shards, or make:… */
    const char *part;     /* "train", "val" or "test"; NULL: everything. Where the data set names its parts
                             (info.parts) only that one's samples; val of a set that has none is train */
    const char *columns;  /* of a list by role, "file=Image Name" (data.columns); NULL: by their names */
    int64_t window_rows;  /* of a series (data.sequence_length) */
    uint64_t limit_bytes; /* of any file */
    stk_layout layout;    /* how a folder is read */
    bool unlabeled;       /* classes do not matter: only images count */
    const char *images, *masks;                    /* folders below root; NULL: found by name */
    const char *mask_suffix, *mask_prefix;         /* of a mask's name; NULL: found; "none": no such rule */
    const char *train_list, *val_list, *test_list; /* files of keys, one a line; NULL: none */
} stk__source_options;

typedef struct stk__source stk__source;

/* A kind of source. Instances embed stk__source as their first member. */
typedef struct stk__source_ops {
    const char *name;
    /* Damage bad_row (or mask_missing …) of this sample is returned here; place is set. */
    stk_status (*facts)(const stk__source *source, uint64_t id, stk__sample_facts *facts, stk_error *error);
    /* Encoded bytes of a field into buffer, followed by 64 readable bytes; *extension is what the name
     * promises
     * ("jpg") or NULL. On failure place is set. */
    stk_status (*read)(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                       const char **extension, stk_error *error);
    void (*hint)(const stk__source *source, uint64_t id); /* soon needed; may be NULL */
    /* Soon needed: count samples from first on, which lie side by side; may be NULL. */
    void (*hint_run)(const stk__source *source, uint64_t first, uint64_t count);
    void (*key)(const stk__source *source, uint64_t id, char *text,
                size_t size); /* zero-terminated, cut to size */
    void (*where)(const stk__source *source, uint64_t id, stk__field field, char *text,
                  size_t size); /* path */
    /* Adds what changes when the bytes of a field change; reads nothing. False, or NULL: cannot
     * be told. */
    bool (*stamp)(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp);
    void (*table)(const stk__source *source, stk__series_table *table); /* of a series; may be NULL */
    void (*close)(stk__source *source);
} stk__source_ops;

struct stk__source {
    const stk__source_ops *ops;
    stk__source_info info;
};

/* Finds the kind by looking at root, and opens it. */
stk_status stk__source_open(stk__source **source, const stk__source_options *options, stk_error *error);
void stk__source_close(stk__source **source); /* accepts NULL inside, sets NULL */

/* What to look at when a read hangs. */
static inline const char *stk__source_hang_hint(const stk__source *source)
{
    return source->info.called ? "check the function of the data set (stk_dataset) that does not return"
                               : "check the storage below this file";
}

/* The parts that the data set names itself: bits of STK_SOURCE_TRAIN …; 0: none, or it cannot be opened. Of
 * folders it costs a short look, of others as much as opening. */
uint32_t stk__source_find_parts(const stk__source_options *options);
uint32_t stk__source_folder_parts(const stk__source_options *options); /* only those that have folders */

/* Adds to the row with the same `what`, or a new one; beyond the last row counts go to it as "other". */
void stk__left_out_add(stk__source_info *info, const char *what, uint64_t count, const char *example);

#endif
