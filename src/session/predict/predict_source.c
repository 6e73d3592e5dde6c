/* SPDX-License-Identifier: Apache-2.0 */
/* One source made of many: ids run through the inputs one after the other, and a search by the first id finds
 * the input. After open nothing changes, so any thread may read. */
#include "session/predict/predict_source.h"

#include "core/file.h"
#include "core/logger.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct input {
    const char *name;
    stk__source *source; /* NULL: the name is an image */
    uint64_t first;      /* id of its first sample here … */
    uint64_t inner;      /* … and in its source */
} input;

typedef struct predict_source {
    stk__source source; /* first */
    input *inputs;
    size_t count;
    uint64_t limit_bytes;
} predict_source;

static const predict_source *self_of(const stk__source *source)
{
    return (const predict_source *)(const void *)source;
}

/* The last input that begins at or before id. */
static const input *find(const stk__source *source, uint64_t id, uint64_t *inner)
{
    const predict_source *self = self_of(source);
    size_t low = 0, high = self->count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (self->inputs[middle].first <= id)
            low = middle;
        else
            high = middle;
    }
    *inner = id - self->inputs[low].first + self->inputs[low].inner;
    return &self->inputs[low];
}

static stk_status predict_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                                stk_error *error)
{
    uint64_t inner;
    const input *in = find(source, id, &inner);
    *facts = (stk__sample_facts){.label = 0};
    if (!source->info.window_rows) return STK_OK;
    return in->source->ops->facts(in->source, inner, facts, error);
}

/* "jpg" of "a/b.jpg"; NULL without. */
static const char *extension_of(const char *name)
{
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    return dot && dot > name && (!slash || dot > slash + 1) ? dot + 1 : NULL;
}

static stk_status predict_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                               const char **extension, stk_error *error)
{
    uint64_t inner;
    const input *in = find(source, id, &inner);
    if (in->source) return in->source->ops->read(in->source, inner, field, buffer, extension, error);
    *extension = extension_of(in->name);
    return stk__file_read(in->name, self_of(source)->limit_bytes, buffer, error);
}

static void predict_hint(const stk__source *source, uint64_t id)
{
    uint64_t inner;
    const input *in = find(source, id, &inner);
    if (!in->source)
        stk__file_hint(in->name);
    else if (in->source->ops->hint)
        in->source->ops->hint(in->source, inner);
}

/* Of a file its name, without folder and extension. */
static void predict_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    uint64_t inner;
    const input *in = find(source, id, &inner);
    if (in->source) {
        in->source->ops->key(in->source, inner, text, size);
        return;
    }
    const char *slash = strrchr(in->name, '/'), *name = slash ? slash + 1 : in->name,
               *extension = extension_of(in->name);
    const size_t length = extension ? (size_t)(extension - 1 - name) : strlen(name);
    snprintf(text, size, "%.*s", (int)length, name);
}

static void predict_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    uint64_t inner;
    const input *in = find(source, id, &inner);
    if (in->source)
        in->source->ops->where(in->source, inner, field, text, size);
    else
        snprintf(text, size, "%s", in->name);
}

static void predict_close(stk__source *source)
{
    predict_source *self = (predict_source *)(void *)source;
    for (size_t i = 0; i < self->count; i++)
        stk__source_close(&self->inputs[i].source);
    stk__free(self->inputs);
    stk__free(self);
}

static const stk__source_ops predict_ops = {.name = "predict",
                                            .facts = predict_facts,
                                            .read = predict_read,
                                            .hint = predict_hint,
                                            .key = predict_key,
                                            .where = predict_where,
                                            .close = predict_close};

uint64_t stk__predict_row(const stk__source *source, uint64_t id)
{
    uint64_t inner;
    find(source, id, &inner);
    return inner + (uint64_t)source->info.window_rows;
}

/* --- opening ---------------------------------------------------------------------------------------------
 */

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* A file that is neither a list, shards nor a generator is an image; whether it is one its bytes will tell.
 */
static bool is_image(const char *name)
{
    static const char *const others[] = {"csv", "jsonl", "tar"};
    const char *extension = extension_of(name);
    if (strncmp(name, "make:", 5) == 0 || is_folder(name)) return false;
    for (size_t i = 0; extension && i < sizeof others / sizeof others[0]; i++)
        if (strcasecmp(extension, others[i]) == 0) return false;
    return true;
}

static stk_status check_kind(const input *in, const stk__predict_inputs *inputs, stk_error *error)
{
    const stk__source_info *info = &in->source->info;
    if (inputs->windows && !info->window_rows)
        stk__fail(error, STK_ERROR_DATA, "the network of this run reads series, and this is a %s",
                  info->layout);
    else if (!inputs->windows && !info->images)
        stk__fail(error, STK_ERROR_DATA, "the network of this run reads images, and this is a %s",
                  info->layout);
    else if (inputs->windows && info->window_columns != inputs->facts->features)
        stk__fail(error, STK_ERROR_DATA, "it has %d features; the network of this run reads %d",
                  info->window_columns, inputs->facts->features);
    else
        return STK_OK;
    stk__error_place(error, "%s", in->name);
    stk__error_hint(error, inputs->windows
                               ? "give series with the columns of the training data, that of the target too "
                                 "(its values are ignored: write 0)"
                               : "give images, or folders, lists or shards of them");
    return STK_ERROR_DATA;
}

/* A folder in the input that is called like a part, or like images; false: there is none. */
static bool find_folder(const char *name, char path[PATH_MAX])
{
    static const char *const words[] = {"test", "val", "train", "image"};
    struct dirent **list;
    const int count = scandir(name, &list, NULL, alphasort);
    bool found = false;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        for (int i = 0; i < count && !found; i++)
            found = strncasecmp(list[i]->d_name, words[w], strlen(words[w])) == 0 &&
                    snprintf(path, PATH_MAX, "%s/%s", name, list[i]->d_name) < PATH_MAX && is_folder(path);
    for (int i = 0; i < count; i++)
        free(list[i]);
    if (count >= 0) free(list);
    return found;
}

/* Settings of data are of no use here: only what is named can be another. */
static void hint_at_folder(const char *name, stk_error *error)
{
    char path[PATH_MAX];
    const bool deeper = strcmp(error->place, name) != 0 && is_folder(error->place);
    if (deeper || find_folder(name, path))
        stk__error_hint(error, "name the folders of the images that are meant, such as '%s'",
                        deeper ? error->place : path);
    else
        stk__error_hint(error, "name the images that are meant, not the folder");
}

/* A competition's folder: its images, or those of train.csv, are read; those of test.csv may be meant. */
static void warn_of_test_list(const input *in)
{
    static const char *const names[] = {"test.csv", "test.tsv", "test.jsonl"};
    char path[PATH_MAX];
    if (!in->source->info.images || in->source->info.parts || !is_folder(in->name)) return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (snprintf(path, sizeof path, "%s/%s", in->name, names[i]) < PATH_MAX && access(path, F_OK) == 0)
            stk__log(STK_LOG_WARNING,
                     "'%s' has '%s': stoker predict RUN %s predicts the images of this list alone", in->name,
                     names[i], path);
}

/* Of a list only the names of files matter. */
static const char files_only[] = "label=none,value=none,mask=none,split=none,points=none";

/* How many samples it has; 0: it cannot be used, and has been told. */
static uint64_t open_input(input *in, const stk__predict_inputs *inputs)
{
    stk_error error;
    const stk__source_options options = {.root = in->name,
                                         .columns = files_only,
                                         .unlabeled = true,
                                         .window_rows = inputs->facts->window,
                                         .limit_bytes = inputs->limit_bytes};
    if (!inputs->windows && is_image(in->name)) return 1;
    stk_status status = stk__source_open(&in->source, &options, &error);
    if (status == STK_ERROR_CONFIG || (status == STK_ERROR_DATA && strstr(error.hint, "data.layout")))
        hint_at_folder(in->name, &error);
    if (status == STK_OK) status = check_kind(in, inputs, &error);
    if (status != STK_OK) {
        stk__source_close(&in->source);
        inputs->refuse(inputs->context, in->name, &error);
        return 0;
    }
    warn_of_test_list(in);
    in->inner = inputs->windows && !inputs->all ? in->source->info.count - 1 : 0;
    return in->source->info.count - in->inner;
}

/* A missing image among others is a row of the answers' failures; that all are missing is a wrong path. */
static stk_status check_any_exists(const predict_source *self, stk_error *error)
{
    int error_number = 0;
    for (size_t i = 0; i < self->count; i++) {
        if (self->inputs[i].source || access(self->inputs[i].name, F_OK) == 0) return STK_OK;
        if (i == 0) error_number = errno;
    }
    const char *first = self->inputs[0].name;
    const stk_status status = stk__fail_errno(error, error_number, "cannot open the image '%s'", first);
    stk__error_place(error, "%s", first);
    stk__error_hint(error,
                    "check the path; stoker predict RUN takes images, and folders, lists or shards of them");
    return status;
}

static stk_status open_inputs(predict_source *self, const stk__predict_inputs *inputs, stk_error *error)
{
    stk__source_info *info = &self->source.info;
    self->inputs = stk__alloc(inputs->count * sizeof *self->inputs);
    if (!self->inputs) return stk__fail_memory(error, inputs->count * sizeof *self->inputs, "the inputs");
    for (size_t i = 0; i < inputs->count; i++) {
        input *in = &self->inputs[self->count];
        *in = (input){.name = inputs->names[i], .first = info->count};
        const uint64_t count = open_input(in, inputs);
        info->count += count;
        self->count += count > 0;
    }
    if (!info->count)
        return stk__fail(error, STK_ERROR_DATA, "none of the inputs can be used: nothing to predict");
    STK__TRY(check_any_exists(self, error));
    info->layout = inputs->windows ? "series" : "images";
    info->images = !inputs->windows;
    info->label = inputs->windows ? STK_LABEL_VALUE : STK_LABEL_NONE;
    info->window_rows = inputs->windows ? inputs->facts->window : 0;
    info->window_columns = inputs->windows ? inputs->facts->features : 0;
    info->fingerprint = stk__digest_of(&info->count, sizeof info->count);
    return STK_OK;
}

stk_status stk__predict_source_open(stk__source **source, const stk__predict_inputs *inputs, stk_error *error)
{
    predict_source *self = stk__alloc(sizeof *self);
    if (!self) return stk__fail_memory(error, sizeof *self, "a source");
    self->source.ops = &predict_ops;
    self->limit_bytes = inputs->limit_bytes;
    const stk_status status = open_inputs(self, inputs, error);
    if (status != STK_OK)
        predict_close(&self->source);
    else
        *source = &self->source;
    return status;
}
