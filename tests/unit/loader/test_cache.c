/* SPDX-License-Identifier: Apache-2.0 */
/* The cache alone: what goes in comes out, the budget holds, threads at once, memory that is refused. */
#include "loader/cache.h"

#include "core/clock.h"
#include "core/thread.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { W = 13, H = 7, MOST_PIXELS = 64 * 64, SAMPLES = 40, THREADS = 4, LAPS = 60 };

/* Pixels that can be told from those of every other sample. */
typedef struct picture {
    uint8_t image[MOST_PIXELS * 3], mask[MOST_PIXELS];
} picture;

static stk__decoded draw(picture *p, uint64_t id, int32_t w, int32_t h)
{
    for (int i = 0; i < w * h * 3; i++)
        p->image[i] = (uint8_t)(id * 31 + (uint64_t)i * 7);
    for (int i = 0; i < w * h; i++)
        p->mask[i] = (uint8_t)(id + (uint64_t)i);
    return (stk__decoded){.upright_w = 2 * w,
                          .upright_h = 3 * h,
                          .image = stk__pixels_dense(p->image, w, h, 3),
                          .mask = stk__pixels_dense(p->mask, w, h, 1)};
}

static stk__cache *make(size_t budget_bytes, bool masks)
{
    stk__cache *cache;
    const stk__cache_options options = {
        .sample_count = SAMPLES, .budget_bytes = budget_bytes, .channels = 3, .masks = masks};
    assert_int_equal(stk__cache_create(&cache, &options, NULL), STK_OK);
    return cache;
}

/* Every thread may call it: asserts nothing itself. */
static bool is_as_drawn(const stk__cache *cache, uint64_t id, int32_t w, int32_t h)
{
    stk__decoded found;
    picture p;
    const stk__decoded expected = draw(&p, id, w, h);
    return stk__cache_find(cache, id, &found) && found.upright_w == expected.upright_w &&
           found.upright_h == expected.upright_h && found.image.w == w && found.image.h == h &&
           found.image.channels == 3 && found.image.pitch_bytes == (size_t)w * 3 &&
           memcmp(found.image.data, p.image, (size_t)(w * h) * 3) == 0 &&
           (!found.mask.data || (found.mask.w == w && found.mask.h == h && found.mask.channels == 1 &&
                                 memcmp(found.mask.data, p.mask, (size_t)(w * h)) == 0));
}

static size_t bytes_of(int32_t w, int32_t h, bool masks)
{
    return stk__cache_sample_bytes(&(stk__cache_options){.channels = 3, .masks = masks}, w, h);
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    static picture p;
    for (int masks = 0; masks < 2; masks++) {
        stk__cache *cache = make(1 << 20, masks);
        stk__decoded found;
        for (uint64_t id = 0; id < SAMPLES; id += 3) {
            const int32_t w = W + (int32_t)id % 5, h = H + (int32_t)id % 2;
            const stk__decoded sample = draw(&p, id, w, h);
            assert_false(stk__cache_has(cache, id));
            assert_false(stk__cache_find(cache, id, &found));
            assert_true(stk__cache_keep(cache, id, &sample));
            assert_true(stk__cache_has(cache, id));
        }
        for (uint64_t id = 0; id < SAMPLES; id++) {
            assert_int_equal(stk__cache_has(cache, id), id % 3 == 0);
            if (id % 3 != 0) continue;
            assert_true(is_as_drawn(cache, id, W + (int32_t)id % 5, H + (int32_t)id % 2));
            stk__cache_find(cache, id, &found);
            assert_int_equal((uintptr_t)found.image.data % 64, 0);
            assert_int_equal(found.mask.data != NULL, masks);
        }
        assert_int_equal(stk__cache_measure(cache).samples, 14);
        stk__cache_destroy(&cache);
        assert_null(cache);
    }
}

static void a_second_copy_is_not_made(void **state)
{
    (void)state;
    static picture p;
    stk__cache *cache = make(1 << 20, true);
    stk__decoded sample = draw(&p, 5, W, H);
    assert_true(stk__cache_keep(cache, 5, &sample));
    const stk__cache_use before = stk__cache_measure(cache);
    sample = draw(&p, 6, W, H); /* other pixels under the same id: the first ones stay */
    assert_false(stk__cache_keep(cache, 5, &sample));
    assert_true(is_as_drawn(cache, 5, W, H));
    const stk__cache_use after = stk__cache_measure(cache);
    assert_memory_equal(&before, &after, sizeof after);
    stk__cache_destroy(&cache);
}

/* What does not fit is refused every time; a smaller one behind it still gets in. */
static void the_budget_holds(void **state)
{
    (void)state;
    static picture p;
    const size_t one = bytes_of(W, H, true), small = bytes_of(3, 3, true);
    assert_true(small <= one - 64);
    stk__cache *cache = make(3 * one - 1, true);
    stk__decoded sample;
    for (uint64_t id = 0; id < 6; id++) {
        sample = draw(&p, id, W, H);
        assert_int_equal(stk__cache_keep(cache, id, &sample), id < 2);
    }
    sample = draw(&p, 9, 3, 3);
    assert_true(stk__cache_keep(cache, 9, &sample));
    assert_false(stk__cache_has(cache, 4));
    assert_true(is_as_drawn(cache, 0, W, H) && is_as_drawn(cache, 1, W, H) && is_as_drawn(cache, 9, 3, 3));
    const stk__cache_use use = stk__cache_measure(cache);
    assert_int_equal(use.samples, 3);
    assert_int_equal(use.bytes, 2 * one + small);
    stk__cache_destroy(&cache);
}

static void a_budget_for_all_is_enough(void **state)
{
    (void)state;
    static picture p;
    stk__cache *cache = make(SAMPLES * bytes_of(W, H, false), false);
    for (uint64_t id = 0; id < SAMPLES; id++) {
        const stk__decoded sample = draw(&p, id, W, H);
        assert_true(stk__cache_keep(cache, id, &sample));
    }
    assert_int_equal(stk__cache_measure(cache).bytes, SAMPLES * bytes_of(W, H, false));
    stk__cache_destroy(&cache);
}

static void no_cache_holds_nothing(void **state)
{
    (void)state;
    stk__cache *none = NULL;
    stk__decoded found;
    assert_false(stk__cache_has(NULL, 3));
    assert_false(stk__cache_find(NULL, 3, &found));
    assert_int_equal(stk__cache_measure(NULL).samples, 0);
    stk__cache_destroy(&none);
}

static void promises_are_taken_back(void **state)
{
    (void)state;
    static picture p;
    const uint64_t before = stk__cache_promised_bytes();
    stk__cache *a = make(100000, true), *b = make(50000, true);
    assert_int_equal(stk__cache_promised_bytes() - before, 150000);
    const stk__decoded sample = draw(&p, 1, W, H);
    assert_true(stk__cache_keep(a, 1, &sample));
    assert_int_equal(stk__cache_promised_bytes() - before, 150000 - bytes_of(W, H, true));
    stk__cache_destroy(&a);
    assert_int_equal(stk__cache_promised_bytes() - before, 50000);
    stk__cache_destroy(&b);
    assert_int_equal(stk__cache_promised_bytes(), before);
}

/* --- threads ---------------------------------------------------------------------------------------------
 */

typedef struct race {
    stk__cache *cache;
    uint64_t first, step; /* the ids a thread goes through */
    atomic_int *ready;    /* threads that are about to start */
    atomic_int kept[SAMPLES], wrong;
} race;

static void run_racer(void *argument)
{
    race *r = argument;
    static _Thread_local picture p;
    atomic_fetch_add(r->ready, 1);
    while (atomic_load(r->ready) < THREADS)
        sched_yield();
    for (uint64_t i = 0; i < SAMPLES; i++) {
        const uint64_t id = (r->first + i * r->step) % SAMPLES;
        const bool there = stk__cache_has(r->cache, id);
        if (there && !is_as_drawn(r->cache, id, W, H)) atomic_fetch_add(&r->wrong, 1);
        const stk__decoded sample = draw(&p, id, W, H);
        if (stk__cache_keep(r->cache, id, &sample)) atomic_fetch_add(&r->kept[id], 1);
        if (there && !stk__cache_has(r->cache, id)) atomic_fetch_add(&r->wrong, 1);
    }
}

static void run_race(race racers[THREADS])
{
    stk__thread *threads[THREADS] = {0};
    for (int t = 0; t < THREADS; t++) {
        const stk__thread_options options = {.name = "racer", .run = run_racer, .context = &racers[t]};
        assert_int_equal(stk__thread_start(&threads[t], &options, NULL), STK_OK);
    }
    for (int t = 0; t < THREADS; t++)
        assert_true(stk__thread_join(&threads[t], stk__clock_ns() + 60 * STK_SECOND_NS));
}

/* All want the same samples in the same order: exactly one copy of each, whole whenever it is there. */
static void one_thread_of_many_copies(void **state)
{
    (void)state;
    for (int lap = 0; lap < LAPS; lap++) {
        static race racers[THREADS];
        atomic_int ready = 0;
        stk__cache *cache = make(SAMPLES * bytes_of(W, H, true), true);
        for (int t = 0; t < THREADS; t++)
            racers[t] = (race){.cache = cache, .first = 0, .step = 1, .ready = &ready};
        run_race(racers);
        for (uint64_t id = 0; id < SAMPLES; id++) {
            int kept = 0;
            for (int t = 0; t < THREADS; t++)
                kept += racers[t].kept[id];
            assert_int_equal(kept, 1);
            assert_true(is_as_drawn(cache, id, W, H));
        }
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(racers[t].wrong, 0);
        assert_int_equal(stk__cache_measure(cache).samples, SAMPLES);
        assert_int_equal(stk__cache_measure(cache).bytes, SAMPLES * bytes_of(W, H, true));
        stk__cache_destroy(&cache);
    }
}

/* Too little for all, each thread in another order: as many as fit get in, none of them damaged. */
static void threads_share_a_budget_that_is_too_small(void **state)
{
    (void)state;
    for (int lap = 0; lap < LAPS; lap++) {
        static race racers[THREADS];
        const uint64_t steps[THREADS] = {1, 3, 7, 39};
        atomic_int ready = 0;
        stk__cache *cache = make(SAMPLES / 4 * bytes_of(W, H, true) + 100, true);
        for (uint64_t t = 0; t < THREADS; t++)
            racers[t] = (race){.cache = cache, .first = 9 * t, .step = steps[t], .ready = &ready};
        run_race(racers);
        uint64_t held = 0;
        for (uint64_t id = 0; id < SAMPLES; id++) {
            if (!stk__cache_has(cache, id)) continue;
            held++;
            assert_true(is_as_drawn(cache, id, W, H));
        }
        assert_int_equal(held, SAMPLES / 4);
        assert_int_equal(stk__cache_measure(cache).samples, held);
        for (int t = 0; t < THREADS; t++)
            assert_int_equal(racers[t].wrong, 0);
        stk__cache_destroy(&cache);
    }
}

/* --- memory that is refused ------------------------------------------------------------------------------
 */

typedef struct refusal {
    int left, alive; /* requests that still succeed; blocks that are there */
} refusal;

static void *give(refusal *r, size_t size_bytes)
{
    if (r->left-- <= 0) return NULL;
    r->alive++;
    void *pages = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void *give_block(void *context, size_t size_bytes)
{
    return give(context, size_bytes);
}

static void take_back(void *context, void *memory, size_t size_bytes)
{
    ((refusal *)context)->alive--;
    munmap(memory, size_bytes);
}

static void memory_that_is_refused_is_an_error(void **state)
{
    (void)state;
    const stk__cache_options options = {.sample_count = 1000, .budget_bytes = 77777, .channels = 1};
    const uint64_t before = stk__cache_promised_bytes();
    for (int n = 0; n <= 3; n++) {
        stk__cache *cache;
        stk_error error = {0};
        refusal r = {.left = n};
        stk_allocator_set(&(stk_allocator){give_block, take_back, give_block, take_back, &r});
        const stk_status status = stk__cache_create(&cache, &options, &error);
        if (n == 3) stk__cache_destroy(&cache);
        stk_allocator_set(NULL);
        assert_int_equal(status, n < 3 ? STK_ERROR_MEMORY : STK_OK);
        assert_int_equal(error.code, n < 3 ? STK_ERROR_MEMORY : STK_OK);
        assert_null(cache);
        assert_int_equal(r.alive, 0);
        assert_int_equal(stk__cache_promised_bytes(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(a_second_copy_is_not_made),
        cmocka_unit_test(the_budget_holds),
        cmocka_unit_test(a_budget_for_all_is_enough),
        cmocka_unit_test(no_cache_holds_nothing),
        cmocka_unit_test(promises_are_taken_back),
        cmocka_unit_test(one_thread_of_many_copies),
        cmocka_unit_test(threads_share_a_budget_that_is_too_small),
        cmocka_unit_test(memory_that_is_refused_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
