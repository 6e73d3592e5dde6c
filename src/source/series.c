#include "source/kinds.h"

stk_status stk__series_open(stk__source **source, const stk__site *site, stk_error *error)
{
    (void)source;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "series like '%s' are not yet there", site->file);
}
