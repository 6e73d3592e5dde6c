/* Tries the OpenCL driver in another process before this one loads it. The tests use it, too (tests/support).
 */
#ifndef STK_CLI_OPENCL_PROBE_H
#define STK_CLI_OPENCL_PROBE_H

/* The first thing in main. In the process that another one started to try the driver it does that and never
 * returns; elsewhere it installs the probe. */
void stk__opencl_probe_start(int argc, char **argv);

#endif
