/* SPDX-License-Identifier: Apache-2.0 */
/* As a session that evaluates, with two differences: the loader gets a source made of the caller's inputs in
 * the place of data.root, and the feed has zeros where a trainer looks for targets. One thread. */
#include "session/predict/predict_session.h"

#include "loader/loader_open.h"
#include "session/loader_feed.h"

stk_status stk__predict_session_read(stk__predict_session *p, stk_error *error)
{
    stk__session *s = &p->session;
    s->evaluates_only = true;
    STK__TRY(stk__run_settings_read(s->config, p->choice.run, error));
    STK__TRY(stk__session_apply_preset(s->config, error));
    STK__TRY(stk__session_read(s, error));
    STK__TRY(stk__run_data_read(&p->data, p->choice.run, error));
    p->task = stk__task_of_data(&p->data.facts);
    return STK_OK;
}

stk_status stk__predict_session_set_options(stk__predict_session *p, stk_error *error)
{
    stk_loader_options *o = &p->session.val_data;
    const stk__feed_facts *f = &p->data.facts;
    STK__TRY(stk__config_apply(p->session.config, "data.val", o, error));
    o->root = o->val_root = o->order = o->cache = o->augment = NULL;
    o->mask_map = o->mask_colors = o->flip_pairs = NULL;
    o->mask_frame = STK_MASK_FRAME_AUTO;
    o->part = STK_PART_ALL;
    o->val_split = 0;
    o->limit = o->rank = o->ranks = o->num_classes = 0;
    o->image_size[0] = f->image_h;
    o->image_size[1] = f->image_w;
    o->channels = f->image_c;
    o->sequence_length = f->window;
    o->columns = NULL;
    o->dtype = STK_STORE_F32;
    o->axes = STK_AXES_NHWC;
    o->mask_dtype = STK_MASK_U8;
    o->shuffle = o->drop_last = STK_SWITCH_OFF;
    o->on_bad_sample = STK_BAD_SKIP;
    o->low_priority = true;
    o->epochs = 1;
    p->filled = *o;
    return stk__options_fill(&stk__loader_options, &p->filled, error);
}

stk_status stk__predict_session_open_source(stk__predict_session *p, stk__predict_inputs *inputs,
                                            stk_error *error)
{
    inputs->facts = &p->data.facts;
    inputs->windows = stk__task_reads_windows(p->task);
    inputs->limit_bytes = p->filled.limit_bytes;
    return stk__predict_source_open(&p->source, inputs, error);
}

stk_status stk__predict_session_open_loader(stk__predict_session *p, stk_error *error)
{
    static const stk__augment_settings nothing;
    const stk__loader_setup setup = {
        .options = &p->session.val_data, .augment = &nothing, .source = p->source};
    return stk__loader_open(&p->session.val_loader, &setup, error);
}

stk_status stk__predict_session_open_inputs(stk__predict_session *p, stk__predict_inputs *inputs,
                                            stk_error *error)
{
    STK__TRY(stk__predict_session_set_options(p, error));
    STK__TRY(stk__predict_session_open_source(p, inputs, error));
    STK__TRY(stk__predict_session_open_loader(p, error));
    const stk__feed feed = stk__feed_of_loader(p->session.val_loader);
    return stk__predict_feed_init(&p->feed, &feed, &p->data.facts, error);
}

stk__limits stk__predict_session_limits(const stk__predict_session *p)
{
    return (stk__limits){.bytes = p->filled.limit_bytes,
                         .pixels = p->filled.limit_pixels,
                         .scans = p->filled.limit_scans,
                         .warnings = p->filled.limit_warnings,
                         .time_s = p->filled.limit_time_s};
}

stk_status stk__predict_session_open_network(stk__predict_session *p, stk_error *error)
{
    stk__session *s = &p->session;
    const stk__trainer_setup setup = {.model = &s->model,
                                      .loss = &s->loss,
                                      .train = &s->train,
                                      .optimizer = &s->optimizer,
                                      .run = &s->run,
                                      .val = stk__predict_feed_of(&p->feed),
                                      .facts = p->data.facts,
                                      .evaluates_only = true,
                                      .has_checkpoint = true};
    s->loss.class_weights = NULL;
    STK__TRY(stk__trainer_open(&s->trainer, &setup, error));
    p->feed.task = p->task = stk__trainer_describe(s->trainer)->network->task;
    return STK_OK;
}

int stk__predict_session_close(stk__predict_session *p)
{
    const int left = stk__session_close(&p->session);
    if (left) return left; /* threads may still use the rest */
    stk__predict_feed_fini(&p->feed);
    stk__source_close(&p->source);
    stk__run_data_fini(&p->data);
    return 0;
}
