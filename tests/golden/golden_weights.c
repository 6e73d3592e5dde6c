/* SPDX-License-Identifier: Apache-2.0 */
/* Weights for test_weights_in_torch.py to carry between Stoker and PyTorch:
 *
 *     golden_weights write FOLDER CASE ENGINE OUT    a new model's checkpoint into OUT/checkpoints
 *     golden_weights read  FOLDER CASE ENGINE OUT    OUT/torch.safetensors into a model
 *
 * Both then run the case's input through the model, as in evaluation, into OUT/output.f32. */
#include "golden_network.h"
#include "train/checkpoint/checkpoint.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static char **arguments; /* verb, FOLDER, CASE, ENGINE, OUT */

static void write_weights(golden_network *n)
{
    stk_error error = {0};
    char folder[1024], path[1200];
    snprintf(folder, sizeof folder, "%s/checkpoints", arguments[4]);
    const stk__checkpoint_options options = {.folder = folder};
    const stk__checkpoint_state state = {.json = json_object(), .epoch = 1, .step = 1, .metric = NAN};
    GOLDEN_TRY(stk__checkpoint_write(&options, n->model, &state, path, sizeof path, &error));
    json_decref(state.json);
}

static void read_weights(golden_network *n)
{
    stk_error error = {0};
    char path[1024];
    stk__weights_report report;
    snprintf(path, sizeof path, "%s/torch.safetensors", arguments[4]);
    GOLDEN_TRY(stk__weights_load(path, n->model, &report, &error));
    if (report.missing + report.unknown + report.misfits)
        fail_msg("missing '%s', unknown '%s', misfit '%s'", report.first_missing, report.first_unknown,
                 report.first_misfit);
    assert_int_equal(report.loaded, n->model->count);
}

static void write_output(golden_network *n)
{
    stk_error error = {0};
    char path[1024];
    stk__pass_feed feed = {.input = n->feed.input};
    GOLDEN_TRY(stk__pass_forward(n->evaluation, &feed, &error));
    stk__tensor *output = stk__pass_output(n->evaluation);
    stk_tensor view;
    GOLDEN_TRY(stk__tensor_map(output, &view, &error));
    snprintf(path, sizeof path, "%s/output.f32", arguments[4]);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const size_t bytes = (size_t)stk_tensor_bytes(&view);
    assert_int_equal(fwrite(view.data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    GOLDEN_TRY(stk__tensor_unmap(output, &view, false, &error));
}

static void carry(void **state)
{
    (void)state;
    golden_network n;
    stk__engine *engine = golden_engine_open(arguments[3]);
    golden_network_init(&n, &(golden_network_options){arguments[1], arguments[2], engine, false});
    if (strcmp(arguments[0], "write") == 0) write_weights(&n);
    if (strcmp(arguments[0], "read") == 0) read_weights(&n);
    write_output(&n);
    golden_network_fini(&n);
    stk__engine_close(&engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(carry)};
    if (argc != 6) return fputs("usage: golden_weights write|read FOLDER CASE ENGINE OUT\n", stderr), 2;
    arguments = argv + 1;
    if (!golden_engine_is_here(arguments[3])) return GOLDEN_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
