/* SPDX-License-Identifier: Apache-2.0 */
/* From a run that is over to the facts that advice is made of. Called by the thread that trained. */
#include "session/run_advice.h"

#include "core/cpu.h"

#include <string.h>

static void gather_time(const stk__run_result *result, stk__advice_facts *f)
{
    const stk__stall *stall = stk__trainer_stall(result->session->trainer);
    f->wall_s = result->run->report.wall_s;
    f->steps = result->run->step_count;
    f->wait_share = f->wall_s > 0 ? stk__stall_wait_ns(stall) * 1e-9 / f->wall_s : 0;
    f->eval_share = stk__stall_share(stall, STK_STALL_EVAL, f->wall_s);
    f->checkpoint_share = stk__stall_share(stall, STK_STALL_CHECKPOINT, f->wall_s);
    f->optimizer_share = stk__stall_share(stall, STK_STALL_OPTIMISER, f->wall_s);
    f->slowest = STK_STALL_READ;
    for (int row = STK_STALL_DECODE; row <= STK_STALL_AUGMENT; row++)
        if (stall->row_ns[row] > stall->row_ns[f->slowest]) f->slowest = (stk__stall_row)row;
}

/* Any setting of the section was asked for. */
static bool augments(const stk__config *config)
{
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        if (row.requested && strncmp(row.name, "augment.", 8) == 0 && strcmp(row.name, "augment.device") != 0)
            return true;
    }
    return false;
}

static void gather_settings(const stk__session *s, stk__advice_facts *f)
{
    const stk_loader_info *info = stk_loader_describe(s->loader);
    f->made = s->data.root && strncmp(s->data.root, "make:", 5) == 0;
    f->workers = s->data.num_workers == STK_WORKERS_NONE ? 0 : info->num_workers;
    f->cpus = stk__cpu_budget_read(NULL).cpus;
    f->cached = info->cache_bytes > 0;
    f->in_blocks = s->data.order && strcmp(s->data.order, "full") != 0;
    f->augments = augments(s->config);
    f->class_weights = s->loss.class_weights != NULL;
    f->eval_interval = s->train.eval_interval;
    f->checkpoint_interval = s->train.checkpoint_interval;
    f->epochs = s->train.epochs;
    f->early_stop = s->train.early_stop;
    f->lr = s->optimizer.lr;
    f->max_grad_norm = s->train.max_grad_norm;
    f->batch_size = (uint64_t)(info->batch_size * s->train.accumulation);
    f->samples = info->sample_count;
    f->image_h = info->h;
    f->image_w = info->w;
    f->class_names = info->class_names;
}

void stk__advice_gather(const stk__run_result *result, stk__advice_facts *f)
{
    const stk__session *s = result->session;
    const stk__run_report *r = &result->run->report;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__shape *output = &stk__pass_forms(info->pass)[info->network->output].output;
    *f = (stk__advice_facts){.task = info->network->task,
                             .classes = output->dim[output->ndim - 1],
                             .has_val = stk__trainer_has_val(s->trainer),
                             .evaluated = r->evaluated,
                             .metric = stk__task_describe(info->network->task)->values[0],
                             .score = r->score,
                             .log = r->log,
                             .trend = r->trend,
                             .predictions = result->artifacts->predictions.stats};
    gather_time(result, f);
    gather_settings(s, f);
    if (s->val_loader) f->val_samples = stk_loader_describe(s->val_loader)->sample_count;
}

int stk__run_advise(const stk__run_result *result, stk__advice list[STK_ADVICE_MOST])
{
    stk__advice_facts facts;
    if (!stk__run_is_judged(result->run)) return 0;
    stk__advice_gather(result, &facts);
    return stk__advise(&facts, list);
}
