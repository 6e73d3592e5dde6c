/* SPDX-License-Identifier: Apache-2.0 */
/* What the network was made for comes from the training part, or from data.json of a run: the validation part
 * is compared with that, targets and class names first, then sizes. One thread. */
#include "session/session_check.h"

#include "core/logger.h"
#include "session/class_names.h"
#include "session/eval_part.h"
#include "session/name_labels.h"
#include "source/folder_words.h"

#include <stdio.h>
#include <string.h>

/* --- classes -----------------------------------------------------------------------------------------------
 */

static const char same_classes[] =
    "use folders train and val, or lists train.csv and val.csv, of one data.root; lists "
    "and shards can have the same classes.txt next to both instead";

/* A test set as competitions give it: images to be predicted. */
static stk_status check_evaluated(const stk__session *s, stk_error *error)
{
    const stk_loader_info *info = stk_loader_describe(s->val_loader);
    char name[512];
    if (!info->w || info->masks || info->classes || info->label_sets || info->values || info->point_count)
        return STK_OK;
    stk__session_print_root(&s->val_data, name, sizeof name);
    stk__fail(error, STK_ERROR_DATA,
              "'%.160s' has images without labels, masks or points: nothing to evaluate on", name);
    stk__error_hint(error, "stoker predict RUN %.160s predicts images without labels", name);
    return STK_ERROR_DATA;
}

/* DIR/photos/…jpg and nothing else: most likely not meant as a class. */
static stk_status refuse_one_folder(const char *root, const char *folder, stk_error *error)
{
    stk__fail(
        error, STK_ERROR_DATA,
        "'%.160s' has images in one folder, '%.80s', which is only one class: there is nothing to learn",
        root, folder);
    stk__error_hint(error,
                    "classification needs a folder per class or labels.csv, segmentation masks/ and "
                    "data.images=%.80s, points points.csv; stoker predict RUN %.160s needs none; "
                    "model.num_classes=2 trains all "
                    "the same",
                    folder, root);
    return STK_ERROR_DATA;
}

/* A list is looked for above the folder images/, not in it; unless that is the data set. */
static void leave_images(char *folder, const char *root)
{
    size_t length = strlen(folder);
    if (!length || !root || strlen(root) + 1 >= length) return;
    folder[length - 1] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash && stk__folder_word_of(slash + 1).kind == STK_FOLDER_IMAGES &&
        !stk__folder_word_of(slash + 1).part)
        slash[1] = '\0';
    else
        folder[length - 1] = '/';
}

/* cat.0.jpg, dog.0.jpg: what training needs is there, but not where it is read. */
static stk_status check_unlabeled(const stk__session *s, const stk_loader_info *info, stk_error *error)
{
    stk__name_labels found;
    if (!info->w || info->masks || info->classes || info->label_sets || info->values || info->point_count ||
        !stk__name_labels_find(s->loader, &found))
        return STK_OK;
    leave_images(found.folder, s->data.root);
    stk__fail(
        error, STK_ERROR_CONFIG,
        "the data set has images without labels, values, masks or points; the names of the files seem to "
        "have labels ('%s'), which are not read",
        found.file);
    if (found.different)
        stk__error_hint(error,
                        "write %slabels.csv: the line file,label, then one for each image, such as %s,%s",
                        found.folder, found.file, found.label);
    else
        stk__error_hint(
            error,
            "write %slabels.csv: the line file,value (or file,label), then one for each image, such "
            "as %s,%.*s",
            found.folder, found.file, (int)strspn(found.file, "0123456789"), found.file);
    return STK_ERROR_CONFIG;
}

/* They stay different classes. */
static void warn_of_similar(const stk_loader_info *info)
{
    int32_t pair[2];
    const int32_t alike = info ? stk__class_names_alike(info->class_names, info->class_count, pair) : 0;
    if (alike)
        stk__log(STK_LOG_WARNING,
                 "classes '%.60s' and '%.60s'%s differ in case or surrounding blanks alone, and are trained "
                 "as different classes",
                 info->class_names[pair[0]], info->class_names[pair[1]], alike > 1 ? ", and others," : "");
}

stk_status stk__session_check_data(const stk__session *s, stk_error *error)
{
    if (s->evaluates_only) return check_evaluated(s, error);
    if (s->loader) warn_of_similar(stk_loader_describe(s->loader));
    const stk_loader_info *info = s->loader ? stk_loader_describe(s->loader) : NULL;
    const char *root = s->data.root ? s->data.root : "";
    if (info) STK__TRY(check_unlabeled(s, info, error));
    if (!info || !(info->masks || info->classes) || info->point_count || info->class_count != 1)
        return STK_OK;
    if (s->model.num_classes > 1) {
        stk__log(STK_LOG_WARNING,
                 "'%.160s' has only one class: a network that always answers it has loss 0 and accuracy 1",
                 root);
        return STK_OK;
    }
    if (strncmp(info->layout, "folder of classes", 17) == 0 && info->class_names)
        return refuse_one_folder(root, info->class_names[0], error);
    stk__fail(error, STK_ERROR_DATA, "'%.160s' has only one class%s%.80s%s: there is nothing to learn", root,
              info->class_names ? ", '" : "", info->class_names ? info->class_names[0] : "",
              info->class_names ? "'" : "");
    stk__error_hint(error, info->masks ? "masks and classes.txt need a class for the background too; "
                                         "model.num_classes=2 trains all the same"
                                       : "data.root is the folder above one folder per class; "
                                         "model.num_classes=2 trains all the same");
    return STK_ERROR_DATA;
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
    if (!stk__task_has_classes(info->network->task) || data->facts.num_classes <= outputs) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "'%.160s' has %d class%s, the network knows %lld", data->name,
              data->facts.num_classes, data->facts.num_classes == 1 ? "" : "es", (long long)outputs);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_DATA;
}

static bool knows_class(const stk__run_data *data, const char *name)
{
    const char *known;
    for (int64_t i = 0; (known = stk__run_class_name(data, i)); i++)
        if (strcmp(known, name) == 0) return true;
    return false;
}

/* A class that nobody was trained on. */
static stk_status refuse_class(const stk__session *s, const stk__run_data *learnt, const stk__run_data *val,
                               const char *name, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%.160s' has the class '%.80s', which '%.80s' does not have", val->name,
              name, learnt->name);
    if (s->evaluates_only)
        stk__error_hint(error,
                        "data to evaluate on needs the classes of the run; stoker predict %.80s %.160s "
                        "predicts all images there",
                        learnt->name, val->name);
    else
        stk__error_hint(error, "%s", same_classes);
    return STK_ERROR_DATA;
}

static stk_status check_names(const stk__session *s, const stk__run_data *learnt, const stk__run_data *val,
                              stk_error *error)
{
    const int64_t outputs = count_outputs(stk__trainer_describe(s->trainer));
    const char *there;
    for (int64_t i = 0; stk__run_class_name(learnt, 0) && (there = stk__run_class_name(val, i)); i++) {
        const char *here = stk__run_class_name(learnt, i);
        if (here ? strcmp(here, there) == 0 : i < outputs) continue;
        if (!here || !knows_class(learnt, there)) return refuse_class(s, learnt, val, there, error);
        stk__fail(error, STK_ERROR_DATA, "class %lld is '%.80s' in '%.80s' but '%.80s' in '%.80s'",
                  (long long)i, here, learnt->name, there, val->name);
        stk__error_hint(error, "%s", same_classes);
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

/* Sets of labels have a column for each class: as many as the network. */
static stk_status check_labels(const stk__run_data *learnt, const stk__run_data *val, int64_t outputs,
                               stk_error *error)
{
    const char *missing = stk__run_class_name(learnt, val->facts.num_classes);
    if (val->facts.num_classes == outputs) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "'%.160s' has %d label%s, the network knows %lld%s%.80s%s", val->name,
              val->facts.num_classes, val->facts.num_classes == 1 ? "" : "s", (long long)outputs,
              missing ? ": '" : "", missing ? missing : "", missing ? "' is missing" : "");
    stk__error_hint(error, "%s", same_classes);
    return STK_ERROR_DATA;
}

/* A network answers points by number, so names stand for places: the same ones in the same order. */
static stk_status check_points(const stk__run_data *learnt, const stk__run_data *val, stk_error *error)
{
    static const char hint[] = "give both data sets the same points in the same order: columns of lists, "
                               "key points of a COCO category, lines of points.txt";
    const char *here, *there;
    for (int64_t i = 0; (here = stk__run_point_name(learnt, i)) && (there = stk__run_point_name(val, i));
         i++) {
        if (strcmp(here, there) == 0) continue;
        stk__fail(error, STK_ERROR_DATA, "point %lld is '%.80s' in '%.80s' but '%.80s' in '%.80s'",
                  (long long)i, here, learnt->name, there, val->name);
        stk__error_hint(error, "%s", hint);
        return STK_ERROR_DATA;
    }
    const int32_t known = learnt->facts.points, found = val->facts.points;
    if (!learnt->json || known == found) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "samples have %d point%s in '%.80s' but %d in '%.80s'", known,
              known == 1 ? "" : "s", learnt->name, found, val->name);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_DATA;
}

/* What the data has instead of what the network answers. */
static stk_status refuse_task(const stk__session *s, const stk__run_data *learnt, const stk__run_data *val,
                              stk_error *error)
{
    const stk__task task = stk__trainer_describe(s->trainer)->network->task;
    const stk__task_info *wants = stk__task_describe(task);
    const stk__task other = stk__task_of_data(&val->facts);
    if (!stk__task_fits(other, &val->facts)) {
        stk__fail(error, STK_ERROR_DATA, "'%.160s' has no %s to evaluate on", val->name, wants->target);
        if (s->evaluates_only)
            stk__error_hint(error, "stoker predict RUN %.160s predicts images without them", val->name);
        else
            stk__error_hint(error,
                            "give it the same layout as '%.100s', such as a folder per class; or train with "
                            "'%.100s' as data.root and data.val_split=0.1",
                            learnt->name, learnt->name);
        return STK_ERROR_DATA;
    }
    const stk__task_info *has = stk__task_describe(other);
    stk__fail(error, STK_ERROR_DATA, "'%.80s' %s for %s, but '%.80s' has %s with %s", learnt->name,
              s->evaluates_only ? "was trained" : "is", stk__task_word(task), val->name, has->input,
              has->target);
    stk__error_hint(error, "evaluate on %s with %s; stoker stats shows how a data set is read", wants->input,
                    wants->target);
    return STK_ERROR_DATA;
}

static stk_status check_features(const stk__run_data *learnt, const stk__run_data *val, stk_error *error)
{
    if (!learnt->json || learnt->facts.features == val->facts.features) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "windows have %d features in '%.80s' but %d in '%.80s'",
              learnt->facts.features, learnt->name, val->facts.features, val->name);
    stk__error_hint(error, "give series with the columns of the training data");
    return STK_ERROR_DATA;
}

static stk_status check_targets(const stk__session *s, const stk__run_data *learnt, const stk__run_data *val,
                                stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__task task = info->network->task;
    if (!stk__task_fits(task, &val->facts)) return refuse_task(s, learnt, val, error);
    if (task == STK_TASK_POINTS) return check_points(learnt, val, error);
    if (task == STK_TASK_REGRESSION) return check_features(learnt, val, error);
    if (!stk__task_has_classes(task)) return STK_OK;
    STK__TRY(check_names(s, learnt, val, error));
    if (task == STK_TASK_MULTILABEL) STK__TRY(check_labels(learnt, val, count_outputs(info), error));
    return check_count(val, info, same_classes, error);
}

/* --- sizes -------------------------------------------------------------------------------------------------
 */

static void print_sizes(const stk__feed_facts *f, stk__task task, char *text, size_t size)
{
    if (task == STK_TASK_REGRESSION)
        snprintf(text, size, "windows of %d x %d", f->window, f->features);
    else
        snprintf(text, size, "images of %dx%d %s", f->image_w, f->image_h, f->image_c == 1 ? "gray" : "RGB");
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
    const stk__task task = stk__trainer_describe(s->trainer)->network->task;
    char name[512];
    stk__run_data val;
    stk__session_print_root(&s->val_data, name, sizeof name);
    stk_status status = stk__run_data_init(&val, name, stk_loader_describe(s->val_loader), error);
    if (status == STK_OK) status = check_targets(s, learnt, &val, error);
    if (status == STK_OK && sizes) status = check_sizes(learnt, &val, task, error);
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
                             s->has_checkpoint
                                 ? "the run was trained on other classes; if folders such as train were "
                                   "its classes: data.layout=classes"
                                 : "leave model.num_classes out: the data decides",
                             error);
    if (status == STK_OK && s->val_loader) status = check(s, &learnt, true, error);
    stk__run_data_fini(&learnt);
    return status;
}

stk_status stk__session_check_run(const stk__session *s, const stk__run_data *learnt, stk_error *error)
{
    return check(s, learnt, false, error);
}
