/* SPDX-License-Identifier: Apache-2.0 */
/* NULL for every pointer of every public function: a status, or the neutral value that the header promises;
 * never a crash. The calls are made from symbols.list and the headers by make_null_calls.py, so a new
 * function is in here or does not build. Linked with the shared library, as a user's program is. */
#include <stoker/stoker.h>

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A tiny run, and its folder, for the predictor: made by make_run. */
static const char *const settings[] = {
    "data.root=make:gray?count=8", "data.image_size=8", "data.batch_size=4", "data.val_split=0.5",
    "data.num_workers=1",          "model.width=2",     "model.depth=1",     "run.threads=1",
    "run.engine=reference"};
static char run[64] = "/tmp/stoker-test-XXXXXX";

/* Good values for all arguments that are not NULL. */
typedef struct fixture {
    stk_error error;
    stk_augment_options augment_options;
    stk_augmenter *augmenter, *opened_augmenter;
    stk_augment_io io;
    stk_augment_explanation explanation;
    int32_t size[2];
    stk_loader_options options;
    stk_loader *loader, *opened;
    stk_batch *batch, *taken;
    stk_loader_state state;
    stk_loader_stats stats;
    stk_monitor_options monitor_options;
    stk_monitor *monitor, *opened_monitor;
    stk_monitor_frame *frame;
    stk_monitor_summary summary;
    stk_option_info info;
    stk_digest digest;
    stk_trainer_options trainer_options;
    stk_trainer *trainer, *opened_trainer;
    stk_trainer_progress progress;
    stk_trainer_score score;
    stk_predictor_options predictor_options;
    stk_predictor *predictor, *opened_predictor;
    stk_allocator allocator;
    int number;
    char text[4096], state_text[STK_LOADER_STATE_TEXT_BYTES];
    uint8_t bytes[65536];
    float floats[64];
} fixture;

typedef enum expectation {
    REFUSED,      /* STK_ERROR_ARGUMENT, with a message */
    TAKEN,        /* STK_OK: NULL is a wish */
    SAME,         /* no error details are wanted: the call does what it does */
    NEUTRAL,      /* 0 or NULL */
    NEUTRAL_TEXT, /* "" or NULL */
    NOTHING       /* returns nothing */
} expectation;

typedef struct null_call {
    const char *function, *arguments;
    expectation expected;
    intptr_t (*call)(fixture *f);
} null_call;

static void take_entry(void *context, const stk_ledger_entry *entry)
{
    (void)context;
    (void)entry;
}

static void take_line(void *context, stk_log_level level, const char *line)
{
    (void)context;
    (void)level;
    (void)line;
}

static void take_prediction(void *context, const stk_prediction *prediction)
{
    (void)context;
    (void)prediction;
}

/* For functions after which the batch is not ours any more. */
static stk_batch *give_away(fixture *f)
{
    stk_batch *batch = f->batch;
    f->batch = NULL;
    return batch;
}

#include "null_calls.h"

/* One gray image of 8 x 8. */
static void begin_augmenter(fixture *f)
{
    f->augment_options = STK_AUGMENT_OPTIONS_INIT;
    assert_int_equal(stk_augmenter_open(&f->augmenter, &f->augment_options, &f->error), STK_OK);
    f->size[0] = f->size[1] = 8;
    f->io = STK_AUGMENT_IO_INIT;
    f->io.count = 1;
    f->io.images = (stk_tensor){
        .data = f->bytes, .dtype = STK_DTYPE_U8, .ndim = 4, .shape = {1, 8, 8, 1}, .strides = {64, 8, 1, 1}};
    f->io.out_images = f->io.images;
    f->io.out_images.dtype = STK_DTYPE_F32;
    f->io.out_images.data = f->floats;
}

static void begin(fixture *f)
{
    memset(f, 0, sizeof *f);
    begin_augmenter(f);
    f->options = STK_LOADER_OPTIONS_INIT;
    f->options.root = "make:gray?count=8";
    f->options.batch_size = 4;
    f->options.num_workers = 1;
    f->monitor_options = STK_MONITOR_OPTIONS_INIT;
    f->monitor_options.demo = true;
    f->monitor_options.interval_s = 0.01;
    f->info = STK_OPTION_INFO_INIT;
    assert_int_equal(stk_loader_open(&f->loader, &f->options, &f->error), STK_OK);
    assert_int_equal(stk_loader_next(f->loader, &f->batch, &f->error), STK_OK);
    assert_int_equal(stk_monitor_open(&f->monitor, &f->monitor_options, &f->error), STK_OK);
    f->trainer_options = STK_TRAINER_OPTIONS_INIT;
    f->trainer_options.settings = settings;
    f->trainer_options.setting_count = sizeof settings / sizeof settings[0];
    f->trainer_options.no_files = true;
    f->predictor_options = STK_PREDICTOR_OPTIONS_INIT;
    f->progress = STK_TRAINER_PROGRESS_INIT;
    f->score = STK_TRAINER_SCORE_INIT;
    assert_int_equal(stk_trainer_open(&f->trainer, &f->trainer_options, &f->error), STK_OK);
    assert_int_equal(stk_predictor_open(&f->predictor, run, &f->predictor_options, &f->error), STK_OK);
    stk_loader_tell(f->loader, &f->state);
    assert_int_equal(stk_loader_state_print(&f->state, f->state_text, sizeof f->state_text, &f->error),
                     STK_OK);
}

static void end(fixture *f)
{
    stk_log_set(NULL, NULL, STK_LOG_ERROR);
    stk_augmenter_close(&f->opened_augmenter);
    stk_augmenter_close(&f->augmenter);
    stk_batch_release(f->batch);
    stk_batch_release(f->taken);
    assert_int_equal(stk_predictor_close(&f->opened_predictor), 0);
    assert_int_equal(stk_predictor_close(&f->predictor), 0);
    assert_int_equal(stk_trainer_close(&f->opened_trainer), 0);
    assert_int_equal(stk_trainer_close(&f->trainer), 0);
    assert_int_equal(stk_loader_close(&f->opened), 0);
    assert_int_equal(stk_loader_close(&f->loader), 0);
    assert_int_equal(stk_monitor_close(&f->opened_monitor), 0);
    assert_int_equal(stk_monitor_close(&f->monitor), 0);
}

static bool is_as_expected(const null_call *row, intptr_t result, const stk_error *error)
{
    switch (row->expected) {
    case REFUSED: /* details only where their own argument is not NULL, too, or not there */
        return result == STK_ERROR_ARGUMENT &&
               (!strncmp(row->function, "stk_allocator", 13) || strstr(row->arguments, "error") ||
                (error->code == STK_ERROR_ARGUMENT && error->message[0]));
    case TAKEN:
        return result == STK_OK;
    case NEUTRAL:
        return result == 0;
    case NEUTRAL_TEXT:
        return result == 0 || *(const char *)result == '\0';
    default:
        return true;
    }
}

static void null_is_told_or_neutral(void **state)
{
    static fixture f;
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof null_calls / sizeof null_calls[0]; i++) {
        const null_call *row = &null_calls[i];
        begin(&f);
        fprintf(stderr, "%s with %s = NULL\n", row->function,
                row->arguments); /* the last one is who crashed */
        const intptr_t result = row->call(&f);
        if (!is_as_expected(row, result, &f.error)) {
            fprintf(stderr, "  returned %lld: %s\n", (long long)result, f.error.message);
            wrong++;
        }
        end(&f);
    }
    assert_int_equal(wrong, 0);
}

/* Out parameters of getters are neutral, not left as they were. */
static void getters_of_null_give_zero(void **state)
{
    (void)state;
    int count = 7;
    assert_null(stk_loader_effects(NULL, &count));
    assert_int_equal(count, 0);
    count = 7;
    assert_null(stk_augmenter_effects(NULL, &count));
    assert_int_equal(count, 0);
    stk_loader_state place;
    memset(&place, 0x55, sizeof place);
    stk_loader_tell(NULL, &place);
    assert_int_equal(place.sample_count, 0);
    assert_string_equal(place.fingerprint, "");
    stk_loader_stats stats;
    memset(&stats, 0x55, sizeof stats);
    stk_loader_get_stats(NULL, &stats);
    assert_int_equal(stats.samples, 0);
    assert_int_equal(stats.damage_count, 0);
    static stk_monitor_summary summary;
    memset(&summary, 0x55, sizeof summary);
    stk_monitor_summarize(NULL, &summary);
    assert_int_equal(summary.gpu_count, 0);
    assert_null(summary.gpus);
    stk_loader *loader = (stk_loader *)&count;
    assert_int_equal(stk_loader_open(&loader, &(stk_loader_options){.struct_size = 3}, NULL),
                     STK_ERROR_ARGUMENT);
    assert_null(loader);
}

static int allocations;

static void *count_alloc(void *context, size_t size_bytes)
{
    (void)context;
    allocations++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* And the one before it stays. */
static void half_an_allocator_is_refused(void **state)
{
    static fixture f;
    (void)state;
    const stk_allocator good = {.alloc = count_alloc, .release = count_release};
    assert_int_equal(stk_allocator_set(&good), STK_OK);
    assert_int_equal(stk_allocator_set(&(stk_allocator){.alloc = count_alloc}), STK_ERROR_ARGUMENT);
    assert_int_equal(stk_allocator_set(&(stk_allocator){.release = count_release}), STK_ERROR_ARGUMENT);
    begin(&f);
    end(&f);
    assert_true(allocations > 0);
    assert_int_equal(stk_allocator_set(NULL), STK_OK);
}

static int make_run(void **state)
{
    (void)state;
    stk_error error = {0};
    stk_trainer *trainer = NULL;
    stk_trainer_options options = STK_TRAINER_OPTIONS_INIT;
    if (!mkdtemp(run)) return -1;
    options.run = run;
    options.settings = settings;
    options.setting_count = sizeof settings / sizeof settings[0];
    const bool made =
        stk_trainer_open(&trainer, &options, &error) == STK_OK && stk_trainer_save(trainer, &error) == STK_OK;
    if (!made) fprintf(stderr, "%s\n", error.message);
    stk_trainer_close(&trainer);
    return made ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_run(void **state)
{
    (void)state;
    return nftw(run, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_told_or_neutral),
        cmocka_unit_test(getters_of_null_give_zero),
        cmocka_unit_test(half_an_allocator_is_refused),
    };
    return cmocka_run_group_tests(tests, make_run, remove_run);
}
