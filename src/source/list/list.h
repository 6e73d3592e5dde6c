/* SPDX-License-Identifier: Apache-2.0 */
/* A list of images: rows of a CSV or JSONL file, parsed once into flat arrays. list_csv.c and list_json.c
 * read the file and fill drafts; list_rows.c turns a draft into a row. */
#ifndef STK_SOURCE_LIST_H
#define STK_SOURCE_LIST_H

#include "source/files.h"
#include "source/list/list_columns.h"

typedef enum stk__row_state {
    STK_ROW_GOOD,
    STK_ROW_BAD,
    STK_ROW_DUPLICATE /* bad, because another row has the same file */
} stk__row_state;

typedef struct stk__row {
    double label;
    uint64_t text; /* in list->texts: path of the mask, or what is wrong; of a duplicate: the other's line */
    uint32_t line;
    uint8_t state; /* stk__row_state */
    uint8_t part;  /* STK_SOURCE_TRAIN …, 0: the list names no parts */
} stk__row;

#define STK_LIST_JOINT "\x1f" /* before each label of a combination that was not one text */

enum { STK_LIST_FAULTS = 4096 }; /* texts that tell what is wrong with rows; a power of 2 */

typedef enum stk__label_texts {
    STK_LABEL_TEXTS_UNKNOWN, /* until the first label */
    STK_LABEL_TEXTS_WHOLE,   /* class numbers */
    STK_LABEL_TEXTS_NAMES    /* names, numbered when all are known */
} stk__label_texts;

/* One row while it is read: texts belong to the reader. */
typedef struct stk__draft {
    uint64_t line;
    const char *file, *label, *mask, *split; /* NULL: none */
    size_t file_length, label_length, mask_length, split_length;
    double value;
    char fault[200]; /* what is wrong; empty: nothing */
} stk__draft;

typedef struct stk__list {
    stk__files files; /* first; an entry's row is its index in rows */
    char *path;       /* of the list */
    const char *root; /* the data set's folder, as it was given; while the list opens */
    char *real_root;  /* and as an absolute path; NULL: unknown */
    stk__columns columns;
    stk__buffer rows;   /* of stk__row, in the order of the file */
    stk__buffer points; /* float [row][point_count][3] */
    stk__buffer texts;  /* zero-terminated; offset 0 is "" */
    uint64_t *faults;   /* [STK_LIST_FAULTS] offsets in texts by hash, 0: free; NULL: no row is bad so far */
    int fault_count;
    stk__buffer point_names; /* const char * into the columns' names of points, made when all are known */
    stk__label_texts label_texts;
    int64_t highest_class;          /* of class numbers */
    bool below_images, below_masks; /* names are below images/, masks/; these words in front are dropped */
    bool has_label, has_value, has_mask, has_split; /* what a row has to have */
    uint32_t parts, wanted; /* bits of the parts that rows name; of those that are kept, 0: all */
    bool shared_classes;    /* names of classes are those of the lists for train and val */
    const char *separators; /* between labels of a cell in train and val; NULL: not known before the rows */
    stk__classes shared;    /* their classes, or classes.txt; move to files.classes when labels are split */
    const char *seen;       /* between labels of a cell that are all in classes.txt; NULL: nothing so far */
    bool signs;             /* labels are -1 and 1: read as 0 and 1 */
    uint64_t several_line;  /* of a row whose label is several numbers, 0: none */
    bool joins;             /* labels are lists or columns of 0 and 1: texts joined by STK_LIST_JOINT */
    stk__buffer joined;     /* of the row that is read */
    stk__classes sets;      /* combinations of labels as they are written; a row's label is one of them */
    stk__buffer set_bits;   /* [combination][class count]; empty: images have one label each */
    bool other_values;      /* a value is not an integer that could be a class id */
    bool schema_known;      /* JSONL: the first object has been seen */
    int32_t point_count;
} stk__list;

/* Readers: fill has_* and point_count from the header or the first row, then add all rows. */
stk_status stk__list_read_csv(stk__list *list, stk_error *error);
stk_status stk__list_read_json(stk__list *list, stk_error *error);
stk_status stk__list_read_beside(stk__list *list, stk_error *error); /* a JSON file beside each image */
stk_status stk__list_read_coco(stk__list *list, stk_error *error);   /* COCO's key points */

/* What the first rows of a table are: whether they name files, and something to learn. */
typedef struct stk__list_fit {
    bool list, target;
    bool lacking;  /* data.columns names a column that is not there */
    bool foldered; /* the first file is in a folder: "cat/1.jpg" */
    size_t columns;
    char cell[NAME_MAX + 1]; /* the first file; empty: none, or too long */
} stk__list_fit;

stk_status stk__list_look_csv(const stk__site *site, stk__list_fit *fit, stk_error *error);
stk_status stk__list_look_json(const stk__site *site, stk__list_fit *fit, stk_error *error);

/* Fills fit; gives the columns their roles. cell: of the first row, in the column of files. Numbers in a
 * column that is called "id" may be names of images or rows of a series: folders and files in root decide. */
void stk__list_judge(stk__columns *columns, const char *root, const char *cell, stk__list_fit *fit);

/* [x, y], [x, y, visible] (0 or false: not) or null, which is not visible. place: zeroed before. */
struct json_t;
bool stk__list_take_point(const struct json_t *point, float place[3]);

/* Says what is wrong with a row; the first fault counts. */
void stk__draft_fault(stk__draft *draft, const char *format, ...) STK__PRINTF(2, 3);

/* A new row's points, zeroed; NULL when there are none. Valid until the next call. Added before the row
 * itself. */
stk_status stk__list_add_points(stk__list *list, float **points, stk_error *error);
stk_status stk__list_add_row(stk__list *list, stk__draft *draft, stk_error *error);

/* Where the files are, when they are not where the list says: in another folder, with an extension. Before
 * the end. */
stk_status stk__list_place(stk__list *list, stk_error *error);

/* A table with a name that says nothing, whose first file is there: the data set may be this list. False:
 * none.
 */
bool stk__list_find_unnamed(const char *root, char name[NAME_MAX + 1]);

/* STK_ERROR_DATA when there is one beside folders that would be classes. */
stk_status stk__list_refuse_unnamed(const char *root, stk_error *error);

/* Is name, or name with an extension, an image below folder/below? */
bool stk__list_names_image(const char *folder, const char *below, const char *name);

/* Tables beside the list that are not read go to info, as left out. */
/* A list without parts beside a table that has them (CelebA). */
stk_status stk__list_refuse_partition(const stk__site *site, stk_error *error);
void stk__list_tell_others(const stk__site *site, stk__source_info *info);

/* Labels that are several in one cell, "a;b" or "a b", become sets of classes. After the end. */
stk_status stk__list_check_labels(stk__list *list, stk_error *error);

/* What is between labels, if names are several of them or data.columns says so; NULL: they are not. */
const char *stk__list_find_separators(const stk__columns *columns, const stk__classes *classes);

/* What is between labels that are all among the classes; NULL: they are not. */
const char *stk__list_known_separators(const stk__classes *classes, const char *label, size_t length);

/* The labels of combinations, numbered as classes (list_sets.c). */
stk_status stk__list_split_labels(stk__classes *classes, const stk__classes *sets, const char *separators,
                                  stk_error *error);

/* What is wrong with a row (list_rows.c). */
stk_status stk__list_mark_bad(stk__list *list, stk__row *row, const char *fault, stk_error *error);

/* From combinations of labels to classes and sets of them (list_sets.c). separators: between labels; from
 * the names of classes, unless list->joins. */
stk_status stk__list_make_sets(stk__list *list, const char *separators, stk_error *error);
/* The labels of a row, one after the other; begin first. False: the label cannot be used, the draft says so.
 */
stk_status stk__list_join_begin(stk__list *list, stk_error *error);
stk_status stk__list_join(stk__list *list, stk__draft *draft, const char *label, size_t length,
                          stk_error *error);
/* … of a cell like ['cat', "dog"]. */
stk_status stk__list_join_cell(stk__list *list, stk__draft *draft, const char *cell, size_t length,
                               stk_error *error);
void stk__list_join_end(stk__list *list, stk__draft *draft);

/* Refuses integers in a column whose name does not say whether they are classes or values. After the end. */
stk_status stk__list_check_values(const stk__list *list, stk_error *error);

/* Adds to info how integers were read, and the setting for the other reading. */
void stk__list_tell_reading(const stk__list *list, stk__source_info *info);

/* Refuses points between 0 and 1 (list_points.c). After the end. */
stk_status stk__list_check_points(const stk__list *list, stk_error *error);

/* Class numbers for all lists of a site with list_parts, before the rows are read; refuses lists that do not
 * fit together (list_share.c). */
stk_status stk__list_share_classes(stk__list *list, const stk__site *site, stk_error *error);

/* After the last row: numbers the names, sorts, marks rows for the same file, drops those of other parts. */
stk_status stk__list_finish(stk__list *list, stk_error *error);

#endif
