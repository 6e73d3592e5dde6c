#include "stoker/status.h"

#include <stdio.h>

int main(void)
{
    printf("stoker %s\n", stk_version());
    return 0;
}
