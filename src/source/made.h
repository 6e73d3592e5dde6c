/* Generated data sets as a source. */
#ifndef STK_SOURCE_MADE_H
#define STK_SOURCE_MADE_H

#include "source/source.h"

/* root: make:KIND or make:KIND?count=N&seed=S. A series uses options->window_rows (0: 30). */
stk_status stk__made_open(stk__source **source, const stk__source_options *options, stk_error *error);

#endif
