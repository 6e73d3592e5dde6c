/* SPDX-License-Identifier: Apache-2.0 */
/* Huffman decoding of baseline JPEG in place of libjpeg's. The bit stream (byte stuffing removed) is read
 * through a 64-bit window; one look of STK__JPEG_LOOK_BITS bits gives a coefficient and its run, or two
 * coefficients, or the end of the block. Anything unusual jumps back (turn_away), and libjpeg decodes the
 * image from its start. A scan that libjpeg decoded can be walked through to see how it ends. State belongs
 * to the worker's decoder. */
#include "decode/jpeg.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

enum {
    LOOK_BITS = STK__JPEG_LOOK_BITS,
    CODE_BITS = 16,
    DC_MOST = 1 << 30,
    PAIR_LAST = 47, /* place of a pair; further back its first coefficient may be the last of the block */
    MARKER_RESTART = 0xD0
};

/* What the next bits mean, in 64 bits: a coefficient and how far it is to its place, or two of them, if the
 * table's bits suffice. A single one stands there twice, the second time 0 places further. */
enum {
    WORD_LENGTH = 63,   /* of all bits that are meant */
    WORD_END = 1 << 6,  /* behind that the block ends */
    WORD_LONG = 1 << 7, /* more bits than the table has: see read_long */
    WORD_FIRST_LENGTH_AT = 8,
    WORD_FIRST_END = 1 << 14, /* there is nothing but the end */
    WORD_FIRST_STEP_AT = 16,  /* 8 bits */
    WORD_SECOND_STEP_AT = 24,
    WORD_FIRST_AT = 32, /* 16 bits */
    WORD_SECOND_AT = 48
};

/* A run may lead behind the end: there everything goes to the last place, as in libjpeg. */
static const uint8_t natural_order[64 + 16] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

_Noreturn static void turn_away(stk__jpeg_state *state)
{
    state->odd = true;
    longjmp(state->jump, 1);
}

/* --- tables ----------------------------------------------------------------------------------------------
 */

/* symbol: zeros before the value (upper four bits; none for DC) and its size in bits; raw: these bits,
 * negative values begin with a 0. 16 zeros are a value of 0 behind 15 of them. Other values of no bits end
 * the block; for a DC that says nothing. */
static uint64_t make_word(unsigned symbol, unsigned code_bits, uint32_t raw)
{
    const unsigned run = symbol >> 4, size = symbol & 15;
    const bool ends = size == 0 && run != 15, negative = size > 0 && raw >> (size - 1) == 0;
    const uint64_t value = (uint16_t)(negative ? raw - ((1u << size) - 1) : raw);
    const uint64_t step = ends ? 0 : run, length = code_bits + size;
    return value << WORD_SECOND_AT | value << WORD_FIRST_AT | step << WORD_FIRST_STEP_AT |
           length << WORD_FIRST_LENGTH_AT | length | (ends ? WORD_END | WORD_FIRST_END : 0);
}

static uint64_t join_words(uint64_t first, uint64_t second)
{
    const uint64_t length = (first & WORD_LENGTH) + (second & WORD_LENGTH);
    if (second & WORD_FIRST_END) return (first & ~(uint64_t)WORD_LENGTH) | length | WORD_END;
    const uint64_t step = 1 + (second >> WORD_FIRST_STEP_AT & 255);
    const uint64_t rest = ((UINT64_C(1) << WORD_SECOND_AT) - 1) & ~(uint64_t)WORD_LENGTH;
    return (first & rest) | (second & UINT64_MAX << WORD_SECOND_AT) | step << WORD_SECOND_STEP_AT | length;
}

/* All looks that begin with a code. */
static uint64_t *add_code(uint64_t *look, unsigned symbol, unsigned code_bits)
{
    const unsigned size = symbol & 15;
    if (code_bits + size > LOOK_BITS) {
        for (unsigned i = 0; i < 1u << (LOOK_BITS - code_bits); i++)
            *look++ = WORD_LONG | symbol << WORD_FIRST_STEP_AT | code_bits;
        return look;
    }
    for (uint32_t raw = 0; raw < 1u << size; raw++) {
        const uint64_t word = make_word(symbol, code_bits, raw);
        for (unsigned i = 0; i < 1u << (LOOK_BITS - code_bits - size); i++)
            *look++ = word;
    }
    return look;
}

static void join_pairs(uint64_t *look)
{
    uint64_t single[1 << LOOK_BITS];
    memcpy(single, look, sizeof single);
    for (unsigned i = 0; i < 1u << LOOK_BITS; i++) {
        if (single[i] & (WORD_LONG | WORD_END)) continue;
        const unsigned length = single[i] & WORD_LENGTH;
        const uint64_t second = single[i << length & ((1u << LOOK_BITS) - 1)];
        if (!(second & WORD_LONG) && length + (second & WORD_LENGTH) <= LOOK_BITS)
            look[i] = join_words(single[i], second);
    }
}

/* There are not more codes than their bits can tell apart. libjpeg looks at that where a scan begins, for the
 * tables that it needs. */
static bool is_code(const UINT8 *bits)
{
    uint32_t code = 0;
    for (unsigned length = 1; length <= CODE_BITS; length++, code <<= 1)
        if ((code += bits[length]) > 1u << length) return false;
    return true;
}

/* Codes of a length follow each other, and lengths follow each other: so do their looks. Images of a data set
 * often have the same table. */
static void make_table(stk__jpeg_table *table, const JHUFF_TBL *stored, bool pairs)
{
    if (memcmp(table->bits, stored->bits, sizeof table->bits) == 0 &&
        memcmp(table->symbols, stored->huffval, sizeof table->symbols) == 0)
        return;
    memcpy(table->bits, stored->bits, sizeof table->bits);
    memcpy(table->symbols, stored->huffval, sizeof table->symbols);
    uint64_t *look = table->look;
    uint32_t code = 0;
    int32_t place = 0;
    for (unsigned length = 1; length <= CODE_BITS; length++, code <<= 1) {
        table->first[length] = place - (int32_t)code;
        for (int i = 0; i < table->bits[length]; i++, code++, place++)
            if (length <= LOOK_BITS) look = add_code(look, table->symbols[place], length);
        table->end[length] = code << (CODE_BITS - length);
    }
    while (look < table->look + (1 << LOOK_BITS))
        *look++ = WORD_LONG;
    if (pairs) join_pairs(table->look);
}

/* word: symbol where the step would be and length of its code; length 0: the code alone is longer than a
 * look. Returns the single word that was meant, 0: there is no such code. */
static uint64_t read_long(const stk__jpeg_table *table, uint64_t word, uint64_t bits)
{
    unsigned length = word & WORD_LENGTH, symbol = word >> WORD_FIRST_STEP_AT & 255;
    if (length == 0) {
        const uint32_t next = (uint32_t)(bits >> (64 - CODE_BITS));
        for (length = LOOK_BITS + 1; next >= table->end[length]; length++)
            if (length == CODE_BITS) return 0;
        symbol = table->symbols[table->first[length] + (int32_t)(next >> (CODE_BITS - length))];
    }
    return make_word(symbol, length, (uint32_t)(bits << length >> 1 >> (63 - (symbol & 15))));
}

/* --- the scan --------------------------------------------------------------------------------------------
 */

/* Up to `room` bytes of the scan, up to the next 0xFF; returns where that is, or NULL. */
static const uint8_t *copy_plain(uint8_t **to, struct jpeg_source_mgr *source, size_t room)
{
    const size_t most = source->bytes_in_buffer < room ? source->bytes_in_buffer : room;
    const uint8_t *found = memchr(source->next_input_byte, 0xFF, most);
    const size_t count = found ? (size_t)(found - source->next_input_byte) : most;
    memcpy(*to, source->next_input_byte, count);
    *to += count;
    source->next_input_byte += count;
    source->bytes_in_buffer -= count;
    return found;
}

/* Fills the window to its end, or up to a marker: there the source stands then. */
static void load_window(stk__jpeg_state *state)
{
    stk__jpeg_huffman *huffman = &state->huffman;
    struct jpeg_source_mgr *source = state->codec.src;
    const size_t kept = (size_t)(huffman->end - huffman->at);
    memmove(huffman->window, huffman->at, kept);
    uint8_t *to = huffman->window + kept, *const stop = huffman->window + STK__JPEG_WINDOW_BYTES;
    while (to < stop && !huffman->ended) {
        const uint8_t *found = copy_plain(&to, source, (size_t)(stop - to));
        if (source->bytes_in_buffer < 2) turn_away(state); /* no place for a marker */
        if (!found) continue;
        if (found[1] == 0xFF) turn_away(state); /* what that means libjpeg decides while it reads on */
        huffman->ended = found[1] != 0;
        if (huffman->ended) continue;
        *to++ = 0xFF;
        source->next_input_byte += 2;
        source->bytes_in_buffer -= 2;
    }
    if (huffman->ended) memset(to, 0, STK__JPEG_MCU_BYTES);
    huffman->at = huffman->window;
    huffman->end = to;
}

static void start_interval(stk__jpeg_state *state)
{
    stk__jpeg_huffman *huffman = &state->huffman;
    huffman->bits = 0;
    huffman->count = 0;
    huffman->at = huffman->end = huffman->window;
    huffman->ended = false;
    huffman->interval_left = state->codec.restart_interval;
    memset(huffman->dc, 0, sizeof huffman->dc);
}

/* Of the window. */
static ptrdiff_t bits_left(const stk__jpeg_huffman *huffman)
{
    return 8 * (huffman->end - huffman->at) + huffman->count;
}

/* All bits up to a marker are used but for those that fill the last byte. */
static bool is_at_end(const stk__jpeg_huffman *huffman)
{
    return huffman->ended && bits_left(huffman) >= 0 && bits_left(huffman) < 8;
}

static void restart(stk__jpeg_state *state)
{
    stk__jpeg_huffman *huffman = &state->huffman;
    struct jpeg_source_mgr *source = state->codec.src;
    if (!is_at_end(huffman) || source->next_input_byte[1] != MARKER_RESTART + huffman->restart_next)
        turn_away(state);
    huffman->restart_next = (huffman->restart_next + 1) & 7;
    source->next_input_byte += 2;
    source->bytes_in_buffer -= 2;
    start_interval(state);
}

/* --- words -----------------------------------------------------------------------------------------------
 */

/* What of the state changes with every word, in registers. Between two words 25 bits are there at least. */
typedef struct bit_reader {
    uint64_t bits;
    const uint8_t *at;
    int count;
} bit_reader;

/* Then it is 56 at least: any word (31), and the next look. Bits beyond the count are right, too, and come
 * again. */
static inline void refill(bit_reader *from)
{
    uint64_t next;
    memcpy(&next, from->at, sizeof next);
    from->bits |= be64toh(next) >> from->count;
    from->at += (63 - from->count) >> 3;
    from->count |= 56;
}

/* The look does not wait for the bits that are fetched meanwhile. */
static inline uint64_t look_up(bit_reader *from, const stk__jpeg_table *table)
{
    const uint64_t word = table->look[from->bits >> (64 - LOOK_BITS)];
    refill(from);
    return __builtin_expect((word & WORD_LONG) != 0, 0) ? read_long(table, word, from->bits) : word;
}

static inline void use_bits(bit_reader *from, uint64_t length)
{
    from->bits <<= length & WORD_LENGTH;
    from->count -= (int)(length & WORD_LENGTH);
}

static inline unsigned step_of(uint64_t word, int at)
{
    return (unsigned)(word >> at) & 255;
}

static inline JCOEF value_of(uint64_t word, int at)
{
    return (JCOEF)(word >> at);
}

/* Coefficients of a block that is all zeros. false: a code that does not exist. Writing something twice, or a
 * 0 where it ends, costs less than asking. */
static inline bool read_block(bit_reader *from, const stk__jpeg_place *place, JCOEF *block, int32_t *dc)
{
    uint64_t word = look_up(from, place->dc_table);
    use_bits(from, word);
    *dc += value_of(word, WORD_FIRST_AT);
    block[0] = (JCOEF)*dc;
    unsigned k = 1;
    while (word != 0 && k <= PAIR_LAST) {
        word = look_up(from, place->ac_table);
        use_bits(from, word);
        k += step_of(word, WORD_FIRST_STEP_AT);
        block[natural_order[k]] = value_of(word, WORD_FIRST_AT);
        k += step_of(word, WORD_SECOND_STEP_AT);
        block[natural_order[k++]] = value_of(word, WORD_SECOND_AT);
        if (word & WORD_END) return true;
    }
    while (word != 0 && k < DCTSIZE2) {
        word = look_up(from, place->ac_table);
        use_bits(from, word >> WORD_FIRST_LENGTH_AT);
        if (word & WORD_FIRST_END) return true;
        k += step_of(word, WORD_FIRST_STEP_AT);
        block[natural_order[k++]] = value_of(word, WORD_FIRST_AT);
    }
    return word != 0;
}

boolean stk__jpeg_huffman_mcu(j_decompress_ptr codec, JBLOCKROW *blocks)
{
    stk__jpeg_state *state = stk__jpeg_state_of(codec);
    stk__jpeg_huffman *huffman = &state->huffman;
    if (huffman->interval_left == 0 && codec->restart_interval > 0) restart(state);
    if (!huffman->ended && huffman->end - huffman->at < STK__JPEG_MCU_BYTES) load_window(state);
    bit_reader from = {huffman->bits, huffman->at, huffman->count};
    refill(&from);
    for (int i = 0; i < codec->blocks_in_MCU; i++) {
        const stk__jpeg_place *place = &huffman->places[i];
        int32_t *dc = &huffman->dc[place->component];
        if (!read_block(&from, place, blocks[i][0], dc) || *dc > DC_MOST || *dc < -DC_MOST) turn_away(state);
    }
    if (from.at > huffman->end + sizeof from.bits)
        turn_away(state); /* nearer: the interval's end will tell */
    huffman->bits = from.bits;
    huffman->at = from.at;
    huffman->count = from.count;
    if (huffman->mcu_left == 1 && !is_at_end(huffman) && !huffman->walking) turn_away(state);
    huffman->mcu_left--;
    huffman->interval_left--;
    return TRUE;
}

/* Sequential, 8 bits, with tables that are some. */
static bool is_known(const struct jpeg_decompress_struct *codec)
{
    bool known =
        !codec->progressive_mode && !codec->arith_code && codec->Ss == 0 && codec->Se == DCTSIZE2 - 1;
    for (int i = 0; known && i < codec->comps_in_scan; i++) {
        const jpeg_component_info *component = codec->cur_comp_info[i];
        known = is_code(codec->dc_huff_tbl_ptrs[component->dc_tbl_no]->bits) &&
                is_code(codec->ac_huff_tbl_ptrs[component->ac_tbl_no]->bits);
    }
    return known;
}

bool stk__jpeg_huffman_prepare(stk__jpeg_state *state)
{
    stk__jpeg_huffman *huffman = &state->huffman;
    const j_decompress_ptr codec = &state->codec;
    if (jpeg_has_multiple_scans(codec))
        return false; /* all have been read already, maybe with other tables */
    if (!is_known(codec)) return false;
    for (int i = 0; i < codec->blocks_in_MCU; i++) {
        const int component = codec->MCU_membership[i];
        const int dc = codec->cur_comp_info[component]->dc_tbl_no;
        const int ac = codec->cur_comp_info[component]->ac_tbl_no;
        make_table(&huffman->dc_tables[dc], codec->dc_huff_tbl_ptrs[dc], false);
        make_table(&huffman->ac_tables[ac], codec->ac_huff_tbl_ptrs[ac], true);
        huffman->places[i] = (stk__jpeg_place){&huffman->dc_tables[dc], &huffman->ac_tables[ac], component};
    }
    huffman->mcu_left = (uint64_t)codec->MCUs_per_row * codec->MCU_rows_in_scan;
    huffman->restart_next = 0;
    start_interval(state);
    return true;
}

/* --- how a scan ends -------------------------------------------------------------------------------------
 */

/* Encoders fill the last byte with ones. Some write out a whole register instead: zeros, up to the marker. */
static bool is_filled(const stk__jpeg_huffman *huffman)
{
    const ptrdiff_t used_bits = 8 * (huffman->at - huffman->window) - huffman->count; /* of the window */
    const unsigned fill_bits = (unsigned)-used_bits & 7;
    const uint64_t fill = fill_bits ? huffman->bits >> (64 - fill_bits) : 0;
    if (fill == (UINT64_C(1) << fill_bits) - 1) return true;
    if (fill != 0 || !huffman->ended) return false;
    for (const uint8_t *at = huffman->window + (used_bits > 0 ? (used_bits + 7) / 8 : 0); at < huffman->end;
         at++)
        if (*at) return false;
    return true;
}

/* Behind the last block of the image: does what follows go on like data of further blocks, up to the marker?
 * Jumps where it cannot be decoded. */
static bool has_more_blocks(stk__jpeg_state *state, JBLOCKROW *blocks)
{
    const stk__jpeg_huffman *huffman = &state->huffman;
    while (bits_left(huffman) >= 8)
        stk__jpeg_huffman_mcu(&state->codec, blocks);
    return is_at_end(huffman) && is_filled(huffman);
}

bool stk__jpeg_huffman_walk(stk__jpeg_state *state, const uint8_t *scan, size_t size_bytes)
{
    JBLOCK memory[D_MAX_BLOCKS_IN_MCU]; /* of coefficients that are not wanted */
    JBLOCKROW blocks[D_MAX_BLOCKS_IN_MCU];
    struct jpeg_source_mgr source = {.next_input_byte = scan, .bytes_in_buffer = size_bytes};
    struct jpeg_source_mgr *const before = state->codec.src;
    for (int i = 0; i < D_MAX_BLOCKS_IN_MCU; i++)
        blocks[i] = &memory[i];
    volatile bool harmless = true; /* also if ours cannot tell */
    state->codec.src = &source;
    state->huffman.walking = true;
    if (!setjmp(state->jump)) {
        while (state->huffman.mcu_left > 0)
            stk__jpeg_huffman_mcu(&state->codec, blocks);
        const bool at_end = is_at_end(&state->huffman); /* then they stand behind a later segment */
        if (!at_end && (!is_filled(&state->huffman) || has_more_blocks(state, blocks))) harmless = false;
    }
    state->codec.src = before;
    state->huffman.walking = state->odd = false;
    return harmless;
}
