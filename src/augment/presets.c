/* SPDX-License-Identifier: Apache-2.0 */
/* Presets, written as people would write them, and the schedule that changes them by epoch. */
#include "augment/operation.h"

#include "core/nearest.h"
#include "core/number.h"

#include <stdio.h>
#include <string.h>

enum { KEYS_MOST = 16 };

/* In the order of the choices of `preset`. */
static const struct {
    const char *name;
    struct {
        const char *key, *value;
    } keys[KEYS_MOST];
} presets[] = {
    {.name = "none"},
    {.name = "minimal", .keys = {{"horizontal_flip_prob", "0.5"}}},
    {.name = "standard",
     .keys = {{"horizontal_flip_prob", "0.5"},
              {"rotation_degrees", "15"},
              {"brightness", "0.2"},
              {"contrast", "0.2"}}},
    {.name = "strong",
     .keys = {{"horizontal_flip_prob", "0.5"},
              {"rotation_degrees", "20"},
              {"rotation_prob", "0.6"},
              {"scale", "[0.8, 1.2]"},
              {"scale_prob", "0.6"},
              {"brightness", "0.3"},
              {"contrast", "0.2"},
              {"saturation", "0.2"},
              {"hue", "0.1"},
              {"jitter_prob", "0.5"},
              {"blur_kernel", "3"},
              {"blur_sigma", "[0.1, 2]"},
              {"blur_prob", "0.3"},
              {"noise_std", "0.03"},
              {"noise_prob", "0.3"}}},
};
enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

static bool is_set(const stk__augment_settings *settings, const char *key)
{
    const stk__option_table *table = stk__augment_options();
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->options[i].name, key) == 0)
            return !stk__option_is_zero(&table->options[i], settings->bytes);
    return false;
}

stk_status stk__preset_apply(int preset, stk__augment_settings *settings, stk_error *error)
{
    for (int i = 0; i < KEYS_MOST && presets[preset].keys[i].key; i++) {
        const char *key = presets[preset].keys[i].key;
        if (!is_set(settings, key))
            STK__TRY(stk__augment_set(settings, key, presets[preset].keys[i].value, error));
    }
    return STK_OK;
}

static stk_status refuse(const char *entry, int length, const char *complaint, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "augment.schedule has '%.*s', %s", length, entry, complaint);
    stk__error_hint(error, "give epochs and presets such as {0: minimal, 50: strong}");
    return STK_ERROR_CONFIG;
}

static stk_status read_preset(const char *word, size_t length, int *preset, stk_error *error)
{
    char name[STK_NEAREST_MOST + 1];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    stk__nearest nearest = {.word = name};
    for (int i = 0; i < PRESET_COUNT; i++) {
        stk__nearest_offer(&nearest, presets[i].name);
        if (strlen(presets[i].name) != length || !stk__name_equal(presets[i].name, word, length)) continue;
        *preset = i;
        return STK_OK;
    }
    stk__fail(error, STK_ERROR_CONFIG, "augment.schedule names the preset '%s', which does not exist", name);
    if (nearest.best)
        stk__error_hint(error, "did you mean '%s'?", nearest.best);
    else
        stk__error_hint(error, "give none, minimal, standard or strong");
    return STK_ERROR_CONFIG;
}

/* Blanks around a part do not belong to it. */
static const char *trim(const char *text, size_t *length)
{
    for (; *length && *text == ' '; text++)
        --*length;
    while (*length && text[*length - 1] == ' ')
        --*length;
    return text;
}

static stk_status read_entry(stk__schedule *schedule, const char *entry, size_t length, stk_error *error)
{
    entry = trim(entry, &length);
    const int shown = length > 80 ? 80 : (int)length;
    const char *colon = memchr(entry, ':', length);
    if (!colon) return refuse(entry, shown, "which is not 'epoch: preset'", error);
    size_t epoch_length = (size_t)(colon - entry), name_length = length - epoch_length - 1;
    const char *digits = trim(entry, &epoch_length), *name = trim(colon + 1, &name_length);
    int64_t epoch;
    int preset = 0;
    if (!stk__number_whole(digits, epoch_length, &epoch) || epoch < 0 || epoch > UINT32_MAX)
        return refuse(entry, shown, "whose epoch is not an integer from 0 on", error);
    STK__TRY(read_preset(name, name_length, &preset, error));
    const int count = schedule->count;
    if (count && schedule->entries[count - 1].epoch >= epoch)
        return refuse(entry, shown, "whose epoch is not after the one before it", error);
    if (count == (int)(sizeof schedule->entries / sizeof schedule->entries[0]))
        return refuse(entry, shown, "which is one entry more than 64", error);
    schedule->entries[count].epoch = (uint32_t)epoch;
    schedule->entries[count].preset = preset;
    schedule->count++;
    return STK_OK;
}

stk_status stk__schedule_read(stk__schedule *schedule, const char *text, stk_error *error)
{
    size_t length = strlen(text);
    text = trim(text, &length);
    schedule->count = 0;
    if (length && text[0] == '{' && text[length - 1] == '}') { /* a map on the command line */
        text++;
        length -= length > 1 ? 2 : 1;
    }
    for (const char *end = text + length;;) {
        const char *comma = memchr(text, ',', (size_t)(end - text)), *stop = comma ? comma : end;
        STK__TRY(read_entry(schedule, text, (size_t)(stop - text), error));
        if (!comma) return STK_OK;
        text = comma + 1;
    }
}
