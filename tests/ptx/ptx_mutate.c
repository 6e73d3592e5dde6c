/* SPDX-License-Identifier: Apache-2.0 */
/* Relatives of instructions. Those that would mean the same for the numbers of the kernels (signed and
 * unsigned products of small indices, < and <= where both sides are clamped) are left out. */
#include "ptx/ptx_mutate.h"

#include "core/random.h"
#include "ptx/ptx_lanes.h"

/* This file is compiled with -ffp-contract=off. */
PTX_OP3(unfused, f32, f32, f32, f32, a *b + c)
PTX_OP3(select_other, u64, u64, u64, pred, c ? b : a)

static const struct relative {
    const char *name, *other;
    ptx_run run; /* NULL: the other one's */
} relatives[] = {
    {"add.s32", "sub.s32", NULL},
    {"sub.s32", "add.s32", NULL},
    {"add.s64", "sub.s64", NULL},
    {"mul.lo.s32", "add.s32", NULL},
    {"mad.lo.s32", "mad.hi.s32", NULL},
    {"mul.hi.u32", "mul.lo.u32", NULL},
    {"max.s32", "min.s32", NULL},
    {"add.rn.f32", "sub.rn.f32", NULL},
    {"sub.rn.f32", "add.rn.f32", NULL},
    {"mul.rn.f32", "add.rn.f32", NULL},
    {"div.rn.f32", "mul.rn.f32", NULL},
    {"min.f32", "max.f32", NULL},
    {"max.f32", "min.f32", NULL},
    {"fma.rn.f32", "mul.rn.f32 with add.rn.f32", op_unfused},
    {"cvt.rmi.f32.f32", "cvt.rpi.f32.f32", NULL},
    {"and.b32", "or.b32", NULL},
    {"or.b32", "and.b32", NULL},
    {"xor.b32", "or.b32", NULL},
    {"shl.b32", "shr.u32", NULL},
    {"shr.u32", "shl.b32", NULL},
    {"shr.s32", "shl.b32", NULL},
    {"and.pred", "or.pred", NULL},
    {"or.pred", "and.pred", NULL},
    {"setp.eq.s32", "setp.ne.s32", NULL},
    {"setp.lt.s32", "setp.ge.s32", NULL},
    {"setp.gt.s32", "setp.le.s32", NULL},
    {"setp.lt.u32", "setp.ge.u32", NULL},
    {"setp.lt.f32", "setp.ge.f32", NULL},
    {"setp.gt.f32", "setp.le.f32", NULL},
    {"setp.eq.f32", "setp.neu.f32", NULL},
    {"selp.f32", "selp.f32 the other way", op_select_other},
    {"selp.b32", "selp.b32 the other way", op_select_other},
};

static const struct relative *find_relative(const char *name)
{
    for (size_t i = 0; i < sizeof relatives / sizeof relatives[0]; i++)
        if (strcmp(relatives[i].name, name) == 0) return &relatives[i];
    return NULL;
}

ptx_mutation ptx_mutation_draw(ptx_kernel *const kernels[], size_t count, uint32_t draw)
{
    uint32_t all = 0, i = 0;
    for (size_t k = 0; k < count; k++)
        all += kernels[k]->code_count;
    uint32_t pc = stk__random_draw((stk__random_at){.seed = 20, .draw = draw}).word[0] % all;
    for (; pc >= kernels[i]->code_count; i++)
        pc -= kernels[i]->code_count;
    ptx_instruction *const at = &kernels[i]->code[pc];
    const struct relative *const relative = find_relative(at->name);
    if (!relative || at->threads == 0) return (ptx_mutation){0};
    return (ptx_mutation){.kernel = kernels[i],
                          .at = at,
                          .run = relative->run ? relative->run : ptx_op_find(relative->other)->run,
                          .instead = relative->other};
}

void ptx_mutation_swap(ptx_mutation *mutation)
{
    const ptx_run run = mutation->at->run;
    mutation->at->run = mutation->run;
    mutation->run = run;
}
