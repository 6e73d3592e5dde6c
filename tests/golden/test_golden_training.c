/* SPDX-License-Identifier: Apache-2.0 */
/* Each network beside PyTorch (write_training.py): the first forward pass, all gradients, ten steps of the
 * optimiser, and a forward pass in evaluation after them:
 *
 *     test_golden_training FOLDER ENGINE
 *
 * Bounds: losses 1e-4 relative, each tensor 1e-3 relative L2. Once more with activations computed again. */
#include "golden_network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS = 10 };

static const char *folder, *engine_name;
static stk__engine *engine;
static golden_tally losses, norms, outputs, gradients, weights, buffers, firsts, seconds;

static int open_engine(void **state)
{
    (void)state;
    engine = golden_engine_open(engine_name);
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    stk__engine_close(&engine);
    return 0;
}

static void start_tallies(void)
{
    losses = (golden_tally){.kind = "loss", .bound = 1e-4};
    norms = (golden_tally){.kind = "norm", .bound = 1e-4};
    outputs = (golden_tally){.kind = "output", .bound = 1e-3};
    gradients = (golden_tally){.kind = "gradient", .bound = 1e-3};
    weights = (golden_tally){.kind = "weight", .bound = 1e-3};
    buffers = (golden_tally){.kind = "buffer", .bound = 1e-3};
    firsts = (golden_tally){.kind = "first", .bound = 1e-3};
    seconds = (golden_tally){.kind = "second", .bound = 1e-3};
}

static void compare_first_pass(golden_network *n)
{
    golden_compare(&outputs, stk__pass_output(n->training), &n->golden, golden_find(&n->golden, "output"));
}

static void compare_gradients(golden_network *n)
{
    for (int i = 0; i < n->model->count; i++) {
        const stk__model_tensor *tensor = &n->model->tensors[i];
        if (tensor->trainable)
            golden_compare(&gradients, tensor->grad, &n->golden,
                           golden_find(&n->golden, "grad.%s", tensor->name));
    }
}

/* Reads sums of two doubles that one step added to zeros, and makes them zero again. */
static void take_sums(stk__tensor *tensor, double sums[2])
{
    stk_error error = {0};
    GOLDEN_TRY(stk__tensor_read(tensor, sums, 2 * sizeof *sums, &error));
    GOLDEN_TRY(stk__tensor_zero(tensor, &error));
}

static void compare_number(golden_tally *tally, golden_network *n, const char *name, int step, double ours)
{
    stk_error error = {0};
    char where[32];
    double theirs[STEPS];
    const stk__safetensor *tensor = golden_find(&n->golden, "%s", name);
    assert_true(tensor && tensor->size_bytes == sizeof theirs);
    GOLDEN_TRY(stk__safetensors_read(n->golden.file, tensor, theirs, &error));
    snprintf(where, sizeof where, "step %d", step + 1);
    golden_compare_numbers(tally, where, &ours, &theirs[step], 1);
}

static void take_steps(golden_network *n)
{
    stk_error error = {0};
    double sums[2];
    stk__update update = golden_network_update(n);
    update.norm = golden_make(&n->shelf, &(stk__shape){1, {2}}, STK_DTYPE_F64);
    take_sums(n->feed.loss_sums, sums);
    take_sums(update.norm, sums);
    for (int step = 0; step < STEPS; step++) {
        GOLDEN_TRY(stk__pass_forward(n->training, &n->feed, &error));
        if (step == 0) compare_first_pass(n);
        take_sums(n->feed.loss_sums, sums);
        compare_number(&losses, n, "losses", step, sums[0] / sums[1]);
        GOLDEN_TRY(stk__pass_backward(n->training, &n->feed, &error));
        if (step == 0) compare_gradients(n);
        update.step = step + 1;
        GOLDEN_TRY(stk__engine_update(engine, &update, &error));
        take_sums(update.norm, sums);
        compare_number(&norms, n, "norms", step, sums[0]);
        assert_true(sums[1] == 1);
    }
}

static void compare_end(golden_network *n)
{
    for (int i = 0; i < n->model->count; i++) {
        const stk__model_tensor *tensor = &n->model->tensors[i];
        golden_compare(tensor->buffer ? &buffers : &weights, tensor->value, &n->golden,
                       golden_find(&n->golden, "end.%s", tensor->name));
        if (tensor->first)
            golden_compare(&firsts, tensor->first, &n->golden,
                           golden_find(&n->golden, "first.%s", tensor->name));
        if (tensor->second)
            golden_compare(&seconds, tensor->second, &n->golden,
                           golden_find(&n->golden, "second.%s", tensor->name));
    }
}

static void compare_evaluation(golden_network *n)
{
    stk_error error = {0};
    stk__pass_feed feed = {.input = n->feed.input};
    GOLDEN_TRY(stk__pass_forward(n->evaluation, &feed, &error));
    golden_compare(&outputs, stk__pass_output(n->evaluation), &n->golden,
                   golden_find(&n->golden, "evaluation"));
}

static void print_tallies(const char *name, bool recompute)
{
    print_message("%s, %s%s\n", engine_name, name, recompute ? ", recomputed" : "");
    const golden_tally *all[] = {&losses,  &norms,   &outputs, &gradients,
                                 &weights, &buffers, &firsts,  &seconds};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->count) golden_print(all[i]);
}

static void train(const char *name, bool recompute)
{
    golden_network n;
    start_tallies();
    golden_network_init(&n, &(golden_network_options){folder, name, engine, recompute});
    golden_network_load(&n, "start");
    if (recompute && n.network->task != STK_TASK_REGRESSION) /* an LSTM of three layers has nothing to drop */
        assert_true(stk__pass_describe(n.training)->recomputed_layers > 0);
    take_steps(&n);
    compare_end(&n);
    compare_evaluation(&n);
    print_tallies(name, recompute);
    assert_true(losses.count == STEPS && weights.count > 0 && weights.count == gradients.count);
    golden_network_fini(&n);
}

static void train_case(void **state)
{
    train(*state, false);
    train(*state, true);
}

int main(int argc, char **argv)
{
    static char *const names[] = {"unet",   "unet_odd",   "unet_mixed", "locator",
                                  "resnet", "resnet_sgd", "lstm",       "hrnet_odd"};
    enum { COUNT = sizeof names / sizeof names[0] };
    struct CMUnitTest tests[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = train_case, .initial_state = names[i]};
    if (argc != 3) return fputs("usage: test_golden_training FOLDER ENGINE\n", stderr), 2;
    folder = argv[1];
    engine_name = argv[2];
    if (!golden_engine_is_here(engine_name)) return GOLDEN_SKIPPED;
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
