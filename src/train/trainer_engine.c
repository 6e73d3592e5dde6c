/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine trains, and what its device's memory allows. */
#include "train/trainer_internal.h"

#include <stdio.h>
#include <string.h>

/* Only torch computes elsewhere than on the CPU: it is taken, or says what is missing. */
static stk_status choose_engine(const stk__run_settings *run, const char *device, const char **name,
                                stk_error *error)
{
    *name = run->engine ? run->engine : "auto";
    if (strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0) return STK_OK;
    if (strcmp(*name, "auto") == 0) *name = "torch";
    if (strcmp(*name, "torch") == 0) return STK_OK;
    stk__fail(error, STK_ERROR_UNSUPPORTED,
              "run.device = '%s' cannot be used: the engine '%s' computes on the CPU", device, *name);
    stk__error_hint(error, "run.engine=torch uses GPUs; run.device=cpu trains on the CPU");
    return STK_ERROR_UNSUPPORTED;
}

stk_status stk__trainer_engine_options(const stk__run_settings *run, const stk__train_settings *train,
                                       stk__engine_options *options, stk_error *error)
{
    const char *device = run->device ? run->device : "auto", *name;
    STK__TRY(choose_engine(run, device, &name, error));
    *options = (stk__engine_options){.name = name,
                                     .threads = (int)run->threads,
                                     .device = device,
                                     .no_tf32 = train->tf32 == STK_SWITCH_OFF,
                                     .deterministic = train->deterministic == STK_SWITCH_ON,
                                     .conv = (stk__conv)train->conv,
                                     .tune = stk__train_tunes(train),
                                     .graphs = stk__train_captures(train)};
    return STK_OK;
}

stk_status stk__trainer_open_engine(stk__engine **engine, const stk__run_settings *run,
                                    const stk__train_settings *train, stk_error *error)
{
    stk__engine_options options;
    *engine = NULL;
    STK__TRY(stk__trainer_engine_options(run, train, &options, error));
    return stk__engine_open(engine, &options, error);
}

stk__engine_memory stk__trainer_memory(stk__trainer *t)
{
    return stk__engine_measure(t->engine);
}

/* The largest batch whose activations fit into what is free beside the model; 0: none does. Activations grow
 * with the batch; some room is left for what PyTorch needs while it computes. */
static int64_t suggest(const stk__trainer *t, int64_t free_bytes)
{
    const int64_t n = t->feed.batch_size;
    const double each = (double)t->info.pass_bytes / (double)n;
    const double room = 0.9 * (double)free_bytes - (t->pass_arena ? 0 : (double)t->info.model_bytes);
    const int64_t fits = each > 0 && room > 0 ? (int64_t)(room / each) : 0;
    const int64_t less = fits < n ? fits : n / 2; /* it did not fit as it was */
    return less > 8 ? less / 8 * 8 : less;
}

stk_status stk__trainer_explain_shortage(const stk__trainer *t, stk_status status, stk_error *error)
{
    const stk__engine_info *engine = t->info.engine;
    if (status != STK_ERROR_MEMORY || engine->device == STK_DEVICE_CPU || !error) return status;
    const stk__engine_memory memory = stk__engine_measure(t->engine);
    const int64_t usable = memory.free_bytes + (t->pass_arena ? (int64_t)t->info.pass_bytes : 0);
    const int64_t batch = memory.free_bytes >= 0 ? suggest(t, usable) : t->feed.batch_size / 2;
    const stk_error why = *error;
    stk__fail(
        error, STK_ERROR_MEMORY,
        "cuda:%d is out of memory: the model takes %.1f MB, activations %.1f MB at data.batch_size=%lld, "
        "%.1f MB are free (%.120s)",
        engine->device_index, (double)t->info.model_bytes * 1e-6, (double)t->info.pass_bytes * 1e-6,
        (long long)t->feed.batch_size, (double)memory.free_bytes * 1e-6, why.message);
    if (batch > 0)
        stk__error_hint(error,
                        "data.batch_size=%lld should fit; train.gradient_checkpointing=true and a smaller "
                        "data.prefetch_factor save memory, too",
                        (long long)batch);
    else
        stk__error_hint(error, "a smaller network or data.image_size; other programs may use the GPU "
                               "(nvidia-smi)");
    return status;
}
