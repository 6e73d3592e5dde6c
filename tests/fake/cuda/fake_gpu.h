/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the fake driver. One lock, fake_lock, for everything that changes; what is marked with it
 * below is only touched by who holds it. */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include "device/kernel/kernel_launch.h"
#include "fake_cuda.h"

#include <pthread.h>

enum {
#define FAKE_CODE(name, code, text) FAKE_##name = code,
    FAKE_CODES(FAKE_CODE)
#undef FAKE_CODE
#define FAKE_CODE(name, code) FAKE_##name = code,
        FAKE_NVRTC_CODES(FAKE_CODE)
#undef FAKE_CODE
};

/* Everything that can be told to fail: calls, and work as it runs. */
typedef enum fake_function {
#define FAKE_ENUM(name, parameters) FAKE_##name,
    STK_CUDA_CALLS(FAKE_ENUM) STK_NVRTC_CALLS(FAKE_ENUM)
#undef FAKE_ENUM
        FAKE_copy_in,
    FAKE_copy_out,
    FAKE_kernel,
    FAKE_record,
    FAKE_FUNCTIONS
} fake_function;

extern const char *const fake_names[FAKE_FUNCTIONS];

typedef struct fake_fault {
    int function, gpu; /* FAKE_ANY */
    long from, to;     /* uses [from, to) */
    enum { FAULT_FAIL, FAULT_LOSE, FAULT_HANG } kind;
    double number; /* code or seconds */
} fake_fault;

typedef struct fake_gpu {
    char name[64];
    int sm, units, clock_khz, bus_bits; /* 0: not told */
    int mig;                            /* -1: it is a whole one */
    int64_t memory_bytes;
    double core_mhz, memory_gb_per_s, link_gb_per_s; /* of the model; core_mhz 0: there is none */
    double kernel_share, copy_share;
} fake_gpu;

/* The kernels of the kernel source. */
typedef enum fake_kernel_kind {
    FAKE_GREY,
    FAKE_AUGMENT,
    FAKE_MIX,
    FAKE_DROPOUT,
    FAKE_GATHER,
    FAKE_ROUND,
    FAKE_KERNELS_COUNT
} fake_kernel_kind;
extern const char *const fake_kernels[FAKE_KERNELS_COUNT];

typedef struct fake_script {
    int gpu_count, driver, nvrtc_major, nvrtc_minor, sm_count, fault_count;
    int sms[FAKE_SMS]; /* that the compiler knows */
    fake_gpu gpus[FAKE_GPUS];
    int64_t pinned_limit; /* -1: none */
    bool wrong;           /* what is compiled gets one bit wrong */
    char wrong_part[16];  /* or only this part of what runs; "": none */
    int64_t idle_bytes;   /* -1: everything is written */
    uint64_t seed;
    double late_us, copy_gb_per_s; /* 0: at once */
    double kernel_ms[FAKE_KERNELS_COUNT];
    char trace[512];
    fake_fault faults[FAKE_FAULTS];
} fake_script;

void fake_begin_script(fake_script *script); /* what holds if nothing is told */
bool fake_read_cuda_script(fake_script *script, const char *text, stk_error *error);

extern fake_script fake; /* read by all; changed by fake_cuda_play */
extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed; /* fake_lock: any work was finished, queued or released */
extern int fake_age;                /* fake_lock: which script this is; older handles are void */
extern int fake_visible[FAKE_GPUS]; /* fake_lock: CUDA_VISIBLE_DEVICES; inside, GPUs keep their own numbers */
extern int fake_visible_count;      /* fake_lock: -1: cuInit has not been called */
int fake_listed(int device);        /* the GPU that a program knows as device; FAKE_ANY: none */

/* The first member of whatever a program holds by its handle. Never freed: a handle that is used too late is
 * found out. */
typedef enum fake_kind {
    FAKE_CONTEXT = 0x7c0de000,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_MODULE,
    FAKE_KERNEL,
    FAKE_PROGRAM,
    FAKE_GRAPH,
    FAKE_GRAPH_EXEC
} fake_kind;
typedef struct fake_handle {
    fake_kind kind;
    int gpu, age;
    bool dead; /* lock */
    struct fake_handle *next;
} fake_handle;

/* A new handle in the list of all, counted; NULL: no memory. Lock not held. */
void *fake_make(fake_kind kind, int gpu, size_t size_bytes);
bool fake_is(const void *handle, fake_kind kind, int gpu); /* gpu FAKE_ANY: any. Lock not held */
void fake_end(void *handle);                               /* dead from now on. Lock not held */

typedef enum fake_word {
    FAKE_DEVICE_BYTES,
    FAKE_PINNED_BYTES,
    FAKE_MEMORIES,
    FAKE_PINNED,
    FAKE_STREAMS,
    FAKE_EVENTS,
    FAKE_MODULES,
    FAKE_CONTEXTS,
    FAKE_PROGRAMS,
    FAKE_WORK,
    FAKE_PAGEABLE_COPIES,
    FAKE_MISUSES,
    FAKE_COPIES_IN,
    FAKE_COPIES_OUT,
    FAKE_KERNELS,
    FAKE_PEAK_DEVICE_BYTES,
    FAKE_CAPTURES,
    FAKE_CAPTURE_ERRORS,
    FAKE_GRAPH_LAUNCHES,
    FAKE_WORDS
} fake_word;
extern int64_t fake_counts[FAKE_WORDS]; /* lock */
void fake_add(fake_word word, int64_t by);

/* Something that the driver need not notice and the program must not do: counted, kept and printed. Lock
 * held. */
void fake_blame(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Begins a call or a piece of work: counts it, hangs, fails. gpu FAKE_ANY: of none. Lock not held. */
int fake_enter(fake_function function, int gpu);
int fake_enter_current(fake_function function, int *gpu); /* of the GPU whose context is current */
int fake_current(void);                                   /* FAKE_ANY: none is */
int fake_lost(int gpu);                                   /* the code; 0: it is not */
void fake_lose(int gpu, int code);

/* Memory of a device, or pinned memory of the host. */
typedef struct fake_memory {
    struct fake_memory *next;
    int gpu, age;
    bool pinned, registered; /* registered: pinned, but the program's own */
    uint64_t address;        /* what the program knows it by */
    size_t size_bytes, map_bytes;
    uint8_t *host, *map; /* its bytes; the pages around them too */
    int uses;            /* lock: by work that is not finished */
} fake_memory;

/* Memory that holds [address, address + bytes), NULL: none does. Lock held. */
fake_memory *fake_find(uint64_t address, size_t bytes, bool pinned, int gpu);
bool fake_is_pinned(const void *host, size_t bytes); /* any byte of it. Lock held */
void fake_free_all(void);                            /* Lock held, no work under way */

enum { FAKE_POISON = 0xDB };

typedef struct fake_event {
    fake_handle handle;
    bool timed;
    uint64_t recorded, reached; /* lock: number of its last record; of the last that was reached */
    uint64_t reached_ns;        /* lock */
    double model_ns;            /* lock: by the GPU's own clock */
    struct fake_graph *capture; /* lock: it was recorded while a stream was captured into this */
} fake_event;

typedef struct fake_work {
    struct fake_work *next;
    fake_function function;
    bool waits; /* not a piece of work: waits until event has reached number */
    fake_event *event;
    uint64_t number;
    void *to;
    const void *from; /* host addresses; own: a copy of the caller's bytes */
    size_t bytes;
    bool own, pageable, wrong_bits;
    fake_kernel_kind kernel;
    fake_memory *uses[5];
    stk__kernel_work text;    /* the parameter of stk_grey or stk_augment, with device pointers */
    stk__kernel_mix_work mix; /* of stk_mix */
    stk__kernel_dropout_work dropout;
    stk__kernel_gather_work gather;
    stk__kernel_round_work round;
    uint32_t groups[3];
} fake_work;

typedef struct fake_stream {
    fake_handle handle;
    int number;                 /* in the trace */
    bool started;               /* lock: it has a thread */
    bool legacy;                /* the default one */
    bool blocking;              /* the default one and it wait for each other */
    struct fake_graph *capture; /* lock: what is queued goes in there; NULL: it is not captured */
    fake_work *first, **last;   /* lock: the first is under way */
    struct fake_stream *other;  /* lock: in the list of all */
    double model_ns;            /* lock: how far it is by the GPU's own clock */
} fake_stream;

/* fake_cuda_clock.c. What the work takes on the modelled GPU; 0: it is not modelled. */
double fake_model_ns(const fake_work *work, int gpu);
bool fake_is_idle(const fake_work *work);             /* it takes its time and writes nothing */
bool fake_is_wrong(const fake_work *work, long done); /* it gets a bit wrong; done: kernels before it */

/* stream NULL: the default stream of the GPU. NULL: no such stream. */
fake_stream *fake_stream_of(void *handle, int gpu);
/* Takes the work over; the memory it uses is marked. Lock not held. */
int fake_queue(fake_stream *stream, fake_work *work);
void fake_drain(fake_stream *stream); /* waits until it has nothing to do. Lock not held */
void fake_run_work(fake_stream *stream, fake_work *work);
int fake_run_kernel(const fake_work *work, int gpu); /* code */
size_t fake_output_bytes(const fake_work *work);     /* images of a kernel's samples */
void fake_poison_output(const fake_work *work, int gpu);
void fake_trace(const fake_stream *stream, const fake_work *work, uint64_t start_ns, uint64_t end_ns);
uint64_t fake_random(void);

/* fake_cuda_graph.c. What must not be called while streams are captured (by the mode of this thread and of
 * the captures): such a call gives the code and ends the capture. Lock held. */
int fake_capture_refuses(fake_function function);
/* Work on a stream, or an event: -1: not captured, go on; else the code, and the work is the graph's. Lock
 * not held. */
int fake_capture_work(fake_stream *stream, fake_work *work);
int fake_capture_record(fake_stream *stream, fake_event *event);
int fake_capture_wait(fake_stream *stream, fake_event *event);
int fake_capture_ask(const fake_event *event);             /* of an event in a graph nothing can be asked */
void fake_release_streams(const struct fake_graph *graph); /* none is captured into it any more. Lock held */

/* What NVRTC makes and cuModuleLoadData takes: this head, then the text. As PTX it runs on newer GPUs too, if
 * the driver is not older than the compiler. */
typedef struct fake_cubin {
    char magic[16];         /* fake_magic; PTX begins with a P */
    int32_t compiler;       /* 12080 */
    int32_t sm, wrong_bits; /* contraction was not turned off */
    uint64_t text_bytes, check_high, check_low;
} fake_cubin;
extern const char fake_magic[16];

/* Rubbish where a failed call would have written. */
#define FAKE_SPOIL(told) memset(told, 0xA5, sizeof *(told))

/* Prototypes of all calls, as the header has them. */
#define FAKE_PROTOTYPE(name, parameters) FAKE_EXPORT int name parameters;
STK_CUDA_CALLS(FAKE_PROTOTYPE)
STK_NVRTC_CALLS(FAKE_PROTOTYPE)
#undef FAKE_PROTOTYPE

#endif
