/* SPDX-License-Identifier: Apache-2.0 */
/* A session as a module would use it: settings as text, a small data set, a run, run.json; and what comes
 * back when something is wrong with the settings. Nothing of it may print. */
#include "session/loader_feed.h"
#include "session/predict/predict_session.h"
#include "session/run_json.h"
#include "session/session_check.h"
#include "session/train_session.h"

#include "report/run_facts.h"
#include "support/sample_set.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROWS = 60, WINDOW = 4, BATCH = 8 };

static dataset data;
static workspace folder;

static int make_data(void **state)
{
    (void)state;
    data = dataset_series(ROWS);
    folder = workspace_make();
    return 0;
}

static int remove_data(void **state)
{
    (void)state;
    dataset_remove(&data);
    workspace_remove(&folder);
    return 0;
}

/* Settings of a tiny regression, and one on top of them; key NULL: none. */
static stk_status read_settings(stk__config **config, const char *key, const char *value, stk_error *error)
{
    char text[1024];
    snprintf(text, sizeof text,
             "data.root: %s\n"
             "data.sequence_length: %d\n"
             "data.batch_size: %d\n"
             "data.val_split: 0.25\n"
             "data.num_workers: 0\n"
             "model: {name: lstm, hidden: 3, layers: 1}\n"
             "train: {epochs: 2, log_interval: 1}\n"
             "run: {engine: reference, threads: 1, dir: %s}\n",
             data.root, WINDOW, BATCH, folder.path);
    STK__TRY(stk__config_create(config, stk__session_tables(), STK_SESSION_TABLES, error));
    STK__TRY(stk__config_read_text(*config, text, "a test", error));
    return key ? stk__config_set(*config, key, value, STK_ORIGIN_COMMAND, "a test", error) : STK_OK;
}

static const char *effect_of(const stk__config *config, const char *name)
{
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        if (strcmp(row.name, name) == 0) return row.in_effect;
    }
    return NULL;
}

/* --- nothing is printed ------------------------------------------------------------------------------------
 */

typedef struct quiet {
    int output, error, file;
} quiet;

/* Both streams into a file, until quiet_end tells how much was written. */
static quiet quiet_begin(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/printed", folder.path);
    fflush(NULL);
    const quiet q = {dup(STDOUT_FILENO), dup(STDERR_FILENO), 0};
    FILE *file = fopen(path, "w+e");
    assert_non_null(file);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    fclose(file);
    return q;
}

static off_t quiet_end(quiet q)
{
    struct stat facts;
    fflush(NULL);
    fstat(STDOUT_FILENO, &facts);
    dup2(q.output, STDOUT_FILENO);
    dup2(q.error, STDERR_FILENO);
    close(q.output);
    close(q.error);
    return facts.st_size;
}

/* --- a run -------------------------------------------------------------------------------------------------
 */

typedef struct module {
    stk__config *config;
    stk__train_session train;
    char path[512];
} module;

static stk_status train(module *m, stk_error *error)
{
    stk__train_session *t = &m->train;
    stk__train_outcome outcome;
    STK__TRY(read_settings(&m->config, NULL, NULL, error));
    t->session.config = m->config;
    STK__TRY(stk__train_session_open(t, error));
    snprintf(m->path, sizeof m->path, "%s", stk__run_folder_path(t->folder));
    STK__TRY(stk__train_session_train(t, error));
    STK__TRY(stk__train_session_finish(t, NULL, &outcome, error));
    assert_non_null(outcome.report);
    assert_string_equal(outcome.monitor_note, "");
    json_decref(outcome.report);
    return stk__train_session_write_artifacts(t, error);
}

static void close_module(module *m)
{
    assert_true(stk__train_session_close_ledgers(&m->train));
    assert_int_equal(stk__train_session_close(&m->train), 0);
    assert_int_equal(stk__train_session_close(&m->train), 0); /* closed already: nothing happens */
    stk__config_destroy(&m->config);
}

/* The reader of the report finds what the session wrote: both use the same keys. */
static void check_run_json(const char *run, double steps)
{
    stk__run_facts facts;
    stk_error error = {0};
    assert_int_equal(stk__run_facts_read(&facts, run, &error), STK_OK);
    assert_true(stk__run_facts_number(&facts, STK_RUN_KEY_STEPS) == steps);
    assert_true(stk__run_facts_number(&facts, STK_RUN_KEY_EPOCHS) == 2);
    assert_true(isfinite(stk__run_facts_number(&facts, STK_RUN_KEY_LOSS)));
    assert_true(stk__run_facts_number(&facts, STK_RUN_KEY_WALL_S) > 0);
    assert_true(stk__run_facts_number(&facts, STK_RUN_KEY_PLANNED_MEMORY) > 0);
    assert_false(stk__run_facts_is(&facts, STK_RUN_KEY_FAILED));
    assert_string_equal(stk__run_facts_text(facts.run, STK_RUN_KEY_NETWORK), "lstm");
    assert_int_equal(json_integer_value(stk__run_facts_setting(&facts, "train.epochs")), 2);
    assert_int_equal(json_array_size(json_object_get(facts.run, STK_RUN_KEY_STALL)), STK_STALL_ROWS);
    assert_true(json_array_size(json_object_get(facts.run, STK_RUN_KEY_LAYERS)) > 0);
    stk__run_facts_fini(&facts);
}

/* The network of the run, on its validation part, from its folder alone. */
static void evaluate(const char *run, uint64_t samples)
{
    static stk__session session;
    static stk__checkpoint_found found;
    const stk__run_choice choice = {.run = run};
    stk_error error = {0};
    stk__score score;
    stk__run_data learnt;
    session = (stk__session){.evaluates_only = true};
    assert_int_equal(stk__config_create(&session.config, stk__session_tables(), STK_SESSION_TABLES, &error),
                     STK_OK);
    assert_int_equal(stk__run_settings_read(session.config, run, &error), STK_OK);
    assert_int_equal(stk__run_data_read(&learnt, run, &error), STK_OK);
    session.trained = &learnt.facts;
    assert_int_equal(stk__session_open(&session, &error), STK_OK);
    assert_null(session.loader);
    assert_int_equal(stk__session_check_run(&session, &learnt, &error), STK_OK);
    stk__run_data_fini(&learnt);
    assert_int_equal(stk__run_checkpoint_load(&choice, session.trainer, &found, &error), STK_OK);
    assert_int_equal(found.skipped, 0);
    assert_int_equal(stk__trainer_evaluate(session.trainer, &score, &error), STK_OK);
    assert_int_equal(score.samples, samples);
    assert_int_equal(stk__session_close(&session), 0);
    stk__config_destroy(&session.config);
}

typedef struct heard {
    int refused, predicted;
} heard;

static void count_refusal(void *context, const char *name, const stk_error *error)
{
    assert_string_equal(name, "/nowhere.csv");
    assert_true(error->message[0]);
    ((heard *)context)->refused++;
}

static void count_predictions(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    assert_int_equal(prediction->shape[0], batch->count);
    ((heard *)context)->predicted += (int)batch->count;
}

/* What it makes of a series: the last window, or all of them; an input that is missing is reported and left
 * out. */
static void predict(const char *run, bool all, int samples)
{
    static stk__predict_session p;
    const char *const names[] = {"/nowhere.csv", data.root};
    heard seen = {0};
    stk__predict_inputs inputs = {
        .names = names, .count = 2, .all = all, .refuse = count_refusal, .context = &seen};
    stk_error error = {0};
    stk__score score;
    p = (stk__predict_session){.choice = {.run = run}};
    stk__config **config = &p.session.config;
    assert_int_equal(stk__config_create(config, stk__session_tables(), STK_SESSION_TABLES, &error), STK_OK);
    assert_int_equal(stk__predict_session_read(&p, &error), STK_OK);
    assert_int_equal(p.task, STK_TASK_REGRESSION);
    assert_int_equal(stk__predict_session_open_inputs(&p, &inputs, &error), STK_OK);
    assert_int_equal(stk__predict_session_open_network(&p, &error), STK_OK);
    assert_int_equal(stk__run_checkpoint_load(&p.choice, p.session.trainer, &p.found, &error), STK_OK);
    stk__trainer_watch(p.session.trainer, count_predictions, &seen);
    assert_int_equal(stk__trainer_evaluate(p.session.trainer, &score, &error), STK_OK);
    assert_int_equal(seen.refused, 1);
    assert_int_equal(seen.predicted, samples);
    assert_int_equal(stk__predict_session_close(&p), 0);
    stk__config_destroy(config);
}

static void settings_become_a_run(void **state)
{
    (void)state;
    static module m;
    stk_error error = {0};
    const quiet q = quiet_begin();
    const stk_status status = train(&m, &error);
    const off_t printed = quiet_end(q);
    if (status != STK_OK) fail_msg("%s", error.message);
    assert_int_equal(printed, 0);
    const stk_loader_info *info = stk_loader_describe(m.train.session.loader);
    const uint64_t val_samples = stk_loader_describe(m.train.session.val_loader)->sample_count;
    const double steps = 2 * (double)info->batches_per_epoch;
    assert_true(m.train.run.step_count == (uint64_t)steps);
    assert_true(stk__run_json_is_current(&m.train.run));
    m.train.run.report.at.step++;
    assert_false(stk__run_json_is_current(&m.train.run));
    assert_string_equal(effect_of(m.config, "run.engine"), "reference");
    assert_string_equal(effect_of(m.config, "model.hidden"), "3");
    assert_non_null(effect_of(m.config, "optimizer.lr")); /* a default, but listed */
    close_module(&m);
    check_run_json(m.path, steps);
    evaluate(m.path, val_samples);
    predict(m.path, false, 1);
    predict(m.path, true, ROWS - WINDOW + 1);
}

static void a_plan_needs_no_folder(void **state)
{
    (void)state;
    static stk__session session;
    stk_error error = {0};
    session = (stk__session){0};
    assert_int_equal(read_settings(&session.config, NULL, NULL, &error), STK_OK);
    assert_int_equal(stk__session_open(&session, &error), STK_OK);
    json_t *plan = stk__plan_json(&session);
    assert_true(json_integer_value(json_object_get(plan, STK_RUN_KEY_PARAMETERS)) > 0);
    assert_int_equal(json_integer_value(json_object_get(plan, STK_RUN_KEY_PLANNED_MEMORY)),
                     session.plan.planned_bytes);
    assert_null(json_object_get(plan, STK_RUN_KEY_PLANNED_DEVICE));
    json_decref(plan);
    assert_int_equal(stk__session_close(&session), 0);
    stk__config_destroy(&session.config);
}

/* A machine with so much memory available. */
static stk__memory_verdict judge_on(const stk__session *session, uint64_t bytes)
{
    workspace root = workspace_make();
    stk__memory_verdict verdict;
    stk_error error = {0};
    char text[96];
    snprintf(text, sizeof text, "MemAvailable: %llu kB\n", (unsigned long long)(bytes / 1024));
    workspace_put(&root, "proc/meminfo", text);
    const stk_status status = stk__memory_judge(session, root.path, -1, &verdict, &error);
    workspace_remove(&root);
    if (status != STK_OK) fail_msg("%s", error.message);
    return verdict;
}

static uint64_t planned_at(const stk__session *session, int64_t batch_size, bool checkpointing)
{
    stk__memory_plan plan;
    const stk__memory_question question = {.batch_size = batch_size, .checkpointing = checkpointing};
    assert_int_equal(stk__memory_plan_make(session, &question, &plan, NULL), STK_OK);
    return plan.planned_bytes;
}

static void what_does_not_fit_is_refused_with_what_would(void **state)
{
    (void)state;
    static stk__session session;
    stk_error error = {0};
    session = (stk__session){.plan_only = true};
    assert_int_equal(read_settings(&session.config, "model.hidden", "64", &error), STK_OK);
    assert_int_equal(stk__session_open(&session, &error), STK_OK);
    const uint64_t whole = session.plan.planned_bytes, least = planned_at(&session, 1, false);
    assert_true(least < whole);
    stk__memory_verdict v = judge_on(&session, whole);
    assert_true(v.known && v.fits && stk__memory_refuse(&v, NULL) == STK_OK);
    v = judge_on(&session, 0); /* of what the process has already nothing is left out */
    assert_true(v.available_bytes > 0 && v.available_bytes < UINT64_C(1) << 32);
    session.plan.planned_bytes += UINT64_C(1) << 40;
    v = judge_on(&session, UINT64_C(1) << 39);
    assert_false(v.fits);
    assert_int_equal(v.batch_size, BATCH - 1); /* everything below does */
    assert_int_equal(stk__memory_refuse(&v, &error), STK_ERROR_MEMORY);
    assert_non_null(strstr(error.hint, "batch_size="));
    assert_non_null(strstr(error.hint, "run.force=true"));
    assert_int_equal(stk__session_close(&session), 0);
    stk__config_destroy(&session.config);
}

/* --- what goes wrong ---------------------------------------------------------------------------------------
 */

static const struct {
    const char *key, *value; /* a setting that cannot be */
    bool evaluates_only;
    stk_status status;
    const char *message, *hint; /* parts of them */
} wrong[] = {
    {"model.nam", "lstm", false, STK_ERROR_CONFIG, "nam", "name"},
    {"optimizer.lr", "fast", false, STK_ERROR_CONFIG, "optimizer.lr", "number"},
    {"model.name", "unett", false, STK_ERROR_CONFIG, "unett", "unet"},
    {"data.root", "/nowhere/at/all", false, STK_ERROR_IO, "/nowhere/at/all", "data.root"},
    {"data.ranks", "2", false, STK_ERROR_UNSUPPORTED, "data.ranks", "data.rank"},
    {"model.file", "/nowhere.yaml", false, STK_ERROR_IO, "network", ""}, /* the loaders are open by then */
    {"data.val_split", "0", true, STK_ERROR_CONFIG, "validation", "data.val_split"},
};

static void failures_come_back_with_a_hint(void **state)
{
    (void)state;
    static stk__session session;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fail_alloc counter = {.left = -1};
        stk_error error = {0};
        const quiet q = quiet_begin();
        fail_alloc_set(&counter);
        session = (stk__session){.evaluates_only = wrong[i].evaluates_only};
        stk_status status = read_settings(&session.config, wrong[i].key, wrong[i].value, &error);
        if (status == STK_OK) status = stk__session_open(&session, &error);
        const int left_behind = stk__session_close(&session);
        stk__config_destroy(&session.config);
        fail_alloc_set(NULL);
        assert_int_equal(quiet_end(q), 0);
        print_message("%s=%s: %s; hint: %s\n", wrong[i].key, wrong[i].value, error.message, error.hint);
        assert_int_equal(status, wrong[i].status);
        assert_non_null(strstr(error.message, wrong[i].message));
        assert_non_null(strstr(error.hint, wrong[i].hint));
        assert_int_equal(left_behind, 0);
        assert_int_equal(counter.alive, 0);
    }
}

static stk_status open_and_close(void *context, stk_error *error)
{
    (void)context;
    static stk__session session;
    session = (stk__session){0};
    stk_status status = read_settings(&session.config, NULL, NULL, error);
    if (status == STK_OK) status = stk__session_open(&session, error);
    assert_int_equal(stk__session_close(&session), 0);
    stk__config_destroy(&session.config);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(open_and_close, NULL) > 50);
}

/* --- a loader as a feed ------------------------------------------------------------------------------------
 */

static stk_loader *open_loader(bool drop_last)
{
    stk_loader *loader = NULL;
    stk_error error = {0};
    const stk_loader_options options = {.root = data.root,
                                        .sequence_length = WINDOW,
                                        .batch_size = BATCH,
                                        .num_workers = 1,
                                        .drop_last = drop_last ? STK_SWITCH_ON : STK_SWITCH_OFF};
    assert_int_equal(stk_loader_open(&loader, &options, &error), STK_OK);
    return loader;
}

static void feeds_give_what_their_loader_gives(void **state)
{
    (void)state;
    for (int drop_last = 0; drop_last < 2; drop_last++) {
        stk_loader *loader = open_loader(drop_last);
        const stk_loader_info *info = stk_loader_describe(loader);
        const stk__feed feed = stk__feed_of_loader(loader);
        const stk__feed_facts facts = stk__feed_facts_of(info);
        const int64_t tail = (int64_t)info->sample_count % BATCH;
        stk_error error = {0};
        stk_batch *batch;
        int64_t last = 0;
        uint64_t batches = 0;
        assert_true(tail > 0);
        assert_int_equal(facts.window, WINDOW);
        assert_true(facts.values && !facts.masks && !facts.classes);
        stk_status status;
        while ((status = feed.next(feed.context, &batch, &error)) == STK_OK) {
            last = batch->count;
            batches++;
            feed.release(feed.context, batch);
        }
        assert_int_equal(status, STK_END);
        assert_int_equal(feed.last_batch_size, drop_last ? BATCH : tail);
        assert_int_equal(last, feed.last_batch_size);
        assert_int_equal(batches, feed.batches_per_epoch);
        assert_int_equal(stk_loader_close(&loader), 0);
    }
    assert_null(stk__feed_of_loader(NULL).next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_become_a_run),
        cmocka_unit_test(a_plan_needs_no_folder),
        cmocka_unit_test(what_does_not_fit_is_refused_with_what_would),
        cmocka_unit_test(failures_come_back_with_a_hint),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(feeds_give_what_their_loader_gives),
    };
    return cmocka_run_group_tests(tests, make_data, remove_data);
}
