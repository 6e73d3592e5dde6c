/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page, each a function; what there is nothing to say about writes nothing. */
#ifndef STK_REPORT_SECTIONS_H
#define STK_REPORT_SECTIONS_H

#include "report/page.h"
#include "report/run_facts.h"

void stk__report_title(stk__page *page, const stk__run_facts *facts); /* text of <title> */
void stk__report_head(stk__page *page,
                      const stk__run_facts *facts); /* name, state, the most important numbers */
void stk__report_charts(stk__page *page, const stk__run_facts *facts);
void stk__report_classes(stk__page *page, const stk__run_facts *facts);
void stk__report_stall(stk__page *page, const stk__run_facts *facts);
void stk__report_gpus(stk__page *page, const stk__run_facts *facts);
void stk__report_answers(stk__page *page, const stk__run_facts *facts);
void stk__report_effects(stk__page *page, const stk__run_facts *facts);
void stk__report_layers(stk__page *page, const stk__run_facts *facts);
void stk__report_config(stk__page *page, const stk__run_facts *facts);

/* The colour of a class as a small square; not "#rrggbb": an empty one. */
void stk__report_swatch(stk__page *page, const char *colour);

#endif
