/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader share; only they include this. A file becomes a tree (network_yaml.c); one
 * walk over it checks every word, also in parts that the options leave out; a second one makes the layers. */
#ifndef STK_TRAIN_NETWORK_READER_H
#define STK_TRAIN_NETWORK_READER_H

#include "train/network/network.h"
#include "train/network/network_expression.h"
#include "train/network/network_tree.h"

enum {
    STK_NETWORK_LAYERS_MOST = 4096,
    STK_NETWORK_STEPS_MOST = 32768, /* entries of lists that are walked over, loops and blocks unrolled */
    STK_NETWORK_OPTIONS_MOST = 32,
    STK_NETWORK_BLOCKS_MOST = 64,
    STK_NETWORK_BLOCK_OPTIONS_MOST = 16,
    STK_NETWORK_FACTS = 7,
    STK_NETWORK_NAME_BYTES = 128, /* of a layer, with its end */
    STK_NETWORK_BUCKETS = 1024
};

/* A name that `in` can use: a layer, a block, or something left out and what stands for it. */
typedef struct stk__layer_name {
    const char *name;
    uint64_t hash;
    int layer; /* or STK_LAYER_INPUT */
    int line;
    struct stk__layer_name *next; /* in its bucket */
} stk__layer_name;

typedef enum stk__block_state { STK_BLOCK_UNCHECKED, STK_BLOCK_CHECKING, STK_BLOCK_CHECKED } stk__block_state;

typedef struct stk__network_block {
    const char *name;
    const stk__node *options; /* list of words, or NULL */
    const stk__node *layers;
    int inputs; /* that it takes: 1 + the largest K of in2, in3 … */
    stk__block_state state;
} stk__network_block;

/* What a mistake is about: "layer 'down1.conv1' (conv): " comes before the message. what NULL: the file;
 * name and word may be missing. */
typedef struct stk__network_subject {
    const char *what, *name, *word;
} stk__network_subject;

typedef struct stk__network_reader {
    stk__network *network;
    const stk__network_request *request;
    stk_error *error;
    stk__store scratch; /* the tree and the names; gone after reading */
    const stk__node *root;
    bool checking; /* the first walk */
    stk__scope scopes[STK_NETWORK_FACTS + STK_NETWORK_OPTIONS_MOST];
    bool used[STK_NETWORK_OPTIONS_MOST]; /* by some expression */
    const stk__scope *scope;             /* facts and options */
    stk__network_block blocks[STK_NETWORK_BLOCKS_MOST];
    int block_count;
    stk__buffer layers; /* of stk__layer */
    int steps;
    uint32_t dropouts;
    stk__layer_name *buckets[STK_NETWORK_BUCKETS];
    stk__network_subject subject;
} stk__network_reader;

/* Where the walk is: at the top, or inside one use of a block. */
typedef struct stk__network_frame {
    const stk__scope *scope;
    const char *prefix; /* of names: "" or "stem." */
    int inputs[STK_OP_INPUTS];
    int input_count; /* 0: at the top */
    int before;      /* the layer before, or STK_LAYER_INPUT */
    int asked;       /* checking: the largest K of the block's inputs that is used */
} stk__network_frame;

/* Fills the error in: the subject, the message, file:line:column. Returns STK_ERROR_CONFIG. */
stk_status stk__network_refuse(const stk__network_reader *r, stk__mark mark, const char *format, ...)
    STK__PRINTF(3, 4);
void stk__network_suggest(const stk__network_reader *r, const char *best); /* NULL: no hint */

/* network_value.c: what stands behind a key. */
stk_status stk__network_want(const stk__network_reader *r, const stk__node *node, stk__node_kind kind);
stk_status stk__network_whole(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                              int64_t *value);
/* text with every {expression} replaced; in the first walk: by nothing. A name: letters, digits, '_', '.' */
stk_status stk__network_fill(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                             char name[STK_NETWORK_NAME_BYTES]);
bool stk__network_is_word(const char *text); /* a letter or '_', then digits too; at most 40 */

/* network_options.c: options, facts and settings become r->scopes and the network's options. */
stk_status stk__network_read_options(stk__network_reader *r);
bool stk__network_is_fact(const char *name);
/* After the first walk: an option that no expression has would be accepted and do nothing. */
stk_status stk__network_options_used(const stk__network_reader *r);

/* network_layer.c: the settings of an operation, from the other keys of its entry. */
stk_status stk__network_layer_keys(const stk__network_reader *r, const stk__node *entry,
                                   const stk__scope *scope, stk__op_spec *spec);
stk__op_kind stk__network_op(const stk__network_reader *r, const stk__node *word, stk_status *status);
stk_status stk__network_inputs_fit(const stk__network_reader *r, const stk__op_spec *spec, stk__mark mark);

/* network_names.c: names of the network so far. */
stk_status stk__network_name_add(stk__network_reader *r, const char *name, int layer, stk__mark mark);
const stk__layer_name *stk__network_name_find(const stk__network_reader *r, const char *name);
bool stk__network_is_reserved(const char *name); /* words that `in` knows */
/* The layers that an entry's `in` names, or the one before. */
stk_status stk__network_inputs(stk__network_reader *r, stk__network_frame *frame, const stk__node *entry,
                               int inputs[STK_OP_INPUTS], int *count);
stk_status stk__network_input_find(stk__network_reader *r, stk__network_frame *frame, const stk__node *node,
                                   int *layer);

/* network_blocks.c */
stk_status stk__network_read_blocks(stk__network_reader *r);
stk__network_block *stk__network_block_find(stk__network_reader *r, const char *name);
/* Links for the block's options, values still 0; the innermost. They lie in scopes. */
const stk__scope *stk__network_block_scope(const stk__network_reader *r, const stk__network_block *block,
                                           stk__scope scopes[STK_NETWORK_BLOCK_OPTIONS_MOST]);
/* The first walk over its layers, once; `use` is where it is used. */
stk_status stk__network_block_check(stk__network_reader *r, stk__network_block *block, stk__mark use);

/* network_shipped.c, made from models/: NULL at the end. */
typedef struct stk__network_shipped {
    const char *name, *place, *text;
} stk__network_shipped;
extern const stk__network_shipped stk__networks_shipped[];

/* network_expand.c: both walks over a list of layers. */
stk_status stk__network_walk(stk__network_reader *r, stk__network_frame *frame, const stk__node *list);

#endif
