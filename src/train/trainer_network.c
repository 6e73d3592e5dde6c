/* SPDX-License-Identifier: Apache-2.0 */
/* Which network is trained: the one that was asked for, or the one for this kind of data; its options from
 * settings and data. */
#include "train/trainer_internal.h"

#include "core/number.h"

#include <stdio.h>
#include <string.h>

enum { SETTINGS_MOST = 32 };

static stk__task task_of_data(const stk__feed_facts *facts)
{
    if (facts->window) return STK_TASK_REGRESSION;
    if (facts->masks) return STK_TASK_SEGMENTATION;
    return facts->points ? STK_TASK_POINTS : STK_TASK_CLASSIFICATION;
}

typedef struct settings_list {
    stk__network_setting items[SETTINGS_MOST];
    int count;
    char names[1024]; /* of model.options */
} settings_list;

static void add(settings_list *list, const char *name, int64_t value)
{
    if (value && list->count < SETTINGS_MOST)
        list->items[list->count++] = (stk__network_setting){name, value};
}

/* "a:1,b:2" */
static stk_status add_options(settings_list *list, const char *text, stk_error *error)
{
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
            stk__error_hint(error, "model.options={blocks: 3, width: 16}");
            return STK_ERROR_CONFIG;
        }
        *colon = '\0';
        if (list->count < SETTINGS_MOST) list->items[list->count++] = (stk__network_setting){item, value};
    }
    return STK_OK;
}

/* Nothing that is there can be learnt, whatever the network: says what the data are. */
static stk_status refuse_data(const stk__feed_facts *f, stk_error *error)
{
    if (f->image_w && f->values) {
        stk__fail(error, STK_ERROR_CONFIG,
                  "the data set has images with one value each: image regression is not supported");
        stk__error_hint(error,
                        "tasks for images: classification (labels), segmentation (masks), points; if the "
                        "values are class numbers: data.columns='label=COLUMN'");
    } else {
        stk__fail(error, STK_ERROR_CONFIG, "the data set has %s: nothing to train on",
                  f->image_w ? "images without labels, masks or points" : "no images and no target column");
        stk__error_hint(error,
                        "images need masks/, labels.csv, points.csv or a folder per class; series a target "
                        "column; the column of a list: data.columns='label=COLUMN'");
    }
    return STK_ERROR_CONFIG;
}

static stk_status check_task(const stk__trainer *t, stk_error *error)
{
    const stk__feed_facts *f = &t->facts;
    const bool fits[] = {[STK_TASK_SEGMENTATION] = f->image_w && f->masks,
                         [STK_TASK_POINTS] = f->image_w && f->points,
                         [STK_TASK_CLASSIFICATION] = f->image_w && f->classes,
                         [STK_TASK_REGRESSION] = f->window && f->values};
    const stk__task task = t->network->task;
    if (fits[task]) return STK_OK;
    if (!fits[task_of_data(f)]) return refuse_data(f, error);
    const stk__task_info *wants = stk__task_describe(task);
    stk__fail(error, STK_ERROR_CONFIG, "network '%s' needs %s with %s, which this data set does not have",
              t->network->name, wants->input, wants->target);
    stk__error_hint(error, "model.name=%s, or other data", stk__task_describe(task_of_data(f))->network);
    return STK_ERROR_CONFIG;
}

stk_status stk__trainer_read_network(stk__trainer *t, const stk__model_settings *model, stk_error *error)
{
    const stk__feed_facts *f = &t->facts;
    settings_list settings = {.count = 0}, facts = {.count = 0};
    add(&settings, "width", model->width);
    add(&settings, "depth", model->depth);
    add(&settings, "hidden", model->hidden);
    add(&settings, "layers", model->layers);
    add(&settings, "num_classes", model->num_classes);
    STK__TRY(add_options(&settings, model->options, error));
    add(&facts, "image_h", f->image_h);
    add(&facts, "image_w", f->image_w);
    add(&facts, "image_c", f->image_c);
    add(&facts, "num_classes", f->num_classes);
    add(&facts, "points", f->points);
    add(&facts, "features", f->features);
    add(&facts, "window", f->window);
    const char *name = model->name ? model->name : stk__task_describe(task_of_data(f))->network;
    if (!model->name && !model->file)
        stk__trainer_note(t, "model.name", name, "the network for this kind of data");
    const stk__network_request request = {.name = model->file ? NULL : name,
                                          .file = model->file,
                                          .settings = settings.items,
                                          .setting_count = settings.count,
                                          .facts = facts.items,
                                          .fact_count = facts.count};
    STK__TRY(stk__network_read(&t->network, &request, error));
    return check_task(t, error);
}
