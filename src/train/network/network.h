/* SPDX-License-Identifier: Apache-2.0 */
/* Networks are data: a YAML text names layers and their inputs, with a few options (width, depth, …) that its
 * user may set. Reading it gives a flat list of layers in an order in which they can be computed.
 * docs/networks.md describes the language; models/ holds the networks that are part of the program. */
#ifndef STK_TRAIN_NETWORK_H
#define STK_TRAIN_NETWORK_H

#include "core/memory.h"
#include "engine/op.h"
#include "train/network/network_store.h"

enum { STK_LAYER_INPUT = -1 }; /* as a layer's input: what the network is given */

typedef enum stk__task {
    STK_TASK_SEGMENTATION,     /* pictures to a class per pixel */
    STK_TASK_POINTS,           /* pictures to points */
    STK_TASK_CLASSIFICATION,   /* pictures to one class */
    STK_TASK_REGRESSION,       /* windows to one value */
    STK_TASK_IMAGE_REGRESSION, /* pictures to one value */
    STK_TASK_MULTILABEL,       /* pictures to any number of classes */
    STK_TASK_COUNT
} stk__task;

typedef struct stk__layer {
    const char *name;         /* "down1.conv1", unique; parameters are "down1.conv1.weight" */
    int line;                 /* of the text */
    stk__op_spec spec;        /* kind and settings; input shapes are filled in by stk__network_shape */
    int input[STK_OP_INPUTS]; /* spec.inputs of them: earlier layers, or STK_LAYER_INPUT */
} stk__layer;

typedef struct stk__network_option {
    const char *name, *help;
    int64_t value, least, most; /* value: in effect */
    bool asked;                 /* set by the user, not by default or data */
} stk__network_option;

typedef struct stk__network { /* read/destroy */
    const char *name, *about;
    const char *place; /* file name for messages, or "models/unet.yaml" */
    stk__task task;
    stk__layer *layers;
    int layer_count;
    int output; /* layer whose output is the prediction */
    stk__network_option *options;
    int option_count;
    int64_t multiple; /* height and width of an image must be multiples of it; 1: any */
    stk__store texts; /* all names and options live here */
} stk__network;

typedef struct stk__network_setting {
    const char *name;
    int64_t value;
} stk__network_setting;

typedef struct stk__network_request {
    const char *name;      /* of a shipped network, or … */
    const char *file;      /* … a user's file, or … */
    const char *text;      /* … the text itself, for tests */
    const stk__task *task; /* what the data is for: chosen if the network has it; NULL: its first one */
    /* By the user: an option that the network does not have, or a value out of its range, is an error naming
     * those it has. */
    const stk__network_setting *settings;
    int setting_count;
    const char *const *places; /* [setting_count]: where the user wrote them, for messages; NULL: unknown */
    /* Known from the data (image_h, image_w, image_c, num_classes, points, features, window): overrides the
     * default of an option of that name, is overridden by settings; can be used in expressions in any case.
     */
    const stk__network_setting *facts;
    int fact_count;
} stk__network_request;

/* Errors have file:line:column as place and name the layer. Every layer leads to the output; a layer's inputs
 * stand before it; random_layer counts the dropouts. */
stk_status stk__network_read(stk__network **network, const stk__network_request *request, stk_error *error);
void stk__network_destroy(stk__network **network);

/* "unet|locator|…": the names of the shipped networks, as choices of an option. */
extern const char stk__network_choices[];
/* The same one by one: 0, 1, …; NULL at the end. */
const char *stk__network_names(int index);

/* Fills in the shapes of all layers for an input of this shape; forms[layer_count] says what follows. An
 * impossible layer is an error with file, line and layer. */
stk_status stk__network_shape(stk__network *network, const stk__shape *input, stk__op_form *forms,
                              stk_error *error);

const char *stk__task_word(stk__task task); /* "segmentation" */

#endif
