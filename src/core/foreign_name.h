/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as other programs call them (PyTorch and torchvision, Lightning, timm, Keras, the Trainer of
 * Hugging Face, and habits of people): foreign_names.list has a row for each name. A row says what the name
 * means here, or why there is no such thing. Names of our own always come first. */
#ifndef STK_CORE_FOREIGN_NAME_H
#define STK_CORE_FOREIGN_NAME_H

#include "core/option.h"

typedef enum stk__foreign_kind {
    STK_FOREIGN_SAME, /* taken as the setting `key` */
    STK_FOREIGN_READ, /* taken as well, its values translated by `text`: "16-mixed=fp16 32=false" */
    STK_FOREIGN_TURN, /* a size as width, height: taken as height, width */
    STK_FOREIGN_NEAR, /* not taken: `key` is nearly it, `text` says the difference */
    STK_FOREIGN_NONE  /* not taken: there is no such setting, `text` says why */
} stk__foreign_kind;

typedef struct stk__foreign_name {
    stk__foreign_kind kind;
    const char *from; /* "lightning hf" */
    const char *name;
    const char *key;  /* full name of our setting; NULL with NONE */
    const char *text; /* see the kind; or NULL */
} stk__foreign_name;

size_t stk__foreign_count(void);
const stk__foreign_name *stk__foreign_at(size_t index);

/* '-' and '_' are alike, case does not matter. NULL: no such row. */
const stk__foreign_name *stk__foreign_find(const char *name, size_t length);

static inline bool stk__foreign_is_taken(const stk__foreign_name *row)
{
    return row->kind <= STK_FOREIGN_TURN;
}

/* What the first part of a key is called here: "train" for trainer, "" for hparams, whose keys stand alone;
 * NULL: it is not in the list. */
const char *stk__foreign_section(const char *name, size_t length);

/* The value as the option of a row that is taken has it, in text; a value that was changed also gets a note
 * for the effects, else note is "". STK_ERROR_CONFIG: the value means nothing here. */
enum { STK_FOREIGN_NOTE_BYTES = 192 };
typedef struct stk__foreign_value {
    char text[256];
    char note[STK_FOREIGN_NOTE_BYTES];
} stk__foreign_value;

stk_status stk__foreign_translate(const stk__foreign_name *row, const stk__option *option, const char *value,
                                  stk__foreign_value *out, stk_error *error);

#endif
