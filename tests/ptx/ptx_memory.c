/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: ranges of the device's, shared, local and parameters; ld, st, atom and red.
 *
 * Every access must lie inside one range that may be read or written, at an address divisible by its size. */
#include "ptx/ptx_lanes.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t ptx_memory_map(ptx_memory *memory, void *host, size_t size_bytes, bool writable)
{
    if (memory->count == PTX_MOST_RANGES) return 0;
    const uint64_t address = (UINT64_C(0x7f41) + (uint64_t)memory->count) * (UINT64_C(1) << 32) - 64;
    memory->ranges[memory->count++] = (ptx_range){address, host, size_bytes, writable};
    return address;
}

typedef struct access {
    ptx_space space;
    uint64_t address;
    size_t size_bytes;
    bool write;
} access;

/* The place in a space that starts at PTX_FIRST_ADDRESS or 0; NULL: not inside. */
static uint8_t *find_in(uint8_t *memory, size_t size_bytes, uint64_t first, const access *a)
{
    if (a->address < first || a->address - first > size_bytes) return NULL;
    return size_bytes - (a->address - first) < a->size_bytes ? NULL : memory + (a->address - first);
}

static uint8_t *find_in_ranges(const ptx_memory *memory, const access *a)
{
    for (int i = 0; i < memory->count; i++) {
        const ptx_range *const range = &memory->ranges[i];
        uint8_t *const at = find_in(range->host, range->size_bytes, range->address, a);
        if (at) return a->write && !range->writable ? NULL : at;
    }
    return NULL;
}

static access resolve_window(access a)
{
    if (a.space != PTX_GENERIC) return a;
    a.space = a.address >= PTX_LOCAL_WINDOW    ? PTX_LOCAL
              : a.address >= PTX_SHARED_WINDOW ? PTX_SHARED
                                               : PTX_GLOBAL;
    if (a.space == PTX_LOCAL) a.address -= PTX_LOCAL_WINDOW;
    if (a.space == PTX_SHARED) a.address -= PTX_SHARED_WINDOW;
    return a;
}

static uint8_t *find_place(const ptx_warp *warp, access a, uint32_t lane)
{
    if (a.address % a.size_bytes) return NULL;
    if (a.space == PTX_SHARED) return find_in(warp->shared, warp->shared_bytes, PTX_FIRST_ADDRESS, &a);
    if (a.space == PTX_LOCAL)
        return find_in(warp->local + lane * warp->local_bytes, warp->local_bytes, PTX_FIRST_ADDRESS, &a);
    if (a.space == PTX_PARAM)
        return a.write ? NULL : find_in((uint8_t *)(uintptr_t)warp->parameters, warp->parameter_bytes, 0, &a);
    return find_in_ranges(warp->memory, &a);
}

/* Notes the access to a byte of shared memory; false: another thread did something else since the barrier. */
static bool note_byte(ptx_owner *owner, uint64_t epoch, uint32_t thread, bool write)
{
    const bool read = owner->read == epoch;
    if (owner->written == epoch && owner->writer != thread) return false;
    if (write && read && owner->reader != thread) return false;
    if (write) {
        owner->written = epoch;
        owner->writer = thread;
    } else {
        owner->reader = read && owner->reader != thread ? PTX_NONE : thread;
        owner->read = epoch;
    }
    return true;
}

static bool note_shared(ptx_warp *warp, const access *a, uint32_t lane)
{
    for (size_t i = 0; i < a->size_bytes; i++)
        if (!note_byte(&warp->owners[a->address - PTX_FIRST_ADDRESS + i], *warp->epoch,
                       warp->first_thread + lane, a->write))
            return false;
    return true;
}

/* NULL: the warp has a fault. slot: of the base. */
static uint8_t *reach(const ptx_instruction *at, ptx_warp *warp, uint32_t lane, uint32_t slot, bool write)
{
    const size_t bytes = (size_t)at->value_bytes * at->value_count;
    const access a =
        resolve_window((access){at->space, warp->reg[slot][lane] + (uint64_t)at->offset, bytes, write});
    uint8_t *const place = find_place(warp, a, lane);
    const bool races = place && a.space == PTX_SHARED && !note_shared(warp, &a, lane);
    if (place && !races) return place;
    if (!warp->fault[0])
        snprintf(warp->fault, sizeof warp->fault, "lane %u %s %zu bytes at 0x%" PRIx64 ", %s", lane,
                 write ? "writes" : "reads", bytes, a.address,
                 races               ? "which another thread uses without a barrier between them"
                 : a.address % bytes ? "which is not aligned"
                                     : "outside of what it may");
    return NULL;
}

/* Rubbish instead of bytes that nobody may look at. */
static uint64_t spoil(uint64_t v, uint64_t unused)
{
    for (uint32_t byte = 0; byte < 8; byte++)
        if (unused >> byte & 1) v = (v & ~(UINT64_C(255) << 8 * byte)) | UINT64_C(0xA5) << 8 * byte;
    return v;
}

static uint64_t load(const uint8_t *place, uint32_t value_bytes)
{
    uint64_t v = 0;
    memcpy(&v, place, value_bytes); /* hosts are little-endian, as GPUs */
    return v;
}

/* ld d, [a]: slots are the parts of d, then a. */
static void op_load(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    const uint32_t shift = 64 - 8 * at->value_bytes;
    PTX_EACH_LANE(mask)
    {
        const uint8_t *const place = reach(at, warp, lane, at->slot[at->value_count], false);
        if (!place) return;
        for (uint32_t i = 0; i < at->value_count; i++) {
            uint64_t v = load(place + i * at->value_bytes, at->value_bytes);
            if (at->unused) v = spoil(v, at->unused >> i * at->value_bytes);
            const uint64_t extended = at->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
            warp->reg[at->slot[i]][lane] = extended & at->keep;
        }
    }
}

/* st [a], v: slots are a, then the parts of v. */
static void op_store(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    PTX_EACH_LANE(mask)
    {
        uint8_t *const place = reach(at, warp, lane, at->slot[0], true);
        if (!place) return;
        for (uint32_t i = 0; i < at->value_count; i++)
            memcpy(place + i * at->value_bytes, &warp->reg[at->slot[1 + i]][lane], at->value_bytes);
    }
}

/* Slots from `base` on: the address, then what is added, or what is a limit from above. */
static void change_at(const ptx_instruction *at, ptx_warp *warp, uint32_t lane, uint32_t base, bool adds,
                      uint64_t *before)
{
    uint8_t *const place = reach(at, warp, lane, at->slot[base], true);
    if (!place) return;
    const uint64_t old = load(place, at->value_bytes),
                   by = load((const uint8_t *)&warp->reg[at->slot[base + 1]][lane], at->value_bytes);
    const uint64_t now = adds ? old + by : by < old ? by : old;
    *before = old;
    memcpy(place, &now, at->value_bytes);
}

/* atom d, [a], b: lane after lane. */
static void op_atom(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    PTX_EACH_LANE(mask)
    change_at(at, warp, lane, 1, true, &warp->reg[at->slot[0]][lane]);
}

static void op_atom_min(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    PTX_EACH_LANE(mask)
    change_at(at, warp, lane, 1, false, &warp->reg[at->slot[0]][lane]);
}

static void op_red(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    uint64_t before;
    PTX_EACH_LANE(mask)
    change_at(at, warp, lane, 0, true, &before);
}

static void op_red_min(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    uint64_t before;
    PTX_EACH_LANE(mask)
    change_at(at, warp, lane, 0, false, &before);
}

typedef enum word_kind { WORD_SPACE, WORD_TYPE, WORD_COUNT, WORD_ADD, WORD_MIN, WORD_HINT } word_kind;

/* Hints and the order of memory say nothing about values here, where one thread after the other runs. */
static const struct word {
    const char *text;
    word_kind kind;
    ptx_space space;
    uint32_t number; /* bytes of a type, values of a vector */
    bool is_signed;
} words[] = {{"global", WORD_SPACE, PTX_GLOBAL, 0, false},
             {"const", WORD_SPACE, PTX_GLOBAL, 0, false},
             {"shared", WORD_SPACE, PTX_SHARED, 0, false},
             {"local", WORD_SPACE, PTX_LOCAL, 0, false},
             {"param", WORD_SPACE, PTX_PARAM, 0, false},
             {"v2", WORD_COUNT, 0, 2, false},
             {"v4", WORD_COUNT, 0, 4, false},
             {"u8", WORD_TYPE, 0, 1, false},
             {"b8", WORD_TYPE, 0, 1, false},
             {"s8", WORD_TYPE, 0, 1, true},
             {"u16", WORD_TYPE, 0, 2, false},
             {"b16", WORD_TYPE, 0, 2, false},
             {"s16", WORD_TYPE, 0, 2, true},
             {"u32", WORD_TYPE, 0, 4, false},
             {"b32", WORD_TYPE, 0, 4, false},
             {"f32", WORD_TYPE, 0, 4, false},
             {"s32", WORD_TYPE, 0, 4, true},
             {"u64", WORD_TYPE, 0, 8, false},
             {"b64", WORD_TYPE, 0, 8, false},
             {"s64", WORD_TYPE, 0, 8, true},
             {"add", WORD_ADD, 0, 0, false},
             {"min", WORD_MIN, 0, 0, false},
             {"nc", WORD_HINT, 0, 0, false},
             {"ca", WORD_HINT, 0, 0, false},
             {"cg", WORD_HINT, 0, 0, false},
             {"cs", WORD_HINT, 0, 0, false},
             {"relaxed", WORD_HINT, 0, 0, false},
             {"gpu", WORD_HINT, 0, 0, false},
             {"L1::no_allocate", WORD_HINT, 0, 0, false},
             {"shared::cta", WORD_SPACE, PTX_SHARED, 0, false}};

static const struct word *find_word(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == length && memcmp(words[i].text, text, length) == 0) return &words[i];
    return NULL;
}

/* What the modifiers behind the first word say. */
static bool read_words(const char *modifiers, ptx_instruction *at, word_kind *does)
{
    at->value_count = 1;
    for (const char *m = modifiers; *m == '.';) {
        const size_t length = strcspn(++m, ".");
        const struct word *const word = find_word(m, length);
        if (!word) return false;
        if (word->kind == WORD_SPACE) at->space = word->space;
        if (word->kind == WORD_COUNT) at->value_count = word->number;
        if (word->kind == WORD_TYPE) at->value_bytes = word->number, at->is_signed = word->is_signed;
        if (word->kind == WORD_ADD || word->kind == WORD_MIN) *does = word->kind;
        m += length;
    }
    return at->value_bytes != 0;
}

bool ptx_memory_decode(const char *name, ptx_instruction *at, const char **operands)
{
    static const struct {
        const char *word, *operands[3]; /* of 1, 2 and 4 values */
        ptx_run run;
        word_kind does; /* WORD_HINT: nothing to what is there */
    } kinds[] = {{"ld", {"xa", "(xx)a", "(xxxx)a"}, op_load, WORD_HINT},
                 {"st", {"ax", "a(xx)", "a(xxxx)"}, op_store, WORD_HINT},
                 {"atom", {"xax", NULL, NULL}, op_atom, WORD_ADD},
                 {"atom", {"xax", NULL, NULL}, op_atom_min, WORD_MIN},
                 {"red", {"ax", NULL, NULL}, op_red, WORD_ADD},
                 {"red", {"ax", NULL, NULL}, op_red_min, WORD_MIN}};
    const size_t length = strcspn(name, ".");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strlen(kinds[k].word) != length || memcmp(kinds[k].word, name, length) != 0) continue;
        word_kind does = WORD_HINT;
        if (!read_words(name + length, at, &does)) return false;
        if (does != kinds[k].does) continue;
        if (does != WORD_HINT && (at->value_bytes < 4 || strstr(name, "f32")))
            return false;                                          /* sums of floats have no order */
        if (does == WORD_MIN && !strstr(name, ".u")) return false; /* of unsigned numbers only */
        at->run = kinds[k].run;
        at->class = at->space == PTX_GLOBAL || at->space == PTX_GENERIC ? PTX_CLASS_GLOBAL
                    : at->space == PTX_SHARED                           ? PTX_CLASS_SHARED
                                                                        : PTX_CLASS_OTHER;
        *operands = kinds[k].operands[at->value_count / 2];
        return *operands != NULL;
    }
    return false;
}
