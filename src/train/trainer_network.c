/* SPDX-License-Identifier: Apache-2.0 */
/* Which network is trained: the one that was asked for, or the one for this kind of data; its options from
 * settings and data. */
#include "train/trainer_internal.h"

#include "core/number.h"

#include <stdio.h>
#include <string.h>

enum { SETTINGS_MOST = 32 };

typedef struct settings_list {
    stk__network_setting items[SETTINGS_MOST];
    const char *places[SETTINGS_MOST]; /* where the user wrote them */
    int count;
    char names[1024]; /* of model.options */
} settings_list;

static void add(settings_list *list, const char *name, int64_t value)
{
    if (value && list->count < SETTINGS_MOST)
        list->items[list->count++] = (stk__network_setting){name, value};
}

static const char *place_of(const stk__trainer_setup *setup, const char *setting)
{
    return setup->place_of ? setup->place_of(setup->place_context, setting) : NULL;
}

/* A setting of the section model that is an option of the network. */
static void add_setting(settings_list *list, const stk__trainer_setup *setup, const char *setting,
                        int64_t value)
{
    add(list, strchr(setting, '.') + 1, value);
    if (value) list->places[list->count - 1] = place_of(setup, setting);
}

/* "a:1,b:2" */
static stk_status add_options(settings_list *list, const stk__trainer_setup *setup, stk_error *error)
{
    const char *text = setup->model->options, *place = place_of(setup, "model.options");
    if (!text) return STK_OK;
    snprintf(list->names, sizeof list->names, "%s", text);
    char *rest = list->names;
    for (char *item; (item = strsep(&rest, ",")) != NULL;) {
        char *colon = strchr(item, ':');
        int64_t value = 0;
        if (!colon || strlen(text) >= sizeof list->names ||
            !stk__number_whole(colon + 1, strlen(colon + 1), &value)) {
            stk__fail(error, STK_ERROR_CONFIG, "model.options = '%s' is not a list of names and integers",
                      text);
            if (place) stk__error_place(error, "%s", place);
            stk__error_hint(error,
                            "model.options=blocks:3,width:16; in YAML options: {blocks: 3, width: 16}");
            return STK_ERROR_CONFIG;
        }
        *colon = '\0';
        if (list->count == SETTINGS_MOST)
            return stk__fail(error, STK_ERROR_CONFIG,
                             "model.options is too long: a network takes %d settings at most", SETTINGS_MOST);
        list->places[list->count] = place;
        list->items[list->count++] = (stk__network_setting){item, value};
    }
    return STK_OK;
}

/* Nothing that is there can be learnt, whatever the network: says what the data are. */
static stk_status refuse_data(const stk__feed_facts *f, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "the data set has %s: nothing to train on",
              f->image_w ? "images without labels, values, masks or points"
                         : "no images and no target column");
    stk__error_hint(
        error,
        "images need masks/, labels.csv, points.csv or a folder per class (is it in images/? then give that "
        "folder); series a target column; the column of a list: data.columns='label=COLUMN' or "
        "'value=COLUMN'; what is "
        "not read: stoker stats");
    return STK_ERROR_CONFIG;
}

static stk_status check_task(const stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    const stk__feed_facts *f = &t->facts;
    const stk__model_settings *model = setup->model;
    const stk__task task = t->network->task, usual = stk__task_of_data(f);
    const bool labels = task == STK_TASK_MULTILABEL && model->num_classes != f->num_classes;
    if ((labels || stk__task_has_values(task)) && model->num_classes) {
        stk__fail(error, STK_ERROR_CONFIG, "model.num_classes = %lld does not fit %s: %s",
                  (long long)model->num_classes, stk__task_word(task),
                  labels ? "the labels of the data are its classes" : "it has no classes");
        stk__error_hint(error, labels
                                   ? "leave it out"
                                   : "leave it out; if the values are classes: data.columns='label=COLUMN'");
        return STK_ERROR_CONFIG;
    }
    if (stk__task_fits(task, f)) return STK_OK;
    if (!stk__task_fits(usual, f)) return refuse_data(f, error);
    const stk__task_info *wants = stk__task_describe(task);
    stk__fail(error, STK_ERROR_CONFIG, "network '%s' needs %s with %s, which this data set does not have",
              t->network->name, wants->input, wants->target);
    if (setup->has_checkpoint)
        stk__error_hint(
            error, "the run was trained on another reading of its data; if folders such as masks were its "
                   "classes: data.layout=classes");
    else
        stk__error_hint(error, "model.name=%s, or other data", stk__task_describe(usual)->network);
    return STK_ERROR_CONFIG;
}

stk_status stk__trainer_read_network(stk__trainer *t, const stk__trainer_setup *setup, stk_error *error)
{
    const stk__feed_facts *f = &t->facts;
    const stk__model_settings *model = setup->model;
    const stk__task task = stk__task_of_data(f);
    settings_list settings = {.count = 0}, facts = {.count = 0};
    add_setting(&settings, setup, "model.width", model->width);
    add_setting(&settings, setup, "model.depth", model->depth);
    add_setting(&settings, setup, "model.hidden", model->hidden);
    add_setting(&settings, setup, "model.layers", model->layers);
    add_setting(&settings, setup, "model.num_classes", model->num_classes);
    STK__TRY(add_options(&settings, setup, error));
    add(&facts, "image_h", f->image_h);
    add(&facts, "image_w", f->image_w);
    add(&facts, "image_c", f->image_c);
    add(&facts, "num_classes", task == STK_TASK_IMAGE_REGRESSION ? 1 : f->num_classes); /* one output */
    add(&facts, "points", f->points);
    add(&facts, "features", f->features);
    add(&facts, "window", f->window);
    const char *name = model->name ? model->name : stk__task_describe(task)->network;
    if (!model->name && !model->file)
        stk__trainer_note(t, "model.name", name, "the network for this kind of data");
    const stk__network_request request = {.name = model->file ? NULL : name,
                                          .file = model->file,
                                          .task = &task,
                                          .settings = settings.items,
                                          .setting_count = settings.count,
                                          .places = settings.places,
                                          .facts = facts.items,
                                          .fact_count = facts.count};
    STK__TRY(stk__network_read(&t->network, &request, error));
    return check_task(t, setup, error);
}
