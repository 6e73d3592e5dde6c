/* Built kernels on disk: what was saved comes back, everything else counts as absent. */
#include "device/program_cache.h"

#include "core/file.h"
#include "support/workspace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>
#include <cmocka.h>

int main(void)
{
    return 0;
}
