/* SPDX-License-Identifier: Apache-2.0 */
/* Counts instructions of PTX by class along what is executed, on samples that a plan draws.
 *
 * Two numbers: by threads (what the pixels need) and by warps, 32 for each (what is issued: lanes that wait
 * for others count, too). PTX is not what a GPU executes: its assembler removes and splits instructions. */
#include "ptx/ptx_count.h"

#include "augment/plan.h"
#include "core/random.h"
#include "ptx/ptx_rig.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 24, SOURCE_PX = 200, TARGET_PX = 128, CHAIN_BYTES = 512, SEED = 7 };

static uint8_t arena[SOURCE_PX * SOURCE_PX * 4], masks_out[SAMPLES * TARGET_PX * TARGET_PX];
static float images_out[SAMPLES * TARGET_PX * TARGET_PX * 3];

/* "preset=strong blur_prob=1"; the settings point into texts. */
static stk_status read_chain(const char *chain, char texts[CHAIN_BYTES], stk__augment_settings *settings,
                             stk_error *error)
{
    snprintf(texts, CHAIN_BYTES, "%s", chain);
    for (char *rest = texts, *pair; (pair = strsep(&rest, " "));) {
        if (!*pair) continue;
        const char *const key = strsep(&pair, "=");
        STK__TRY(stk__augment_set(settings, key, pair ? pair : "", error));
    }
    return STK_OK;
}

static void resolve_samples(const stk__plan *plan, stk__augment_block blocks[SAMPLES])
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const stk__plan_at at = {.sample = i,
                                 .source_w = SOURCE_PX,
                                 .source_h = SOURCE_PX,
                                 .target_w = TARGET_PX,
                                 .target_h = TARGET_PX,
                                 .channels = 3};
        stk__resolved resolved;
        stk__plan_resolve(plan, &at, &resolved, NULL);
        blocks[i] = resolved.block;
    }
}

static stk_status run_chain(ptx_rig *rig, const char *chain, stk_error *error)
{
    char texts[CHAIN_BYTES];
    stk__augment_settings settings = {0};
    stk__plan *plan = NULL;
    stk__augment_block blocks[SAMPLES];
    stk_view images[SAMPLES], masks[SAMPLES];
    STK__TRY(read_chain(chain, texts, &settings, error));
    STK__TRY(stk__plan_create(&plan, &settings, SEED, error));
    resolve_samples(plan, blocks);
    stk__plan_destroy(&plan);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        images[i] = (stk_view){0, SOURCE_PX * 3, SOURCE_PX, SOURCE_PX, 3};
        masks[i] = (stk_view){SOURCE_PX * SOURCE_PX * 3, SOURCE_PX, SOURCE_PX, SOURCE_PX, 1};
    }
    const stk__augment_batch batch = {.count = SAMPLES,
                                      .blocks = blocks,
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .images = images,
                                      .masks = masks,
                                      .target = {.image = images_out,
                                                 .mask = masks_out,
                                                 .dtype = STK_DTYPE_F32,
                                                 .mask_dtype = STK_DTYPE_U8,
                                                 .planar = true,
                                                 .w = TARGET_PX,
                                                 .h = TARGET_PX,
                                                 .channels = 3,
                                                 .scale = {0.01f, 0.01f, 0.01f}}};
    STK__TRY(stk__launch_check(&batch, error));
    return ptx_rig_augment(rig, &batch, error);
}

static void print_row(const char *name, const ptx_count *grey, const ptx_count *augment)
{
    const double pixels = (double)SAMPLES * TARGET_PX * TARGET_PX;
    printf("| %-20s | %8.1f | %8.1f | %8.1f | %8.1f |\n", name, (double)grey->threads / pixels,
           (double)grey->warps * PTX_LANES / pixels, (double)augment->threads / pixels,
           (double)augment->warps * PTX_LANES / pixels);
}

static void print_table(const ptx_rig *rig, const char *chain)
{
    ptx_count grey[PTX_CLASSES + 1] = {{0}}, augment[PTX_CLASSES + 1] = {{0}};
    ptx_kernel_count(rig->grey, grey);
    ptx_kernel_count(rig->augment, augment);
    printf("\n%s: %d samples of %dx%d, 3 planes of float32, masks; PTX instructions a pixel\n\n", chain,
           SAMPLES, TARGET_PX, TARGET_PX);
    printf("| class                | stk_grey | issued   | stk_augment | issued |\n|---|---|---|---|---|\n");
    for (int c = 0; c < PTX_CLASSES; c++) {
        print_row(ptx_class_names[c], &grey[c], &augment[c]);
        grey[PTX_CLASSES].threads += grey[c].threads, grey[PTX_CLASSES].warps += grey[c].warps;
        augment[PTX_CLASSES].threads += augment[c].threads, augment[PTX_CLASSES].warps += augment[c].warps;
    }
    print_row("all", &grey[PTX_CLASSES], &augment[PTX_CLASSES]);
}

int ptx_count_print(const char *path, char *const chains[], int chain_count)
{
    static const char *const presets[] = {"preset=standard", "preset=strong"};
    stk_error error = {0};
    stk_status status = STK_OK;
    for (size_t i = 0; i < sizeof arena; i++)
        arena[i] = (uint8_t)stk__random_draw((stk__random_at){.seed = SEED, .draw = (uint32_t)i}).word[0];
    const int count = chain_count ? chain_count : (int)(sizeof presets / sizeof presets[0]);
    for (int i = 0; i < count && status == STK_OK; i++) {
        ptx_rig rig = {0}; /* which counts from its start */
        const char *const chain = chain_count ? chains[i] : presets[i];
        status = ptx_rig_open(&rig, path, &error);
        if (status == STK_OK) status = run_chain(&rig, chain, &error);
        if (status == STK_OK) print_table(&rig, chain);
        ptx_rig_close(&rig);
    }
    if (status != STK_OK) printf("%s\n", error.message);
    return status != STK_OK;
}
