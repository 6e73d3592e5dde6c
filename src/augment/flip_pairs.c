/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of left and right by names. Each name with side words gets a key: the name in lower case, side words
 * replaced by marks, 1 for the side of the first of them and 2 for the other. Two names belong together when
 * they have the same key and begin with different sides; sorting brings them side by side.
 *
 *     left_eye     1_eye   left          left_eye_right_corner    1_eye_2_corner   left
 *     right_eye    1_eye   right         right_eye_left_corner    1_eye_2_corner   right
 *
 * Side words are recognised as words only: "l" in ear_l, ear.l, earL, (l) and LEar, not in level, lr or L1.
 * Threads: everything is the caller's. */
#include "augment/flip_pairs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a side word may stand. */
typedef enum side_rule {
    WHOLE, /* as a word of its own */
    GLUED, /* at one end of a word, too: lefteye, eyeleft */
    FREE   /* anywhere: scripts without spaces */
} side_rule;

typedef enum side { LEFT, RIGHT } side;

static const struct {
    const char *text[2]; /* [side], lower case */
    side_rule rule;
} words[] = {
    {{"left", "right"}, GLUED},
    {{"l", "r"}, WHOLE},
    {{"lt", "rt"}, WHOLE},
    {{"lh", "rh"}, WHOLE},
    {{"左", "右"}, FREE},
    {{"왼", "오른"}, FREE},
    {{"links", "rechts"}, WHOLE},
    {{"linke", "rechte"}, WHOLE},
    {{"linker", "rechter"}, WHOLE},
    {{"linkes", "rechtes"}, WHOLE},
    {{"gauche", "droite"}, WHOLE},
    {{"gauche", "droit"}, WHOLE},
    {{"izquierda", "derecha"}, WHOLE},
    {{"izquierdo", "derecho"}, WHOLE},
    {{"esquerda", "direita"}, WHOLE},
    {{"esquerdo", "direito"}, WHOLE},
    {{"sinistra", "destra"}, WHOLE},
    {{"sinistro", "destro"}, WHOLE},
};

enum { WORD_COUNT = sizeof words / sizeof words[0], MARK_FIRST = 1, MARK_OTHER = 2, CHUNK = 64 };

/* A name with side words. */
typedef struct candidate {
    const char *key;
    int32_t number;
    side first;
} candidate;

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char to_lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(char c) /* bytes of other scripts, too */
{
    return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* May a word end before `at` and another begin there? Capitals divide: earL, LEar, leftEar. */
static bool is_border(const char *name, size_t at)
{
    if (at == 0 || !name[at] || !is_word(name[at - 1]) || !is_word(name[at])) return true;
    if (!is_upper(name[at])) return false;
    const bool initial = is_upper(name[at - 1]) && (at == 1 || !is_word(name[at - 2]));
    return is_lower(name[at - 1]) || (initial && is_lower(name[at + 1]));
}

static bool starts_with(const char *name, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (to_lower(name[i]) != word[i]) return false; /* its end, too */
    return true;
}

/* The length of the side word at this place, and which side; 0: there is none. */
static size_t match_side(const char *name, size_t at, side *found)
{
    for (int i = 0; i < WORD_COUNT; i++)
        for (int s = LEFT; s <= RIGHT; s++) {
            const char *word = words[i].text[s];
            const size_t length = strlen(word);
            if (!starts_with(name + at, word, length)) continue;
            const bool before = is_border(name, at), after = is_border(name, at + length);
            const bool fits =
                words[i].rule == FREE || (before && after) || (words[i].rule == GLUED && (before || after));
            if (!fits) continue;
            *found = (side)s;
            return length;
        }
    return 0;
}

/* Writes the key, which is no longer than the name. False: the name has no side word. */
static bool make_key(const char *name, char *key, side *first)
{
    bool has_side = false;
    for (size_t at = 0; name[at];) {
        side found = LEFT;
        const size_t length = match_side(name, at, &found);
        if (!length) {
            *key++ = to_lower(name[at++]);
            continue;
        }
        if (!has_side) *first = found;
        has_side = true;
        *key++ = found == *first ? MARK_FIRST : MARK_OTHER;
        at += length;
    }
    *key = '\0';
    return has_side;
}

static bool is_letter(const char *name)
{
    return (is_lower(name[0]) || is_upper(name[0])) && !name[1];
}

/* Is there a name of one letter that is no side? Then L and R are letters, too. */
static bool is_alphabet(stk__flip_names names)
{
    for (int32_t i = 0; i < names.count; i++)
        if (is_letter(names.texts[i]) && to_lower(names.texts[i][0]) != 'l' &&
            to_lower(names.texts[i][0]) != 'r')
            return true;
    return false;
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int compare_pairs(const void *a, const void *b)
{
    const stk__flip_pair *x = a, *y = b;
    return (x->a > y->a) - (x->a < y->a);
}

static int32_t list_candidates(stk__flip_names names, candidate *list, char *keys)
{
    const bool alphabet = is_alphabet(names);
    int32_t count = 0;
    for (int32_t i = 0; i < names.count; i++) {
        side first = LEFT;
        if ((alphabet && is_letter(names.texts[i])) || !make_key(names.texts[i], keys, &first)) continue;
        list[count++] = (candidate){keys, i, first};
        keys += strlen(keys) + 1;
    }
    return count;
}

/* Neighbours with one key: a pair if they are two, one of each side. */
static void join(stk__flip_pairs *out, candidate *list, int32_t count)
{
    qsort(list, (size_t)count, sizeof *list, compare_candidates);
    for (int32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(list[i].key, list[end].key) == 0;)
            end++;
        if (end - i == 2 && list[i].first != list[i + 1].first)
            stk__flip_pairs_add(out, list[i].number, list[i + 1].number);
    }
    if (out->count) qsort(out->pairs, (size_t)out->count, sizeof *out->pairs, compare_pairs);
}

stk_status stk__flip_pairs_find(stk__flip_pairs *out, stk__flip_names names, stk_error *error)
{
    *out = (stk__flip_pairs){0};
    if (!names.texts || names.count < 2) return STK_OK;
    size_t key_bytes = 0;
    for (int32_t i = 0; i < names.count; i++)
        key_bytes += strlen(names.texts[i]) + 1;
    const size_t list_bytes = (size_t)names.count * sizeof(candidate);
    candidate *list = stk__alloc(list_bytes + key_bytes);
    if (!list) return stk__fail_memory(error, list_bytes + key_bytes, "the class names");
    const int32_t count = list_candidates(names, list, (char *)(list + names.count));
    const stk_status status = stk__flip_pairs_reserve(out, count / 2, error);
    if (status == STK_OK) join(out, list, count);
    stk__free(list);
    return status;
}

stk_status stk__flip_pairs_reserve(stk__flip_pairs *pairs, int32_t most, stk_error *error)
{
    assert(!pairs->pairs);
    const size_t bytes = (size_t)most * sizeof *pairs->pairs;
    if (bytes) pairs->pairs = stk__alloc(bytes);
    return bytes && !pairs->pairs ? stk__fail_memory(error, bytes, "data.flip_pairs") : STK_OK;
}

static int32_t partner_of(const stk__flip_pairs *pairs, int64_t number)
{
    for (int32_t i = 0; i < pairs->count; i++) {
        if (pairs->pairs[i].a == number) return pairs->pairs[i].b;
        if (pairs->pairs[i].b == number) return pairs->pairs[i].a;
    }
    return -1;
}

bool stk__flip_pairs_add(stk__flip_pairs *pairs, int32_t a, int32_t b)
{
    if (a == b || partner_of(pairs, a) >= 0 || partner_of(pairs, b) >= 0) return false;
    pairs->pairs[pairs->count++] = (stk__flip_pair){a < b ? a : b, a < b ? b : a};
    return true;
}

void stk__flip_pairs_fini(stk__flip_pairs *pairs)
{
    stk__free(pairs->pairs);
    *pairs = (stk__flip_pairs){0};
}

void stk__flip_pairs_print(const stk__flip_pairs *pairs, char *text, size_t size)
{
    static const char more[] = " …";
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < pairs->count; i++) {
        char one[32];
        const int length =
            snprintf(one, sizeof one, "%s%d:%d", i ? "," : "", pairs->pairs[i].a, pairs->pairs[i].b);
        const size_t rest = i + 1 < pairs->count ? sizeof more : 1;
        if (used + (size_t)length + rest > size) {
            snprintf(text + used, size - used, "%s", more);
            return;
        }
        memcpy(text + used, one, (size_t)length + 1);
        used += (size_t)length;
    }
}

void stk__flip_fini(stk__flip *flip)
{
    stk__flip_pairs_fini(&flip->masks);
    stk__flip_pairs_fini(&flip->labels);
    stk__flip_pairs_fini(&flip->points);
}

void stk__flip_make_ids(stk__flip *flip)
{
    int32_t lowest = 255, highest = 0;
    for (int i = 0; i < 256; i++)
        flip->ids[i] = (uint8_t)i;
    for (int32_t i = 0; i < flip->masks.count; i++) {
        const stk__flip_pair pair = flip->masks.pairs[i];
        assert(pair.b < 256);
        flip->ids[pair.a] = (uint8_t)pair.b;
        flip->ids[pair.b] = (uint8_t)pair.a;
        lowest = pair.a < lowest ? pair.a : lowest;
        highest = pair.b > highest ? pair.b : highest;
    }
    flip->lowest = (uint8_t)lowest;
    flip->span = (uint8_t)(highest > lowest ? highest - lowest : 0);
}

/* Does one of the ids lie in the range of those that change? A minimum, which compilers make vectors of. */
static bool has_sides(const uint8_t *ids, uint8_t lowest, uint8_t span)
{
    uint8_t least = 255;
    for (int i = 0; i < CHUNK; i++) {
        const uint8_t above = (uint8_t)(ids[i] - lowest);
        least = above < least ? above : least;
    }
    return least <= span;
}

/* Masks are areas: most of their chunks have no id that changes. */
void stk__flip_mask(const stk__flip *flip, stk__pixels from, stk__pixels to)
{
    const size_t size = from.pitch_bytes * (size_t)from.h;
    if (to.data != from.data) memcpy(to.data, from.data, size);
    for (size_t at = 0; at < size; at += CHUNK) {
        const size_t count = size - at < CHUNK ? size - at : CHUNK;
        uint8_t *ids = to.data + at;
        if (count == CHUNK && !has_sides(ids, flip->lowest, flip->span)) continue;
        for (size_t i = 0; i < count; i++)
            ids[i] = flip->ids[ids[i]];
    }
}

void stk__flip_points(const stk__flip *flip, float *points)
{
    for (int32_t i = 0; i < flip->points.count; i++) {
        float *a = points + 3 * flip->points.pairs[i].a, *b = points + 3 * flip->points.pairs[i].b;
        float row[3];
        memcpy(row, a, sizeof row);
        memcpy(a, b, sizeof row);
        memcpy(b, row, sizeof row);
    }
}

int64_t stk__flip_label(const stk__flip *flip, int64_t label)
{
    const int32_t other = partner_of(&flip->labels, label);
    return other < 0 ? label : other;
}

void stk__flip_set(const stk__flip *flip, float *set)
{
    for (int32_t i = 0; i < flip->labels.count; i++) {
        float *a = set + flip->labels.pairs[i].a, *b = set + flip->labels.pairs[i].b;
        const float at_a = *a;
        *a = *b;
        *b = at_a;
    }
}
