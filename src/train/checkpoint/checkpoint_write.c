/* Writes a checkpoint (checkpoint_io.c keeps it atomic), then removes the old ones by a retention rule:
 * see "which stay" below. A failing removal never harms the new checkpoint: it is logged. */
#include "train/checkpoint/checkpoint_parts.h"

#include "core/json_text.h"
#include "core/logger.h"
#include "train/checkpoint/checkpoint_io.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static stk_status put_tensor(stk__checkpoint_io *io, stk__tensor *tensor, size_t size_bytes, stk_error *error)
{
    stk_tensor view;
    STK__TRY(stk__tensor_map(tensor, &view, error));
    assert((size_t)stk_tensor_bytes(&view) == size_bytes);
    const stk_status status = stk__checkpoint_io_put(io, view.data, size_bytes, error);
    const stk_status unmapped = stk__tensor_unmap(tensor, &view, false, status == STK_OK ? error : NULL);
    return status != STK_OK ? status : unmapped;
}

static stk_status put_tensors(stk__checkpoint_io *io, stk__checkpoint_tensors *list, stk__buffer *header,
                              stk_error *error)
{
    static const char *const metadata[][2] = {{"format", "pt"}};
    STK__TRY(stk__safetensors_header(list->facts, list->count, metadata, 1, header, error));
    STK__TRY(stk__checkpoint_io_put(io, header->data, header->size_bytes, error));
    for (int i = 0; i < list->count; i++)
        STK__TRY(put_tensor(io, list->tensors[i], list->facts[i].size_bytes, error));
    return STK_OK;
}

static stk_status write_part(stk__checkpoint_io *io, const stk__model *model, stk__checkpoint_part part,
                             stk_error *error)
{
    stk__checkpoint_tensors list;
    stk__buffer header = {0};
    stk_status status = stk__checkpoint_tensors_init(&list, model, part, error);
    if (status == STK_OK && list.count > 0) {
        status = stk__checkpoint_io_open(io, stk__checkpoint_files[part], error);
        if (status == STK_OK) status = put_tensors(io, &list, &header, error);
        if (status == STK_OK) status = stk__checkpoint_io_close(io, error);
    }
    stk__buffer_fini(&header);
    stk__checkpoint_tensors_fini(&list);
    return status;
}

static json_t *pack_state(const stk__checkpoint_state *state)
{
    json_t *metric = stk__json_number(state->metric);
    json_t *inner = state->json ? json_incref(state->json) : json_null();
    return json_pack("{s:i, s:I, s:I, s:o, s:o}", "schema", 1, "epoch", (json_int_t)state->epoch, "step",
                     (json_int_t)state->step, "metric", metric, "state", inner);
}

static stk_status write_state(stk__checkpoint_io *io, const stk__checkpoint_state *state, stk_error *error)
{
    stk__buffer text = {0};
    stk_status status = stk__json_text(&text, pack_state(state), JSON_INDENT(1), error);
    if (status == STK_OK) status = stk__checkpoint_io_open(io, STK_CHECKPOINT_STATE, error);
    if (status == STK_OK) status = stk__checkpoint_io_put(io, text.data, text.size_bytes, error);
    if (status == STK_OK) status = stk__checkpoint_io_close(io, error);
    stk__buffer_fini(&text);
    return status;
}

static stk_status write_files(stk__checkpoint_io *io, const stk__checkpoint_options *options,
                              const stk__model *model, const stk__checkpoint_state *state, stk_error *error)
{
    STK__TRY(write_part(io, model, STK_CHECKPOINT_MODEL, error));
    if (options->optimizer) STK__TRY(write_part(io, model, STK_CHECKPOINT_OPTIMIZER, error));
    STK__TRY(write_part(io, model, STK_CHECKPOINT_AVERAGE, error));
    STK__TRY(write_state(io, state, error));
    return stk__checkpoint_io_commit(io, error);
}

/* --- which stay ---------------------------------------------------------------------------------------- */

/* Fills names with those that go. Newer ones than `newest` are of no use: the run went back before them
 * because they were damaged. Of the older ones, those of the same step were replaced; those without a
 * readable state do not count as kept. */
static int choose_old(const stk__checkpoint_list *list, const stk__checkpoint_entry *newest,
                      const stk__checkpoint_options *options, const char **names)
{
    const stk__checkpoint_entry *best = NULL, *last = NULL;
    int count = 0, kept = 0;
    for (int i = 0; i < list->count; i++) {
        const stk__checkpoint_entry *entry = &list->entries[i];
        if (stk__checkpoint_newer(entry, newest) || !entry->readable || isnan(entry->metric)) continue;
        if (!best || stk__checkpoint_better(entry, best, options->best_is_low)) best = entry;
    }
    for (int i = 0; i < list->count; i++) {
        const stk__checkpoint_entry *entry = &list->entries[i];
        const bool newer = stk__checkpoint_newer(entry, newest);
        const bool replaced = last && last->step == entry->step && last->epoch == entry->epoch;
        const bool old = options->keep > 0 && kept >= options->keep;
        if (newer || ((replaced || old) && entry != best)) names[count++] = entry->name;
        if (newer || replaced) continue;
        kept += entry->readable;
        last = entry;
    }
    return count;
}

static const stk__checkpoint_entry *find_entry(const stk__checkpoint_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].name, name) == 0) return &list->entries[i];
    return NULL;
}

/* Nothing here can harm the newest checkpoint, so all that fails is logged. */
static void forget_old(const stk__checkpoint_options *options, const char *newest)
{
    stk_error error = {0};
    stk__checkpoint_list list;
    const char **names = NULL;
    stk_status status = stk__checkpoint_list_read(&list, options->folder, &error);
    if (status == STK_OK) status = stk__checkpoint_list_states(&list, options->folder, &error);
    if (status == STK_OK && !(names = stk__alloc((size_t)(list.count + 1) * sizeof names[0])))
        status = stk__fail_memory(&error, (size_t)(list.count + 1) * sizeof names[0], "names");
    const stk__checkpoint_entry *entry = status == STK_OK ? find_entry(&list, newest) : NULL;
    if (entry)
        status = stk__checkpoint_io_discard(options->folder, names, choose_old(&list, entry, options, names),
                                            &error);
    if (status != STK_OK)
        stk__log(STK_LOG_WARNING, "old checkpoints could not be removed: %s", error.message);
    stk__free(names);
    stk__buffer_fini(&list.memory);
}

void stk__checkpoint_tidy(const stk__checkpoint_options *options, const char *newest)
{
    const char *slash = strrchr(newest, '/');
    forget_old(options, slash ? slash + 1 : newest);
}

/* A name that is not taken. */
static stk_status choose_name(const char *folder, const stk__checkpoint_state *state,
                              stk__checkpoint_entry *entry, stk_error *error)
{
    stk__checkpoint_list list;
    const stk_status status = stk__checkpoint_list_read(&list, folder, error);
    *entry = (stk__checkpoint_entry){.epoch = state->epoch, .step = state->step, .again = 1};
    for (int i = 0; status == STK_OK && i < list.count; i++) {
        const stk__checkpoint_entry *other = &list.entries[i];
        if (other->epoch == entry->epoch && other->step == entry->step && other->again >= entry->again)
            entry->again = other->again + 1;
    }
    stk__checkpoint_entry_name(entry);
    stk__buffer_fini(&list.memory);
    return status;
}

stk_status stk__checkpoint_write(const stk__checkpoint_options *options, stk__model *model,
                                 const stk__checkpoint_state *state, char *path, size_t size,
                                 stk_error *error)
{
    stk__checkpoint_entry entry;
    stk__checkpoint_io io;
    STK__TRY(choose_name(options->folder, state, &entry, error));
    stk_status status = stk__checkpoint_io_begin(&io, options->folder, entry.name, error);
    if (status == STK_OK) status = write_files(&io, options, model, state, error);
    if (path && io.committed) snprintf(path, size, "%s", io.final);
    stk__checkpoint_io_fini(&io);
    if (status == STK_OK) forget_old(options, entry.name);
    return status;
}
