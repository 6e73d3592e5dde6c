/* SPDX-License-Identifier: Apache-2.0 */
/* The public predictor: for every kind of data it says what `stoker predict` says; pixels in memory are as
 * good as files; one network predicts again and again; and what it refuses.
 *
 *     test_api_predict STOKER ENGINE */
#include "train_helpers.h"

#include "support/fail_alloc.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

enum { KINDS = 4, INPUTS = 11 /* a full batch and a part of one */, CLASSES = 32, W = 20, H = 13 };

static const struct kind {
    const char *name, *task, *inputs;
    const char *settings[6];
} kinds[KINDS] = {
    {"gray",
     "classification",
     "make:gray?count=11",
     {"data.root=make:gray?count=40", "data.image_size=16", "model.width=4", "model.depth=1"}},
    {"faces",
     "segmentation",
     "make:faces?count=11",
     {"data.root=make:faces?count=40", "data.image_size=16", "model.width=2", "model.depth=1"}},
    {"captcha",
     "points",
     "make:captcha?count=11",
     {"data.root=make:captcha?count=40", "data.image_size=32", "model.width=2"}},
    {"series",
     "regression",
     "make:series?count=16",
     {"data.root=make:series?count=90", "data.sequence_length=6", "model.hidden=3", "model.layers=1"}},
};

/* --- runs --------------------------------------------------------------------------------------------------
 */

static const char *run_of(int k, char path[512])
{
    return run_path(path, kinds[k].name);
}

static int train_all(void **state)
{
    if (make_folder(state) != 0) return -1;
    for (int k = 0; k < KINDS; k++) {
        char path[512], of_engine[64];
        const char *list[12] = {"data.batch_size=8", "data.val_split=0.25", "data.num_workers=0",
                                "train.epochs=1",    "run.threads=1",       of_engine};
        stk_trainer_options options = STK_TRAINER_OPTIONS_INIT;
        stk_error error = {0};
        snprintf(of_engine, sizeof of_engine, "run.engine=%s", engine);
        options.run = run_of(k, path);
        options.settings = list;
        options.setting_count = 6;
        for (int i = 0; kinds[k].settings[i]; i++)
            list[options.setting_count++] = kinds[k].settings[i];
        stk_trainer *trainer = open_trainer(&options);
        must(stk_trainer_train(trainer, &error), &error);
        stk_trainer_close(&trainer);
    }
    return 0;
}

static stk_predictor *open_predictor(int k)
{
    char path[512];
    stk_predictor *predictor;
    stk_error error = {0};
    stk_predictor_options options = STK_PREDICTOR_OPTIONS_INIT;
    options.all_windows = true;
    must(stk_predictor_open(&predictor, run_of(k, path), &options, &error), &error);
    return predictor;
}

/* What `stoker predict` says of the same inputs: an array, in their order. */
static json_t *ask_program(int k)
{
    char path[512], command[2048], report[600];
    run_path(report, "report.json");
    snprintf(command, sizeof command, "'%s' predict '%s' '%s' %s -q --json --output '%s/out-%s' > '%s'",
             program, run_of(k, path), kinds[k].inputs, strcmp(kinds[k].name, "series") ? "" : "--all",
             folder.path, kinds[k].name, report);
    assert_int_equal(system(command), 0);
    json_t *all = json_load_file(report, 0, NULL), *rows = json_object_get(all, "predictions");
    assert_true(json_array_size(rows) == INPUTS);
    json_incref(rows);
    json_decref(all);
    return rows;
}

/* --- answers -----------------------------------------------------------------------------------------------
 */

/* Keeps what it hears: the numbers of each sample by its index. */
typedef struct answers {
    const stk_predictor_info *info;
    stk_predictor *predictor;
    int count, unusable, reentered;
    stk_predictor *interrupted;      /* by the first answer */
    double numbers[INPUTS][CLASSES]; /* probabilities, shares of a mask, points, or the value */
    int w[INPUTS], h[INPUTS];
    uint64_t rows[INPUTS];
    stk_damage damage;
    char detail[256];
} answers;

static void hear(void *context, const stk_prediction *p)
{
    answers *a = context;
    assert_true(p->index >= 0 && p->index < INPUTS && p->path);
    if (p->detail) {
        a->unusable++;
        a->damage = p->damage;
        snprintf(a->detail, sizeof a->detail, "%s", p->detail);
        return;
    }
    double *to = a->numbers[p->index];
    for (int c = 0; p->probabilities && c < a->info->class_count; c++)
        to[c] = (double)p->probabilities[c];
    for (int64_t at = 0; p->mask && at < (int64_t)p->w * p->h; at++)
        to[p->mask[at]] += 1 / ((double)p->w * p->h);
    for (int i = 0; p->points && i < 2 * a->info->point_count; i++)
        to[i] = (double)p->points[i];
    if (!isnan(p->value)) to[0] = p->value;
    a->w[p->index] = p->w;
    a->h[p->index] = p->h;
    a->rows[p->index] = p->row;
    a->count++;
    stk_predictor_interrupt(a->interrupted);
    if (a->predictor && stk_predictor_predict(a->predictor, "make:gray", hear, a, NULL) == STK_ERROR_ARGUMENT)
        a->reentered++;
}

/* Another batch size may round differently, but on the reference. */
static void check_near(double a, double b)
{
    const double bound = strcmp(engine, "reference") == 0 ? 1e-6 : 1e-3;
    if (!(fabs(a - b) <= bound * fmax(1, fabs(b)))) fail_msg("%.9g is not %.9g", a, b);
}

static void check_row(const answers *a, int i, const json_t *row)
{
    const double *said = a->numbers[i];
    const json_t *classes = json_object_get(row, "classes"), *points = json_object_get(row, "points");
    const bool mask = json_object_get(row, "mask") != NULL;
    for (size_t c = 0; c < json_array_size(classes); c++) {
        const json_t *each = json_array_get(classes, c);
        check_near(said[json_integer_value(json_object_get(each, "class"))],
                   json_number_value(json_object_get(each, mask ? "share" : "probability")));
    }
    for (size_t k = 0; k < json_array_size(points); k++) {
        const json_t *each = json_array_get(points, k);
        check_near(said[2 * k], json_number_value(json_object_get(each, "x")));
        check_near(said[2 * k + 1], json_number_value(json_object_get(each, "y")));
    }
    if (json_object_get(row, "value")) {
        check_near(said[0], json_number_value(json_object_get(row, "value")));
        assert_int_equal(a->rows[i], json_integer_value(json_object_get(row, "row")));
    }
    if (json_object_get(row, "width")) {
        assert_int_equal(a->w[i], json_integer_value(json_object_get(row, "width")));
        assert_int_equal(a->h[i], json_integer_value(json_object_get(row, "height")));
    }
}

static void every_kind_is_answered_as_by_the_program(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        stk_error error = {0};
        stk_predictor *predictor = open_predictor(k);
        answers a = {.info = stk_predictor_describe(predictor)};
        json_t *rows = ask_program(k);
        assert_string_equal(a.info->task, kinds[k].task);
        assert_string_equal(a.info->engine, engine);
        assert_non_null(strstr(a.info->checkpoint, "checkpoints/"));
        assert_int_equal(a.info->batch_size, 8);
        assert_true(a.info->class_count <= CLASSES && 2 * a.info->point_count <= CLASSES);
        if (a.info->class_count) assert_true(a.info->class_names[a.info->class_count - 1][0]);
        must(stk_predictor_predict(predictor, kinds[k].inputs, hear, &a, &error), &error);
        assert_int_equal(a.count, INPUTS);
        assert_int_equal(a.unusable, 0);
        for (int i = 0; i < INPUTS; i++)
            check_row(&a, i, json_array_get(rows, (size_t)i));
        json_decref(rows);
        assert_int_equal(stk_predictor_close(&predictor), 0);
        assert_null(predictor);
    }
}

/* --- pixels ------------------------------------------------------------------------------------------------
 */

static uint8_t pixels[INPUTS][H][W][3];

static stk_tensor tensor_of(int64_t n)
{
    for (size_t i = 0; i < sizeof pixels; i++)
        ((uint8_t *)pixels)[i] = (uint8_t)(i * 2654435761u >> 13);
    return (stk_tensor){.data = pixels,
                        .dtype = STK_DTYPE_U8,
                        .ndim = 4,
                        .shape = {n, H, W, 3},
                        .strides = {H * W * 3, W * 3, 3, 1}};
}

/* Each as a file of NumPy's; returns their folder. */
static const char *write_files(char path[512])
{
    run_path(path, "pixels");
    mkdir(path, 0777);
    for (int i = 0; i < INPUTS; i++) {
        char name[600], header[128];
        snprintf(name, sizeof name, "%s/%02d.npy", path, i);
        FILE *file = fopen(name, "wb");
        assert_non_null(file);
        memset(header, ' ', sizeof header);
        memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
        const int length = snprintf(header + 10, 100,
                                    "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, 3), }", H, W);
        header[10 + length] = ' ';
        header[127] = '\n';
        fwrite(header, sizeof header, 1, file);
        fwrite(pixels[i], sizeof pixels[i], 1, file);
        fclose(file);
    }
    return path;
}

/* Bit for bit: what is computed is the same. */
static void pixels_are_as_good_as_files(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) { /* a series has none */
        char path[512];
        stk_error error = {0};
        stk_predictor *predictor = open_predictor(k);
        static answers files, memory, views, one;
        files = memory = views = one = (answers){.info = stk_predictor_describe(predictor)};
        const stk_tensor images = tensor_of(INPUTS);
        must(stk_predictor_predict(predictor, write_files(path), hear, &files, &error), &error);
        must(stk_predictor_predict_images(predictor, &images, hear, &memory, &error), &error);
        assert_int_equal(memory.count, INPUTS);
        assert_memory_equal(files.numbers, memory.numbers, sizeof files.numbers);
        if (files.w[0]) assert_true(memory.w[0] == W && memory.h[0] == H);

        stk_tensor every_second = tensor_of(4); /* strides of the caller's: rows 0, 2, 4, 6, upside down */
        every_second.data = &pixels[0][H - 1][0][0];
        every_second.strides[0] *= 2;
        every_second.strides[1] = -W * 3;
        must(stk_predictor_predict_images(predictor, &every_second, hear, &views, &error), &error);
        assert_int_equal(views.count, 4);

        const stk_tensor single = tensor_of(1);
        must(stk_predictor_predict_images(predictor, &single, hear, &one, &error), &error);
        assert_int_equal(one.count, 1);
        for (int c = 0; c < CLASSES; c++)
            check_near(one.numbers[0][c], memory.numbers[0][c]);
        assert_int_equal(stk_predictor_close(&predictor), 0);
    }
}

/* From a sink: the batch is finished; before a call: the call does nothing. The next one is whole again. */
static void a_call_can_be_interrupted(void **state)
{
    (void)state;
    stk_error error = {0};
    stk_predictor *predictor = open_predictor(0);
    static answers cut, none, all, again;
    cut = none = all = again = (answers){.info = stk_predictor_describe(predictor)};
    const stk_tensor images = tensor_of(INPUTS);
    must(stk_predictor_predict_images(predictor, &images, hear, &all, &error), &error);
    cut.interrupted = predictor;
    assert_int_equal(stk_predictor_predict_images(predictor, &images, hear, &cut, &error),
                     STK_ERROR_INTERRUPTED);
    const int64_t batch = stk_predictor_describe(predictor)->batch_size;
    assert_int_equal(cut.count, batch < INPUTS ? batch : INPUTS);
    assert_string_equal(error.message, "interrupted");
    stk_predictor_interrupt(predictor);
    assert_int_equal(stk_predictor_predict_images(predictor, &images, hear, &none, &error),
                     STK_ERROR_INTERRUPTED);
    assert_int_equal(none.count, 0);
    must(stk_predictor_predict_images(predictor, &images, hear, &again, &error), &error);
    assert_int_equal(again.count, INPUTS);
    assert_memory_equal(again.numbers, all.numbers, sizeof all.numbers);
    stk_predictor_interrupt(NULL);
    assert_int_equal(stk_predictor_close(&predictor), 0);
}

/* Channels that lie apart (PyTorch's order) are the same pixels. */
static void strides_are_followed(void **state)
{
    (void)state;
    static uint8_t planes[2][3][H][W];
    static answers dense, apart;
    stk_error error = {0};
    stk_predictor *predictor = open_predictor(1);
    dense = apart = (answers){.info = stk_predictor_describe(predictor)};
    const stk_tensor images = tensor_of(2);
    for (int i = 0; i < 2 * H * W * 3; i++)
        planes[i / (H * W * 3)][i % 3][i / (W * 3) % H][i / 3 % W] = ((uint8_t *)pixels)[i];
    stk_tensor view = images;
    view.data = planes;
    view.strides[1] = W;
    view.strides[2] = 1;
    view.strides[3] = H * W;
    must(stk_predictor_predict_images(predictor, &images, hear, &dense, &error), &error);
    must(stk_predictor_predict_images(predictor, &view, hear, &apart, &error), &error);
    assert_memory_equal(dense.numbers, apart.numbers, sizeof dense.numbers);
    assert_int_equal(stk_predictor_close(&predictor), 0);
}

/* --- what is refused ---------------------------------------------------------------------------------------
 */

static void corrupt_files_are_told(void **state)
{
    (void)state;
    char path[512], name[600];
    stk_error error = {0};
    stk_predictor *predictor = open_predictor(0);
    answers a = {.info = stk_predictor_describe(predictor), .predictor = predictor};
    tensor_of(1);
    write_files(path);
    snprintf(name, sizeof name, "%s/03.npy", path);
    FILE *file = fopen(name, "wb");
    fputs("no image", file);
    fclose(file);
    must(stk_predictor_predict(predictor, path, hear, &a, &error), &error);
    assert_int_equal(a.count, INPUTS - 1);
    assert_int_equal(a.unusable, 1);
    assert_int_equal(a.damage, STK_DAMAGE_NOT_AN_IMAGE);
    assert_true(a.detail[0]);
    assert_int_equal(a.reentered, INPUTS - 1); /* a sink may not predict */
    assert_int_equal(stk_predictor_predict(predictor, "/nowhere", hear, &a, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "/nowhere"));
    must(stk_predictor_predict(predictor, "make:gray?count=3", hear, &a, &error), &error); /* and goes on */
    assert_int_equal(stk_predictor_close(&predictor), 0);
}

static void odd_tensors_are_refused(void **state)
{
    (void)state;
    stk_error error = {0};
    answers a = {0};
    stk_predictor *predictor = open_predictor(0), *series = open_predictor(3);
    stk_tensor odd[6];
    for (int i = 0; i < 6; i++)
        odd[i] = tensor_of(2);
    odd[0].dtype = STK_DTYPE_F32;
    odd[1].ndim = 3;
    odd[2].shape[3] = 2;
    odd[3].shape[0] = 0;
    odd[4].data = NULL;
    odd[5].device = STK_DEVICE_CUDA;
    for (int i = 0; i < 6; i++) {
        error = (stk_error){0};
        assert_int_equal(stk_predictor_predict_images(predictor, &odd[i], hear, &a, &error),
                         STK_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "images"));
    }
    const stk_tensor good = tensor_of(1);
    assert_int_equal(stk_predictor_predict_images(series, &good, hear, &a, &error), STK_ERROR_CONFIG);
    assert_int_equal(stk_predictor_predict(series, "make:gray?count=2", hear, &a, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.message, "reads series"));
    assert_int_equal(a.count, 0);
    assert_int_equal(stk_predictor_close(&predictor), 0);
    assert_int_equal(stk_predictor_close(&series), 0);
}

static void runs_must_be_there(void **state)
{
    (void)state;
    char path[512];
    stk_error error = {0};
    stk_predictor *predictor = (stk_predictor *)&error;
    stk_predictor_options options = STK_PREDICTOR_OPTIONS_INIT;
    assert_int_equal(stk_predictor_open(&predictor, "/nowhere", NULL, &error), STK_ERROR_IO);
    assert_null(predictor);
    assert_non_null(strstr(error.message, "/nowhere"));
    options.checkpoint = "/nowhere/else";
    assert_true(stk_predictor_open(&predictor, run_of(0, path), &options, &error) < 0);
    assert_non_null(strstr(error.message, "/nowhere/else"));
    options.newest = true;
    assert_int_equal(stk_predictor_open(&predictor, path, &options, &error), STK_ERROR_ARGUMENT);
    const char *const wrong[] = {"run.engin=onednn"};
    options = STK_PREDICTOR_OPTIONS_INIT;
    options.settings = wrong;
    options.setting_count = 1;
    assert_int_equal(stk_predictor_open(&predictor, path, &options, &error), STK_ERROR_CONFIG);
    assert_non_null(strstr(error.hint, "engine"));
    options.struct_size = 3;
    assert_int_equal(stk_predictor_open(&predictor, path, &options, &error), STK_ERROR_ARGUMENT);
    assert_null(predictor);
}

static void *predict_elsewhere(void *predictor)
{
    answers a = {0};
    const stk_status status = stk_predictor_predict(predictor, "make:gray", hear, &a, NULL);
    return status == STK_ERROR_ARGUMENT && !a.count ? predictor : NULL;
}

static void other_threads_are_refused(void **state)
{
    (void)state;
    pthread_t thread;
    void *refused;
    stk_predictor *predictor = open_predictor(0);
    assert_int_equal(pthread_create(&thread, NULL, predict_elsewhere, predictor), 0);
    pthread_join(thread, &refused);
    assert_ptr_equal(refused, predictor);
    assert_int_equal(stk_predictor_close(&predictor), 0);
}

static stk_status open_and_predict(void *context, stk_error *error)
{
    char path[512];
    stk_predictor *predictor;
    static answers a;
    const stk_tensor images = tensor_of(1);
    const int k = *(const int *)context;
    stk_status status = stk_predictor_open(&predictor, run_of(k, path), NULL, error);
    a = (answers){.info = stk_predictor_describe(predictor)};
    if (status == STK_OK && k != 3)
        status = stk_predictor_predict_images(predictor, &images, hear, &a, error);
    if (status == STK_OK) status = stk_predictor_predict(predictor, kinds[k].inputs, hear, &a, error);
    assert_int_equal(stk_predictor_close(&predictor), 0);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (strcmp(engine, "reference") != 0) skip(); /* others have allocations of their own */
    for (int k = 0; k < KINDS; k += 3)
        assert_true(fail_alloc_each(open_and_predict, &k) > 50);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    program = argv[1];
    engine = argv[2];
    if (!has_engine()) return 77; /* skipped */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_answered_as_by_the_program),
        cmocka_unit_test(pixels_are_as_good_as_files),
        cmocka_unit_test(a_call_can_be_interrupted),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(corrupt_files_are_told),
        cmocka_unit_test(odd_tensors_are_refused),
        cmocka_unit_test(runs_must_be_there),
        cmocka_unit_test(other_threads_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, train_all, remove_folder);
}
