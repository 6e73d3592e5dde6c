/* Devices that can augment a batch: one small table each, and this front, which checks what it is given.
 *
 *     stk__device *device;
 *     if (stk__device_open(&device, "opencl:0", &error) != STK_OK) …
 *     while (…) stk__device_augment(device, &batch, &error);   // the result is in batch.target's memory
 *     stk__device_close(&device);
 *
 * One thread makes all calls of a device; different devices may be used by different threads. */
#ifndef STK_DEVICE_DEVICE_H
#define STK_DEVICE_DEVICE_H

#include "device/augment.h"

/* What is there, or why it is not. Numbers are -1 and texts "" where nobody knows. */
typedef struct stk__device_info {
    stk_device_kind kind;
    char name[16]; /* what augment.device takes: "opencl:0"; only the kind when there is none of it */
    bool available;
    char why[320];  /* when it is not available */
    char note[160]; /* something that its user should know */
    char model[128], driver[128], platform[128];
    int64_t memory_bytes, largest_buffer_bytes;
    int32_t compute_units;
} stk__device_info;

typedef struct stk__device stk__device;

typedef struct stk__device_ops {
    stk_device_kind kind;
    const char *word; /* "opencl" */
    /* One entry for each device of the kind, at least one (why there is none); at most `most`. */
    int (*list)(stk__device_info *infos, int most);
    stk_status (*open)(stk__device **device, int index, stk_error *error);
    stk_status (*augment)(stk__device *device, const stk__augment_batch *batch,
                          stk_error *error); /* checked */
    void (*close)(stk__device *device);
} stk__device_ops;

/* The first member of every device's struct. */
struct stk__device {
    const stk__device_ops *ops;
    stk__device_info info;
    uint64_t timeout_ns;                   /* for one batch; a device that did not answer is not used again */
    uint64_t last_kernel_ns, last_copy_ns; /* of the last batch, by the device's clock; 0: none took place */
};

extern const stk__device_ops stk__device_cpu, stk__device_null, stk__device_opencl, stk__device_cuda;

enum { STK_DEVICE_MOST = 64 };

/* All kinds in a fixed order; how many entries were written, at most `most`. */
int stk__device_list(stk__device_info *infos, int most);

/* name: "cpu", "null", "opencl:1", "cuda:0"; "opencl" is "opencl:0". STK_ERROR_ARGUMENT: no such name;
 * STK_ERROR_UNSUPPORTED: not available, and why. */
stk_status stk__device_open(stk__device **device, const char *name, stk_error *error);
void stk__device_close(stk__device **device); /* accepts NULL inside */

/* Augments the batch into the host memory of its target. Nothing is allocated for a batch that is no larger
 * than those before. After STK_ERROR_TIMEOUT the device refuses all further work; a copy that was under way
 * may still touch the batch's memory, so keep that. */
stk_status stk__device_augment(stk__device *device, const stk__augment_batch *batch, stk_error *error);

/* The CPU level that the device "cpu" uses: the best there is that STOKER_CPU allows. */
stk__cpu_level stk__device_cpu_level(void);

#endif
