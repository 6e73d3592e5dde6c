/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of networks: reading texts, looking at layers. */
#ifndef TEST_NETWORK_HELPERS_H
#define TEST_NETWORK_HELPERS_H

#include "train/network/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD "name: t\ntask: classification\n"

static inline stk__network *network_of(const stk__network_request *request)
{
    stk__network *network = NULL;
    stk_error error = {0};
    const stk_status status = stk__network_read(&network, request, &error);
    if (status != STK_OK) print_error("%s (%s; %s)\n", error.message, error.place, error.hint);
    assert_int_equal(status, STK_OK);
    assert_non_null(network);
    return network;
}

static inline stk__network *network_text(const char *text)
{
    return network_of(&(stk__network_request){.text = text});
}

static inline int layer_index(const stk__network *network, const char *name)
{
    for (int i = 0; i < network->layer_count; i++)
        if (strcmp(network->layers[i].name, name) == 0) return i;
    fail_msg("no layer '%s'", name);
    return -1;
}

static inline const stk__layer *layer_of(const stk__network *network, const char *name)
{
    return &network->layers[layer_index(network, name)];
}

/* The names of a layer's inputs, "input" for the network's, separated by blanks. */
static inline void check_inputs(const stk__network *network, const char *name, const char *expected)
{
    const stk__layer *layer = layer_of(network, name);
    char text[512] = "";
    for (int k = 0; k < layer->spec.inputs; k++) {
        const int from = layer->input[k];
        assert_true(from < (int)(layer - network->layers));
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? " " : "",
                 from < 0 ? "input" : network->layers[from].name);
    }
    assert_string_equal(text, expected);
}

static inline stk__op_form *forms_of(stk__network *network, stk__shape input)
{
    stk__op_form *forms = calloc((size_t)network->layer_count, sizeof *forms);
    stk_error error = {0};
    const stk_status status = stk__network_shape(network, &input, forms, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
    return forms;
}

static inline void check_shape(const stk__shape *shape, const char *expected)
{
    char text[96];
    stk__shape_print(shape, text, sizeof text);
    assert_string_equal(text, expected);
}

#endif
