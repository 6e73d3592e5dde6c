/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of checkpoints of a small model, and calls that must succeed. */
#ifndef STK_TESTS_CHECKPOINT_HELPERS_H
#define STK_TESTS_CHECKPOINT_HELPERS_H

#include "support/fail_alloc.h"
#include "support/small_model.h"
#include "support/workspace.h"
#include "train/checkpoint/checkpoint.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct shelf {
    workspace space;
    char folder[300]; /* not made yet */
    stk__model *model;
    stk__checkpoint_options options;
} shelf;

static inline shelf shelf_make(const small_options *options)
{
    shelf s = {.space = workspace_make(), .model = small_model_make(options)};
    snprintf(s.folder, sizeof s.folder, "%s/checkpoints", s.space.path);
    s.options = (stk__checkpoint_options){.optimizer = true};
    return s;
}

static inline void shelf_remove(shelf *s)
{
    small_model_remove(&s->model);
    workspace_remove(&s->space);
}

/* Fills the model with the step's values and writes it; 10 steps are an epoch. */
static inline stk_status shelf_try(shelf *s, uint64_t step, double metric, stk_error *error)
{
    json_t *json = json_pack("{s:I}", "position", (json_int_t)step);
    const stk__checkpoint_state state = {.json = json, .epoch = step / 10, .step = step, .metric = metric};
    small_model_fill(s->model, step);
    s->options.folder = s->folder;
    const stk_status status = stk__checkpoint_write(&s->options, s->model, &state, NULL, 0, error);
    json_decref(json);
    return status;
}

static inline void shelf_put(shelf *s, uint64_t step, double metric)
{
    stk_error error = {0};
    if (shelf_try(s, step, metric, &error) != STK_OK) fail_msg("%s", error.message);
}

static inline void shelf_path(const shelf *s, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", s->folder, name);
}

static inline bool shelf_has(const shelf *s, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    shelf_path(s, name, path);
    return lstat(path, &facts) == 0;
}

static inline int shelf_count(const shelf *s)
{
    workspace inside;
    snprintf(inside.path, sizeof inside.path, "%.255s", s->folder);
    return workspace_count(&inside);
}

/* Changes one byte of a file. */
static inline void shelf_damage(const shelf *s, const char *name)
{
    char path[PATH_MAX];
    shelf_path(s, name, path);
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    const int byte = fgetc(file);
    rewind(file);
    assert_true(fputc(byte ^ 4, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The newest is called so, and as many were passed over. */
static inline void shelf_expect(const shelf *s, const char *name, int skipped)
{
    stk__checkpoint_found found;
    stk_error error = {0};
    if (stk__checkpoint_newest(s->folder, &found, &error) != STK_OK) fail_msg("%s", error.message);
    assert_string_equal(strrchr(found.path, '/') + 1, name);
    assert_int_equal(found.skipped, skipped);
}

#endif
