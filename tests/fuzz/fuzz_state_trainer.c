/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer over a feed without batches, for the fuzzer of saved states: any JSON is refused with a
 * message, or taken and told again with the same members. */
#include "fuzz_state.h"

#include "fuzz.h"

#include "train/trainer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place where its feed stands is all that is there of a feed. */
static stk_loader_state place;
static stk__trainer *trainer;

static stk_status next(void *context, stk_batch **batch, stk_error *error)
{
    (void)context, (void)batch, (void)error;
    return STK_END;
}

static void release(void *context, stk_batch *batch)
{
    (void)context, (void)batch;
}

static void measure(void *context, stk_loader_stats *stats)
{
    (void)context;
    *stats = (stk_loader_stats){.samples = 0};
}

static void tell(void *context, stk_loader_state *state)
{
    (void)context;
    *state = place;
}

static stk_status seek(void *context, const stk_loader_state *state, stk_error *error)
{
    (void)context, (void)error;
    place = *state;
    return STK_OK;
}

static void close_trainer(void)
{
    stk__trainer_close(&trainer);
}

void fuzz_state_open(void)
{
    if (trainer) return;
    stk__model_settings model = {.hidden = 2, .layers = 1};
    stk__loss_settings loss = {0};
    stk__train_settings train = {0};
    stk__optimizer_settings optimizer = {0};
    stk__run_settings run = {.engine = "reference"};
    stk_error error = {0};
    stk_status status = stk__options_fill(&stk__train_options_table, &train, NULL);
    if (status == STK_OK) status = stk__options_fill(&stk__loss_options_table, &loss, NULL);
    if (status == STK_OK) status = stk__options_fill(&stk__optimizer_options_table, &optimizer, NULL);
    const stk__feed feed = {.next = next,
                            .release = release,
                            .measure = measure,
                            .tell = tell,
                            .seek = seek,
                            .batches_per_epoch = 5,
                            .batch_size = 2,
                            .last_batch_size = 2};
    const stk__trainer_setup setup = {.model = &model,
                                      .loss = &loss,
                                      .train = &train,
                                      .optimizer = &optimizer,
                                      .run = &run,
                                      .feed = feed,
                                      .facts = {.window = 3, .features = 2, .values = true}};
    if (status == STK_OK) status = stk__trainer_open(&trainer, &setup, &error);
    if (status != STK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    atexit(close_trainer);
}

json_t *fuzz_state_tell(void)
{
    json_t *told = stk__trainer_tell(trainer);
    assert(told);
    return told;
}

static void check_members(const json_t *told, const json_t *state, const char *const *names)
{
    for (; *names; names++)
        assert(json_equal(json_object_get(told, *names), json_object_get(state, *names)));
}

/* With batches of another size an epoch is begun again, or was over. */
static bool has_other_batches(const json_t *told, const json_t *state)
{
    const json_int_t size = json_integer_value(json_object_get(state, "batch_size"));
    return size > 0 && size != json_integer_value(json_object_get(told, "batch_size")) &&
           json_integer_value(json_object_get(state, "batch")) > 0;
}

/* Every member of what is told is as it was asked for; state may have more. */
static void check_told(const json_t *told, const json_t *state)
{
    static const char *const fixed[] = {"step", "epoch", "network", NULL}, *const batch[] = {"batch", NULL};
    static const char *const data[] = {"fingerprint", "sample_count", "seed", "order", "part", NULL};
    static const char *const spot[] = {"epoch", "position", NULL};
    const json_t *feed = json_object_get(told, "feed"), *asked = json_object_get(state, "feed");
    check_members(told, state, fixed);
    check_members(feed, asked, data);
    if (has_other_batches(told, state)) {
        assert(json_integer_value(json_object_get(feed, "position")) == 0);
        return;
    }
    check_members(told, state, batch);
    check_members(feed, asked, spot);
}

void fuzz_state_seek(const json_t *state)
{
    stk_error error = {0};
    const stk_status status = stk__trainer_seek(trainer, state, &error);
    if (status != STK_OK) {
        assert(status == STK_ERROR_STATE);
        fuzz_check_failure(status, &error);
        return;
    }
    json_t *told = fuzz_state_tell();
    check_told(told, state);
    const stk_status again = stk__trainer_seek(trainer, told, &error);
    assert(again == STK_OK);
    json_t *twice = fuzz_state_tell();
    assert(json_equal(told, twice));
    json_decref(told);
    json_decref(twice);
}
