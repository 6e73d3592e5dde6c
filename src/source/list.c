#include "source/kinds.h"

stk_status stk__list_open(stk__source **source, const stk__site *site, stk_error *error)
{
    (void)source;
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "lists like '%s' are not yet there", site->file);
}

stk_status stk__list_fits(const char *path, bool *fits, stk_error *error)
{
    (void)path;
    (void)error;
    *fits = false;
    return STK_OK;
}
