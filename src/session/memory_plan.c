/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a session by arithmetic. A plan at one batch size is a dry engine and a dry trainer on feeds
 * of that size, thrown away when their sizes are read. What does not fit is searched by plans at smaller
 * sizes: memory grows nearly linearly with the batch, so that a line through two plans finds the next size to
 * try, and few are needed. One thread. */
#include "session/memory_plan.h"

#include "session/loader_feed.h"
#include "session/run_predictions.h"
#include "session/session.h"

#include "core/process.h"
#include "core/ram.h"
#include "engine/engine_program.h"
#include "loader/loader_memory.h"

#include <stdio.h>
#include <string.h>

/* Usual with PyTorch: 0.4 to 0.6 GB, by GPU and version. Not measured with Stoker. */
#define CUDA_BYTES UINT64_C(600000000)

/* --- one plan --------------------------------------------------------------------------------------------
 */

static uint64_t count_steps(const stk__session *s, const stk__feed *feed)
{
    return feed->batches_per_epoch * (uint64_t)(s->train.epochs > 0 ? s->train.epochs : 1);
}

/* The size of the validation part's batches follows, unless it was set. */
static int64_t val_batch_size(const stk__session *s, int64_t batch_size)
{
    const int64_t own = stk_loader_describe(s->val_loader)->batch_size;
    return s->loader && own == stk_loader_describe(s->loader)->batch_size ? batch_size : own;
}

static void add_loader(const stk__session *s, const stk_loader *loader, int64_t batch_size,
                       stk__memory_plan *plan)
{
    if (!loader) return;
    const stk__feed feed = stk__feed_at(loader, batch_size);
    const stk__loader_memory memory = stk__loader_plan_memory(loader, batch_size, count_steps(s, &feed));
    plan->batch_bytes += memory.batch_bytes;
    plan->cache_bytes += memory.cache_bytes;
    plan->program_bytes += memory.worker_bytes + memory.index_bytes;
    plan->device_batch_bytes += memory.device_bytes;
}

static bool convolves(const stk__pass_report *report)
{
    for (int i = 0; i < report->row_count; i++)
        if (strncmp(report->rows[i].word, "conv", 4) == 0) return true;
    return false;
}

/* What depends on the trainer's tensors, from all that does not. */
static void add_tensors(const stk__trainer_info *info, bool adds_up, stk__memory_plan *plan)
{
    const stk__engine_load load = {.inside_bytes = adds_up ? info->adding_bytes : info->inside_bytes,
                                   .convolves = convolves(info->report),
                                   .generating_ops = info->generating_ops,
                                   .bf16 = info->half == STK_DTYPE_BF16};
    const uint64_t tensors = info->model_bytes + info->pass_bytes;
    plan->model_bytes = info->model_bytes;
    plan->pass_bytes = info->pass_bytes;
    plan->temporary_bytes = stk__engine_temporary_bytes(info->engine, &load);
    plan->planned_bytes = plan->program_bytes + plan->batch_bytes + plan->cache_bytes + plan->temporary_bytes;
    if (info->engine->device == STK_DEVICE_CPU)
        plan->planned_bytes += tensors;
    else
        plan->device_bytes = tensors + plan->device_batch_bytes + plan->cuda_bytes;
}

static void add_trainer(const stk__session *s, const stk__trainer *trainer, stk__memory_plan *plan)
{
    const stk__trainer_info *info = stk__trainer_describe(trainer);
    plan->program_bytes += info->engine->program_bytes + info->library_bytes +
                           stk__run_predictions_bytes(s, info->network->task);
    plan->estimate_why = info->engine->memory_why;
    if (info->engine->device != STK_DEVICE_CPU) plan->cuda_bytes = CUDA_BYTES;
    add_tensors(info, s->train.accumulation > 1, plan);
}

stk_status stk__session_open_dry(const stk__session *s, const stk__memory_question *question,
                                 stk__trainer **trainer, stk_error *error)
{
    const int64_t batch_size = question->batch_size;
    stk__engine_options options;
    stk__train_settings train = s->train;
    stk__trainer_setup setup = stk__session_trainer_setup(s);
    setup.rough = question->rough;
    if (question->checkpointing) train.gradient_checkpointing = STK_SWITCH_ON;
    setup.train = &train;
    if (s->loader) setup.feed = stk__feed_at(s->loader, batch_size);
    if (s->val_loader) setup.val = stk__feed_at(s->val_loader, val_batch_size(s, batch_size));
    STK__TRY(stk__trainer_engine_options(&s->run, &train, &options, error));
    options.dry = true;
    STK__TRY(stk__engine_open(&setup.engine, &options, error));
    return stk__trainer_open(trainer, &setup, error);
}

void stk__memory_plan_fill(const stk__session *s, int64_t batch_size, const stk__trainer *trainer,
                           stk__memory_plan *plan)
{
    *plan = (stk__memory_plan){0};
    add_loader(s, s->loader, batch_size, plan);
    if (s->val_loader) add_loader(s, s->val_loader, val_batch_size(s, batch_size), plan);
    add_trainer(s, trainer, plan);
}

stk_status stk__memory_plan_make(const stk__session *s, const stk__memory_question *question,
                                 stk__memory_plan *plan, stk_error *error)
{
    stk__trainer *trainer = NULL;
    STK__TRY(stk__session_open_dry(s, question, &trainer, error));
    stk__memory_plan_fill(s, question->batch_size, trainer, plan);
    stk__trainer_close(&trainer);
    return STK_OK;
}

bool stk__memory_loaders_are_small(const stk__session *s)
{
    enum { SHARE = 8 };
    const stk__ram ram = stk__ram_read(NULL);
    stk__memory_plan plan = {0};
    add_loader(s, s->loader, stk_loader_describe(s->loader)->batch_size, &plan);
    if (s->val_loader) add_loader(s, s->val_loader, stk_loader_describe(s->val_loader)->batch_size, &plan);
    return ram.known &&
           plan.batch_bytes + plan.cache_bytes + plan.program_bytes < ram.available_bytes / SHARE;
}

/* --- does it fit? ----------------------------------------------------------------------------------------
 */

typedef struct search {
    const stk__session *session;
    bool checkpointing, on_device;
    double room_bytes;
} search;

static stk_status measure(const search *q, int64_t batch_size, double *bytes, stk_error *error)
{
    stk__memory_plan plan;
    const stk__memory_question question = {batch_size, q->checkpointing, .rough = true};
    STK__TRY(stk__memory_plan_make(q->session, &question, &plan, error));
    *bytes = (double)(q->on_device ? plan.device_bytes : plan.planned_bytes);
    return STK_OK;
}

/* Between a size that fits and one that does not: where the line through both meets the room, and not on
 * them. */
static int64_t next_try(const int64_t n[2], const double bytes[2], double room)
{
    const double share = (room - bytes[0]) / (bytes[1] - bytes[0]);
    const int64_t at = n[0] + (int64_t)(share * (double)(n[1] - n[0]));
    return at <= n[0] ? n[0] + 1 : at >= n[1] ? n[1] - 1 : at;
}

/* The largest batch size below `above` that fits, to one in 32; 0: not even one sample does. */
static stk_status find_batch(const search *q, int64_t above, double above_bytes, int64_t *found,
                             stk_error *error)
{
    enum { TRIES = 12, CLOSE = 32 };
    int64_t n[2] = {1, above};
    double bytes[2] = {0, above_bytes};
    *found = 0;
    if (above <= 1) return STK_OK;
    STK__TRY(measure(q, 1, &bytes[0], error));
    if (bytes[0] > q->room_bytes) return STK_OK;
    for (int i = 0; i < TRIES && n[1] - n[0] > 1 + n[0] / CLOSE; i++) {
        const int64_t at = next_try(n, bytes, q->room_bytes);
        double needed;
        STK__TRY(measure(q, at, &needed, error));
        const int side = needed > q->room_bytes;
        n[side] = at;
        bytes[side] = needed;
    }
    *found = n[0] > 16 ? n[0] / 8 * 8 : n[0];
    return STK_OK;
}

static stk_status find_sizes(const stk__session *s, stk__memory_verdict *v, stk_error *error)
{
    const int64_t batch_size = stk_loader_describe(s->loader)->batch_size;
    const uint64_t needed = v->on_device ? s->plan.device_bytes : s->plan.planned_bytes;
    search q = {.session = s, .on_device = v->on_device, .room_bytes = (double)v->available_bytes};
    STK__TRY(find_batch(&q, batch_size, (double)needed, &v->batch_size, error));
    if (s->train.gradient_checkpointing == STK_SWITCH_ON) return STK_OK;
    q.checkpointing = true;
    double bytes;
    STK__TRY(measure(&q, batch_size, &bytes, error));
    if (bytes <= q.room_bytes)
        v->checkpointing_batch_size = batch_size;
    else
        STK__TRY(find_batch(&q, batch_size, bytes, &v->checkpointing_batch_size, error));
    if (v->checkpointing_batch_size <= v->batch_size) v->checkpointing_batch_size = 0;
    return STK_OK;
}

static void judge_host(const stk__session *s, const char *root, stk__memory_verdict *v)
{
    const stk__ram ram = stk__ram_read(root);
    *v = (stk__memory_verdict){.known = ram.known,
                               .fits = true,
                               .estimate = s->plan.estimate_why != NULL,
                               .needed_bytes = s->plan.planned_bytes,
                               .available_bytes = ram.available_bytes + stk__process_resident_bytes(),
                               .whose = ram.whose};
    v->fits = !v->known || v->needed_bytes <= v->available_bytes;
}

/* What a context takes is taken by the time it is asked, and once the loaders have started the batches, too.
 */
static void judge_device(const stk__session *s, int64_t free_bytes, stk__memory_verdict *v)
{
    if (!s->plan.device_bytes || free_bytes < 0 || !v->fits) return;
    const uint64_t room =
        (uint64_t)free_bytes + s->plan.cuda_bytes + (s->started ? s->plan.device_batch_bytes : 0);
    if (s->plan.device_bytes <= room) return;
    *v = (stk__memory_verdict){.known = true,
                               .on_device = true,
                               .estimate = true,
                               .needed_bytes = s->plan.device_bytes,
                               .available_bytes = room,
                               .whose = s->device};
}

stk_status stk__memory_judge(const stk__session *s, const char *root, int64_t device_free_bytes,
                             stk__memory_verdict *v, stk_error *error)
{
    judge_host(s, root, v);
    judge_device(s, device_free_bytes, v);
    return v->fits || !s->loader ? STK_OK : find_sizes(s, v, error);
}

/* --- in words --------------------------------------------------------------------------------------------
 */

static const char *size_text(uint64_t bytes, char text[24])
{
    const double megabytes = (double)bytes * 1e-6;
    snprintf(text, 24, megabytes < 9999.5 ? "%.0f MB" : "%.1f GB",
             megabytes < 9999.5 ? megabytes : megabytes * 1e-3);
    return text;
}

static void advice_text(const stk__memory_verdict *v, char *text, size_t size)
{
    int at = 0;
    if (v->batch_size) at = snprintf(text, size, "batch_size=%lld would", (long long)v->batch_size);
    if (v->checkpointing_batch_size)
        at += snprintf(text + at, size - (size_t)at, "%swith gradient_checkpointing batch_size=%lld would",
                       at ? "; " : "", (long long)v->checkpointing_batch_size);
    if (!at) snprintf(text, size, "no batch_size would; a smaller network or image_size is needed");
}

void stk__memory_verdict_text(const stk__memory_verdict *v, char *text, size_t size)
{
    char needed[24], available[24], advice[160];
    size_text(v->needed_bytes, needed);
    size_text(v->available_bytes, available);
    advice_text(v, advice, sizeof advice);
    if (!v->known)
        snprintf(text, size, "the memory that is available is unknown");
    else if (v->fits)
        snprintf(text, size, "fits: %s%s of the %s that %s has available", v->estimate ? "about " : "",
                 needed, available, v->whose);
    else
        snprintf(text, size, "does not fit: %s has %s available: %s", v->whose, available, advice);
}

json_t *stk__memory_verdict_json(const stk__memory_verdict *v)
{
    if (!v->known) return json_null();
    return json_pack("{s:b, s:I, s:I, s:s, s:o, s:o}", "fits", v->fits, "needed_bytes",
                     (json_int_t)v->needed_bytes, "available_bytes", (json_int_t)v->available_bytes, "whose",
                     v->whose, "batch_size", v->batch_size ? json_integer(v->batch_size) : json_null(),
                     "checkpointing_batch_size",
                     v->checkpointing_batch_size ? json_integer(v->checkpointing_batch_size) : json_null());
}

stk_status stk__memory_refuse(const stk__memory_verdict *v, stk_error *error)
{
    char needed[24], available[24], advice[160];
    if (v->fits) return STK_OK;
    advice_text(v, advice, sizeof advice);
    stk__fail(error, STK_ERROR_MEMORY, "training needs %s%s of memory, %s has %s available",
              v->estimate ? "about " : "", size_text(v->needed_bytes, needed), v->whose,
              size_text(v->available_bytes, available));
    stk__error_hint(error, "%s; run.force=true starts all the same", advice);
    return STK_ERROR_MEMORY;
}
