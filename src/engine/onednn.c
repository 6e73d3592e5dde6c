#include "engine/engine.h"

static stk_status open_engine(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    (void)engine, (void)options;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "not built yet");
}

const stk__engine_ops stk__engine_onednn = {.name = "onednn", .open = open_engine};
