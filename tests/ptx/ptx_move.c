/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, choices, generic addresses, and what changes the flow (which ptx_run.c does). */
#include "ptx/ptx_lanes.h"

PTX_OP1(copy, u64, u64, a)
PTX_OP1(copy_pred, pred, u64, a & 1)
PTX_OP3(select, u64, u64, u64, pred, c ? a : b)
PTX_OP1(to_shared, u64, u64, a - PTX_SHARED_WINDOW)
PTX_OP1(from_shared, u64, u64, a + PTX_SHARED_WINDOW)
PTX_OP1(to_local, u64, u64, a - PTX_LOCAL_WINDOW)
PTX_OP1(from_local, u64, u64, a + PTX_LOCAL_WINDOW)
PTX_OP2(pack_b32, u32, u16, u16, (uint32_t)b << 16 | a)
PTX_OP2(pack_b64, u64, u32, u32, (uint64_t)b << 32 | a)

static void op_unpack_b32(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    PTX_EACH_LANE(mask)
    {
        const uint64_t whole = warp->reg[at->slot[2]][lane];
        warp->reg[at->slot[0]][lane] = whole & 0xffff;
        warp->reg[at->slot[1]][lane] = whole >> 16;
    }
}

static void op_unpack_b64(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    PTX_EACH_LANE(mask)
    {
        const uint64_t whole = warp->reg[at->slot[2]][lane];
        warp->reg[at->slot[0]][lane] = whole & UINT32_MAX;
        warp->reg[at->slot[1]][lane] = whole >> 32;
    }
}

#define ROW(name, operands, function)                                                                        \
    {                                                                                                        \
        name, operands, op_##function, PTX_CLASS_MOVE, PTX_STRAIGHT                                          \
    }
#define ROWS(T, size) ROW("mov." #T, size size, copy), ROW("selp." #T, size size size "p", select)
#define FLOW(name, operands, flow)                                                                           \
    {                                                                                                        \
        name, operands, NULL, PTX_CLASS_FLOW, flow                                                           \
    }

const ptx_op ptx_move_ops[] = {
    ROWS(b16, "2"),
    ROWS(u16, "2"),
    ROWS(s16, "2"),
    ROWS(b32, "4"),
    ROWS(u32, "4"),
    ROWS(s32, "4"),
    ROWS(f32, "4"),
    ROWS(b64, "8"),
    ROWS(u64, "8"),
    ROWS(s64, "8"),
    ROW("mov.pred", "pp", copy_pred),
    ROW("mov.b32", "4(22)", pack_b32),
    ROW("mov.b64", "8(44)", pack_b64),
    ROW("mov.b32", "(22)4", unpack_b32),
    ROW("mov.b64", "(44)8", unpack_b64),
    ROW("cvta.global.u64", "88", copy),
    ROW("cvta.to.global.u64", "88", copy),
    ROW("cvta.const.u64", "88", copy),
    ROW("cvta.to.const.u64", "88", copy),
    ROW("cvta.shared.u64", "88", from_shared),
    ROW("cvta.to.shared.u64", "88", to_shared),
    ROW("cvta.local.u64", "88", from_local),
    ROW("cvta.to.local.u64", "88", to_local),
    FLOW("bra", "L", PTX_BRANCH),
    FLOW("bra.uni", "L", PTX_BRANCH),
    FLOW("brx.idx", "4L", PTX_BRANCH_TABLE),
    FLOW("brx.idx.uni", "4L", PTX_BRANCH_TABLE),
    FLOW("ret", "", PTX_END),
    FLOW("exit", "", PTX_END),
    FLOW("bar.sync", "i", PTX_BARRIER),
    FLOW("barrier.sync", "i", PTX_BARRIER),
    FLOW("barrier.sync.aligned", "i", PTX_BARRIER),
    {0},
};
