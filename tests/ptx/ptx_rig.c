/* SPDX-License-Identifier: Apache-2.0 */
/* From a batch to launches on the interpreter: the arrays of the batch are mapped, exactly as long as they
 * are. */
#include "ptx/ptx_rig.h"

#include "core/file.h"

#include <string.h>

static stk_status find_kernel(ptx_rig *rig, const char *name, size_t parameter_bytes, ptx_kernel **kernel,
                              stk_error *error)
{
    *kernel = ptx_module_find(&rig->module, name);
    if (!*kernel) return stk__fail(error, STK_ERROR_DATA, "no kernel '%s'", name);
    if ((*kernel)->parameter_bytes == parameter_bytes) return STK_OK;
    return stk__fail(error, STK_ERROR_DATA, "'%s' has %zu bytes of parameters instead of %zu", name,
                     (*kernel)->parameter_bytes, parameter_bytes);
}

stk_status ptx_rig_open(ptx_rig *rig, const char *path, stk_error *error)
{
    STK__TRY(stk__file_read(path, 0, &rig->text, error));
    STK__TRY(stk__buffer_append(&rig->text, "", 1, error));
    STK__TRY(ptx_module_load(&rig->module, (const char *)rig->text.data, path, error));
    STK__TRY(find_kernel(rig, "stk_grey", sizeof(stk__kernel_work), &rig->grey, error));
    STK__TRY(find_kernel(rig, "stk_augment", sizeof(stk__kernel_work), &rig->augment, error));
    STK__TRY(find_kernel(rig, "stk_mix", sizeof(stk__kernel_mix_work), &rig->mix, error));
    STK__TRY(find_kernel(rig, "stk_gather", sizeof(stk__kernel_gather_work), &rig->gather, error));
    STK__TRY(find_kernel(rig, "stk_round", sizeof(stk__kernel_round_work), &rig->round, error));
    return find_kernel(rig, "stk_dropout", sizeof(stk__kernel_dropout_work), &rig->dropout, error);
}

void ptx_rig_close(ptx_rig *rig)
{
    ptx_module_fini(&rig->module);
    ptx_machine_fini(&rig->machine);
    stk__buffer_fini(&rig->text);
    stk__buffer_fini(&rig->samples);
    *rig = (ptx_rig){0};
}

/* An address of the device, as the pointer that a kernel is given. */
static unsigned char *map(ptx_rig *rig, const void *host, size_t bytes, bool writable)
{
    return (unsigned char *)(uintptr_t)ptx_memory_map(&rig->machine.memory, (void *)(uintptr_t)host, bytes,
                                                      writable);
}

stk_status ptx_rig_augment(ptx_rig *rig, const stk__augment_batch *batch, stk_error *error)
{
    const size_t bytes = (size_t)batch->count * sizeof(stk__kernel_sample);
    STK__TRY(stk__buffer_reserve(&rig->samples, bytes, error));
    stk__kernel_sample *const samples = (stk__kernel_sample *)(void *)rig->samples.data;
    const stk__launch launch = stk__launch_make(batch, samples);
    const uint32_t blocks[3] = {launch.columns, launch.rows, launch.samples};
    rig->machine.memory.count = 0;
    stk__kernel_work work;
    memset(&work, 0, sizeof work);
    work.launch = launch.text;
    work.arena = map(rig, batch->arena, batch->arena_bytes, false);
    work.samples = (stk__kernel_sample *)(void *)map(rig, samples, bytes, true);
    work.image = map(rig, batch->target.image, launch.image_bytes, true);
    work.mask = map(rig, batch->target.mask, launch.mask_bytes, true);
    if (launch.grey) STK__TRY(ptx_machine_launch(&rig->machine, rig->grey, blocks, &work, error));
    return ptx_machine_launch(&rig->machine, rig->augment, blocks, &work, error);
}

stk_status ptx_rig_mix(ptx_rig *rig, const ptx_mixing *mixing, stk_error *error)
{
    STK__TRY(
        stk__buffer_reserve(&rig->samples, (size_t)mixing->batch->count * sizeof(stk__kernel_sample), error));
    const stk__launch launch =
        stk__launch_make(mixing->batch, (stk__kernel_sample *)(void *)rig->samples.data);
    const uint32_t blocks[3] = {launch.columns, launch.rows, mixing->count};
    rig->machine.memory.count = 0;
    stk__kernel_mix_work work;
    memset(&work, 0, sizeof work);
    work.launch = launch.text;
    work.mixes = (const stk__kernel_mix *)(const void *)map(rig, mixing->mixes,
                                                            mixing->count * sizeof(stk__kernel_mix), false);
    work.image = map(rig, mixing->batch->target.image, launch.image_bytes, true);
    work.mask = map(rig, mixing->batch->target.mask, launch.mask_bytes, true);
    work.mask2 = mixing->mask2 ? map(rig, mixing->mask2, launch.mask_bytes, true) : NULL;
    return ptx_machine_launch(&rig->machine, rig->mix, blocks, &work, error);
}

stk_status ptx_rig_dropout(ptx_rig *rig, const stk__kernel_dropout_work *work, stk_error *error)
{
    const uint32_t columns = (work->length + STK_KERNEL_DROPOUT_VALUES - 1) / STK_KERNEL_DROPOUT_VALUES;
    stk__kernel_dropout_work mapped;
    rig->machine.memory.count = 0;
    memcpy(&mapped, work, sizeof mapped);
    mapped.ids = (const void *)map(rig, work->ids, work->samples * sizeof(int64_t), false);
    mapped.numbers = (const void *)map(rig, work->numbers, 2 * sizeof(int64_t), false);
    mapped.factors =
        (void *)map(rig, work->factors, (size_t)work->samples * work->length * sizeof(float), true);
    return ptx_machine_launch(&rig->machine, rig->dropout, (const uint32_t[]){columns, work->rows, 1},
                              &mapped, error);
}

static const unsigned char *move_values(const unsigned char *values, const stk__buffer *host,
                                        const unsigned char *there)
{
    return values ? there + (values - host->data) : NULL;
}

stk_status ptx_rig_gather(ptx_rig *rig, const ptx_gathering *gathering, stk_error *error)
{
    const size_t bytes = gathering->count * sizeof(stk__kernel_gather);
    STK__TRY(stk__buffer_reserve(&rig->samples, bytes, error));
    stk__kernel_gather *const sources = (stk__kernel_gather *)(void *)rig->samples.data;
    rig->machine.memory.count = 0;
    const unsigned char *images = map(rig, gathering->images->data, gathering->images->size_bytes, false),
                        *masks = map(rig, gathering->masks->data, gathering->masks->size_bytes, false);
    for (uint32_t i = 0; i < gathering->count; i++) {
        sources[i] = gathering->sources[i];
        sources[i].image.from = move_values(sources[i].image.from, gathering->images, images);
        sources[i].mask.from = move_values(sources[i].mask.from, gathering->masks, masks);
    }
    const stk__kernel_gather_work work = {
        .sources = (const stk__kernel_gather *)(const void *)map(rig, sources, bytes, false),
        .table = map(rig, gathering->table, 256, false),
        .arena = map(rig, gathering->arena->data, gathering->arena->size_bytes, true),
        .wrong =
            (uint32_t *)(void *)map(rig, gathering->wrong, 2 * gathering->count * sizeof(uint32_t), true)};
    uint32_t blocks[3];
    stk__launch_gather_groups(sources, gathering->count, blocks);
    return ptx_machine_launch(&rig->machine, rig->gather, blocks, &work, error);
}

stk_status ptx_rig_round(ptx_rig *rig, const stk__kernel_round_work *work, uint32_t samples, stk_error *error)
{
    const size_t values = (size_t)samples * work->length;
    const uint32_t columns = (work->length + STK_KERNEL_ROUND_VALUES - 1) / STK_KERNEL_ROUND_VALUES;
    rig->machine.memory.count = 0;
    const stk__kernel_round_work mapped = {
        .from = (const void *)map(rig, work->from, values * sizeof(float), false),
        .to = map(rig, work->to, values, true),
        .length = work->length};
    return ptx_machine_launch(&rig->machine, rig->round, (const uint32_t[]){columns, 1, samples}, &mapped,
                              error);
}
