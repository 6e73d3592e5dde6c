/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a network: it is read and shaped, or refused with a place; never more. */
#include "fuzz.h"

#include "train/network/network.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static stk__shape input_of(const stk__network *network, int turn)
{
    const int64_t side = network->multiple * (turn ? 1 : 7);
    if (network->task == STK_TASK_REGRESSION) return (stk__shape){3, {2, turn ? 1 : 60, 5}};
    return (stk__shape){4, {turn ? 1 : 16, side, 2 * side, 3}};
}

static void check_network(const stk__network *network)
{
    assert(network->layer_count > 0 && network->layer_count <= 4096);
    assert(network->output >= 0 && network->output < network->layer_count);
    for (int i = 0; i < network->layer_count; i++) {
        const stk__layer *layer = &network->layers[i];
        assert(layer->name[0] && layer->line > 0 && layer->spec.inputs > 0 &&
               layer->spec.inputs <= STK_OP_INPUTS);
        for (int k = 0; k < layer->spec.inputs; k++)
            assert(layer->input[k] >= STK_LAYER_INPUT && layer->input[k] < i);
    }
}

static void check_refusal(stk_status status, const stk_error *error)
{
    assert(status == STK_ERROR_CONFIG && error->place[0]);
    fuzz_check_failure(status, error);
}

static void shape_network(stk__network *network)
{
    stk__op_form *forms = calloc((size_t)network->layer_count, sizeof *forms);
    stk_error error = {0};
    for (int turn = 0; forms && turn < 2; turn++) {
        const stk__shape input = input_of(network, turn);
        const stk_status status = stk__network_shape(network, &input, forms, &error);
        if (status != STK_OK) check_refusal(status, &error);
        for (int i = 0; status == STK_OK && i < network->layer_count; i++)
            assert(stk__shape_count(&forms[i].output) > 0);
    }
    free(forms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const stk__network_setting facts[] = {{"image_h", 64}, {"image_w", 128}, {"num_classes", 4}};
    char *text = (char *)fuzz_copy(data, size, 1);
    fuzz_limit_memory(64 << 20);
    stk__network *network = NULL;
    stk_error error = {0};
    const stk__network_request request = {.text = text, .facts = facts, .fact_count = 3};
    const stk_status status = stk__network_read(&network, &request, &error);
    assert((status == STK_OK) == (network != NULL));
    if (network) {
        check_network(network);
        shape_network(network);
    } else {
        check_refusal(status, &error);
    }
    stk__network_destroy(&network);
    free(text);
    return 0;
}
