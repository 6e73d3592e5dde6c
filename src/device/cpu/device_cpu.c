/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that are always there: cpu and null. */
#include "core/clock.h"
#include "core/cpu.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct cpu_device {
    stk__device device;
    stk__augment_kernel kernel;
    stk__buffer scratch;
} cpu_device;

stk__cpu_level stk__device_cpu_level(void)
{
    int level = (int)stk__cpu_level_allowed();
    while (level > STK_CPU_C && !stk__augment_at((stk__cpu_level)level))
        level--;
    return (stk__cpu_level)level;
}

static void read_model(char *model, size_t model_bytes)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) != 0 || !strchr(line, ':')) continue;
        const char *name = strchr(line, ':') + 1;
        name += strspn(name, " \t");
        snprintf(model, model_bytes, "%.*s", (int)strcspn(name, "\n"), name);
        break;
    }
    if (file) fclose(file);
}

/* Has STOKER_CPU an effect, and which? */
static void explain_cap(char *note, size_t note_bytes)
{
    const char *cap = getenv("STOKER_CPU");
    if (!cap || !*cap) return;
    for (int level = 0; level < STK_CPU_LEVELS; level++) {
        if (strcasecmp(cap, stk__cpu_level_name((stk__cpu_level)level)) != 0) continue;
        const bool caps = level < (int)stk__cpu_level_found();
        snprintf(note, note_bytes, caps ? "capped to %s by STOKER_CPU" : "STOKER_CPU=%s has no effect here",
                 stk__cpu_level_name((stk__cpu_level)level));
        return;
    }
    snprintf(note, note_bytes, "STOKER_CPU=%.40s is invalid (c, avx2, avx512) and ignored", cap);
}

static int list_cpu(stk__device_info *infos, int most)
{
    if (most < 1) return 0;
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    infos[0] = (stk__device_info){.kind = STK_DEVICE_CPU,
                                  .name = "cpu",
                                  .available = true,
                                  .memory_bytes = pages > 0 ? (int64_t)pages * page_bytes : -1,
                                  .largest_buffer_bytes = -1,
                                  .compute_units = stk__cpu_budget_read(NULL).cpus};
    read_model(infos[0].model, sizeof infos[0].model);
    explain_cap(infos[0].note, sizeof infos[0].note);
    return 1;
}

static stk_status open_cpu(stk__device **device, int index, stk_error *error)
{
    (void)index;
    cpu_device *cpu = stk__alloc(sizeof *cpu);
    if (!cpu) return stk__fail_memory(error, sizeof *cpu, "a device");
    list_cpu(&cpu->device.info, 1);
    cpu->kernel = stk__augment_at(stk__device_cpu_level());
    *device = &cpu->device;
    return STK_OK;
}

static stk__pixels pixels_of(const stk__augment_batch *batch, const stk_view *views, uint64_t i,
                             int32_t channels)
{
    if (!views || views[i].w == 0) return (stk__pixels){.channels = channels};
    return (stk__pixels){(uint8_t *)batch->arena + views[i].offset_bytes, views[i].pitch_bytes, views[i].w,
                         views[i].h, channels};
}

/* In the caller's thread; the loader's workers call kernels themselves. */
static stk_status augment_cpu(stk__device *device, const stk__augment_batch *batch, stk_error *error)
{
    cpu_device *cpu = (cpu_device *)device;
    const uint64_t start_ns = stk__clock_ns();
    stk__augment_target target = batch->target;
    const size_t area = (size_t)target.w * (size_t)target.h;
    const size_t image_bytes = area * (size_t)target.channels * (size_t)stk_dtype_bytes(target.dtype);
    for (uint64_t i = 0; i < batch->count; i++) {
        const stk__augment_source source = {pixels_of(batch, batch->images, i, target.channels),
                                            pixels_of(batch, batch->masks, i, 1)};
        target.image = (uint8_t *)batch->target.image + i * image_bytes;
        if (target.mask)
            target.mask =
                (uint8_t *)batch->target.mask + i * area * (size_t)stk_dtype_bytes(target.mask_dtype);
        STK__TRY(cpu->kernel(&batch->blocks[i], &source, &target, &cpu->scratch, error));
    }
    device->last_kernel_ns = stk__clock_ns() - start_ns;
    return STK_OK;
}

static void close_cpu(stk__device *device)
{
    cpu_device *cpu = (cpu_device *)device;
    stk__buffer_fini(&cpu->scratch);
    stk__free(cpu);
}

const stk__device_ops stk__device_cpu = {.kind = STK_DEVICE_CPU,
                                         .word = "cpu",
                                         .list = list_cpu,
                                         .open = open_cpu,
                                         .augment = augment_cpu,
                                         .close = close_cpu};

static int list_null(stk__device_info *infos, int most)
{
    if (most < 1) return 0;
    infos[0] = (stk__device_info){.kind = STK_DEVICE_NULL,
                                  .name = "null",
                                  .available = true,
                                  .note = "no augmentation: measures the rest of the pipeline",
                                  .memory_bytes = -1,
                                  .largest_buffer_bytes = -1,
                                  .compute_units = -1};
    return 1;
}

static stk_status open_null(stk__device **device, int index, stk_error *error)
{
    (void)index;
    *device = stk__alloc(sizeof **device);
    if (!*device) return stk__fail_memory(error, sizeof **device, "a device");
    list_null(&(*device)->info, 1);
    return STK_OK;
}

static stk_status augment_null(stk__device *device, const stk__augment_batch *batch, stk_error *error)
{
    (void)device, (void)batch, (void)error;
    return STK_OK;
}

static void close_null(stk__device *device)
{
    stk__free(device);
}

const stk__device_ops stk__device_null = {.kind = STK_DEVICE_NULL,
                                          .word = "null",
                                          .list = list_null,
                                          .open = open_null,
                                          .augment = augment_null,
                                          .close = close_null};
