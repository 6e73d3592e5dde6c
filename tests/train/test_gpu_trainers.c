/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers on GPUs that are made up: two at once, logs that nobody waits for, batches in the wrong memory.
 * Started by on_fake_gpu.py with two GPUs. */
#include "../engine/gpu_engine.h"
#include "trainer_helpers.h"

#include "support/workspace.h"
#include "train/run.h"

#include <pthread.h>

enum { EPOCHS = 3, STEPS = EPOCHS * BATCHES, EVENTS = 64 };

static workspace folder;

static void prepare_on(fixture *f, const char *device)
{
    prepare(f);
    f->run.engine = "torch";
    f->run.device = device;
    f->run.threads = 1;
    f->settings.epochs = EPOCHS;
}

/* --- two at once --------------------------------------------------------------------------------------- */

typedef struct pupil {
    const char *device;
    fixture f;
    double losses[STEPS];
    stk_status status;
} pupil;

static void *learn(void *context)
{
    pupil *p = context;
    p->status = stk__trainer_open(&p->f.trainer, &p->f.setup, &p->f.error);
    if (p->status == STK_OK) p->status = stk__trainer_standardise(p->f.trainer, &p->f.error);
    for (int step = 0; step < STEPS && p->status == STK_OK; step++) {
        stk__trainer_log log = {0};
        p->status = stk__trainer_step(p->f.trainer, &p->f.error);
        if (p->status == STK_END) p->status = stk__trainer_step(p->f.trainer, &p->f.error);
        if (p->status == STK_OK) p->status = stk__trainer_read(p->f.trainer, &log, &p->f.error);
        p->losses[step] = log.score.loss;
    }
    stk__trainer_close(&p->f.trainer);
    return NULL;
}

/* Fused cells of an LSTM on a GPU add in another order than the CPU's operators; in bf16 a last bit may
 * become another. */
static bool is_near(double a, double b, bool bf16)
{
    return fabs(a - b) <= (bf16 ? 0x1p-8 : 1e-5) * fabs(b);
}

/* Each in a thread and on a GPU of its own, f32 and bf16: the same losses to the last bit, and the CPU's. */
static void two_gpus_learn_at_once(void **state)
{
    (void)state;
    for (int amp = 0; amp < 2; amp++) {
        static pupil pupils[3] = {{.device = "cpu"}, {.device = "cuda:0"}, {.device = "cuda:1"}};
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
            prepare_on(&pupils[i].f, pupils[i].device);
            pupils[i].f.settings.amp = amp ? STK_AMP_BF16_FORCED : STK_AMP_OFF;
        }
        learn(&pupils[0]);
        for (int i = 1; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, learn, &pupils[i]), 0);
        for (int i = 1; i < 3; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < 3; i++) {
            if (pupils[i].status != STK_OK) fail_msg("%s: %s", pupils[i].device, pupils[i].f.error.message);
            if (i) assert_memory_equal(pupils[i].losses, pupils[1].losses, sizeof pupils[1].losses);
            for (int step = 0; step < STEPS; step++)
                assert_true(is_near(pupils[i].losses[step], pupils[0].losses[step], amp));
            assert_true(pupils[i].losses[STEPS - 1] < pupils[i].losses[0]);
        }
    }
    assert_true(gpu.calls("copy_in", 0) > STEPS && gpu.calls("copy_in", 1) > STEPS);
    assert_int_equal(gpu.driver("misuses"), 0);
    assert_int_equal(gpu.driver("pinned_bytes"), 0);
}

/* --- logs ---------------------------------------------------------------------------------------------- */

/* The driver's table with events that are over only after being asked `lateness` times. */
static stk__cuda_api slow_api;
static const stk__cuda_api *real_api;
static struct {
    stk__cu_handle event;
    int questions;
} asked[EVENTS];
static int lateness;

static int record_slowly(stk__cu_handle event, stk__cu_handle stream)
{
    int i = 0;
    while (asked[i].event && asked[i].event != event)
        i++;
    asked[i].event = event;
    asked[i].questions = lateness;
    return real_api->cuEventRecord(event, stream);
}

static int query_slowly(stk__cu_handle event)
{
    for (int i = 0; i < EVENTS; i++)
        if (asked[i].event == event && asked[i].questions > 0) {
            asked[i].questions--;
            return CUDA_ERROR_NOT_READY;
        }
    return real_api->cuEventQuery(event);
}

static void slow_down(stk__engine *engine, int questions)
{
    stk__torch_cuda *cuda = gpu_of(engine);
    real_api = cuda->driver.api;
    slow_api = *real_api;
    slow_api.cuEventRecord = record_slowly;
    slow_api.cuEventQuery = query_slowly;
    cuda->driver.api = &slow_api;
    lateness = questions;
    memset(asked, 0, sizeof asked);
}

/* What a run tells: when each log came, and how often the host had waited after each step. */
typedef struct diary {
    const stk__engine *engine; /* NULL: of the host */
    int logs;
    int64_t log_step[STEPS + 1], told_step[STEPS + 1];
    double loss[STEPS + 1], norm[STEPS + 1];
    long waits[STEPS + 1]; /* after step i */
} diary;

static void note_log(void *context, const stk__run_report *r)
{
    diary *d = context;
    d->log_step[d->logs] = r->log_at.step;
    d->told_step[d->logs] = r->at.step;
    d->norm[d->logs] = r->log.grad_norm;
    d->loss[d->logs++] = r->log.score.loss;
}

static void note_step(void *context, const stk__run_report *r)
{
    diary *d = context;
    if (d->engine) d->waits[r->at.step] = gpu_of(d->engine)->waits;
}

static stk_status run_all(fixture *f, diary *d, const char *name, int64_t stop_after)
{
    char path[400];
    stk__run run = {.train = &f->settings,
                    .stop_after = stop_after,
                    .watch = {.context = d, .logged = note_log, .stepped = note_step}};
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    assert_int_equal(stk__run_folder_open(&run.folder, &(stk__run_folder_options){.path = path}, &f->error),
                     STK_OK);
    assert_int_equal(stk__trainer_open(&f->trainer, &f->setup, &f->error), STK_OK);
    run.trainer = f->trainer;
    const stk_status status = stk__run_train(&run, &f->error);
    stk__trainer_close(&f->trainer);
    stk__run_folder_close(&run.folder);
    return status;
}

/* On a GPU whose events are late; NULL: on the CPU. */
static diary run_on(const char *device, int questions, int64_t log_interval, int64_t stop_after)
{
    static int number;
    char name[32];
    fixture f;
    diary d = {0};
    prepare_on(&f, device);
    f.settings.log_interval = log_interval;
    assert_int_equal(stk__trainer_open_engine(&f.setup.engine, &f.run, &f.settings, &f.error), STK_OK);
    if (strcmp(device, "cpu") != 0) {
        d.engine = f.setup.engine;
        slow_down(f.setup.engine, questions);
    }
    snprintf(name, sizeof name, "run%d", number++);
    const stk_status status = run_all(&f, &d, name, stop_after);
    if (status != STK_OK) fail_msg("%s", f.error.message);
    return d;
}

/* On a GPU the squares of all gradients are added as one row, in f32, on the CPU tensor by tensor; losses,
 * see is_near. */
static void expect_same_numbers(const diary *a, const diary *b)
{
    assert_int_equal(a->logs, b->logs);
    assert_memory_equal(a->log_step, b->log_step, sizeof a->log_step);
    for (int i = 0; i < a->logs; i++)
        assert_true(is_near(a->loss[i], b->loss[i], false));
    for (int i = 0; i < a->logs; i++)
        assert_true(fabs(a->norm[i] - b->norm[i]) <= 1e-4 * fabs(b->norm[i]));
}

/* Every step has a log, and nobody waits for one before the epoch ends. */
static void a_log_waits_for_nothing(void **state)
{
    (void)state;
    const diary here = run_on("cuda:0", 0, 1, 0), there = run_on("cpu", 0, 1, 0);
    expect_same_numbers(&here, &there);
    assert_int_equal(here.logs, STEPS);
    for (int step = 2; step <= STEPS; step++)
        if (step % BATCHES != 1) assert_int_equal(here.waits[step], here.waits[step - 1]);
    assert_true(here.waits[STEPS] > here.waits[1]); /* epochs end with waiting: evaluation, checkpoint */
}

/* Numbers that come late are told late, but before the next ones; all are there at the end of an epoch. */
static void late_numbers_are_told_later(void **state)
{
    (void)state;
    const diary there = run_on("cpu", 0, 2, 0), here = run_on("cuda:0", 1, 2, 0),
                never = run_on("cuda:0", 40, 2, 0);
    expect_same_numbers(&here, &there);
    expect_same_numbers(&never, &there);
    int later = 0;
    for (int i = 0; i < here.logs; i++) {
        assert_true(there.told_step[i] == there.log_step[i]);
        assert_true(here.told_step[i] <= here.log_step[i] + 2 && never.told_step[i] <= never.log_step[i] + 2);
        later += here.told_step[i] > here.log_step[i] && never.told_step[i] > never.log_step[i];
    }
    assert_true(later >= EPOCHS);
}

/* A checkpoint in the middle counts the lines before it as written. */
static void a_checkpoint_has_all_lines_before_it(void **state)
{
    (void)state;
    const diary there = run_on("cpu", 0, 2, 2), here = run_on("cuda:0", 40, 2, 2);
    assert_int_equal(here.logs, 1);
    expect_same_numbers(&here, &there);
}

static void numbers_that_cannot_be_fetched_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemcpyDtoHAsync_v2", "cuEventRecord"};
    for (int c = 0; c < 2; c++)
        for (long later = 0; later < 3; later++) {
            fixture f;
            stk__trainer_log log;
            prepare_on(&f, "cuda:0");
            open_it(&f);
            assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK);
            gpu_fault(calls[c], later, "fail 1");
            assert_int_not_equal(stk__trainer_read(f.trainer, &log, &f.error), STK_OK);
            assert_non_null(strstr(f.error.message, c ? "cuEventRecord" : "cuMemcpyDtoHAsync"));
            assert_int_equal(stk__trainer_read(f.trainer, &log, &f.error), STK_OK);
            assert_true(isfinite(log.score.loss));
            stk__trainer_close(&f.trainer);
            assert_int_equal(gpu.driver("misuses"), 0);
        }
}

/* --- waiting ------------------------------------------------------------------------------------------- */

static stk_status next_slowly(void *context, stk_batch **batch, stk_error *error)
{
    usleep(3000);
    return next(context, batch, error);
}

/* A batch that comes late is missed only by a GPU that has nothing else to do. */
static void waiting_beside_a_busy_gpu_is_no_data_wait(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        fixture f;
        prepare_on(&f, "cuda:0");
        f.setup.feed.next = next_slowly;
        assert_int_equal(stk__trainer_open_engine(&f.setup.engine, &f.run, &f.settings, &f.error), STK_OK);
        open_it(&f);
        slow_down(f.setup.engine, busy ? 1000000 : 0);
        assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK); /* nothing was queued before */
        stk__stall *stall = stk__trainer_stall(f.trainer);
        stk__stall_start(stall);
        for (int step = 1; step < 4; step++) {
            usleep(2000); /* so that it is done, if it ever is */
            assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_OK);
        }
        assert_true((stk__stall_wait_ns(stall) >= 9e6) == !busy);
        assert_true((stall->row_ns[STK_STALL_SYNC] >= 9e6) == busy);
        gpu_of(f.setup.engine)->driver.api = real_api;
        stk__trainer_close(&f.trainer);
    }
}

/* --- batches ------------------------------------------------------------------------------------------- */

static stk_status next_elsewhere(void *context, stk_batch **batch, stk_error *error)
{
    const stk_status status = next(context, batch, error);
    if (status == STK_OK) (*batch)->windows.device = STK_DEVICE_CUDA;
    if (status == STK_OK) (*batch)->windows.device_index = 1;
    return status;
}

static void batches_of_another_gpu_are_refused(void **state)
{
    (void)state;
    for (int gpu_engine = 0; gpu_engine < 2; gpu_engine++) {
        fixture f;
        prepare_on(&f, gpu_engine ? "cuda:0" : "cpu");
        f.setup.feed.next = next_elsewhere;
        assert_int_equal(stk__trainer_open(&f.trainer, &f.setup, &f.error), STK_OK);
        assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_ERROR_ARGUMENT);
        assert_non_null(strstr(f.error.message, gpu_engine ? "memory of cuda:1, the engine works in that of "
                                                             "cuda:0"
                                                           : "the engine works in the host's"));
        stk__trainer_close(&f.trainer);
    }
}

static int begin(void **state)
{
    (void)state;
    folder = workspace_make();
    return 0;
}

static int end(void **state)
{
    (void)state;
    workspace_remove(&folder);
    return 0;
}

int main(void)
{
    int status;
    if (!gpu_begin(&status)) return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_gpus_learn_at_once),
        cmocka_unit_test(a_log_waits_for_nothing),
        cmocka_unit_test(late_numbers_are_told_later),
        cmocka_unit_test(a_checkpoint_has_all_lines_before_it),
        cmocka_unit_test(numbers_that_cannot_be_fetched_are_told),
        cmocka_unit_test(waiting_beside_a_busy_gpu_is_no_data_wait),
        cmocka_unit_test(batches_of_another_gpu_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
