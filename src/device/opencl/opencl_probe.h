/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the OpenCL driver in another process before this one loads it. For programs: it starts a process, so
 * it is a library of its own (`opencl_probe` in meson.build) and no part of libstoker. */
#ifndef STK_DEVICE_OPENCL_PROBE_H
#define STK_DEVICE_OPENCL_PROBE_H

/* The first thing in main. In the process that another one started to try the driver it does that and never
 * returns; elsewhere it installs the probe. */
void stk__opencl_probe_start(int argc, char **argv);

#endif
