/* SPDX-License-Identifier: Apache-2.0 */
/* The public trainer, on the engine that is named: its weights are those of `stoker train`, bit for bit; step
 * by step, interrupted from another thread, resumed, two at once.
 *
 *     test_api_train STOKER ENGINE [DEVICE] */
#include "train_helpers.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

static const char *device = "cpu"; /* where it is to train */

/* --- files of a run ----------------------------------------------------------------------------------------
 */

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat facts;
    if (!file || fstat(fileno(file), &facts) != 0) fail_msg("no %s", path);
    char *bytes = calloc(1, (size_t)facts.st_size + 1);
    assert_non_null(bytes);
    *size = fread(bytes, 1, (size_t)facts.st_size, file);
    assert_int_equal(*size, facts.st_size);
    fclose(file);
    return bytes;
}

static bool has_file(const char *run, const char *name)
{
    char path[1100];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", run, name);
    return stat(path, &facts) == 0;
}

/* The checkpoint that was written last: names are in order. */
static void find_newest(const char *run, char path[1100])
{
    struct dirent **list;
    char name[600];
    snprintf(name, sizeof name, "%s/checkpoints", run);
    const int count = scandir(name, &list, NULL, alphasort);
    assert_true(count > 2);
    snprintf(path, 1100, "%s/%s", name, list[count - 1]->d_name);
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

static void same_weights(const char *run, const char *other)
{
    static const char *const files[] = {"model.safetensors", "optimizer.safetensors"};
    char a[1100], b[1100], path[1200];
    find_newest(run, a);
    find_newest(other, b);
    assert_string_equal(strrchr(a, '/'), strrchr(b, '/')); /* epoch and step */
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t size, other_size;
        snprintf(path, sizeof path, "%s/%s", a, files[i]);
        char *bytes = read_file(path, &size);
        snprintf(path, sizeof path, "%s/%s", b, files[i]);
        char *others = read_file(path, &other_size);
        assert_int_equal(size, other_size);
        assert_memory_equal(bytes, others, size);
        free(bytes);
        free(others);
    }
}

/* --- a whole run -------------------------------------------------------------------------------------------
 */

typedef struct heard {
    stk_trainer *trainer;
    int started, stepped, logged, evaluated, saved, wrong;
    stk_trainer_progress last;
    int64_t interrupt_at; /* step; 0: never */
} heard;

static void hear_start(void *context, const stk_trainer_progress *p)
{
    heard *h = context;
    h->started++;
    h->wrong += p->struct_size != sizeof *p || !isnan(p->loss) || !isnan(p->best_value);
}

static void hear_step(void *context, const stk_trainer_progress *p)
{
    heard *h = context;
    stk_trainer_progress now = STK_TRAINER_PROGRESS_INIT;
    h->stepped++;
    h->wrong += p->batches != STEPS || p->epochs != EPOCHS || !(p->lr > 0);
    if (!h->trainer) return;
    h->wrong += stk_trainer_get_progress(h->trainer, &now, NULL) != STK_OK || now.step != p->step;
    h->wrong += stk_trainer_step(h->trainer, NULL) != STK_ERROR_ARGUMENT; /* not from a callback */
    if (p->step == h->interrupt_at) stk_trainer_interrupt(h->trainer);
}

static void hear_log(void *context, const stk_trainer_progress *p)
{
    heard *h = context;
    h->logged++;
    h->wrong += !isfinite(p->loss) || !(p->samples_per_s > 0) || p->logged_step % 2;
}

static void hear_evaluation(void *context, const stk_trainer_progress *p)
{
    heard *h = context;
    h->evaluated++;
    h->wrong += !isfinite(p->val_loss) || !isfinite(p->val_values[0]);
}

static void hear_save(void *context, const stk_trainer_progress *p)
{
    heard *h = context;
    h->saved++;
    h->last = *p;
    h->wrong += !p->checkpoint[0];
}

static stk_trainer_callbacks callbacks_to(heard *h)
{
    stk_trainer_callbacks all = STK_TRAINER_CALLBACKS_INIT;
    all.context = h;
    all.started = hear_start;
    all.stepped = hear_step;
    all.logged = hear_log;
    all.evaluated = hear_evaluation;
    all.saved = hear_save;
    return all;
}

static const stk_trainer_effect *effect_of(const stk_trainer *trainer, const char *name)
{
    int count;
    const stk_trainer_effect *rows = stk_trainer_effects(trainer, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

static void check_description(const stk_trainer *trainer, const char *run)
{
    const stk_trainer_info *info = stk_trainer_describe(trainer);
    assert_string_equal(info->run, run);
    assert_string_equal(info->task, "classification");
    assert_string_equal(info->engine, engine);
    assert_string_equal(info->device, device);
    assert_int_equal(info->threads, 1);
    assert_true(info->parameter_count > 0 && info->planned_bytes > info->parameter_count);
    assert_int_equal(info->sample_count + info->val_sample_count, SAMPLES);
    assert_int_equal(info->batches_per_epoch, STEPS);
    assert_int_equal(info->batch_size, BATCH);
    assert_int_equal(info->image_w, 16);
    assert_true(info->class_count > 1 && info->class_names);
    assert_string_equal(info->value_names[info->metric], "top1");
    const stk_trainer_effect *row = effect_of(trainer, "run.engine");
    assert_string_equal(row->requested, engine);
    assert_string_equal(row->place, "settings[11]");
    assert_non_null(effect_of(trainer, "optimizer.lr")); /* a default, but listed */
}

static void check_stall(stk_trainer *trainer, bool trained)
{
    int count;
    double share = 0, ns = 0;
    const stk_trainer_stall_row *rows = stk_trainer_stall(trainer, &count);
    assert_true(count > 8);
    for (int i = 0; i < count; i++) {
        assert_true(rows[i].name[0] && rows[i].ns >= 0);
        share += rows[i].share;
        ns += rows[i].ns;
        if (strcmp(rows[i].name, "forward") == 0) assert_int_equal(rows[i].ns > 0, trained);
    }
    assert_int_equal(ns > 0, trained);
    assert_int_equal(isnan(share), !trained); /* unknown is not 0 */
    if (trained) assert_true(fabs(share - 1) < 1e-9);
}

static void a_run_is_that_of_the_program(void **state)
{
    (void)state;
    given g;
    char path[512];
    heard h = {0};
    stk_error error = {0};
    const stk_trainer_callbacks all = callbacks_to(&h);
    stk_trainer_options *options = given_with(&g, NULL);
    options->run = run_path(path, "whole");
    options->callbacks = &all;
    stk_trainer *trainer = h.trainer = open_trainer(options);
    check_description(trainer, path);
    check_stall(trainer, false);
    must(stk_trainer_train(trainer, &error), &error);
    check_stall(trainer, true);
    assert_int_equal(h.wrong, 0);
    assert_int_equal(h.started, 1);
    assert_int_equal(h.stepped, EPOCHS * STEPS);
    assert_int_equal(h.logged, EPOCHS * STEPS / 2);
    assert_int_equal(h.evaluated, EPOCHS);
    assert_int_equal(h.saved, EPOCHS);
    assert_int_equal(h.last.step, EPOCHS * STEPS);
    assert_true(has_file(path, "run.json") && has_file(path, "report.html"));
    must(stk_trainer_train(trainer, &error), &error); /* nothing is left */
    assert_int_equal(h.stepped, EPOCHS * STEPS);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    assert_null(trainer);
    same_weights(path, program_run());
}

/* --- step by step ------------------------------------------------------------------------------------------
 */

/* One epoch; how many steps it had. */
static int step_epoch(stk_trainer *trainer)
{
    stk_error error = {0};
    stk_status status;
    int steps = 0;
    while ((status = stk_trainer_step(trainer, &error)) == STK_OK)
        steps++;
    if (status != STK_END) fail_msg("%s", error.message);
    return steps;
}

static void steps_give_the_same(void **state)
{
    (void)state;
    given g;
    char path[512];
    stk_error error = {0};
    stk_trainer_score score = STK_TRAINER_SCORE_INIT;
    stk_trainer_progress now = STK_TRAINER_PROGRESS_INIT;
    stk_trainer_options *options = given_with(&g, NULL);
    options->run = run_path(path, "steps");
    stk_trainer *trainer = open_trainer(options);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        assert_int_equal(step_epoch(trainer), STEPS);
        must(stk_trainer_evaluate(trainer, &score, &error), &error);
        assert_int_equal(score.samples, stk_trainer_describe(trainer)->val_sample_count);
        assert_true(isfinite(score.loss) && isfinite(score.values[0]));
        if (epoch == 0) assert_true(score.best);
        assert_null(score.per_class);
        must(stk_trainer_save(trainer, &error), &error);
    }
    assert_int_equal(stk_trainer_step(trainer, &error), STK_ERROR_ARGUMENT); /* the schedule is over */
    assert_non_null(strstr(error.message, "over"));
    assert_non_null(strstr(error.hint, "train.epochs"));
    must(stk_trainer_get_progress(trainer, &now, &error), &error);
    assert_int_equal(now.step, EPOCHS * STEPS);
    assert_int_equal(now.epoch, EPOCHS);
    assert_true(now.val_loss == score.loss && now.best_step > 0);
    assert_false(has_file(path, "run.json"));
    must(stk_trainer_finish(trainer, &error), &error);
    check_stall(trainer, true);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    assert_true(has_file(path, "run.json") && has_file(path, "report.html"));
    same_weights(path, program_run());
}

/* The lines of metrics.jsonl with a validation loss. */
static int count_evaluations(const char *run)
{
    char path[600];
    size_t size;
    int count = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    char *text = read_file(path, &size);
    for (const char *at = text; (at = strstr(at, "val_loss")); at++)
        count++;
    free(text);
    return count;
}

/* A few steps, an evaluation and a checkpoint in the middle of an epoch; another trainer goes on from there.
 */
static void a_saved_step_is_resumed(void **state)
{
    (void)state;
    given g;
    char path[512];
    stk_error error = {0};
    stk_trainer_score score = STK_TRAINER_SCORE_INIT;
    stk_trainer_options *options = given_with(&g, NULL);
    options->run = run_path(path, "resumed");
    stk_trainer *trainer = open_trainer(options);
    for (int step = 0; step < 4; step++)
        must(stk_trainer_step(trainer, &error), &error);
    must(stk_trainer_evaluate(trainer, &score, &error), &error);
    must(stk_trainer_save(trainer, &error), &error);
    must(stk_trainer_step(trainer, &error), &error); /* is lost */
    assert_int_equal(stk_trainer_close(&trainer), 0);

    stk_trainer_options again = STK_TRAINER_OPTIONS_INIT; /* the settings are the run's */
    again.run = path;
    again.resume = true;
    trainer = open_trainer(&again);
    assert_true(stk_trainer_describe(trainer)->resumed);
    assert_int_equal(stk_trainer_describe(trainer)->resumed_step, 4);
    assert_int_equal(count_evaluations(path), 1); /* it belongs to the run */
    must(stk_trainer_step(trainer, &error), &error);
    must(stk_trainer_train(trainer, &error), &error); /* continues after it */
    assert_int_equal(stk_trainer_close(&trainer), 0);
    assert_int_equal(count_evaluations(path), 1 + EPOCHS);
    same_weights(path, program_run());
}

static void nothing_is_written_without_files(void **state)
{
    (void)state;
    given g;
    char dir[600];
    stk_error error = {0};
    stk_trainer_options *options = given_with(&g, dir);
    snprintf(dir, sizeof dir, "run.dir=%s/none", folder.path);
    options->no_files = true;
    stk_trainer *trainer = open_trainer(options);
    assert_null(stk_trainer_describe(trainer)->run);
    const stk_trainer_effect *row = effect_of(trainer, "run.dir");
    assert_true(row->differs && !row->in_effect[0]);
    assert_non_null(strstr(row->why, "no_files"));
    must(stk_trainer_train(trainer, &error), &error);
    assert_int_equal(stk_trainer_save(trainer, &error), STK_ERROR_CONFIG);
    must(stk_trainer_finish(trainer, &error), &error);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    assert_false(has_file(folder.path, "none"));
}

/* --- threads -----------------------------------------------------------------------------------------------
 */

/* The same weights whenever it was interrupted. */
static void an_interrupt_ends_with_a_checkpoint(void **state)
{
    (void)state;
    given g;
    char path[512];
    heard h = {.interrupt_at = 3};
    stk_error error = {0};
    const stk_trainer_callbacks all = callbacks_to(&h);
    stk_trainer_options *options = given_with(&g, NULL);
    options->run = run_path(path, "interrupted");
    options->callbacks = &all;
    stk_trainer *trainer = h.trainer = open_trainer(options);
    assert_int_equal(stk_trainer_train(trainer, &error), STK_ERROR_INTERRUPTED);
    assert_int_equal(h.stepped, 3);
    assert_int_equal(h.saved, 1);
    assert_true(h.last.interrupted);
    assert_string_equal(error.place, h.last.checkpoint);
    assert_true(has_file(path, "run.json"));
    stk_trainer_interrupt(trainer);
    assert_int_equal(stk_trainer_step(trainer, &error), STK_ERROR_INTERRUPTED);
    assert_int_equal(h.stepped, 3); /* no step was made, and the next call makes it */
    h.interrupt_at = 0;
    must(stk_trainer_train(trainer, &error), &error);
    assert_int_equal(h.stepped, EPOCHS * STEPS);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    assert_int_equal(h.wrong, 0);
    same_weights(path, program_run());
}

/* A thread that waits for the first step of a long run, and ends it. */
typedef struct watcher {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    stk_trainer *trainer;
    bool stepped;
    stk_status foreign; /* what this thread gets for a step */
} watcher;

static void wake_watcher(void *context, const stk_trainer_progress *p)
{
    watcher *w = context;
    (void)p;
    pthread_mutex_lock(&w->lock);
    w->stepped = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void *watch(void *context)
{
    watcher *w = context;
    int count = 7;
    pthread_mutex_lock(&w->lock);
    while (!w->stepped)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    w->foreign = stk_trainer_step(w->trainer, NULL);
    if (stk_trainer_stall(w->trainer, &count) || count) w->foreign = STK_OK;
    stk_trainer_interrupt(w->trainer);
    return NULL;
}

static void another_thread_may_interrupt(void **state)
{
    (void)state;
    given g;
    char path[512];
    pthread_t thread;
    stk_error error = {0};
    watcher w = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    stk_trainer_callbacks all = STK_TRAINER_CALLBACKS_INIT;
    all.context = &w;
    all.stepped = wake_watcher;
    stk_trainer_options *options = given_with(&g, "train.epochs=1000000");
    options->run = run_path(path, "foreign");
    options->callbacks = &all;
    w.trainer = open_trainer(options);
    assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
    assert_int_equal(stk_trainer_train(w.trainer, &error), STK_ERROR_INTERRUPTED);
    pthread_join(thread, NULL);
    assert_int_equal(w.foreign, STK_ERROR_ARGUMENT);
    assert_int_equal(stk_trainer_close(&w.trainer), 0);
}

typedef struct pupil {
    char path[512];
    stk_status status;
    stk_error error;
} pupil;

static void *learn(void *context)
{
    pupil *p = context;
    given g;
    stk_trainer *trainer;
    stk_trainer_options *options = given_with(&g, NULL);
    options->run = p->path;
    p->status = stk_trainer_open(&trainer, options, &p->error);
    if (p->status == STK_OK) p->status = stk_trainer_train(trainer, &p->error);
    stk_trainer_close(&trainer);
    return NULL;
}

static void two_threads_learn_at_once(void **state)
{
    (void)state;
    pthread_t threads[2];
    static pupil pupils[2];
    for (int i = 0; i < 2; i++) {
        run_path(pupils[i].path, i ? "pupil-1" : "pupil-0");
        assert_int_equal(pthread_create(&threads[i], NULL, learn, &pupils[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        must(pupils[i].status, &pupils[i].error);
        same_weights(pupils[i].path, program_run());
    }
}

/* Steps of two trainers in turn; the second has two threads. */
static void one_thread_trains_two(void **state)
{
    (void)state;
    stk_trainer *trainers[2];
    char paths[2][512];
    stk_error error = {0};
    for (int i = 0; i < 2; i++) {
        given g;
        stk_trainer_options *options = given_with(&g, i ? "run.threads=2" : NULL);
        options->run = run_path(paths[i], i ? "turn-1" : "turn-0");
        trainers[i] = open_trainer(options);
    }
    for (int turn = 0; turn < EPOCHS * (STEPS + 1); turn++) /* each epoch ends with STK_END */
        for (int i = 0; i < 2; i++)
            assert_true(stk_trainer_step(trainers[i], &error) >= STK_OK);
    for (int i = 0; i < 2; i++) {
        must(stk_trainer_save(trainers[i], &error), &error);
        assert_int_equal(stk_trainer_close(&trainers[i]), 0);
    }
    same_weights(paths[0], program_run());
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    if (argc > 3) device = argv[3];
    program = argv[1];
    engine = argv[2];
    if (!has_engine()) return 77; /* skipped */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_that_of_the_program),
        cmocka_unit_test(steps_give_the_same),
        cmocka_unit_test(a_saved_step_is_resumed),
        cmocka_unit_test(nothing_is_written_without_files),
        cmocka_unit_test(an_interrupt_ends_with_a_checkpoint),
        cmocka_unit_test(another_thread_may_interrupt),
        cmocka_unit_test(two_threads_learn_at_once),
        cmocka_unit_test(one_thread_trains_two),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
