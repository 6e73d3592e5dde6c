/* SPDX-License-Identifier: Apache-2.0 */
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

#include "device/cpu/augment_pass.h"
#include "device/kernel/kernel_launch.h"

/* A device, or why it is not available. Unknown numbers are -1, unknown texts "". */
typedef struct stk__device_info {
    stk_device_kind kind;
    char name[16]; /* what augment.device takes: "opencl:0"; only the kind when there is none of it */
    bool available;
    char why[320];  /* when it is not available */
    char note[256]; /* something that its user should know; when it is not available: what to do */
    char model[128], driver[128], platform[128];
    char id[48]; /* as NVML has it: "GPU-8932f937-…" */
    int64_t memory_bytes, largest_buffer_bytes;
    int32_t compute_units;
} stk__device_info;

typedef struct stk__device stk__device;

/* Batches that stay in a device's memory, one stk__device_memory for each slot:
 *
 *     create -> (submit -> [ready or ready_on -> use -> release_on] -> ask until it is free)* -> destroy
 *
 * create, submit, ask and destroy are the device's thread's; ready, ready_on and release_on may be called by
 * the consumer's, after the submit and before the next one. */
typedef struct stk__device_memory {
    stk__device *device;
    uint8_t *data;       /* address on the device, for tensors; not to be read by the host */
    size_t size_bytes;   /* there */
    size_t pinned_bytes; /* of the host's side, from its start; 0: none is pinned */
    /* Of a task with sources, when it is ready: stk__kernel_gather_work.wrong. */
    const uint32_t *wrong;
} stk__device_memory;

typedef struct stk__device_room {
    uint8_t *host;     /* the slot's memory on the host, page-aligned; it must outlive the device's */
    size_t host_bytes; /* of it that shall be pinned, whole pages; 0: none */
    size_t size_bytes; /* on the device; 0: batches go back to the host, only pinning is wanted */
    uint64_t places;   /* most samples of a batch */
    bool gathers;      /* there will be tasks with sources */
} stk__device_room;

typedef struct stk__device_copy {
    void *to;
    const void *from;
    size_t bytes;
} stk__device_copy;

enum { STK_DEVICE_COPIES = 2 };

/* One batch: what is copied up as it is, what is augmented, and what is mixed or blanked after that. Host
 * memory in it stays untouched until ask says so; the lists themselves are read during the call only. */
typedef struct stk__device_task {
    stk__device_copy copies[STK_DEVICE_COPIES]; /* bytes 0: none */
    /* count 0: nothing. Its target lies in the device's memory, and may be u8: levels, rounded. */
    stk__augment_batch augment;
    /* [augment.count] in the device's memory, from which the arena is made there (augment.arena is NULL
     * then); NULL: none. */
    const stk__kernel_gather *sources;
    const uint8_t *table;         /* [256] beside sources: what ids become that change sides */
    const stk__kernel_mix *mixes; /* [mix_count] */
    uint64_t mix_count;
    void *mask2; /* on the device: second ids of the first sample, as target.mask; NULL: none */
} stk__device_task;

typedef struct stk__device_ops {
    stk_device_kind kind;
    const char *word; /* "opencl" */
    /* One entry for each device of the kind, at least one (why there is none); at most `most`. */
    int (*list)(stk__device_info *infos, int most);
    stk_status (*open)(stk__device **device, int index, stk_error *error);
    stk_status (*augment)(stk__device *device, const stk__augment_batch *batch,
                          stk_error *error); /* checked */
    void (*close)(stk__device *device);
    /* All NULL: batches of this device are made in host memory only. */
    stk_status (*memory_create)(stk__device *device, const stk__device_room *room,
                                stk__device_memory **memory, stk_error *error);
    bool (*memory_destroy)(stk__device_memory *memory); /* false: lost */
    stk_status (*submit)(stk__device_memory *memory, const stk__device_task *task, stk_error *error);
    stk_status (*ready)(stk__device_memory *memory, stk_error *error);
    stk_status (*ready_on)(stk__device_memory *memory, void *stream, stk_error *error);
    stk_status (*release_on)(stk__device_memory *memory, void *stream, stk_error *error);
    stk_status (*ask)(stk__device_memory *memory, bool *free, stk_error *error);
    stk_status (*fetch)(stk__device_memory *memory, const stk__device_copy *copy, stk_error *error);
} stk__device_ops;

/* The first member of every device's struct. */
struct stk__device {
    const stk__device_ops *ops;
    stk__device_info info;
    int index;                             /* 1 in "cuda:1" */
    uint64_t timeout_ns;                   /* for one batch; a device that timed out is not used again */
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

/* Can batches stay in this device's memory? */
static inline bool stk__device_keeps(const stk__device *device)
{
    return device && device->ops->memory_create;
}

/* The device's side of a slot. Memory that cannot be pinned is used as it is (then pinned_bytes is 0).
 * STK_ERROR_UNSUPPORTED: batches cannot stay on this device. */
stk_status stk__device_memory_create(stk__device *device, const stk__device_room *room,
                                     stk__device_memory **memory, stk_error *error);
/* Waits for what is under way. Accepts NULL inside. False: the device is lost and may still write to the
 * slot's host memory, which must be left behind. */
bool stk__device_memory_destroy(stk__device_memory **memory);

/* Enqueues the work and returns. A failure leaves nothing under way, or the device is lost. */
stk_status stk__device_submit(stk__device_memory *memory, const stk__device_task *task, stk_error *error);

/* The consumer: waits here, or makes its stream (a CUstream; NULL is the default stream) wait, until the
 * batch is there; then says after what on that stream the slot may be filled again. */
stk_status stk__device_ready(stk__device_memory *memory, stk_error *error);
stk_status stk__device_ready_on(stk__device_memory *memory, void *stream, stk_error *error);
stk_status stk__device_release_on(stk__device_memory *memory, void *stream, stk_error *error);

/* free: nothing under way uses the slot any more. Never waits. Sets last_kernel_ns and last_copy_ns. */
stk_status stk__device_ask(stk__device_memory *memory, bool *free, stk_error *error);

/* Copies from the device to the host and waits for it. The batch is there. */
stk_status stk__device_fetch(stk__device_memory *memory, const stk__device_copy *copy, stk_error *error);

/* The CPU level that the device "cpu" uses: the best there is that STOKER_CPU allows. */
stk__cpu_level stk__device_cpu_level(void);

#endif
