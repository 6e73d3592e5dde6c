/* SPDX-License-Identifier: Apache-2.0 */
/* Each option of the public trainer has an effect: settings from a file and from the environment, which
 * counts more, the number of steps, a trace, a folder by default, the callback for corrupt samples.
 *
 *     test_api_train_options STOKER ENGINE */
#include "train_helpers.h"

#include <sys/stat.h>

static bool has_file(const char *run, const char *name)
{
    char path[1100];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", run, name);
    return stat(path, &facts) == 0;
}

static double requested(const stk_trainer *trainer, const char *name, const char **place)
{
    int count;
    const stk_trainer_effect *rows = stk_trainer_effects(trainer, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *place = rows[i].place;
            return atof(rows[i].in_effect);
        }
    fail_msg("no effect of %s", name);
    return 0;
}

/* A list of settings counts more than the environment, and that more than a file. */
static void settings_come_in_layers(void **state)
{
    (void)state;
    given g;
    char path[512];
    const char *place = "";
    stk_trainer_options *options = given_with(&g, "optimizer.lr=0.25");
    workspace_put(&folder, "settings.yaml",
                  "optimizer: {lr: 0.125, weight_decay: 0.5, eps: 0.001}\ntrain: {epochs: 7}\n");
    options->config = run_path(path, "settings.yaml");
    options->no_files = true;
    setenv("STOKER_OPTIMIZER_WEIGHT_DECAY", "0.75", 1);
    for (int environment = 0; environment < 2; environment++) {
        options->environment = environment;
        stk_trainer *trainer = open_trainer(options);
        assert_true(requested(trainer, "optimizer.lr", &place) == 0.25);
        assert_string_equal(place, "settings[12]");
        assert_true(requested(trainer, "optimizer.weight_decay", &place) == (environment ? 0.75 : 0.5));
        assert_true(requested(trainer, "optimizer.eps", &place) == 0.001);
        assert_non_null(strstr(place, "settings.yaml:1:"));
        assert_int_equal(stk_trainer_describe(trainer)->epochs, EPOCHS);
        assert_int_equal(stk_trainer_close(&trainer), 0);
    }
    unsetenv("STOKER_OPTIMIZER_WEIGHT_DECAY");
}

static void training_stops_after_so_many_steps(void **state)
{
    (void)state;
    given g;
    char dir[600];
    stk_error error = {0};
    stk_trainer_progress now = STK_TRAINER_PROGRESS_INIT;
    stk_trainer_options *options = given_with(&g, dir);
    snprintf(dir, sizeof dir, "run.dir=%s/parts", folder.path);
    options->stop_after = 5;
    options->trace_steps = 2;
    stk_trainer *trainer = open_trainer(options);
    const char *run = stk_trainer_describe(trainer)->run; /* a new one */
    assert_non_null(strstr(run, "/parts/resnet-gray-0001"));
    for (int part = 1; part <= 3; part++) {
        must(stk_trainer_train(trainer, &error), &error);
        must(stk_trainer_get_progress(trainer, &now, &error), &error);
        assert_int_equal(now.step, part < 3 ? 5 * part : EPOCHS * STEPS);
        assert_false(now.interrupted);
        assert_true(now.checkpoint[0]);
    }
    assert_true(has_file(run, "trace.json"));
    assert_int_equal(stk_trainer_close(&trainer), 0);
}

/* The program takes up a run of a trainer's, and a trainer the program's: the same weights in the end. */
static void runs_go_from_one_to_the_other(void **state)
{
    (void)state;
    given g;
    char path[512], command[2048];
    stk_error error = {0};
    stk_trainer_progress now = STK_TRAINER_PROGRESS_INIT;
    stk_trainer_options *options = given_with(&g, NULL);
    options->run = run_path(path, "both");
    options->stop_after = 4;
    stk_trainer *trainer = open_trainer(options);
    must(stk_trainer_train(trainer, &error), &error);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    snprintf(command, sizeof command, "'%s' train -q --run '%s' --resume --stop-after 3 > /dev/null", program,
             path);
    assert_int_equal(system(command), 0);
    *options = STK_TRAINER_OPTIONS_INIT;
    options->run = path;
    options->resume = true;
    trainer = open_trainer(options);
    assert_int_equal(stk_trainer_describe(trainer)->resumed_step, 7);
    must(stk_trainer_train(trainer, &error), &error);
    must(stk_trainer_get_progress(trainer, &now, &error), &error);
    assert_int_equal(now.step, EPOCHS * STEPS);
    snprintf(command, sizeof command, "cmp '%s/model.safetensors' '%s/checkpoints/%s/model.safetensors'",
             now.checkpoint, program_run(), strrchr(now.checkpoint, '/') + 1);
    assert_int_equal(system(command), 0);
    assert_int_equal(stk_trainer_close(&trainer), 0);
}

typedef struct heard {
    int count;
    char path[300];
    stk_damage damage;
} heard;

static void hear_sample(void *context, const stk_ledger_entry *entry)
{
    heard *h = context;
    h->count++;
    h->damage = entry->damage;
    snprintf(h->path, sizeof h->path, "%s", entry->path);
}

/* A folder of two classes, whose images are arrays of NumPy; one is none. */
static void make_set(void)
{
    static const char *const names[] = {"a/0", "a/1", "a/2", "a/3", "b/0", "b/1", "b/2", "b/3"};
    char text[128 + 64 + 1], name[64];
    memset(text, ' ', sizeof text - 1);
    memset(text + 128, 'x', 64);
    text[192] = '\0';
    text[127] = '\n';
    memcpy(text, "\x93NUMPY\x01", 7);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[600], header[118];
        snprintf(name, sizeof name, "set/%s.npy", names[i]);
        workspace_put(&folder, name, "no image");
        if (i == 5) continue;
        snprintf(path, sizeof path, "%s/%s", folder.path, name);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        memcpy(text + 7, "\0\x76\0", 3);
        const int length =
            snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 8, 1), }");
        memcpy(text + 10, header, (size_t)length);
        fwrite(text, 192, 1, file);
        fclose(file);
    }
}

static void corrupt_samples_are_told(void **state)
{
    (void)state;
    char root[600], path[512], of_engine[64];
    heard h = {0};
    stk_error error = {0};
    make_set();
    snprintf(root, sizeof root, "data.root=%s/set", folder.path);
    snprintf(of_engine, sizeof of_engine, "run.engine=%s", engine);
    const char *list[] = {root,
                          of_engine,
                          "data.image_size=8",
                          "data.batch_size=4",
                          "data.on_bad_sample=skip",
                          "model.width=2",
                          "model.depth=1",
                          "train.epochs=1",
                          "run.threads=1",
                          "data.val_split=0"};
    stk_trainer_callbacks callbacks = STK_TRAINER_CALLBACKS_INIT;
    callbacks.context = &h;
    callbacks.bad_sample = hear_sample;
    stk_trainer_options options = STK_TRAINER_OPTIONS_INIT;
    options.run = run_path(path, "corrupt");
    options.settings = list;
    options.setting_count = sizeof list / sizeof list[0];
    options.callbacks = &callbacks;
    stk_trainer *trainer = open_trainer(&options);
    must(stk_trainer_train(trainer, &error), &error);
    assert_int_equal(stk_trainer_close(&trainer), 0);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.damage, STK_DAMAGE_NOT_AN_IMAGE);
    assert_non_null(strstr(h.path, "b/1.npy"));
    assert_true(has_file(path, "ledger.jsonl"));

    list[4] = "data.on_bad_sample=fail";
    options.run = run_path(path, "failing");
    trainer = open_trainer(&options);
    assert_int_equal(stk_trainer_train(trainer, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_NOT_AN_IMAGE);
    assert_non_null(strstr(error.place, "b/1.npy"));
    assert_true(has_file(path, "run.json"));
    assert_int_equal(stk_trainer_close(&trainer), 0);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    program = argv[1];
    engine = argv[2];
    if (!has_engine()) return 77; /* skipped */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_come_in_layers),
        cmocka_unit_test(training_stops_after_so_many_steps),
        cmocka_unit_test(runs_go_from_one_to_the_other),
        cmocka_unit_test(corrupt_samples_are_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
