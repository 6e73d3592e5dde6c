/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the public trainer and predictor share: the run that is trained everywhere, and a folder.
 */
#ifndef TRAIN_HELPERS_H
#define TRAIN_HELPERS_H

#include "stoker/stoker.h"
#include "support/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { EPOCHS = 2, SAMPLES = 60, BATCH = 8, STEPS = 6 /* of an epoch: 48 samples */, MOST_SETTINGS = 16 };

static const char *program, *engine;
static workspace folder;

/* What is trained everywhere here, and one setting more. */
typedef struct given {
    char engine[64];
    const char *list[MOST_SETTINGS];
    stk_trainer_options options;
} given;

static inline stk_trainer_options *given_with(given *g, const char *setting)
{
    const char *const list[] = {
        "data.root=make:gray?count=60", "data.image_size=16", "data.batch_size=8",      "data.val_split=0.2",
        "data.num_workers=2",           "model.width=4",      "model.depth=1",          "train.epochs=2",
        "train.log_interval=2",         "run.threads=1",      "augment.preset=standard"};
    const size_t count = sizeof list / sizeof list[0];
    *g = (given){.options = STK_TRAINER_OPTIONS_INIT};
    snprintf(g->engine, sizeof g->engine, "run.engine=%s", engine);
    memcpy(g->list, list, sizeof list);
    g->list[count] = g->engine;
    g->list[count + 1] = setting;
    g->options.settings = g->list;
    g->options.setting_count = count + (setting ? 2 : 1);
    return &g->options;
}

static inline stk_trainer *open_trainer(const stk_trainer_options *options)
{
    stk_trainer *trainer;
    stk_error error = {0};
    if (stk_trainer_open(&trainer, options, &error) != STK_OK) fail_msg("%s; %s", error.message, error.hint);
    return trainer;
}

/* Of a folder below the test's own. */
static inline const char *run_path(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", folder.path, name);
    return path;
}

static inline void must(stk_status status, const stk_error *error)
{
    if (status != STK_OK) fail_msg("%s; %s", error->message, error->hint);
}

/* False: it is not on this machine; what else is wrong the tests will say. */
static inline bool has_engine(void)
{
    given g;
    stk_trainer *trainer;
    stk_trainer_options *options = given_with(&g, NULL);
    options->no_files = true;
    const stk_status status = stk_trainer_open(&trainer, options, NULL);
    stk_trainer_close(&trainer);
    return status != STK_ERROR_UNSUPPORTED;
}

/* The run that all others are held against, by the program. */
static inline const char *program_run(void)
{
    static char path[512];
    char command[4096];
    given g;
    if (path[0]) return path;
    const stk_trainer_options *o = given_with(&g, NULL);
    run_path(path, "program");
    int length = snprintf(command, sizeof command, "'%s' train -q --run '%s'", program, path);
    for (size_t i = 0; i < o->setting_count; i++)
        length += snprintf(command + length, sizeof command - (size_t)length, " '%s'", o->settings[i]);
    snprintf(command + length, sizeof command - (size_t)length, " > /dev/null");
    assert_int_equal(system(command), 0);
    return path;
}

static inline int make_folder(void **state)
{
    (void)state;
    folder = workspace_make();
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    workspace_remove(&folder);
    return 0;
}

#endif
