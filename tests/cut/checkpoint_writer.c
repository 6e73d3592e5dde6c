/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_writer RUN STEPS: trains nothing, but writes what training writes: a run's folder, metrics and
 * checkpoints. Begins the run, or goes on with it, up to step STEPS; the model after step s is a function of
 * s. Says on standard output what it found and which steps are saved, line by line; status 1 with the reason
 * when something fails. */
#include "support/small_model.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run_folder.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

enum { CHECKPOINT_STEPS = 2, KEEP = 2, HEAD_ROWS = 22000 }; /* so that a tensor is written past the buffer */

typedef struct training {
    stk__run_folder *run;
    stk__model *model;
    char checkpoints[PATH_MAX];
    uint64_t step;
} training;

/* Step 4 is the best; every third is not evaluated. */
static double metric_of(uint64_t step)
{
    return step % 3 == 0 ? NAN : 100 - fabs((double)step - 4);
}

static stk__checkpoint_options options_of(const training *t)
{
    return (stk__checkpoint_options){.folder = t->checkpoints, .keep = KEEP, .optimizer = true};
}

static stk_status begin(training *t, stk_error *error)
{
    stk__checkpoint_found found;
    stk__checkpoint_state state = {0};
    const stk_status status = stk__checkpoint_newest(t->checkpoints, &found, error);
    if (status != STK_OK && status != STK_END) return status;
    if (status == STK_OK) {
        STK__TRY(stk__checkpoint_read_state(found.path, &state, error));
        t->step = state.step;
        json_decref(state.json);
        STK__TRY(stk__checkpoint_read_model(found.path, t->model, true, error));
        if (!small_model_is(t->model, t->step, SMALL_EVERYTHING))
            return stk__fail(error, STK_ERROR_DATA, "the model of step %" PRIu64 " is another", t->step);
        const stk__checkpoint_options options = options_of(t);
        stk__checkpoint_tidy(&options, found.path);
    }
    printf("found %" PRIu64 " skipped %d\n", t->step, found.skipped);
    return stk__run_folder_cut(t->run, (stk__metrics_end){t->step, t->step, 0}, error);
}

static stk_status save(training *t, stk_error *error)
{
    const stk__checkpoint_options options = options_of(t);
    json_t *json = json_pack("{s:I}", "position", (json_int_t)t->step * 100);
    const stk__checkpoint_state state = {.json = json, .step = t->step, .metric = metric_of(t->step)};
    const stk_status status = stk__checkpoint_write(&options, t->model, &state, NULL, 0, error);
    json_decref(json);
    if (status == STK_OK) printf("saved %" PRIu64 "\n", t->step);
    return status;
}

static stk_status train(training *t, uint64_t steps, stk_error *error)
{
    char text[] = "run: {name: cut}\n";
    const stk__buffer config = {.data = (uint8_t *)text, .size_bytes = strlen(text)};
    stk__run_folder_file(t->run, "checkpoints", t->checkpoints, sizeof t->checkpoints);
    STK__TRY(stk__run_folder_write(t->run, "config.yaml", config, error));
    STK__TRY(begin(t, error));
    while (t->step < steps) {
        small_model_fill(t->model, ++t->step);
        json_t *line = json_pack("{s:I}", "step", (json_int_t)t->step);
        STK__TRY(stk__run_folder_metric(t->run, line, error));
        if (t->step % CHECKPOINT_STEPS == 0) STK__TRY(save(t, error));
    }
    return stk__run_folder_write_json(t->run, "run.json", json_pack("{s:I}", "step", (json_int_t)t->step),
                                      error);
}

int main(int count, char **words)
{
    struct stat facts;
    stk_error error = {0};
    training t = {0};
    if (count != 3) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const stk__run_folder_options options = {.path = words[1], .resume = stat(words[1], &facts) == 0};
    t.model = small_model_make(&(small_options){.head = HEAD_ROWS, .optimizer = SMALL_SGD, .average = true});
    stk_status status = stk__run_folder_open(&t.run, &options, &error);
    if (status == STK_OK) status = train(&t, strtoull(words[2], NULL, 10), &error);
    if (status != STK_OK) fprintf(stderr, "%s (%s)\n", error.message, error.hint);
    stk__run_folder_close(&t.run);
    small_model_remove(&t.model);
    return status == STK_OK ? 0 : 1;
}
