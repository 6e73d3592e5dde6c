/* SPDX-License-Identifier: Apache-2.0 */
/* How a training run begins: its settings, the folder it lives in. */
#ifndef STK_SESSION_RUN_START_H
#define STK_SESSION_RUN_START_H

#include "session/session.h"
#include "train/run_folder.h"

/* run.resume says how this start goes: it is not kept as a setting of the run, whose config.yaml would ask
 * for it again. Sets *resume if it was asked for, and takes it out of all layers of the config. */
stk_status stk__run_take_resume(stk__config *config, bool *resume, stk_error *error);

typedef struct stk__run_start {
    const char *path;   /* folder of the run; NULL: a new one below run.dir */
    bool resume;        /* it is there, with its settings and perhaps checkpoints */
    const char *on_top; /* of a resumed run: a settings file that counts more than its own; NULL: none */
} stk__run_start;

/* Reads config.yaml of a run that is resumed; then what run.resume of all files says, and the preset. Before
 * a session is opened on the config. */
stk_status stk__run_read_settings(stk__config *config, stk__run_start *start, stk_error *error);

/* Opens the folder for an open session and writes data.json and, in a new one, config.yaml. settings gets the
 * text of config.yaml: stk__run writes that of a resumed run as soon as it is known to fit the checkpoint. */
stk_status stk__run_open_folder(stk__run_folder **folder, const stk__session *session,
                                const stk__run_start *start, stk__buffer *settings, stk_error *error);

#endif
