/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a list: their names, what the first rows have in them, and the role of each. A column is
 * used by a role, or named as not used. */
#ifndef STK_SOURCE_LIST_COLUMNS_H
#define STK_SOURCE_LIST_COLUMNS_H

#include "core/memory.h"
#include "source/source.h"

typedef enum stk__role {
    STK_ROLE_NONE,
    STK_ROLE_FILE,
    STK_ROLE_LABEL,
    STK_ROLE_VALUE,
    STK_ROLE_MASK,
    STK_ROLE_SPLIT,
    STK_ROLE_POINTS, /* of several columns */
    STK_ROLE_COUNT
} stk__role;

enum {
    STK_COLUMN_ROWS = 256, /* rows that are looked at before roles are given */
    STK_COLUMN_TEXTS = 16
};

typedef struct stk__list_column {
    size_t name;       /* in names */
    uint8_t role;      /* stk__role */
    bool several;      /* a cell is integers with something between them: "16 0" */
    bool nested;       /* a cell starts with '[' or '{': a list of boxes or points */
    uint32_t cells;    /* filled ones among the rows looked at, and of these: */
    uint32_t numbers;  /* numbers */
    uint32_t wholes;   /* integers, also 3.0 */
    uint32_t decimals; /* 0.5, not NaN */
    uint32_t pixels;   /* "238 236 237 …": very many integers */
    uint32_t amounts;  /* $1,000: numbers for people, which cannot be read */
    uint32_t missing;  /* NaN and words for nothing */
    uint32_t flags;    /* 0, 1 or -1, True or False */
    uint32_t raised;   /* 1, True */
    uint32_t lowered;  /* -1 */
    uint32_t urls;     /* URLs */
    uint32_t pictures; /* names of image files */
    uint32_t repeated; /* texts that an earlier one of the first STK_COLUMN_TEXTS different ones is */
    uint32_t texts;    /* these */
    uint64_t text_hash[STK_COLUMN_TEXTS];
    uint32_t booleans; /* True, False, yes, no, 0, 1 */
    uint32_t parts;    /* names of parts: train, val, test */
    uint32_t part_set; /* bits of these parts */
} stk__list_column;

/* What data.columns says of a role. */
typedef struct stk__column_wish {
    const char *name; /* in the setting's text; NULL: nothing is said */
    size_t length;
    bool none;    /* "none": no column has this role */
    bool several; /* labels=COLUMN */
} stk__column_wish;

typedef struct stk__columns {
    stk__buffer names;
    stk__buffer list;        /* of stk__list_column */
    stk__buffer pairs;       /* of stk__column_pair: columns of points */
    stk__buffer point_texts; /* names of points, zero-terminated, one after the other */
    stk__column_wish wishes[STK_ROLE_COUNT];
    const char *path;       /* of the list, for messages */
    uint64_t line;          /* of the header */
    uint32_t flag_parts[2]; /* parts that no and yes mean in the column of the split; 0: nothing */
    bool lists;             /* the column of the label has lists of labels */
    size_t flag_count;      /* columns of 0 and 1 that are the labels, each with the role of a label */
    bool headless;          /* the first row is no header: columns are called 1, 2, … */
    bool json;              /* keys of JSON objects: points are one of them */
} stk__columns;

typedef struct stk__column_pair {
    int x, y;
} stk__column_pair;

static inline size_t stk__columns_count(const stk__columns *columns)
{
    return columns->list.size_bytes / sizeof(stk__list_column);
}

static inline stk__list_column *stk__columns_at(const stk__columns *columns, size_t index)
{
    return (stk__list_column *)(void *)columns->list.data + index;
}

static inline const char *stk__columns_name(const stk__columns *columns, size_t index)
{
    return (const char *)columns->names.data + stk__columns_at(columns, index)->name;
}

static inline size_t stk__columns_pairs(const stk__columns *columns)
{
    return columns->pairs.size_bytes / sizeof(stk__column_pair);
}

static inline stk__column_pair stk__columns_pair(const stk__columns *columns, size_t index)
{
    return ((const stk__column_pair *)(const void *)columns->pairs.data)[index];
}

/* Text of data.columns, "file=Image Name,label=species" (also with ':'); NULL: none. It must outlive columns.
 */
stk_status stk__columns_wish(stk__columns *columns, const char *text, stk_error *error);

/* Gives the columns that it names their roles; STK_ERROR_CONFIG when one is not there. */
stk_status stk__columns_grant(stk__columns *columns, stk_error *error);

/* True when data.columns names a column that is not there: the list is no part of what it is about. */
bool stk__columns_lack(const stk__columns *columns);

static inline bool stk__columns_is_wished(const stk__columns *columns, stk__role role)
{
    return columns->wishes[role].name != NULL;
}

extern const char *const stk__role_words[STK_ROLE_COUNT]; /* "file", "label", … */

/* "16 0" or "2;5". */
bool stk__label_is_several(const char *text, size_t length);

/* Without the blanks around it. */
void stk__column_trim(const char **text, size_t *length);

stk_status stk__columns_add(stk__columns *columns, const char *name, size_t length, stk_error *error);
void stk__columns_look(stk__columns *columns, size_t index, const char *cell, size_t length);

/* Gives roles, or refuses: no file, two labels, boxes, several labels, … */
stk_status stk__columns_assign(stk__columns *columns, stk_error *error);

/* 1 for true, yes, 1; 0 for false, no, 0; -1: none of them. */
int stk__flag_named(const char *text, size_t length);

/* The part that a cell of the split column names; 0: none. */
uint32_t stk__columns_part(const stk__columns *columns, const char *text, size_t length);

/* Gives a column the role of the split, or refuses two, or one that may be something else (list_split.c). */
stk_status stk__columns_choose_split(stk__columns *columns, stk_error *error);

/* True when all cells so far name the same part: later rows tell whether the column is the split. */
bool stk__columns_may_split(const stk__columns *columns, size_t index);

/* The column with a role; -1: none. Not for points. */
int stk__columns_find(const stk__columns *columns, stk__role role);

/* The column that files would be named by, before roles are given; -1: none. */
int stk__columns_file(const stk__columns *columns);

/* Equal without case, blanks, '_', '-' and '.'; plain: already without them. */
bool stk__column_named(const char *name, const char *plain);

/* STK_ERROR_DATA for the header, at the place of a column; the hint is the caller's. */
stk_status stk__columns_refuse(const stk__columns *columns, size_t column, stk_error *error,
                               const char *format, ...) STK__PRINTF(4, 5);

/* What a list can mean that is not supported (list_refuse.c): boxes, masks as text. */
/* A label, or a column without a role where nothing else is to be learned, that names image files: masks. */
stk_status stk__columns_refuse_pictures(const stk__columns *columns, stk_error *error);

stk_status stk__columns_refuse_boxes(const stk__columns *columns, stk_error *error);
/* Several labels per image (list_flags.c): lists of them, columns of 0 and 1. */
stk_status stk__columns_find_several(stk__columns *columns, stk_error *error);

/* True when a target was picked by data.columns, or no label is wanted: then the other columns are only named
 * as not used. */
bool stk__columns_is_picked(const stk__columns *columns);

/* 0, 1 or -1; 1 for True, 0 for False. False: none of them. */
bool stk__flag_read(const char *cell, size_t length, int *flag);

/* True for names that say neither class nor value: target, y. */
bool stk__columns_is_mixed(const stk__columns *columns, size_t index);

/* True when a column is or can be the label, or is called value or target. */
bool stk__columns_has_label(const stk__columns *columns);

/* Pairs of columns that are points, by their names (list_points.c). */
stk_status stk__columns_find_points(stk__columns *columns, stk_error *error);

/* Names each column without a role in the log and in info, with the number of rows. */
void stk__columns_tell_unused(const stk__columns *columns, stk__source_info *info, uint64_t rows);

void stk__columns_fini(stk__columns *columns);

#endif
