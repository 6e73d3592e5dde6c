/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis as JSON. Values that cannot be made (no memory) leave the whole object NULL. No threads. */
#include "doctor/doctor_json.h"

#include "core/json_text.h"

#include <math.h>

/* An object that keeps whether everything could be put into it. */
typedef struct object {
    json_t *json;
    bool whole;
} object;

static object open_object(void)
{
    json_t *json = json_object();
    return (object){json, json != NULL};
}

/* Takes the reference. */
static void put(object *o, const char *key, json_t *value)
{
    o->whole = json_object_set_new(o->json, key, value) == 0 && o->whole;
}

static json_t *close_object(object *o)
{
    if (o->whole) return o->json;
    json_decref(o->json);
    return NULL;
}

static void put_number(object *o, const char *key, double value)
{
    put(o, key, stk__json_number(value));
}

static void put_count(object *o, const char *key, int64_t value)
{
    put(o, key, value < 0 ? json_null() : json_integer(value));
}

/* "" is unknown. */
static void put_text(object *o, const char *key, const char *text)
{
    put(o, key, text[0] ? stk__json_string(text) : json_null());
}

static json_t *tristate_json(stk__tristate value)
{
    return value == STK_UNSURE ? json_null() : json_boolean(value == STK_YES);
}

/* Takes the reference; false: no memory, and the list is not whole. */
static bool append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value) == 0;
}

static json_t *close_list(json_t *list, bool whole)
{
    if (whole) return list;
    json_decref(list);
    return NULL;
}

static json_t *finding_json(const stk__doctor_finding *f)
{
    object o = open_object(), evidence = open_object();
    put_text(&evidence, "text", f->evidence);
    for (const stk__doctor_number *number = f->numbers; number->key; number++)
        put_number(&evidence, number->key, number->value);
    put(&o, "id", json_string(f->rule->id));
    put(&o, "title", json_string(f->rule->title));
    put(&o, "severity", json_string(stk__doctor_severity_name(f->severity)));
    put(&o, "evidence", close_object(&evidence));
    put(&o, "measured", json_string(f->rule->measured));
    put_text(&o, "advice", f->advice);
    put_number(&o, "gain", f->gain);
    put_text(&o, "gain_formula", f->formula);
    return close_object(&o);
}

static json_t *unmeasured_json(const stk__diagnosis *d)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (int i = 0; i < d->unmeasured_count; i++) {
        object o = open_object();
        put(&o, "id", json_string(d->unmeasured[i]->id));
        put(&o, "needs", json_string(d->unmeasured[i]->measured));
        whole = append(list, close_object(&o)) && whole;
    }
    return close_list(list, whole);
}

static json_t *stall_json(const stk__stall_split *split)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (int part = 0; split->steps && part < STK_SPLIT_PARTS; part++) {
        object o = open_object();
        put(&o, "name", json_string(stk__split_part_key(part)));
        put_number(&o, "share", split->share[part]);
        put_number(&o, "ms_per_step", 1e3 * split->share[part] * split->step_s);
        whole = append(list, close_object(&o)) && whole;
    }
    return close_list(list, whole);
}

static json_t *loader_json(const stk__loader_evidence *l)
{
    object o = open_object();
    put_text(&o, "site", l->site);
    put_text(&o, "dataset", l->dataset);
    put(&o, "training", tristate_json(l->training));
    put_count(&o, "num_workers", l->num_workers);
    put_count(&o, "batch_size", l->batch_size);
    put_count(&o, "prefetch_factor", l->prefetch_factor);
    put(&o, "persistent_workers", tristate_json(l->persistent_workers));
    put(&o, "pin_memory", tristate_json(l->pin_memory));
    put_count(&o, "epochs", l->epochs);
    put_count(&o, "batches", l->batches);
    put_number(&o, "wait_s", l->wait_s);
    put_number(&o, "first_wait_s", l->first_wait_s);
    put_number(&o, "wait_max_s", l->wait_max_s);
    put_number(&o, "worker_max_share", l->worker_max_share);
    return close_object(&o);
}

static json_t *work_json(const stk__work_evidence *w)
{
    static const char *const kinds[] = {"read", "decode", "transform", "collate", "dataset_code"};
    object o = open_object();
    put_text(&o, "name", w->name);
    put(&o, "kind", json_string(kinds[w->kind]));
    put_count(&o, "calls", (int64_t)w->count);
    put_number(&o, "total_s", w->total_s);
    put_number(&o, "max_s", w->max_s);
    put_number(&o, "cpu_s", w->cpu_s);
    return close_object(&o);
}

static json_t *site_json(const stk__site_evidence *site)
{
    object o = open_object();
    put_text(&o, "call", site->call);
    put_text(&o, "site", site->site);
    put_count(&o, "calls", (int64_t)site->count);
    put_count(&o, "steps", (int64_t)site->steps);
    put_count(&o, "on_device", (int64_t)site->on_device);
    put_count(&o, "bytes", (int64_t)site->bytes);
    put_number(&o, "total_s", site->total_s);
    return close_object(&o);
}

static json_t *process_json(const stk__process_evidence *p)
{
    static const char *const kinds[] = {"trainer", "worker", "launcher", "orphan", "helper"};
    object o = open_object();
    put_count(&o, "pid", p->pid);
    put(&o, "kind", json_string(kinds[p->kind]));
    put_text(&o, "name", p->name);
    put_number(&o, "seen_s", p->seen_s);
    put_number(&o, "cpu_share", p->cpu_share);
    put_number(&o, "main_thread_share", p->main_thread_share);
    put_number(&o, "run_delay_share", p->run_delay_share);
    put_number(&o, "disk_wait_share", p->disk_wait_share);
    put_number(&o, "rss_bytes", p->rss_bytes);
    return close_object(&o);
}

#define LIST_OF(count, row_json, rows)                                                                       \
    json_t *list = json_array();                                                                             \
    bool whole = list != NULL;                                                                               \
    for (int64_t i = 0; i < (count); i++)                                                                    \
        whole = append(list, row_json(&(rows)[i])) && whole;                                                 \
    return close_list(list, whole)

static json_t *loaders_json(const stk__evidence *e)
{
    LIST_OF(e->loader_count, loader_json, e->loaders);
}

static json_t *works_json(const stk__evidence *e)
{
    LIST_OF(e->work_count, work_json, e->work);
}

static json_t *sites_json(const stk__evidence *e)
{
    LIST_OF(e->site_count, site_json, e->sites);
}

static json_t *processes_json(const stk__evidence *e)
{
    LIST_OF(e->process_count, process_json, e->processes);
}

static json_t *findings_json(const stk__diagnosis *d)
{
    LIST_OF(d->count, finding_json, d->findings);
}

static json_t *hook_json(const stk__evidence *e)
{
    object o = open_object();
    put(&o, "started", tristate_json(e->hook_started));
    put_text(&o, "note", e->hook_note);
    put_text(&o, "python", e->torch.python);
    put_text(&o, "torch", e->torch.torch);
    put_text(&o, "device", e->torch.device);
    return close_object(&o);
}

static json_t *machine_json(const stk__machine_evidence *m)
{
    object o = open_object();
    put_number(&o, "cpus", m->cpus);
    put_number(&o, "quota_cpus", m->quota_cpus);
    put_number(&o, "cpu_share", m->cpu_share);
    put_number(&o, "throttled_share", m->throttled_share);
    put_number(&o, "cpu_pressure", m->cpu_pressure);
    put_number(&o, "io_pressure", m->io_pressure);
    put_number(&o, "memory_pressure", m->memory_pressure);
    put_number(&o, "memory_used_share", m->memory_used_share);
    put_number(&o, "swap_in_bytes_per_s", m->swap_in_bytes_per_s);
    put_number(&o, "disk_read_bytes_per_s", m->disk_read_bytes_per_s);
    put_text(&o, "storage", m->storage);
    return close_object(&o);
}

static json_t *gpus_json(const stk__evidence *e)
{
    if (!e->gpus_known) return json_null();
    json_t *list = json_array();
    bool whole = list != NULL;
    for (int32_t i = 0; i < e->gpus.gpu_count; i++) {
        const stk_gpu_summary *gpu = &e->gpus.gpus[i];
        object o = open_object();
        put_count(&o, "gpu", gpu->gpu ? gpu->gpu->index : -1);
        put_text(&o, "name", gpu->gpu ? gpu->gpu->name : "");
        put_number(&o, "util_mean_percent",
                   gpu->util_mean_percent.known == STK_KNOWN ? gpu->util_mean_percent.value : NAN);
        put_text(&o, "verdict", gpu->verdict);
        whole = append(list, close_object(&o)) && whole;
    }
    return close_list(list, whole);
}

json_t *stk__diagnosis_json(const stk__diagnosis *d)
{
    const stk__evidence *e = d->facts.e;
    const stk__stall_split *split = &d->facts.split;
    object o = open_object();
    put(&o, "schema", json_integer(STK_DOCTOR_SCHEMA));
    put_text(&o, "command", e->command);
    put_count(&o, "command_status", e->exit_status);
    put(&o, "command_stopped", json_boolean(e->stopped));
    put_number(&o, "watched_s", e->watched_s);
    put_number(&o, "steps", d->facts.steps);
    put_number(&o, "step_ms", split->steps ? 1e3 * split->step_s : NAN);
    put_text(&o, "verdict", d->count ? d->findings[0].rule->id : "");
    put(&o, "severity", json_string(stk__doctor_severity_name(d->worst)));
    put(&o, "findings", findings_json(d));
    put(&o, "stall", stall_json(split));
    put(&o, "unmeasured", unmeasured_json(d));
    put(&o, "loaders", loaders_json(e));
    put(&o, "work", works_json(e));
    put(&o, "sites", sites_json(e));
    put(&o, "processes", processes_json(e));
    put(&o, "hook", hook_json(e));
    put(&o, "machine", machine_json(&e->machine));
    put(&o, "gpus", gpus_json(e));
    return close_object(&o);
}
