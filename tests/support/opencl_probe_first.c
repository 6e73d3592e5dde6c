/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are linked with this try the OpenCL driver in another process first, as `stoker` does: where
 * it aborts, tests are skipped with that reason and do not die. Runs before main, so that no test can forget
 * it. */
#include "device/opencl/opencl_probe.h"

__attribute__((constructor)) static void start_probe(int argc, char **argv)
{
    stk__opencl_probe_start(argc, argv);
}
