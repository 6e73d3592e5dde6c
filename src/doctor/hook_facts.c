/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the hook (lines of JSON that say what a row of a table is about, or a setting) into evidence, by
 * tables of fields. The text is untrusted: a line that is no object, a row that is not there, a value of
 * another type are left out. No threads of its own. */
#include "doctor/hook_file.h"

#include "core/memory.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

typedef enum field_type { TEXT, STATE, WHOLE, REAL } field_type;

typedef struct field {
    const char *key;
    field_type type;
    size_t offset, room; /* room: of a text */
} field;

#define ROOM_OF(type, name) sizeof(((type *)0)->name)
#define LOADER(kind, name)                                                                                   \
    {                                                                                                        \
#name, kind, offsetof(stk__loader_evidence, name), ROOM_OF(stk__loader_evidence, name)               \
    }
#define OPTIMIZER(kind, name)                                                                                \
    {                                                                                                        \
#name, kind, offsetof(stk__optimizer_evidence, name), ROOM_OF(stk__optimizer_evidence, name)         \
    }
#define TORCH(kind, name)                                                                                    \
    {                                                                                                        \
#name, kind, offsetof(stk__torch_evidence, name), ROOM_OF(stk__torch_evidence, name)                 \
    }

static const field loader_fields[] = {LOADER(TEXT, site),
                                      LOADER(TEXT, dataset),
                                      LOADER(TEXT, sampler),
                                      LOADER(TEXT, start_method),
                                      LOADER(WHOLE, num_workers),
                                      LOADER(WHOLE, batch_size),
                                      LOADER(WHOLE, prefetch_factor),
                                      LOADER(WHOLE, length),
                                      LOADER(STATE, persistent_workers),
                                      LOADER(STATE, pin_memory),
                                      LOADER(STATE, drop_last),
                                      LOADER(STATE, shuffle),
                                      LOADER(STATE, custom_collate),
                                      {0}};

static const field work_fields[] = {{"name", TEXT, offsetof(stk__work_evidence, name), STK_DOCTOR_TEXT}, {0}};

static const field site_fields[] = {
    {"call", TEXT, offsetof(stk__site_evidence, call), ROOM_OF(stk__site_evidence, call)},
    {"at", TEXT, offsetof(stk__site_evidence, site), STK_DOCTOR_PATH},
    {0}};

static const field optimizer_fields[] = {OPTIMIZER(TEXT, name),     OPTIMIZER(TEXT, site),
                                         OPTIMIZER(STATE, fused),   OPTIMIZER(STATE, foreach),
                                         OPTIMIZER(STATE, on_cuda), OPTIMIZER(WHOLE, parameters),
                                         OPTIMIZER(REAL, lr),       {0}};

static const field torch_fields[] = {TORCH(TEXT, python),
                                     TORCH(TEXT, torch),
                                     TORCH(TEXT, cuda),
                                     TORCH(TEXT, device),
                                     TORCH(TEXT, gpu_name),
                                     TORCH(REAL, compute_capability),
                                     TORCH(STATE, tf32_matmul),
                                     TORCH(STATE, tf32_cudnn),
                                     TORCH(STATE, cudnn_benchmark),
                                     TORCH(STATE, deterministic),
                                     TORCH(STATE, anomaly_detection),
                                     TORCH(TEXT, autocast_dtype),
                                     TORCH(TEXT, autocast_value),
                                     TORCH(REAL, scale_first),
                                     TORCH(REAL, scale_last),
                                     TORCH(STATE, channels_last_model),
                                     TORCH(STATE, channels_last_input),
                                     TORCH(STATE, convolutions),
                                     TORCH(TEXT, parallel),
                                     TORCH(WHOLE, world_size),
                                     TORCH(WHOLE, rank),
                                     TORCH(WHOLE, local_rank),
                                     TORCH(WHOLE, threads),
                                     TORCH(WHOLE, interop_threads),
                                     TORCH(REAL, cuda_peak_bytes),
                                     TORCH(REAL, cuda_total_bytes),
                                     {0}};

/* Control characters become '?': texts go to terminals. */
static void take_text(char *to, size_t room, const char *text)
{
    stk__place_copy(to, room, text);
    for (; *to; to++)
        if ((unsigned char)*to < 0x20 || *to == 0x7f) *to = '?';
}

static void take(const json_t *object, const field *fields, void *into)
{
    for (const field *one = fields; one->key; one++) {
        const json_t *value = json_object_get(object, one->key);
        char *const to = (char *)into + one->offset;
        if (one->type == TEXT && json_is_string(value)) take_text(to, one->room, json_string_value(value));
        if (one->type == STATE && json_is_boolean(value))
            *(stk__tristate *)(void *)to = json_is_true(value) ? STK_YES : STK_NO;
        if (one->type == WHOLE && json_is_integer(value)) *(int64_t *)(void *)to = json_integer_value(value);
        if (one->type == REAL && json_is_number(value)) *(double *)(void *)to = json_number_value(value);
    }
}

/* A table being read: its rows in evidence, and which of them a fact has named. */
typedef struct table {
    const char *key;
    const field *fields;
    void *rows;
    size_t row_bytes;
    int64_t room;
    bool named[STK_HOOK_SITE_ROWS];
} table;
_Static_assert((int)STK_HOOK_WORK_ROWS <= STK_HOOK_SITE_ROWS &&
                   (int)STK_HOOK_LOADER_ROWS <= STK_HOOK_SITE_ROWS &&
                   (int)STK_HOOK_OPTIMIZER_ROWS <= STK_HOOK_SITE_ROWS,
               "sites have the most rows");

enum { SITES, WORKS, LOADERS, OPTIMIZERS, TABLES };

static bool find_row(const json_t *fact, const table *one, int64_t *row)
{
    const json_t *number = json_object_get(fact, one->key);
    *row = json_integer_value(number);
    return json_is_integer(number) && *row >= 0 && *row < one->room && one->rows;
}

static void take_fact(const json_t *fact, table tables[TABLES], stk__evidence *evidence)
{
    for (int i = 0; i < TABLES; i++) {
        int64_t row;
        if (!find_row(fact, &tables[i], &row)) continue;
        take(fact, tables[i].fields, (char *)tables[i].rows + (size_t)row * tables[i].row_bytes);
        tables[i].named[row] = true;
        const json_int_t kind = json_integer_value(json_object_get(fact, "kind"));
        if (i == WORKS && kind >= STK_WORK_READ && kind <= STK_WORK_DATASET)
            ((stk__work_evidence *)tables[i].rows)[row].kind = (stk__work_kind)kind;
    }
    take(json_object_get(fact, "torch"), torch_fields, &evidence->torch);
    const json_t *note = json_object_get(fact, "note");
    if (json_is_string(note))
        take_text(evidence->hook_note, sizeof evidence->hook_note, json_string_value(note));
}

static void take_lines(const stk__hook_file *file, table tables[TABLES], stk__evidence *evidence)
{
    const uint64_t published = file->words[STK_HOOK_FACT_BYTES];
    const char *at = file->facts;
    const char *const end = at + (published < sizeof file->facts ? published : sizeof file->facts);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end) return;
        json_t *fact = json_loadb(at, (size_t)(line_end - at), 0, NULL);
        if (json_is_object(fact)) take_fact(fact, tables, evidence);
        json_decref(fact);
        at = line_end + 1;
    }
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void number_site(const uint64_t *from, stk__site_evidence *site)
{
    site->count = from[STK_HOOK_SITE_COUNT];
    site->steps = from[STK_HOOK_SITE_STEPS];
    site->on_device = from[STK_HOOK_SITE_ON_DEVICE];
    site->bytes = from[STK_HOOK_SITE_BYTES];
    site->total_s = seconds(from[STK_HOOK_SITE_TOTAL_NS]);
}

static void number_loader(const uint64_t *from, stk__loader_evidence *loader)
{
    loader->epochs = (int64_t)from[STK_HOOK_LOADER_EPOCHS];
    loader->batches = (int64_t)from[STK_HOOK_LOADER_BATCHES];
    loader->wait_s = seconds(from[STK_HOOK_LOADER_WAIT_NS]);
    loader->first_wait_s = seconds(from[STK_HOOK_LOADER_FIRST_WAIT_NS]);
    loader->wait_max_s = seconds(from[STK_HOOK_LOADER_WAIT_MAX_NS]);
    loader->worker_seed = from[STK_HOOK_LOADER_SEED];
    if (from[STK_HOOK_LOADER_TRAINED])
        loader->training = STK_YES;
    else if (from[STK_HOOK_LOADER_EVALUATED])
        loader->training = STK_NO;
}

static void number_optimizer(const uint64_t *from, stk__optimizer_evidence *optimizer)
{
    optimizer->steps = from[STK_HOOK_OPTIMIZER_STEPS];
    optimizer->zero_grads = from[STK_HOOK_OPTIMIZER_ZERO_GRADS];
    optimizer->zero_grads_kept = from[STK_HOOK_OPTIMIZER_ZERO_GRADS_KEPT];
}

/* Moves named rows to the front; how many there are. */
static int64_t close_gaps(table *one)
{
    int64_t count = 0;
    for (int64_t row = 0; row < one->room; row++)
        if (one->named[row]) {
            char *const rows = one->rows;
            if (row != count)
                memcpy(rows + (size_t)count * one->row_bytes, rows + (size_t)row * one->row_bytes,
                       one->row_bytes);
            count++;
        }
    return count;
}

static void number_rows(const stk__hook_file *file, table tables[TABLES])
{
    for (int64_t row = 0; row < STK_HOOK_SITE_ROWS; row++) {
        if (!file->site[row][STK_HOOK_SITE_COUNT])
            tables[SITES].named[row] = false; /* seen in a dataset only */
        if (tables[SITES].named[row])
            number_site(file->site[row], (stk__site_evidence *)tables[SITES].rows + row);
        if (tables[LOADERS].named[row])
            number_loader(file->loader[row], (stk__loader_evidence *)tables[LOADERS].rows + row);
        if (tables[OPTIMIZERS].named[row])
            number_optimizer(file->optimizer[row], (stk__optimizer_evidence *)tables[OPTIMIZERS].rows + row);
    }
}

/* Shapes of the training loader with the most batches. */
static stk__tristate fixed_shapes(const stk__hook_file *file, const bool *named)
{
    uint64_t most = 0;
    stk__tristate fixed = STK_UNSURE;
    for (int row = 0; row < STK_HOOK_LOADER_ROWS; row++) {
        const uint64_t *one = file->loader[row];
        if (!named[row] || !one[STK_HOOK_LOADER_TRAINED] || one[STK_HOOK_LOADER_BATCHES] <= most) continue;
        most = one[STK_HOOK_LOADER_BATCHES];
        fixed = one[STK_HOOK_LOADER_SHAPE_CHANGES] ? STK_NO : STK_YES;
    }
    return fixed;
}

static void count_settings(const uint64_t *words, stk__torch_evidence *torch)
{
    torch->autocasts = words[STK_HOOK_AUTOCASTS];
    torch->autocasts_off = words[STK_HOOK_AUTOCASTS_OFF];
    if (words[STK_HOOK_FORWARDS])
        torch->autocast_share = (double)words[STK_HOOK_FORWARDS_AUTOCAST] / (double)words[STK_HOOK_FORWARDS];
    torch->scaler_skips = words[STK_HOOK_SCALER_SKIPS];
    torch->compiles = words[STK_HOOK_COMPILES];
    torch->compiled_calls = words[STK_HOOK_GRAPHS];
    torch->graph_breaks = words[STK_HOOK_GRAPH_BREAKS];
    torch->recompiles = words[STK_HOOK_RECOMPILES];
    torch->compile_failures = words[STK_HOOK_COMPILE_FAILURES];
    torch->saves = words[STK_HOOK_SAVES];
    torch->prints = words[STK_HOOK_PRINTS];
    torch->out_of_memory = words[STK_HOOK_OUT_OF_MEMORY];
}

static void add_work(const stk__work_evidence *one, const uint64_t *from, stk__evidence *evidence)
{
    int64_t at = 0;
    while (at < evidence->work_count &&
           (evidence->work[at].kind != one->kind || strcmp(evidence->work[at].name, one->name) != 0))
        at++;
    if (at == STK_HOOK_WORK_ROWS) return;
    stk__work_evidence *const work = &evidence->work[at];
    if (at == evidence->work_count) {
        *work = *one;
        evidence->work_count++;
    }
    work->count += from[STK_HOOK_WORK_COUNT];
    work->total_s += seconds(from[STK_HOOK_WORK_TOTAL_NS]);
    work->cpu_s += seconds(from[STK_HOOK_WORK_CPU_NS]);
    work->max_s = fmax(work->max_s, seconds(from[STK_HOOK_WORK_MAX_NS]));
}

static stk_status open_tables(bool whole, stk__evidence *evidence, stk_error *error)
{
    if (!evidence->work) evidence->work = stk__alloc(STK_HOOK_WORK_ROWS * sizeof *evidence->work);
    if (!evidence->work)
        return stk__fail_memory(error, STK_HOOK_WORK_ROWS * sizeof *evidence->work, "names of work");
    if (!whole) return STK_OK;
    evidence->sites = stk__alloc(STK_HOOK_SITE_ROWS * sizeof *evidence->sites);
    evidence->loaders = stk__alloc(STK_HOOK_LOADER_ROWS * sizeof *evidence->loaders);
    evidence->optimizers = stk__alloc(STK_HOOK_OPTIMIZER_ROWS * sizeof *evidence->optimizers);
    if (!evidence->sites || !evidence->loaders || !evidence->optimizers)
        return stk__fail_memory(error, STK_HOOK_SITE_ROWS * sizeof *evidence->sites, "what the hook saw");
    for (int64_t row = 0; row < STK_HOOK_LOADER_ROWS; row++)
        evidence->loaders[row] = (stk__loader_evidence){.training = STK_UNSURE,
                                                        .num_workers = -1,
                                                        .batch_size = -1,
                                                        .prefetch_factor = -1,
                                                        .length = -1,
                                                        .persistent_workers = STK_UNSURE,
                                                        .pin_memory = STK_UNSURE,
                                                        .drop_last = STK_UNSURE,
                                                        .shuffle = STK_UNSURE,
                                                        .custom_collate = STK_UNSURE,
                                                        .worker_max_share = NAN};
    for (int64_t row = 0; row < STK_HOOK_OPTIMIZER_ROWS; row++)
        evidence->optimizers[row] = (stk__optimizer_evidence){
            .fused = STK_UNSURE, .foreach = STK_UNSURE, .on_cuda = STK_UNSURE, .parameters = -1, .lr = NAN};
    return STK_OK;
}

stk_status stk__hook_facts_read(const stk__hook_file *file, bool whole, stk__evidence *evidence,
                                stk_error *error)
{
    stk__work_evidence *const work = stk__alloc(STK_HOOK_WORK_ROWS * sizeof *work);
    if (!work) return stk__fail_memory(error, STK_HOOK_WORK_ROWS * sizeof *work, "names of work");
    const stk_status status = open_tables(whole, evidence, error);
    if (status == STK_OK) {
        table tables[TABLES] = {
            [SITES] = {.key = "site", .fields = site_fields, .row_bytes = sizeof *evidence->sites},
            [WORKS] = {.key = "work", .fields = work_fields, .row_bytes = sizeof *work, .rows = work},
            [LOADERS] = {.key = "loader", .fields = loader_fields, .row_bytes = sizeof *evidence->loaders},
            [OPTIMIZERS] = {
                .key = "optimizer", .fields = optimizer_fields, .row_bytes = sizeof *evidence->optimizers}};
        tables[SITES].room = STK_HOOK_SITE_ROWS;
        tables[WORKS].room = STK_HOOK_WORK_ROWS;
        tables[LOADERS].room = STK_HOOK_LOADER_ROWS;
        tables[OPTIMIZERS].room = STK_HOOK_OPTIMIZER_ROWS;
        if (whole) {
            tables[SITES].rows = evidence->sites;
            tables[LOADERS].rows = evidence->loaders;
            tables[OPTIMIZERS].rows = evidence->optimizers;
        }
        take_lines(file, tables, evidence);
        for (int64_t row = 0; row < STK_HOOK_WORK_ROWS; row++)
            if (tables[WORKS].named[row] && file->work[row][STK_HOOK_WORK_COUNT])
                add_work(&work[row], file->work[row], evidence);
        if (whole) {
            number_rows(file, tables);
            count_settings(file->words, &evidence->torch);
            evidence->torch.fixed_shapes = fixed_shapes(file, tables[LOADERS].named);
            evidence->site_count = close_gaps(&tables[SITES]);
            evidence->loader_count = close_gaps(&tables[LOADERS]);
            evidence->optimizer_count = close_gaps(&tables[OPTIMIZERS]);
        }
    }
    stk__free(work);
    return status;
}
