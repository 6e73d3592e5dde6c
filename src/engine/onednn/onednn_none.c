/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the engine where its header was missing, or of another version, when the library was built.
 */
#include "engine/engine.h"

static stk_status open_engine(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    (void)engine, (void)options;
    stk__fail(error, STK_ERROR_UNSUPPORTED,
              "engine 'onednn' is not in this build: dnnl.h of oneDNN 2.x was missing");
    stk__error_hint(error, "install oneDNN 2.x with its header (Debian: libdnnl-dev) and rebuild");
    return STK_ERROR_UNSUPPORTED;
}

const stk__engine_ops stk__engine_onednn = {.name = "onednn", .open = open_engine};
