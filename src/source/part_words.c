/* SPDX-License-Identifier: Apache-2.0 */
/* The words for training, validation and test, as one table, and the ways to find them in a text. The files
 * of VOC's ImageSets (part_lists.c) are that format's own names, and not in it. Pure. */
#include "source/part_words.h"

#include "source/source.h"

#include <string.h>
#include <strings.h>

/* dev/ is no part: it may be a class, or hold somebody's experiments. Beside train/ the user is asked. */
const stk__part_word stk__part_words[STK_PART_WORDS] = {
    {"train", STK_SOURCE_TRAIN, true}, {"training", STK_SOURCE_TRAIN, true}, {"val", STK_SOURCE_VAL, true},
    {"valid", STK_SOURCE_VAL, true},   {"validation", STK_SOURCE_VAL, true}, {"dev", STK_SOURCE_VAL, false},
    {"test", STK_SOURCE_TEST, true},   {"testing", STK_SOURCE_TEST, true},
};

static const stk__part_word *find_word(const char *text, size_t length)
{
    for (size_t i = 0; i < STK_PART_WORDS; i++) {
        const char *name = stk__part_words[i].name;
        if (strlen(name) == length && strncasecmp(text, name, length) == 0) return &stk__part_words[i];
    }
    return NULL;
}

uint32_t stk__part_of_word(const char *text, size_t length)
{
    const stk__part_word *word = find_word(text, length);
    return word ? word->part : 0;
}

uint32_t stk__part_of_folder(const char *text, size_t length)
{
    const stk__part_word *word = find_word(text, length);
    return word && word->folder ? word->part : 0;
}

const char *stk__part_name(uint32_t part)
{
    return part == STK_SOURCE_TRAIN  ? "train"
           : part == STK_SOURCE_VAL  ? "val"
           : part == STK_SOURCE_TEST ? "test"
                                     : NULL;
}

uint32_t stk__part_bit(const char *name)
{
    for (uint32_t part = STK_SOURCE_TRAIN; name && part <= STK_SOURCE_TEST; part <<= 1)
        if (strcmp(name, stk__part_name(part)) == 0) return part;
    return 0;
}

uint32_t stk__part_at_start(const char *text)
{
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        if (strncasecmp(text, stk__part_name(part), strlen(stk__part_name(part))) == 0) return part;
    return 0;
}

uint32_t stk__part_inside(const char *text)
{
    uint32_t parts = 0;
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        if (strcasestr(text, stk__part_name(part))) parts |= part;
    return parts & (parts - 1) ? 0 : parts; /* trainval, and others that say two */
}
