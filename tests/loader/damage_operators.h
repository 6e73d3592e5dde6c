/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which the tests damage data sets: small data sets of 12 good samples each, and a table of
 * operators that add a thirteenth one which is damaged. All functions stop the test when something fails. */
#ifndef DAMAGE_OPERATORS_H
#define DAMAGE_OPERATORS_H

#include "core/memory.h"

#include <stdbool.h>

typedef enum damage_set {
    DAMAGE_CLASSES, /* a folder of classes */
    DAMAGE_PAIRS,   /* images, masks, and classes.txt with DAMAGE_CLASS_COUNT classes */
    DAMAGE_LIST,    /* images and labels.csv */
    DAMAGE_SERIES,  /* series.csv, windows of DAMAGE_WINDOW_ROWS */
    DAMAGE_SHARDS,  /* a.tar; the damaged sample is in b.tar */
    DAMAGE_SET_COUNT
} damage_set;

enum {
    DAMAGE_SAMPLES = 13, /* with the damaged one */
    DAMAGE_W = 40,
    DAMAGE_H = 32,
    DAMAGE_CLASS_COUNT = 4,
    DAMAGE_WINDOW_ROWS = 4,
    DAMAGE_LIMIT_BYTES = 200000 /* of the loader under test */
};

typedef struct damage_operator {
    const char *name;
    damage_set set;
    const char *file; /* below the set's folder: what gets damaged */
    stk_damage expected;
    void (*make)(stk__buffer *bytes, int amount); /* the damaged file's bytes, or … */
    int amount;
    void (*plant)(const char *path); /* … something else in its place; neither: nothing is there */
    const char *text;                /* the damaged row of a list or series */
    const char
        *place; /* what the ledger has to name, when not the file; any number behind a '@' at its end */
    int64_t id; /* of the damaged sample, when not the usual one of its set */
    void (*vanish)(const char *path); /* after the source was opened */
    bool as_nobody;                   /* to be loaded without root's rights */
} damage_operator;

extern const damage_operator damage_operators[];
extern const int damage_operator_count;

const char *damage_folder(damage_set set); /* its name below root */
void damage_build(damage_set set, const char *root);
int64_t damage_sample_id(const damage_operator *one);

/* Adds the damaged sample to its set, and takes it away again. */
void damage_plant(const damage_operator *one, const char *root);
void damage_clear(const damage_operator *one, const char *root);

void damage_write(const char *path, const stk__buffer *bytes);
void damage_good_jpeg(stk__buffer *bytes, uint32_t seed);
void damage_good_mask(stk__buffer *bytes, uint32_t seed);

#endif
