/* SPDX-License-Identifier: Apache-2.0 */
/* MixUp and CutMix over a batch. The partner of position p is p XOR 1, lambda and box are drawn by the
 * sample at the even position, so both partners and every number of workers agree. A partner that belongs
 * to another batch is loaded into a spare place. On a GPU the same decisions become a list for the kernel.
 * */
#include "loader/mixing.h"

#include "device/mix.h"

/* Both partners draw by the sample at the even position. The last sample of an odd epoch has no partner. */
static stk__mix draw(const stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                     uint64_t position)
{
    if ((position | 1) >= stream->count) return (stk__mix){.kind = STK_MIX_NONE, .lambda = 1};
    const uint64_t id = stk__stream_id(stream, &slot->order, position & ~UINT64_C(1));
    return stk__plan_mix(recipe->plan, (uint32_t)slot->step.epoch, (uint32_t)id, recipe->layout.w,
                         recipe->layout.h);
}

static void add_partner(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                        uint64_t position)
{
    if (draw(slot, recipe, stream, position).kind == STK_MIX_NONE) return;
    slot->partner[slot->places++ - slot->step.count] = position;
}

void stk__mixing_begin(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream)
{
    const stk__step *step = &slot->step;
    if (!recipe->layout.store.mixed || !step->count) return;
    const uint64_t first = step->position, last = first + step->count - 1;
    if (first % 2) add_partner(slot, recipe, stream, first - 1);
    if (last % 2 == 0) add_partner(slot, recipe, stream, last + 1);
}

/* The place of the sample at a position; the slot has one when the pair is mixed. */
static uint64_t place_of(const stk__slot *slot, uint64_t position)
{
    const stk__step *step = &slot->step;
    if (position >= step->position && position < step->position + step->count)
        return position - step->position;
    return position == slot->partner[0] ? step->count : step->count + 1;
}

/* What is decided for pixels is done here, or becomes a list of what a device shall do to them. */
typedef struct mixer {
    stk__slot *slot;
    const stk__layout *layout;
    stk__mix_batch host;   /* where pixels are mixed here */
    stk__kernel_mix *list; /* NULL: mixed here */
    uint64_t count;        /* of the list */
} mixer;

static void add_entry(mixer *m, stk__kernel_mix entry)
{
    if (m->list)
        m->list[m->count++] = entry;
    else
        stk__mix_run(&entry, &m->host);
}

/* On a device samples that were left out are blanked at last, too. */
static void add_alone(mixer *m, uint64_t place)
{
    const bool blank = m->list && stk__slot_weights(m->slot, m->layout)[place] == 0;
    if (blank || (m->layout->masks && m->layout->store.mixed))
        add_entry(m, (stk__kernel_mix){.kind = blank ? STK_KERNEL_MIX_BLANK : STK_KERNEL_MIX_ALONE,
                                       .a = (uint32_t)place,
                                       .b = (uint32_t)place});
}

static void leave_alone(mixer *m, uint64_t place)
{
    stk__slot_lambdas(m->slot, m->layout)[place] = 1;
    stk__slot_mix_labels(m->slot, m->layout, place, place, 1);
    add_alone(m, place);
}

static void mix_pair(mixer *m, const stk__mix *mix, const uint64_t pair[2])
{
    const float *weights = stk__slot_weights(m->slot, m->layout);
    float *lambdas = stk__slot_lambdas(m->slot, m->layout);
    if (weights[pair[0]] == 0 || weights[pair[1]] == 0) { /* one of them was left out */
        leave_alone(m, pair[0]);
        leave_alone(m, pair[1]);
        return;
    }
    add_entry(m, stk__mix_entry(mix, (uint32_t)pair[0], (uint32_t)pair[1]));
    stk__slot_mix_labels(m->slot, m->layout, pair[0], pair[1], mix->lambda);
    lambdas[pair[0]] = lambdas[pair[1]] = mix->lambda;
}

static void mix_all(mixer *m, const stk__recipe *recipe, const stk__stream *stream)
{
    const stk__step *step = &m->slot->step;
    for (uint64_t place = 0; place < step->count; place++) {
        const uint64_t position = step->position + place, partner = position ^ 1;
        if (position % 2 && place > 0) continue; /* done with the one before */
        const stk__mix mix = draw(m->slot, recipe, stream, position);
        if (mix.kind == STK_MIX_NONE) {
            leave_alone(m, place);
            if (position % 2 == 0 && place + 1 < step->count) leave_alone(m, place + 1);
        } else {
            mix_pair(m, &mix, (uint64_t[2]){place, place_of(m->slot, partner)});
        }
    }
}

void stk__mixing_run(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream)
{
    const stk__layout *layout = &recipe->layout;
    const stk__mix_batch host = {.first = stk__slot_target(slot, layout, 0),
                                 .mask2 = layout->masks ? stk__slot_mask2(slot, layout, 0) : NULL};
    mix_all(&(mixer){.slot = slot, .layout = layout, .host = host}, recipe, stream);
}

uint64_t stk__mixing_list(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                          stk__kernel_mix *list)
{
    mixer m = {.slot = slot, .layout = &recipe->layout, .list = list};
    if (recipe->layout.store.mixed)
        mix_all(&m, recipe, stream);
    else
        for (uint64_t place = 0; place < slot->places; place++)
            add_alone(&m, place);
    return m.count;
}
