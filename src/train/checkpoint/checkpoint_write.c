/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a checkpoint: tensors as safetensors files and state.json, through checkpoint_atomic.c, which keeps
 * it atomic; then old ones are removed (checkpoint_retention.c). One thread. */
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/checkpoint_tensors.h"

#include "core/json_text.h"
#include "train/checkpoint/checkpoint_atomic.h"

#include <assert.h>
#include <stdio.h>

static stk_status put_tensor(stk__checkpoint_atomic *io, stk__tensor *tensor, size_t size_bytes,
                             stk_error *error)
{
    stk_tensor view;
    STK__TRY(stk__tensor_map(tensor, &view, error));
    assert((size_t)stk_tensor_bytes(&view) == size_bytes);
    const stk_status status = stk__checkpoint_atomic_put(io, view.data, size_bytes, error);
    const stk_status unmapped = stk__tensor_unmap(tensor, &view, false, status == STK_OK ? error : NULL);
    return status != STK_OK ? status : unmapped;
}

static stk_status put_tensors(stk__checkpoint_atomic *io, stk__checkpoint_tensors *list, stk__buffer *header,
                              stk_error *error)
{
    static const char *const metadata[][2] = {{"format", "pt"}};
    STK__TRY(stk__safetensors_header(list->facts, list->count, metadata, 1, header, error));
    STK__TRY(stk__checkpoint_atomic_put(io, header->data, header->size_bytes, error));
    for (int i = 0; i < list->count; i++)
        STK__TRY(put_tensor(io, list->tensors[i], list->facts[i].size_bytes, error));
    return STK_OK;
}

static stk_status write_part(stk__checkpoint_atomic *io, const stk__model *model, stk__checkpoint_part part,
                             stk_error *error)
{
    stk__checkpoint_tensors list;
    stk__buffer header = {0};
    stk_status status = stk__checkpoint_tensors_init(&list, model, part, error);
    if (status == STK_OK && list.count > 0) {
        status = stk__checkpoint_atomic_open(io, stk__checkpoint_files[part], error);
        if (status == STK_OK) status = put_tensors(io, &list, &header, error);
        if (status == STK_OK) status = stk__checkpoint_atomic_close(io, error);
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

static stk_status write_state(stk__checkpoint_atomic *io, const stk__checkpoint_state *state,
                              stk_error *error)
{
    stk__buffer text = {0};
    stk_status status = stk__json_text(&text, pack_state(state), JSON_INDENT(1), error);
    if (status == STK_OK) status = stk__checkpoint_atomic_open(io, STK_CHECKPOINT_STATE, error);
    if (status == STK_OK) status = stk__checkpoint_atomic_put(io, text.data, text.size_bytes, error);
    if (status == STK_OK) status = stk__checkpoint_atomic_close(io, error);
    stk__buffer_fini(&text);
    return status;
}

static stk_status write_files(stk__checkpoint_atomic *io, const stk__checkpoint_options *options,
                              const stk__model *model, const stk__checkpoint_state *state, stk_error *error)
{
    STK__TRY(write_part(io, model, STK_CHECKPOINT_MODEL, error));
    if (options->optimizer) STK__TRY(write_part(io, model, STK_CHECKPOINT_OPTIMIZER, error));
    STK__TRY(write_part(io, model, STK_CHECKPOINT_AVERAGE, error));
    STK__TRY(write_state(io, state, error));
    return stk__checkpoint_atomic_commit(io, error);
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
    stk__checkpoint_atomic io;
    STK__TRY(choose_name(options->folder, state, &entry, error));
    stk_status status = stk__checkpoint_atomic_begin(&io, options->folder, entry.name, error);
    if (status == STK_OK) status = write_files(&io, options, model, state, error);
    if (path && io.committed) snprintf(path, size, "%s", io.final);
    stk__checkpoint_atomic_fini(&io);
    if (status == STK_OK) stk__checkpoint_remove_old(options, entry.name);
    return status;
}
