/* SPDX-License-Identifier: Apache-2.0 */
/* What the network was made for comes from the training part, or from data.json of a run: the validation part
 * is compared with that, targets and class names first, then sizes. One thread. */
#include "session/session_check.h"

#include "core/logger.h"
#include "session/eval_part.h"
#include "session/trained_run.h"

#include <stdio.h>
#include <string.h>

/* --- classes -----------------------------------------------------------------------------------------------
 */

static const char same_classes[] = "use folders train and val of one data.root; lists and shards can have "
                                   "the same classes.txt next to both instead";

stk_status stk__session_check_data(const stk__session *s, stk_error *error)
{
    const stk_loader_info *info = s->loader ? stk_loader_describe(s->loader) : NULL;
    const char *root = s->data.root ? s->data.root : "";
    if (!info || !(info->masks || info->classes) || info->point_count || info->class_count != 1)
        return STK_OK;
    if (s->model.num_classes > 1) {
        stk__log(STK_LOG_WARNING,
                 "'%.160s' has only one class: a network that always answers it has loss 0 and accuracy 1",
                 root);
        return STK_OK;
    }
    stk__fail(error, STK_ERROR_DATA, "'%.160s' has only one class%s%.80s%s: there is nothing to learn", root,
              info->class_names ? ", '" : "", info->class_names ? info->class_names[0] : "",
              info->class_names ? "'" : "");
    stk__error_hint(error, info->masks ? "masks and classes.txt need a class for the background too; "
                                         "model.num_classes=2 trains all the same"
                                       : "data.root is the folder above one folder per class; "
                                         "model.num_classes=2 trains all the same");
    return STK_ERROR_DATA;
}

static bool has_classes(stk__task task)
{
    return task == STK_TASK_SEGMENTATION || task == STK_TASK_CLASSIFICATION;
}

static int64_t count_outputs(const stk__trainer_info *info)
{
    const stk__shape *output = &stk__pass_forms(info->pass)[info->network->output].output;
    return output->dim[output->ndim - 1];
}

static stk_status check_count(const stk__run_data *data, const stk__trainer_info *info, const char *hint,
                              stk_error *error)
{
    const int64_t outputs = count_outputs(info);
    if (!has_classes(info->network->task) || data->facts.num_classes <= outputs) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "'%.160s' has %d class%s, the network knows %lld", data->name,
              data->facts.num_classes, data->facts.num_classes == 1 ? "" : "es", (long long)outputs);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_DATA;
}

static stk_status check_names(const stk__run_data *learnt, const stk__run_data *val, stk_error *error)
{
    const char *here, *there;
    for (int64_t i = 0; (here = stk__run_class_name(learnt, i)) && (there = stk__run_class_name(val, i));
         i++) {
        if (strcmp(here, there) == 0) continue;
        stk__fail(error, STK_ERROR_DATA, "class %lld is '%.80s' in '%.80s' but '%.80s' in '%.80s'",
                  (long long)i, here, learnt->name, there, val->name);
        stk__error_hint(error, "%s", same_classes);
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

static stk_status check_targets(const stk__run_data *learnt, const stk__run_data *val,
                                const stk__trainer_info *info, stk_error *error)
{
    const stk__feed_facts *f = &val->facts;
    const stk__task task = info->network->task;
    const bool has[] = {[STK_TASK_SEGMENTATION] = f->masks,
                        [STK_TASK_POINTS] = f->points,
                        [STK_TASK_CLASSIFICATION] = f->classes,
                        [STK_TASK_REGRESSION] = f->values};
    if (!has[task])
        return stk__fail(error, STK_ERROR_DATA, "'%.160s' has no %s to evaluate on", val->name,
                         stk__task_describe(task)->target);
    if (!has_classes(task)) return STK_OK;
    STK__TRY(check_names(learnt, val, error));
    return check_count(val, info, same_classes, error);
}

/* --- sizes -------------------------------------------------------------------------------------------------
 */

static void print_sizes(const stk__feed_facts *f, stk__task task, char *text, size_t size)
{
    const char *colours = f->image_c == 1 ? "gray" : "RGB";
    if (task == STK_TASK_REGRESSION)
        snprintf(text, size, "windows of %d x %d", f->window, f->features);
    else if (task == STK_TASK_POINTS)
        snprintf(text, size, "images of %dx%d %s, points: %d", f->image_w, f->image_h, colours, f->points);
    else
        snprintf(text, size, "images of %dx%d %s", f->image_w, f->image_h, colours);
}

static stk_status check_sizes(const stk__run_data *learnt, const stk__run_data *val, stk__task task,
                              stk_error *error)
{
    char here[96], there[96];
    print_sizes(&learnt->facts, task, here, sizeof here);
    print_sizes(&val->facts, task, there, sizeof there);
    if (strcmp(here, there) == 0) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "'%.80s' has %s to learn from but '%.80s' %s to evaluate on",
              learnt->name, here, val->name, there);
    stk__error_hint(error, task == STK_TASK_REGRESSION
                               ? "data.sequence_length holds for both parts, unless data.val has its own"
                               : "set data.image_size and data.channels: they hold for both parts");
    return STK_ERROR_DATA;
}

/* --- parts -------------------------------------------------------------------------------------------------
 */

static stk_status check(const stk__session *s, const stk__run_data *learnt, bool sizes, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    char name[512];
    stk__run_data val;
    stk__session_print_root(&s->val_data, name, sizeof name);
    stk_status status = stk__run_data_init(&val, name, stk_loader_describe(s->val_loader), error);
    if (status == STK_OK) status = check_targets(learnt, &val, info, error);
    if (status == STK_OK && sizes) status = check_sizes(learnt, &val, info->network->task, error);
    stk__run_data_fini(&val);
    return status;
}

stk_status stk__session_check_parts(const stk__session *s, stk_error *error)
{
    char name[512];
    stk__run_data learnt;
    stk__session_print_root(&s->data, name, sizeof name);
    stk_status status = stk__run_data_init(&learnt, name, stk_loader_describe(s->loader), error);
    if (status == STK_OK)
        status = check_count(&learnt, stk__trainer_describe(s->trainer),
                             "leave model.num_classes out: the data decides", error);
    if (status == STK_OK && s->val_loader) status = check(s, &learnt, true, error);
    stk__run_data_fini(&learnt);
    return status;
}

stk_status stk__session_check_run(const stk__session *s, const char *run, stk_error *error)
{
    stk__run_data learnt = {0};
    stk_status status = STK_OK;
    if (stk__run_has_data(run)) /* old ones do not: then nobody knows what their classes were called */
        status = stk__run_data_read(&learnt, run, error);
    if (status == STK_OK) status = check(s, &learnt, false, error);
    stk__run_data_fini(&learnt);
    return status;
}
