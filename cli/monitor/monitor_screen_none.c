/* SPDX-License-Identifier: Apache-2.0 */
/* Built without ncurses: there is no screen. */
#include "monitor_output.h"

const char *stk__screen_absent(void)
{
    return "this program was built without ncurses";
}

const stk__monitor_output_ops stk__monitor_output_screen = {.name = "screen"};
