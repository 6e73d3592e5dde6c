/* stoker make */
#ifndef STK_CLI_MAKE_H
#define STK_CLI_MAKE_H

/* argv[0] is the verb. Returns the exit status: 0 made, 1 failed, 2 wrong use, 130 interrupted. */
int stk__cli_make(int argc, char **argv);

#endif
