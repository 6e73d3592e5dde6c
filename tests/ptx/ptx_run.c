/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a kernel: block after block, in a block warp after warp up to the next barrier.
 *
 * Lanes of a warp that stand at different instructions are paths; the one that is furthest behind in the text
 * runs, and paths that meet become one. Code that has no warp instructions means the same in any order. */
#include "ptx/ptx_symbols.h"

#include <stdio.h>
#include <string.h>

enum { RUBBISH = 0xA5, MOST_INSTRUCTIONS = 4000000 };

#define CLASS_NAME(id, name) name,
const char *const ptx_class_names[PTX_CLASSES] = {PTX_CLASS_LIST(CLASS_NAME)};

typedef struct run {
    ptx_machine *machine;
    ptx_kernel *kernel;
    const uint32_t *blocks;
    const void *parameters;
    uint32_t threads, warp_count;
    ptx_memory memory;
    ptx_warp warps[1024 / PTX_LANES];
    uint64_t most_instructions;
} run;

/* Paths are kept by pc, the lowest last; lanes that come to a path join it. */
static void add_path(ptx_warp *warp, uint32_t pc, uint32_t mask)
{
    int i = warp->path_count;
    if (!mask) return;
    while (i > 0 && warp->paths[i - 1].pc < pc)
        i--;
    if (i > 0 && warp->paths[i - 1].pc == pc) {
        warp->paths[i - 1].mask |= mask;
        return;
    }
    memmove(&warp->paths[i + 1], &warp->paths[i], (size_t)(warp->path_count - i) * sizeof warp->paths[0]);
    warp->paths[i] = (ptx_path){pc, mask};
    warp->path_count++;
}

static uint32_t find_mask(const ptx_warp *warp, const ptx_instruction *at, uint32_t mask)
{
    uint32_t holds = 0;
    if (at->guard == PTX_NONE) return mask;
    const uint64_t *const guard = warp->reg[at->guard];
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        holds |= (uint32_t)(guard[lane] != 0) << lane;
    return mask & (at->guard_not ? ~holds : holds);
}

static void follow_table(const ptx_kernel *kernel, ptx_warp *warp, const ptx_instruction *at, uint32_t mask)
{
    const ptx_branch *const branches = (const ptx_branch *)(void *)kernel->tables.data;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        const uint64_t index = warp->reg[at->slot[0]][lane];
        if (index < at->target_count)
            add_path(warp, branches[at->target + index].pc, UINT32_C(1) << lane);
        else if (!warp->fault[0])
            snprintf(warp->fault, sizeof warp->fault, "branch %llu of %u", (unsigned long long)index,
                     at->target_count);
    }
}

static void wait_at_barrier(ptx_warp *warp, uint32_t pc, uint32_t mask)
{
    if (warp->waiting && warp->waiting_at != pc)
        snprintf(warp->fault, sizeof warp->fault, "lanes of a warp wait at two barriers");
    warp->waiting |= mask;
    warp->waiting_at = pc;
}

/* The path at the end of the list has come to something that may change its pc. */
static void change_flow(const ptx_kernel *kernel, ptx_warp *warp, const ptx_instruction *at, uint32_t mask)
{
    const ptx_path path = warp->paths[--warp->path_count];
    if (at->flow == PTX_BRANCH) add_path(warp, at->target, mask);
    if (at->flow == PTX_BRANCH_TABLE) follow_table(kernel, warp, at, mask);
    if (at->flow == PTX_END) warp->ended |= mask;
    if (at->flow == PTX_BARRIER) wait_at_barrier(warp, path.pc, mask);
    add_path(warp, path.pc + 1, path.mask & ~mask);
}

static void move_on(ptx_warp *warp)
{
    ptx_path *const path = &warp->paths[warp->path_count - 1];
    path->pc++;
    if (warp->path_count == 1 || path[-1].pc != path->pc) return;
    path[-1].mask |= path->mask;
    warp->path_count--;
}

static void step(const run *r, ptx_warp *warp, ptx_instruction **last)
{
    const ptx_path *const path = &warp->paths[warp->path_count - 1];
    if (path->pc >= r->kernel->code_count) {
        snprintf(warp->fault, sizeof warp->fault, "the code ends without ret");
        return;
    }
    ptx_instruction *const at = *last = &r->kernel->code[path->pc];
    const uint32_t mask = find_mask(warp, at, path->mask);
    at->warps++;
    at->threads += (uint32_t)__builtin_popcount(path->mask);
    if (at->flow == PTX_STRAIGHT) {
        if (mask) at->run(at, warp, mask);
        move_on(warp);
    } else {
        change_flow(r->kernel, warp, at, mask);
    }
    if (++warp->executed > r->most_instructions) snprintf(warp->fault, sizeof warp->fault, "it does not end");
}

/* Up to a barrier or the end. Nobody may have left before a barrier: what a GPU does then is not promised. */
static stk_status run_warp(const run *r, ptx_warp *warp, stk_error *error)
{
    ptx_instruction *at = r->kernel->code;
    while (warp->path_count && !warp->fault[0])
        step(r, warp, &at);
    if (!warp->fault[0] && warp->waiting && warp->waiting != warp->all)
        snprintf(warp->fault, sizeof warp->fault, "some lanes of a warp ended before a barrier");
    if (!warp->fault[0]) return STK_OK;
    const uint64_t *const block[3] = {warp->reg[PTX_SLOT_CTAID], warp->reg[PTX_SLOT_CTAID + 1],
                                      warp->reg[PTX_SLOT_CTAID + 2]};
    return stk__fail(error, STK_ERROR_DATA, "%s, block (%u, %u, %u), line %u, %s: %s", r->kernel->name,
                     (unsigned)block[0][0], (unsigned)block[1][0], (unsigned)block[2][0], at->line, at->name,
                     warp->fault);
}

static void fill_special(const run *r, ptx_warp *warp, uint32_t number, const uint32_t block[3])
{
    const uint32_t *const group = r->kernel->group;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        const uint32_t thread = number * PTX_LANES + lane;
        const uint32_t tid[3] = {thread % group[0], thread / group[0] % group[1],
                                 thread / (group[0] * group[1])};
        for (uint32_t i = 0; i < 3; i++) {
            warp->reg[PTX_SLOT_TID + i][lane] = tid[i];
            warp->reg[PTX_SLOT_NTID + i][lane] = group[i];
            warp->reg[PTX_SLOT_CTAID + i][lane] = block[i];
            warp->reg[PTX_SLOT_NCTAID + i][lane] = r->blocks[i];
        }
        warp->reg[PTX_SLOT_LANE][lane] = lane;
    }
}

/* Registers hold rubbish as wide as they are, so that what was never written shows. */
static void spoil_registers(const ptx_kernel *kernel, ptx_warp *warp)
{
    const ptx_registers *const rows = (const ptx_registers *)(void *)kernel->registers.data;
    for (size_t i = 0; i < kernel->registers.size_bytes / sizeof *rows; i++) {
        const uint64_t rubbish =
            UINT64_C(0xA5A5A5A5A5A5A5A5) >> (rows[i].size == 'p' ? 63 : 64 - 8 * (rows[i].size - '0'));
        const uint32_t count = rows[i].count ? rows[i].count : 1;
        uint64_t *const first = warp->reg[rows[i].first_slot];
        for (size_t v = 0; v < (size_t)count * PTX_LANES; v++)
            first[v] = rubbish;
    }
    const ptx_constant *const constants = (const ptx_constant *)(void *)kernel->constants.data;
    for (size_t i = 0; i < kernel->constants.size_bytes / sizeof *constants; i++)
        for (uint32_t lane = 0; lane < PTX_LANES; lane++)
            warp->reg[constants[i].slot][lane] = constants[i].value;
}

static void begin_block(run *r, const uint32_t block[3])
{
    const ptx_kernel *const kernel = r->kernel;
    ptx_machine *const machine = r->machine;
    memset(machine->shared.data, RUBBISH, kernel->shared_bytes);
    machine->epoch++;
    for (uint32_t i = 0; i < r->warp_count; i++) {
        ptx_warp *const warp = &r->warps[i];
        const uint32_t left = r->threads - i * PTX_LANES;
        const size_t local_at = (size_t)i * PTX_LANES * kernel->local_bytes;
        *warp = (ptx_warp){.all = left < PTX_LANES ? (UINT32_C(1) << left) - 1 : UINT32_MAX,
                           .parameters = r->parameters,
                           .parameter_bytes = kernel->parameter_bytes,
                           .shared = machine->shared.data,
                           .shared_bytes = kernel->shared_bytes,
                           .owners = (ptx_owner *)(void *)machine->owners.data,
                           .epoch = &machine->epoch,
                           .first_thread = i * PTX_LANES,
                           .local = machine->local.data + local_at,
                           .local_bytes = kernel->local_bytes,
                           .memory = &r->memory};
        warp->reg = (uint64_t(*)[PTX_LANES])(void *)machine->registers.data + (size_t)i * kernel->slot_count;
        memset(warp->local, RUBBISH, PTX_LANES * kernel->local_bytes);
        spoil_registers(kernel, warp);
        fill_special(r, warp, i, block);
        add_path(warp, 0, warp->all);
    }
}

/* All warps came to a barrier: on. Returns whether there is anything left to run. */
static bool pass_barrier(run *r, stk_status *status, stk_error *error)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < r->warp_count; i++)
        waiting += r->warps[i].waiting != 0;
    if (waiting == 0) return false;
    if (waiting != r->warp_count) {
        *status = stk__fail(error, STK_ERROR_DATA, "%s: some warps ended before a barrier", r->kernel->name);
        return false;
    }
    r->machine->epoch++;
    for (uint32_t i = 0; i < r->warp_count; i++) {
        ptx_warp *const warp = &r->warps[i];
        add_path(warp, warp->waiting_at + 1, warp->waiting);
        warp->waiting = 0;
    }
    return true;
}

static stk_status run_block(run *r, const uint32_t block[3], stk_error *error)
{
    stk_status status = STK_OK;
    begin_block(r, block);
    do {
        for (uint32_t i = 0; i < r->warp_count; i++)
            STK__TRY(run_warp(r, &r->warps[r->machine->backwards ? r->warp_count - 1 - i : i], error));
    } while (pass_barrier(r, &status, error));
    return status;
}

static stk_status reserve(run *r, stk_error *error)
{
    ptx_machine *const machine = r->machine;
    const ptx_kernel *const kernel = r->kernel;
    const size_t slots = (size_t)r->warp_count * kernel->slot_count;
    STK__TRY(stk__buffer_reserve(&machine->registers, slots * PTX_LANES * sizeof(uint64_t), error));
    STK__TRY(stk__buffer_reserve(&machine->shared, kernel->shared_bytes + 1, error));
    const size_t owned = machine->owners.capacity_bytes,
                 owners = (kernel->shared_bytes + 1) * sizeof(ptx_owner);
    STK__TRY(stk__buffer_reserve(&machine->owners, owners, error));
    if (owners > owned) memset(machine->owners.data, 0, machine->owners.capacity_bytes); /* nobody, ever */
    return stk__buffer_reserve(&machine->local, (size_t)r->warp_count * PTX_LANES * kernel->local_bytes + 1,
                               error);
}

stk_status ptx_machine_launch(ptx_machine *machine, ptx_kernel *kernel, const uint32_t blocks[3],
                              const void *parameters, stk_error *error)
{
    static run r; /* too large for a stack; tests have one thread */
    const uint32_t *const group = kernel->group;
    const uint64_t count = (uint64_t)blocks[0] * blocks[1] * blocks[2];
    const stk__buffer *const data = &kernel->module->data;
    r = (run){.machine = machine, .kernel = kernel, .blocks = blocks, .parameters = parameters};
    r.threads = group[0] * group[1] * group[2];
    r.warp_count = (r.threads + PTX_LANES - 1) / PTX_LANES;
    r.most_instructions = machine->most_instructions ? machine->most_instructions : MOST_INSTRUCTIONS;
    r.memory = machine->memory;
    if (r.memory.count < PTX_MOST_RANGES)
        r.memory.ranges[r.memory.count++] =
            (ptx_range){PTX_MODULE_ADDRESS, data->data, data->size_bytes, true};
    STK__TRY(reserve(&r, error));
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = machine->backwards ? count - 1 - i : i;
        const uint32_t block[3] = {(uint32_t)(at % blocks[0]), (uint32_t)(at / blocks[0] % blocks[1]),
                                   (uint32_t)(at / blocks[0] / blocks[1])};
        STK__TRY(run_block(&r, block, error));
    }
    return STK_OK;
}

void ptx_machine_fini(ptx_machine *machine)
{
    stk__buffer_fini(&machine->registers);
    stk__buffer_fini(&machine->shared);
    stk__buffer_fini(&machine->local);
    stk__buffer_fini(&machine->owners);
    *machine = (ptx_machine){0};
}

void ptx_kernel_count(const ptx_kernel *kernel, ptx_count counts[PTX_CLASSES])
{
    for (uint32_t pc = 0; pc < kernel->code_count; pc++) {
        counts[kernel->code[pc].class].threads += kernel->code[pc].threads;
        counts[kernel->code[pc].class].warps += kernel->code[pc].warps;
    }
}
