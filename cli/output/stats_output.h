/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `stoker stats`. */
#ifndef STK_CLI_STATS_OUTPUT_H
#define STK_CLI_STATS_OUTPUT_H

#include <jansson.h>

void stk__stats_print(const json_t *report); /* the object that --json prints */

#endif
