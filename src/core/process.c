/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self and getrusage; nothing is kept between calls, any thread may call. */
#include "core/process.h"

#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double stk__process_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

uint64_t stk__process_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long all, resident = 0;
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ru_maxrss would begin with that of the process that started this one. */
uint64_t stk__process_peak_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];
    unsigned long long kib = 0;
    while (file && kib == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu", &kib) != 1) kib = 0;
    if (file) fclose(file);
    if (kib > 0) return kib * 1024;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

double stk__process_age_s(uint64_t moment_ns)
{
    FILE *file = fopen("/proc/self/stat", "re");
    char text[1024] = "";
    unsigned long long ticks = 0;
    struct timespec boot;
    if (!file) return NAN;
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *at = strrchr(text, ')'); /* field 2; the start time is field 22 */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &ticks) != 1 || !moment_ns) return NAN;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const double now_s = (double)boot.tv_sec + (double)boot.tv_nsec * 1e-9;
    const double ago_s = (double)(stk__clock_ns() - moment_ns) * 1e-9;
    return now_s - ago_s - (double)ticks / (double)sysconf(_SC_CLK_TCK);
}
