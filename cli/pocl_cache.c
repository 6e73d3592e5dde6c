/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL (OpenCL on CPUs) offers no device when it cannot write its cache below HOME. Containers and services
 * often have no such place, so the program gives it one. Not the library's business: it never changes the
 * environment. */
#include "cli.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool can_write_below(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/.cache", folder);
    return access(path, F_OK) == 0 ? access(path, W_OK) == 0 : access(folder, W_OK) == 0;
}

/* The folder itself is made where it is missing, as the specification of XDG wants it. */
static bool can_write_to(const char *cache)
{
    return access(cache, W_OK) == 0 || mkdir(cache, 0700) == 0;
}

/* A folder of our own that nobody else could have prepared. */
static bool make_own(const char *path)
{
    struct stat facts;
    if (mkdir(path, 0700) == 0) return true;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           (facts.st_mode & 077) == 0;
}

void stk__cli_give_pocl_cache(void)
{
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME"), *temporary = getenv("TMPDIR");
    char path[4096];
    if (getenv("POCL_CACHE_DIR")) return;
    if (cache && *cache ? can_write_to(cache) : home && *home && can_write_below(home)) return;
    snprintf(path, sizeof path, "%s/stoker-pocl-%ld", temporary && *temporary ? temporary : "/tmp",
             (long)geteuid());
    if (make_own(path)) setenv("POCL_CACHE_DIR", path, 0);
}
