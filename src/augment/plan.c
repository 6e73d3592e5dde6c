/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to a plan: presets and schedule put in, every operation asked whether it is on. */
#include "augment/plan_phases.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

stk_status stk__mix_prepare(void *settings, bool *on, stk_error *error)
{
    const stk__mix_settings *mix = settings;
    (void)error;
    *on = mix->alpha > 0 && mix->prob >= 0;
    return STK_OK;
}

/* The probabilities that were given, and for those that were not an equal part of what is left. */
static stk_status share_mixes(stk__plan_phase *phase, stk_error *error)
{
    double given = 0, below = 0;
    int open = 0;
    const char *waits = NULL;
    for (int i = 0; i < phase->mix_count; i++) {
        const stk__mix_settings *mix = phase->mixes[i].settings;
        given += mix->prob;
        open += mix->prob == 0;
        if (mix->prob == 0) waits = phase->mixes[i].operation->name;
    }
    if (given > 1 + 1e-9) {
        stk__fail(error, STK_ERROR_CONFIG, "augment.mixup_prob + augment.cutmix_prob is more than 1");
        stk__error_hint(error,
                        "a pair gets mixup or cutmix, not both: the two probabilities may add up to 1");
        return STK_ERROR_CONFIG;
    }
    if (waits && given >= 1) {
        stk__fail(error, STK_ERROR_CONFIG, "augment.%s_alpha is set, but its probability is 0", waits);
        stk__error_hint(error, "set augment.%s_prob, and less than 1 for the other", waits);
        return STK_ERROR_CONFIG;
    }
    for (int i = 0; i < phase->mix_count; i++) {
        const stk__mix_settings *mix = phase->mixes[i].settings;
        below += mix->prob == 0 ? (1 - given) / open : mix->prob;
        phase->mix_below[i] = below;
    }
    return STK_OK;
}

static void take_turn(stk__plan_phase *phase, int index)
{
    const stk__augment_operation *operation = stk__operation_at(index);
    const stk__plan_turn turn = {operation, stk__operation_settings(index, &phase->prepared),
                                 stk__operation_number(index)};
    if (operation->mix)
        phase->mixes[phase->mix_count++] = turn;
    else
        phase->turns[phase->turn_count++] = turn;
}

/* A gate has its turn when something behind it has, which needs the gate to let it pass now and then. */
static void join_gates(bool on[STK_PLAN_OPERATIONS])
{
    bool wanted[STK_PLAN_OPERATIONS] = {false};
    const int count = stk__operations_count();
    for (int gate = 0; gate < count; gate++) {
        bool is_gate = false;
        for (int i = 0; i < count; i++) {
            if (stk__operation_at(i)->gate != stk__operation_at(gate)) continue;
            is_gate = true;
            on[i] = on[i] && on[gate];
            wanted[gate] = wanted[gate] || on[i];
        }
        if (is_gate) on[gate] = wanted[gate];
    }
}

static void take_fill(stk__plan_phase *phase)
{
    const stk__augment_general *general = stk__augment_general_of(&phase->settings);
    for (int c = 0; c < 3; c++)
        phase->fill[c] = (int32_t)lrint(general->fill[c] * STK_AUGMENT_LEVEL);
    phase->mask_fill = general->mask_fill < 0 ? 0 : (int32_t)general->mask_fill;
}

static stk_status make_phase(stk__plan_phase *phase, const stk__augment_settings *settings, int preset,
                             stk_error *error)
{
    const int count = stk__operations_count();
    bool on[STK_PLAN_OPERATIONS] = {false};
    if (settings) phase->settings = *settings;
    STK__TRY(stk__preset_apply(preset, &phase->settings, error));
    stk__augment_general_of(&phase->settings)->preset = preset;
    STK__TRY(stk__options_fill(stk__augment_options(), phase->settings.bytes, error));
    phase->prepared = phase->settings;
    for (int i = 0; i < count; i++)
        STK__TRY(stk__operation_at(i)->prepare(stk__operation_settings(i, &phase->prepared), &on[i], error));
    join_gates(on);
    for (int i = 0; i < count; i++)
        if (on[i]) take_turn(phase, i);
    take_fill(phase);
    return share_mixes(phase, error);
}

static bool is_on_somewhere(const stk__plan *plan, const stk__augment_operation *operation)
{
    for (int p = 0; p < plan->phase_count; p++) {
        const stk__plan_phase *phase = &plan->phases[p];
        for (int i = 0; i < phase->turn_count; i++)
            if (phase->turns[i].operation == operation) return true;
        for (int i = 0; i < phase->mix_count; i++)
            if (phase->mixes[i].operation == operation) return true;
    }
    return false;
}

static bool is_gate(const stk__augment_operation *operation)
{
    for (int i = 0; i < stk__operations_count(); i++)
        if (stk__operation_at(i)->gate == operation) return true;
    return false;
}

/* Set to something that asks for an effect: a prob of 0 asks for none. */
static bool asks(const stk__option *option, const stk__augment_settings *settings)
{
    char text[STK_OPTION_TEXT_BYTES];
    if (stk__option_is_zero(option, settings->bytes)) return false;
    stk__option_print(option, settings->bytes, text, sizeof text);
    return strcmp(text, "0") != 0;
}

static stk_status refuse_idle(int index, const stk__option *option, bool gate, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "augment.%s is set, but its operation is off", option->name);
    if (!gate) {
        stk__error_hint(error, "set augment.%s too, or leave it out", stk__operation_option(index, 0)->name);
        return STK_ERROR_CONFIG;
    }
    char names[160] = "";
    size_t used = 0;
    for (int i = 0; i < stk__operations_count() && used < sizeof names; i++)
        if (stk__operation_at(i)->gate == stk__operation_at(index))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     stk__operation_option(i, 0)->name);
    stk__error_hint(error, "set one of %s too, or leave it out", names);
    return STK_ERROR_CONFIG;
}

/* A key that is accepted and has no effect is a mistake that its user would not find. */
static stk_status check_idle(const stk__plan *plan, const stk__augment_settings *settings, stk_error *error)
{
    for (int i = 0; i < stk__operations_count(); i++) {
        const stk__augment_operation *operation = stk__operation_at(i);
        const bool gate = is_gate(operation);
        if (is_on_somewhere(plan, operation)) continue;
        if (!gate && !stk__option_is_zero(stk__operation_option(i, 0), settings->bytes)) continue;
        for (size_t row = 0; row < operation->option_count; row++) {
            const stk__option *option = stk__operation_option(i, row);
            if (asks(option, settings)) return refuse_idle(i, option, gate, error);
        }
    }
    return STK_OK;
}

/* Entries of the schedule; without one, the preset from epoch 0 on. */
static stk_status read_phases(const stk__augment_settings *settings, stk__schedule *schedule,
                              stk_error *error)
{
    *schedule = (stk__schedule){.count = 1};
    if (!settings) return STK_OK;
    stk__augment_settings copy = *settings;
    const stk__augment_general *general = stk__augment_general_of(&copy);
    schedule->entries[0].preset = general->preset;
    if (!general->schedule || !*general->schedule) return STK_OK;
    if (general->preset) {
        stk__fail(error, STK_ERROR_CONFIG, "augment.preset and augment.schedule are both set");
        stk__error_hint(error, "give the preset as the schedule's entry of epoch 0");
        return STK_ERROR_CONFIG;
    }
    return stk__schedule_read(schedule, general->schedule, error);
}

static stk_status make_phases(stk__plan *plan, const stk__schedule *schedule,
                              const stk__augment_settings *settings, stk_error *error)
{
    if (schedule->entries[0].epoch > 0)
        STK__TRY(make_phase(&plan->phases[plan->phase_count++], settings, 0, error));
    for (int i = 0; i < schedule->count; i++) {
        stk__plan_phase *phase = &plan->phases[plan->phase_count++];
        phase->first_epoch = schedule->entries[i].epoch;
        STK__TRY(make_phase(phase, settings, schedule->entries[i].preset, error));
    }
    return settings ? check_idle(plan, settings, error) : STK_OK;
}

stk_status stk__plan_create(stk__plan **plan, const stk__augment_settings *settings, int64_t seed,
                            stk_error *error)
{
    *plan = NULL;
    stk__schedule schedule;
    if (settings) STK__TRY(stk__options_check(stk__augment_options(), settings->bytes, error));
    STK__TRY(read_phases(settings, &schedule, error));
    const size_t bytes = sizeof(stk__plan) + ((size_t)schedule.count + 1) * sizeof(stk__plan_phase);
    stk__plan *made = stk__alloc(bytes);
    if (!made) return stk__fail_memory(error, bytes, "the plan of the augmentation");
    made->seed = (uint64_t)seed;
    const stk_status status = make_phases(made, &schedule, settings, error);
    if (status != STK_OK) stk__plan_destroy(&made);
    *plan = made;
    return status;
}

void stk__plan_destroy(stk__plan **plan)
{
    if (!plan || !*plan) return;
    stk__free(*plan);
    *plan = NULL;
}
