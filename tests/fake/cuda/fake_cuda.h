/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 (and, by a second name of the same file, libnvrtc.so.12) that has no GPU and is nastier than
 * one: what works here by luck alone does not work. It plays a script: the file that STOKER_FAKE_CUDA names,
 * or what a test hands over; without one there is a single GPU.
 *
 *   gpus N                           how many there are; 1 if not given
 *   gpu K sm N|memory BYTES|units N|name TEXT    of GPU K; 80, 8 GiB, 108, "NVIDIA Fake K" if not given
 *   gpu K clock KHZ|bus BITS         of its memory; 0 if not given
 *   gpu K mig N                      it is the N-th MIG instance of GPU K, with that one's id
 *   gpu K speed MHZ GB_PER_S LINK    its clock, memory and link in GB/s. Events of GPU K then tell the time
 * of a model (fake_cuda_clock.c) instead of the host's gpu K kernels SHARE|copies SHARE of what the model
 * allows; 1 if not given idle BYTES                       work that writes more than that takes its time and
 * does nothing else wrong 1                          what is compiled gets one bit wrong wrong
 * nhwc|planar|half|mix       only kernels of this layout, of 16 bits, that mix wrong N only from the N-th
 * kernel on, N > 1 driver VERSION                   as cuDriverGetVersion tells it; 12080 if not given nvrtc
 * MAJOR MINOR SM,SM,…        of the compiler; 12 8 75,80,86,89,90,100,120 if not given pinned BYTES limit of
 * pinned memory; none if not given seed N                           of the delays late US work is delayed by
 * up to so many microseconds; 100 if not given copy GB_PER_S                    how fast copies are; at once
 * if not given kernel NAME MS                   how long a kernel takes at least trace FILE JSON lines: gpu,
 * stream, what, bytes, start_ns, end_ns (stk__clock_ns)
 *
 *   fault CALL [gpu K] [at N|from N|below N] fail CODE|lose CODE|hang S
 *   calm                             no faults but those of later lines
 *
 * A copy of the library also plays the lines of FILE.script beside it, FILE being its own: several NVRTCs of
 * different versions in one process are copies.
 *
 * CALL is a call of the driver or of NVRTC, '*' for all, or work as it runs: copy_in, copy_out, kernel,
 * record. Uses are counted from 0, per CALL; with `gpu K` those on GPU K only. `fail` gives the code, `lose`
 * also loses the context: every later call on that GPU gives the same code. Work that fails always loses its
 * context, as on a real GPU. `hang` comes back after S seconds or when released; work behind it waits too.
 *
 * What is nasty: device memory lies where a device pointer does not point, between guard pages, full of
 * poison. A copy or kernel fills what it will write with poison, waits a random time and only then reads its
 * source. Streams are threads; only events order them, so a thread sanitizer sees what lacks one. Results of
 * failed calls are rubbish. Calls need a current context, and a current context that is theirs. A program
 * that was compiled without --fmad=false gets one bit wrong. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "device/cuda/cuda_api.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

enum { FAKE_GPUS = 8, FAKE_FAULTS = 64, FAKE_ANY = -1, FAKE_SMS = 32 };

/* For tests, found by dlsym. */

/* Plays another script, as a process that has just begun: all handles are void, all counters 0. Work that is
 * under way is waited for, and released if it hangs. NULL: good; else why not. */
FAKE_EXPORT const char *fake_cuda_play(const char *text);
FAKE_EXPORT const char *fake_cuda_add(const char *text); /* more lines, while nothing is under way */
FAKE_EXPORT void fake_cuda_release(void); /* lets all that hangs come back, and nothing hang any more */
FAKE_EXPORT long fake_cuda_calls(const char *call, int gpu); /* gpu FAKE_ANY: on all; -1: no such call */

/* What is there now: device_bytes, pinned_bytes, memories, pinned, streams, events, modules, contexts,
 * programs, current (contexts on the stack of this thread), work (not finished).
 * What has been: pageable_copies, misuses, copies_in, copies_out, kernels, peak_device_bytes, captures,
 * capture_errors, graph_launches. -1: no such word. */
FAKE_EXPORT int64_t fake_cuda_count(const char *what);
FAKE_EXPORT const char *fake_cuda_misuse(void);     /* the first one in words; "" */
FAKE_EXPORT void *fake_cuda_host(uint64_t address); /* where the bytes of device memory are; NULL: nowhere */
FAKE_EXPORT int fake_cuda_owner(uint64_t address);  /* whose they are, as programs count; -1: nobody's */
FAKE_EXPORT int fake_cuda_pinned(const void *host, size_t bytes); /* 1: all of it is pinned */

/* For a library that does by itself what a GPU would do on a stream: where the stream is captured, `run` will
 * be called with a copy of these bytes each time the graph is launched, after all that was queued before.
 * -1: it is not captured; else the code. device: as programs count. */
FAKE_EXPORT int fake_cuda_capture(void *stream, int device, void (*run)(const void *task), const void *task,
                                  size_t bytes);
FAKE_EXPORT int
fake_cuda_unsafe(void); /* it would wait: the code, if something is captured that forbids it */

/* Graphs, as the driver has them; not among the calls that can be told to fail. */
FAKE_EXPORT int cuStreamBeginCapture_v2(stk__cu_handle stream, int mode);
FAKE_EXPORT int cuStreamEndCapture(stk__cu_handle stream, stk__cu_handle *graph);
FAKE_EXPORT int cuStreamIsCapturing(stk__cu_handle stream, int *status);
FAKE_EXPORT int cuThreadExchangeStreamCaptureMode(int *mode);
FAKE_EXPORT int cuGraphGetNodes(stk__cu_handle graph, stk__cu_handle *nodes, size_t *count);
FAKE_EXPORT int cuGraphInstantiateWithFlags(stk__cu_handle *exec, stk__cu_handle graph,
                                            unsigned long long flags);
FAKE_EXPORT int cuGraphLaunch(stk__cu_handle exec, stk__cu_handle stream);
FAKE_EXPORT int cuGraphExecDestroy(stk__cu_handle exec);
FAKE_EXPORT int cuGraphDestroy(stk__cu_handle graph);

/* For a library that computes on the host what a GPU would do on a stream: waits until the stream has nothing
 * to do. device: as programs count. Returns the code that lost the context; 0. */
FAKE_EXPORT int fake_cuda_settle(void *stream, int device);

/* Codes of the driver that the fake gives by itself or has a name for. */
#define FAKE_CODES(X)                                                                                        \
    X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                                       \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                          \
    X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                                 \
    X(CUDA_ERROR_DEINITIALIZED, 4, "driver shutting down")                                                   \
    X(CUDA_ERROR_STUB_LIBRARY, 34, "CUDA driver is a stub library")                                          \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "CUDA-capable device(s) is/are busy or unavailable")                \
    X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                                       \
    X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                              \
    X(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")                                       \
    X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                                             \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for execution on the device")         \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "uncorrectable ECC error encountered")                              \
    X(CUDA_ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed")                                           \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "PTX JIT compiler library not found")                          \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222,                                                               \
      "the provided PTX was compiled with an unsupported toolchain")                                         \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, "shared object initialization failed")                      \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "shared object symbol not found")                      \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304, "OS call failed or operation not supported on this OS")              \
    X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                                             \
    X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                                   \
    X(CUDA_ERROR_NOT_READY, 600, "device not ready")                                                         \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")                           \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")                    \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated")                             \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712,                                                        \
      "part or all of the requested memory range is already mapped")                                         \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713,                                                            \
      "pointer does not correspond to a registered memory region")                                           \
    X(CUDA_ERROR_ASSERT, 710, "device-side assert triggered")                                                \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "hardware stack error")                                          \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed")                                          \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address")                                              \
    X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")                                           \
    X(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted")                                              \
    X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")                                              \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "system not yet initialized")                                        \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803,                                                                \
      "system has unsupported display driver / cuda driver combination")                                     \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804,                                                        \
      "forward compatibility was attempted on non supported HW")                                             \
    X(CUDA_ERROR_ILLEGAL_STATE, 401, "the operation cannot be performed in the present state")               \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing")        \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "capture was not initiated in this stream")                  \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "dependency created on uncaptured work in another stream")   \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906,                                                               \
      "operation would make the legacy stream depend on a capturing blocking stream")                        \
    X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

#define FAKE_NVRTC_CODES(X)                                                                                  \
    X(NVRTC_ERROR_OUT_OF_MEMORY, 1)                                                                          \
    X(NVRTC_ERROR_PROGRAM_CREATION_FAILURE, 2)                                                               \
    X(NVRTC_ERROR_INVALID_INPUT, 3)                                                                          \
    X(NVRTC_ERROR_INVALID_PROGRAM, 4)                                                                        \
    X(NVRTC_ERROR_INVALID_OPTION, 5)                                                                         \
    X(NVRTC_ERROR_COMPILATION, 6)                                                                            \
    X(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                              \
    X(NVRTC_ERROR_INTERNAL_ERROR, 11)

#endif
