/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a kernel around some statements and runs it. */
#include "ptx/ptx_one.h"

#include <stdio.h>

enum { TEXT_BYTES = 8192 };

static const char head[] = ".version 7.8\n.target sm_75\n.address_size 64\n";

static const char begin[] = "\t.reg .b64 %la, %lb, %lc, %ld, %lo, %lin, %lat, %lx<8>;\n"
                            "\t.reg .b32 %ra, %rb, %rc, %rd, %ro, %rt, %rx<8>;\n"
                            "\t.reg .b16 %ha, %hb, %hc, %hd, %ho;\n"
                            "\t.reg .pred %pa, %pb, %pc, %pd, %po, %px<8>;\n"
                            "\tld.param.u64 %lin, [one_param_0];\n"
                            "\tmov.u32 %rt, %tid.x;\n"
                            "\tmul.wide.u32 %lat, %rt, 8;\n"
                            "\tadd.s64 %lat, %lat, %lin;\n"
                            "\tld.global.u64 %la, [%lat];\n"
                            "\tld.global.u64 %lb, [%lat+512];\n"
                            "\tld.global.u64 %lc, [%lat+1024];\n"
                            "\tld.global.u64 %ld, [%lat+1536];\n"
                            "\tcvt.u32.u64 %ra, %la;\n\tcvt.u32.u64 %rb, %lb;\n"
                            "\tcvt.u32.u64 %rc, %lc;\n\tcvt.u32.u64 %rd, %ld;\n"
                            "\tcvt.u16.u64 %ha, %la;\n\tcvt.u16.u64 %hb, %lb;\n"
                            "\tcvt.u16.u64 %hc, %lc;\n\tcvt.u16.u64 %hd, %ld;\n"
                            "\tand.b64 %lx0, %la, 1;\n\tsetp.ne.s64 %pa, %lx0, 0;\n"
                            "\tand.b64 %lx0, %lb, 1;\n\tsetp.ne.s64 %pb, %lx0, 0;\n"
                            "\tand.b64 %lx0, %lc, 1;\n\tsetp.ne.s64 %pc, %lx0, 0;\n"
                            "\tand.b64 %lx0, %ld, 1;\n\tsetp.ne.s64 %pd, %lx0, 0;\n";

static const char *find_end(char result)
{
    if (result == 'r') return "\tcvt.u64.u32 %lo, %ro;\n";
    if (result == 'h') return "\tcvt.u64.u16 %lo, %ho;\n";
    return result == 'p' ? "\tselp.b64 %lo, 1, 0, %po;\n" : "";
}

stk_status ptx_one_run(ptx_one *one, const ptx_one_text *text, stk_error *error)
{
    static char whole[TEXT_BYTES];
    ptx_module module = {0};
    ptx_machine machine = {.most_instructions = 10000, .backwards = text->backwards};
    const uint64_t in = ptx_memory_map(&machine.memory, one->in, sizeof one->in, false);
    const struct {
        uint64_t in, out;
    } parameters = {in, ptx_memory_map(&machine.memory, one->out, sizeof one->out, true)};
    snprintf(whole, sizeof whole,
             "%s%s\n.visible .entry one(\n\t.param .u64 one_param_0,\n\t.param .u64 one_param_1\n)\n"
             ".maxntid %u, 1, 1\n{\n%s\n%s\n%s\n%s"
             "\tld.param.u64 %%lx0, [one_param_1];\n\tmul.wide.u32 %%lat, %%rt, 8;\n"
             "\tadd.s64 %%lat, %%lat, %%lx0;\n\tst.global.u64 [%%lat], %%lo;\n\tret;\n}\n",
             head, text->before ? text->before : "", text->threads ? text->threads : PTX_LANES,
             text->declared ? text->declared : "", begin, text->statements, find_end(text->result));
    stk_status status = ptx_module_load(&module, whole, "one.ptx", error);
    if (status == STK_OK)
        status =
            ptx_machine_launch(&machine, &module.kernels[0], (const uint32_t[]){1, 1, 1}, &parameters, error);
    ptx_module_fini(&module);
    ptx_machine_fini(&machine);
    return status;
}
