/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the readers of all vendors, each in a thread with a deadline, because a driver can hang
 * there; one that does is left behind with its memory. */
#include "monitor/vendor.h"

#include "core/thread.h"

#include <stdio.h>

const stk__reader_ops *const stk__readers[] = {&stk__reader_nvidia, &stk__reader_amd, &stk__reader_intel,
                                               NULL};

/* Shared with a thread that may hang: freed by the caller, or never. */
typedef struct driver_call {
    const stk__reader_ops *ops;
    stk__gpu_reader *reader;
    stk_status status;
    stk_error error;
    stk__thread *thread;
} driver_call;

static void run_open(void *context)
{
    driver_call *e = context;
    e->status = e->ops->open(&e->reader, &e->error);
}

static void run_close(void *context)
{
    driver_call *e = context;
    e->ops->close(&e->reader);
}

static stk_status start(driver_call **out, const driver_call *what, void (*run)(void *), stk_error *error)
{
    driver_call *e = *out = stk__alloc(sizeof *e);
    if (!e) return stk__fail_memory(error, sizeof *e, "opening a driver");
    *e = *what;
    const stk__thread_options options = {.name = "stk-driver", .run = run, .context = e};
    const stk_status status = stk__thread_start(&e->thread, &options, error);
    if (status != STK_OK) {
        stk__free(e);
        *out = NULL;
    }
    return status;
}

static void tell_absent(stk__vendors *v, const char *sentence)
{
    const size_t used = strlen(v->absent);
    snprintf(v->absent + used, sizeof v->absent - used, "%s%s", used ? "\n" : "", sentence);
}

/* Frees the job or leaves it to its thread. */
static stk_status finish_open(stk__vendors *v, driver_call *e, uint64_t until_ns, stk_error *error)
{
    char text[128];
    if (!e) return STK_OK;
    if (!stk__thread_join(&e->thread, until_ns)) {
        stk__thread_abandon(&e->thread);
        v->left++;
        snprintf(text, sizeof text, "%s: the driver does not respond", e->ops->vendor);
        tell_absent(v, text);
        return STK_OK;
    }
    stk_status status = STK_OK;
    if (e->status == STK_OK)
        v->readers[v->count++] = e->reader;
    else if (e->status == STK_ERROR_UNSUPPORTED)
        tell_absent(v, e->error.message);
    else
        status = e->status;
    if (status != STK_OK && error) *error = e->error;
    stk__free(e);
    return status;
}

stk_status stk__vendors_open(stk__vendors *v, const stk__reader_ops *const *ops, uint64_t deadline_ns,
                             stk_error *error)
{
    *v = (stk__vendors){0};
    driver_call *calls[STK_VENDORS] = {NULL};
    int count = 0;
    stk_status status = STK_OK;
    for (; status == STK_OK && count < STK_VENDORS && ops[count]; count++)
        status = start(&calls[count], &(driver_call){.ops = ops[count]}, run_open, error);
    const uint64_t until_ns = stk__clock_ns() + deadline_ns;
    for (int i = 0; i < count; i++) {
        const stk_status opened = finish_open(v, calls[i], until_ns, status == STK_OK ? error : NULL);
        if (status == STK_OK) status = opened;
    }
    if (status != STK_OK) stk__vendors_close(v, deadline_ns);
    return status;
}

void stk__vendors_close(stk__vendors *v, uint64_t deadline_ns)
{
    for (int i = 0; i < v->count; i++) {
        driver_call *e;
        const driver_call what = {.ops = v->readers[i]->ops, .reader = v->readers[i]};
        if (start(&e, &what, run_close, NULL) != STK_OK) { /* no thread: then without a deadline */
            what.ops->close(&v->readers[i]);
        } else if (stk__thread_join(&e->thread, stk__clock_ns() + deadline_ns)) {
            stk__free(e);
        } else {
            stk__thread_abandon(&e->thread);
            v->left++;
        }
        v->readers[i] = NULL;
    }
    v->count = 0;
}
