#include "cli.h"

#include <sys/resource.h>
#include <unistd.h>

double stk__cli_cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

uint64_t stk__cli_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long all, resident = 0;
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ru_maxrss would begin with that of the process that started this one. */
uint64_t stk__cli_peak_memory_bytes(void)
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
