#include "make.h"
#include "stoker/status.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "make") == 0) return stk__cli_make(argc - 1, argv + 1);
    printf("stoker %s\n", stk_version());
    return 0;
}
