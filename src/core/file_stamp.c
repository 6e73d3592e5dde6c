/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of files are chained: the digest of the digest so far and of what stat says. Any thread. */
#include "core/file_stamp.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

bool stk__file_stamp_add(stk__file_stamp *stamp, const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    const uint64_t parts[] = {stamp->digest.high,
                              stamp->digest.low,
                              (uint64_t)facts.st_size,
                              (uint64_t)facts.st_ino,
                              (uint64_t)facts.st_mtim.tv_sec,
                              (uint64_t)facts.st_mtim.tv_nsec,
                              (uint64_t)facts.st_ctim.tv_sec,
                              (uint64_t)facts.st_ctim.tv_nsec};
    stamp->digest = stk__digest_of(parts, sizeof parts);
    const int64_t s = facts.st_ctim.tv_sec;
    const uint64_t ns = (uint64_t)facts.st_ctim.tv_nsec;
    if (s < stamp->newest_s || (s == stamp->newest_s && ns <= stamp->newest_ns)) return true;
    stamp->newest_s = s;
    stamp->newest_ns = ns;
    return true;
}

bool stk__file_stamp_is_settled(const stk__file_stamp *stamp)
{
    enum { SHORT_TICK_NS = 20 * 1000 * 1000, LONG_TICK_S = 2 }; /* of kernels; of file systems in seconds */
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
    const int64_t age_s = now.tv_sec - stamp->newest_s;
    if (age_s > LONG_TICK_S) return true;
    if (age_s < 0 || stamp->newest_ns == 0) return false;
    return age_s * 1000000000 + now.tv_nsec - (int64_t)stamp->newest_ns > SHORT_TICK_NS;
}
