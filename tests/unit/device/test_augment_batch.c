/* SPDX-License-Identifier: Apache-2.0 */
/* A batch over the pool is its samples one by one: for every level and number of workers. */
#include "device/cpu/augment_batch.h"
#include "support/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 11, W = 24, H = 18, AREA = W * H, GONE = 4 }; /* sample GONE has no pixels */

static struct {
    uint8_t arena[COUNT * AREA * 8];
    stk_view images[COUNT], masks[COUNT];
    stk__augment_block blocks[COUNT];
} in;

typedef struct result {
    float image[COUNT * AREA * 3];
    int64_t mask[COUNT * AREA];
} result;

static result expected;

static stk__augment_batch make_batch(result *out)
{
    return (stk__augment_batch){.count = COUNT,
                                .blocks = in.blocks,
                                .arena = in.arena,
                                .arena_bytes = sizeof in.arena,
                                .images = in.images,
                                .masks = in.masks,
                                .target = {.image = out->image,
                                           .mask = out->mask,
                                           .dtype = STK_DTYPE_F32,
                                           .mask_dtype = STK_DTYPE_I64,
                                           .w = W,
                                           .h = H,
                                           .channels = 3,
                                           .planar = true,
                                           .scale = {1, 2, 3},
                                           .bias = {0, -1, 4}}};
}

/* Copies rows to the end of the arena; rows are longer than the pixels. */
static stk_view put(stk__pixels pixels, size_t *end)
{
    const size_t row = (size_t)pixels.w * (size_t)pixels.channels;
    const stk_view view = {*end, row + 5, pixels.w, pixels.h, pixels.channels};
    for (int32_t y = 0; y < pixels.h; y++)
        memcpy(in.arena + *end + (size_t)y * view.pitch_bytes, stk__pixels_row(pixels, y), row);
    *end += (size_t)pixels.h * view.pitch_bytes;
    stk__free(pixels.data);
    return view;
}

static void run_one(int i, result *out)
{
    stk__buffer scratch = {0};
    stk__augment_target target = make_batch(out).target;
    target.image = out->image + i * AREA * 3;
    target.mask = out->mask + i * AREA;
    const stk_view v = in.images[i], m = in.masks[i];
    const stk__augment_source source = {{in.arena + v.offset_bytes, v.pitch_bytes, v.w, v.h, 3},
                                        {in.arena + m.offset_bytes, m.pitch_bytes, m.w, m.h, 1}};
    assert_int_equal(stk__augment_c(&in.blocks[i], &source, &target, &scratch, NULL), STK_OK);
    stk__buffer_fini(&scratch);
}

static int make_samples(void **state)
{
    (void)state;
    size_t end = 0;
    memset(&expected, 0x5a, sizeof expected);
    for (int i = 0; i < COUNT; i++) {
        in.blocks[i] = (stk__augment_block){.matrix = {0.9f, 0.1f * (float)i, -2, -0.2f, 1.1f, (float)i},
                                            .mask_fill = 255,
                                            .step_count = 2,
                                            .step_kind = {STK_COLOUR_CONTRAST, STK_COLOUR_HUE},
                                            .step_value = {1.3f, 0.1f},
                                            .blur_radius = i % 2,
                                            .blur_weight = {0.5f, 0.25f},
                                            .noise_std = i % 3 ? 0 : 4,
                                            .noise_sample = (uint32_t)i};
        const int32_t w = 20 + i, h = 30 - i;
        if (i != GONE) {
            in.images[i] = put(pictures_draw(w, h, 3, (uint32_t)i), &end);
            in.masks[i] = put(pictures_draw_mask(w, h, 6, (uint32_t)i), &end);
        }
        run_one(i, &expected);
    }
    assert_true(end <= sizeof in.arena);
    return 0;
}

static int stop_pool(void **state)
{
    (void)state;
    stk__pool_stop();
    return 0;
}

static void every_level_and_number_of_workers_gives_the_samples_one_by_one(void **state)
{
    (void)state;
    static result out;
    static const int workers[] = {0, 1, 2, 3, 8, 16};
    for (int level = -1; level < STK_CPU_LEVELS; level++) {
        stk__augment_crew crew = {.kernel = level < 0 ? NULL : stk__augment_at((stk__cpu_level)level)};
        if (level >= 0 && !crew.kernel) continue;
        for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
            memset(&out, 0x5a, sizeof out);
            crew.workers = workers[i];
            const stk__augment_batch batch = make_batch(&out);
            assert_int_equal(stk__augment_batch_run(&batch, &crew, NULL), STK_OK);
            assert_memory_equal(&out, &expected, sizeof out);
        }
        stk__augment_crew_fini(&crew);
    }
}

static void without_masks_only_images_are_written(void **state)
{
    (void)state;
    static result out;
    memset(&out, 0x5a, sizeof out);
    stk__augment_crew crew = {.workers = 2};
    stk__augment_batch batch = make_batch(&out);
    batch.masks = NULL;
    batch.target.mask = NULL;
    assert_int_equal(stk__augment_batch_run(&batch, &crew, NULL), STK_OK);
    assert_memory_equal(out.image, expected.image, sizeof out.image);
    for (size_t i = 0; i < sizeof out.mask; i++)
        assert_int_equal(((uint8_t *)out.mask)[i], 0x5a);
    stk__augment_crew_fini(&crew);
}

static void an_empty_batch_is_nothing(void **state)
{
    (void)state;
    stk__augment_crew crew = {0};
    assert_int_equal(stk__augment_batch_run(&(stk__augment_batch){0}, &crew, NULL), STK_OK);
    stk__augment_crew_fini(&crew);
}

static atomic_int started;
static atomic_int ranks[8]; /* by noise_sample: the how-manieth sample was started */

static stk_status note_rank(const stk__augment_block *block, const stk__augment_source *source,
                            const stk__augment_target *target, stk__buffer *scratch, stk_error *error)
{
    (void)source, (void)target, (void)scratch, (void)error;
    ranks[block->noise_sample] = started++;
    return STK_OK;
}

static void the_dearest_samples_are_started_first(void **state)
{
    (void)state;
    static result out;
    stk__augment_block blocks[8] = {0};
    for (uint32_t i = 0; i < 8; i++)
        blocks[i] = (stk__augment_block){.matrix = {1, 0, 0, 0, 1, 0}, .noise_sample = i};
    blocks[7].noise_std = 1; /* dearest */
    blocks[3].step_count = 1;
    blocks[3].step_kind[0] = STK_COLOUR_HUE;
    stk_view views[8] = {0};
    stk__augment_batch batch = make_batch(&out);
    batch.count = 8;
    batch.blocks = blocks;
    batch.images = views;
    batch.masks = NULL;
    for (int workers = 1; workers <= 2; workers++) {
        stk__augment_crew crew = {.kernel = note_rank, .workers = workers};
        started = 0;
        assert_int_equal(stk__augment_batch_run(&batch, &crew, NULL), STK_OK);
        assert_int_equal(started, 8);
        assert_int_equal(ranks[7] <= workers - 1, workers > 1); /* one alone takes them as they come; */
        assert_int_equal(ranks[3] <= workers, workers > 1);     /* two may overtake each other */
        stk__augment_crew_fini(&crew);
    }
}

static atomic_int allowed; /* allocations that still succeed */

static void *alloc_some(void *context, size_t size_bytes)
{
    (void)context;
    return atomic_fetch_sub(&allowed, 1) > 0 ? aligned_alloc(64, (size_bytes + 63) / 64 * 64) : NULL;
}

static void release_any(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    static result out;
    const stk__augment_batch batch = make_batch(&out);
    stk_allocator_set(&(stk_allocator){.alloc = alloc_some, .release = release_any});
    for (int workers = 1; workers <= 3; workers++) { /* the threads are there; only their memory is not */
        stk__augment_crew crew = {.workers = workers};
        stk_error error = {0};
        allowed = 0;
        assert_int_equal(stk__augment_batch_run(&batch, &crew, &error), STK_ERROR_MEMORY);
        assert_int_equal(error.code, STK_ERROR_MEMORY);
        assert_int_equal(stk__augment_batch_run(&batch, &crew, NULL), STK_ERROR_MEMORY);
        allowed = workers > 1; /* the order of the samples, but nothing to work in */
        assert_int_equal(stk__augment_batch_run(&batch, &crew, &error), STK_ERROR_MEMORY);
        allowed = 1000;
        assert_int_equal(stk__augment_batch_run(&batch, &crew, &error), STK_OK); /* and goes on after */
        stk__augment_crew_fini(&crew);
    }
    stk_allocator_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_and_number_of_workers_gives_the_samples_one_by_one),
        cmocka_unit_test(without_masks_only_images_are_written),
        cmocka_unit_test(an_empty_batch_is_nothing),
        cmocka_unit_test(the_dearest_samples_are_started_first),
        cmocka_unit_test(want_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, make_samples, stop_pool);
}
