/* Built without ncurses: there is no screen. */
#include "monitor_face.h"

const char *stk__screen_absent(void)
{
    return "this program was built without ncurses";
}

const stk__face_ops stk__face_screen = {.name = "screen"};
