/* SPDX-License-Identifier: Apache-2.0 */
/* What NVRTC makes of the kernels, executed: the reference's bits of random batches, nothing written outside;
 * and single instructions that are changed are found out.
 *
 *   test_ptx FILE...                   PTX files
 *   test_ptx --count FILE [CHAIN...]   instructions a pixel instead; a CHAIN is "preset=strong blur_prob=1"
 */
#include "engine/dropout.h"
#include "ptx/ptx_code.h"
#include "ptx/ptx_count.h"
#include "ptx/ptx_gathering.h"
#include "ptx/ptx_mixing.h"
#include "ptx/ptx_mutate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
    TRIALS = 500,
    MIX_TRIALS = 500,
    DROPOUT_TRIALS = 500,
    GATHER_TRIALS = 500,
    ROUND_TRIALS = 100,
    SIDE_PX = 40,
    MUTANTS = 150,
    MUTANT_TRIALS = 60,
    CAUGHT_PERCENT = 80
};

static const char *path; /* of the PTX file at hand */
static ptx_rig rig;
static stk__trial trial;
static ptx_mix_trial mix;
static ptx_gather_trial gathered;

static int open_file(void **state)
{
    (void)state;
    stk_error error = {0};
    if (ptx_rig_open(&rig, path, &error) == STK_OK) return 0;
    printf("%s\n", error.message);
    return -1;
}

static int close_file(void **state)
{
    (void)state;
    ptx_rig_close(&rig);
    ptx_mix_trial_fini(&mix);
    ptx_gather_trial_fini(&gathered);
    stk__trial_fini(&trial);
    return 0;
}

static bool has_the_bits(char *why, size_t why_bytes)
{
    const stk__trial_result result = stk__trial_compare(&trial);
    assert_true(result.values > 0);
    snprintf(why, why_bytes, "%llu of %llu values differ, first at byte %llu%s",
             (unsigned long long)result.differing, (unsigned long long)result.values,
             (unsigned long long)result.first, result.overrun ? "; it wrote outside" : "");
    return result.differing == 0 && !result.overrun;
}

/* false: why says what is wrong. Warps run in either order. */
static bool augments(uint64_t seed, char *why, size_t why_bytes)
{
    stk_error error = {0};
    assert_int_equal(stk__trial_make(&trial, seed, SIDE_PX, &error), STK_OK);
    rig.machine.backwards = seed % 2;
    if (ptx_rig_augment(&rig, &trial.batch, &error) == STK_OK) return has_the_bits(why, why_bytes);
    snprintf(why, why_bytes, "%s", error.message);
    return false;
}

static bool mixes(uint64_t seed, char *why, size_t why_bytes)
{
    stk_error error = {0};
    assert_int_equal(stk__trial_make(&trial, seed, SIDE_PX, &error), STK_OK);
    assert_int_equal(ptx_mix_trial_make(&mix, &trial, seed, &error), STK_OK);
    rig.machine.backwards = seed % 2;
    snprintf(why, why_bytes, "second masks differ");
    if (ptx_rig_mix(&rig, &mix.mixing, &error) == STK_OK)
        return ptx_mix_trial_matches(&mix) && has_the_bits(why, why_bytes);
    snprintf(why, why_bytes, "%s", error.message);
    return false;
}

/* Groups of one sample or several; the last draw of a sample is cut off or not. */
static bool drops(uint64_t seed, char *why, size_t why_bytes)
{
    enum { MOST_SAMPLES = 5, MOST_LENGTH = 1300 };
    static float factors[MOST_SAMPLES * MOST_LENGTH + 1];
    stk_error error = {0};
    const stk__random shape = stk__random_draw((stk__random_at){.seed = seed}),
                      more = stk__random_draw((stk__random_at){.seed = seed, .draw = 1});
    const uint32_t samples = 1 + shape.word[0] % MOST_SAMPLES, length = 1 + shape.word[1] % MOST_LENGTH;
    const stk__dropout dropout =
        stk__dropout_make(stk__random_unit(shape.word[2]), (uint64_t)more.word[0] << 32 | more.word[1],
                          more.word[2], shape.word[3] % 9);
    int64_t ids[MOST_SAMPLES];
    for (uint32_t i = 0; i < samples; i++)
        ids[i] = (int64_t)((uint64_t)more.word[3] * (i + 1));
    const stk__kernel_dropout_work work = {.samples = samples,
                                           .rows = 1 + shape.word[2] % samples,
                                           .length = length,
                                           .operation = (uint32_t)STK_OPERATION_DROPOUT + dropout.layer,
                                           .threshold = dropout.threshold,
                                           .scale = dropout.scale,
                                           .ids = ids,
                                           .numbers = (const int64_t[]){(int64_t)dropout.seed, dropout.epoch},
                                           .factors = factors};
    for (uint32_t i = 0; i <= samples * length; i++)
        factors[i] = -1;
    rig.machine.backwards = seed % 2;
    snprintf(why, why_bytes, "%s", "it wrote outside");
    if (ptx_rig_dropout(&rig, &work, &error) != STK_OK)
        return snprintf(why, why_bytes, "%s", error.message), false;
    for (uint32_t i = 0; i < samples * length; i++) {
        const uint32_t element = i % length;
        const stk__random draw = stk__dropout_draw(&dropout, ids[i / length], element / 4);
        const float expected = stk__dropout_factor(&dropout, draw.word[element % 4]);
        snprintf(why, why_bytes, "factor %u is %g instead of %g", i, (double)factors[i], (double)expected);
        if (memcmp(&factors[i], &expected, sizeof expected) != 0) return false;
    }
    return factors[samples * length] == -1;
}

static bool gathers(uint64_t seed, char *why, size_t why_bytes)
{
    stk_error error = {0};
    assert_int_equal(ptx_gather_trial_make(&gathered, seed, SIDE_PX, &error), STK_OK);
    rig.machine.backwards = seed % 2;
    snprintf(why, why_bytes, "bytes or the places of wrong values differ");
    if (ptx_rig_gather(&rig, &gathered.gathering, &error) == STK_OK)
        return ptx_gather_trial_matches(&gathered);
    snprintf(why, why_bytes, "%s", error.message);
    return false;
}

/* Levels at and around halves, and any. */
static bool rounds(uint64_t seed, char *why, size_t why_bytes)
{
    enum { MOST_SAMPLES = 3, MOST_LENGTH = 2500 };
    static float from[MOST_SAMPLES * MOST_LENGTH];
    static uint8_t to[MOST_SAMPLES * MOST_LENGTH + 1];
    stk_error error = {0};
    const stk__random shape = stk__random_draw((stk__random_at){.seed = seed});
    const uint32_t samples = 1 + shape.word[0] % MOST_SAMPLES,
                   length = 1 + shape.word[1] % (shape.word[2] % 2 ? MOST_LENGTH : 40),
                   values = samples * length;
    for (uint32_t i = 0; i < values; i++) {
        const uint32_t word =
            stk__random_draw((stk__random_at){.seed = seed, .sample = 1 + i / 4}).word[i % 4];
        const float half = (float)(word >> 8 & 255) - 0.5f;
        from[i] = word % 4 == 0               ? stk__random_unit(word) * 255
                  : half < 0 || word % 4 == 1 ? (float)(word >> 8 & 255)
                  : word % 4 == 2             ? half
                                              : nextafterf(half, 0);
    }
    memset(to, 0xA5, sizeof to);
    rig.machine.backwards = seed % 2;
    const stk__kernel_round_work work = {.from = from, .to = to, .length = length};
    if (ptx_rig_round(&rig, &work, samples, &error) != STK_OK)
        return snprintf(why, why_bytes, "%s", error.message), false;
    for (uint32_t i = 0; i < values; i++) {
        snprintf(why, why_bytes, "value %u: %.9g becomes %d", i, (double)from[i], to[i]);
        if (to[i] != (uint8_t)(int)(from[i] + 0.5f)) return false;
    }
    return to[values] == 0xA5;
}

static void augment_has_the_bits(void **state)
{
    (void)state;
    char why[400];
    for (uint64_t seed = 0; seed < TRIALS; seed++)
        if (!augments(seed, why, sizeof why))
            fail_msg("%s, seed %llu: %s", path, (unsigned long long)seed, why);
}

/* A white image whose greys add up to more than 32 bits, in many blocks. */
static void large_sums_do_not_overflow(void **state)
{
    (void)state;
    enum { W = 640, H = 513 };
    static float image[W * H], expected[W * H];
    static uint8_t white[W * H];
    stk_error error = {0};
    memset(white, 255, sizeof white);
    const stk__augment_block block = {.matrix = {1, 0, -0.5f, 0, 1, -0.5f},
                                      .step_count = 1,
                                      .step_kind = {STK_COLOUR_CONTRAST},
                                      .step_value = {0.25f}};
    const stk_view view = {0, W, W, H, 1};
    stk__augment_batch batch = {
        .count = 1, .blocks = &block, .arena = white, .arena_bytes = sizeof white, .images = &view};
    batch.target = (stk__augment_target){
        .image = expected, .dtype = STK_DTYPE_F32, .w = W, .h = H, .channels = 1, .scale = {1}};
    const stk__augment_source source = {stk__pixels_dense(white, W, H, 1), {0}};
    assert_int_equal(stk__augment_c(&block, &source, &batch.target, &trial.scratch, NULL), STK_OK);
    batch.target.image = image;
    if (ptx_rig_augment(&rig, &batch, &error) != STK_OK) fail_msg("%s: %s", path, error.message);
    assert_memory_equal(image, expected, sizeof image);
    assert_true(image[0] == 255);
}

static void mix_has_the_bits(void **state)
{
    (void)state;
    char why[400];
    int kinds[4] = {0};
    for (uint64_t seed = 0; seed < MIX_TRIALS; seed++) {
        if (!mixes(seed, why, sizeof why)) fail_msg("%s, seed %llu: %s", path, (unsigned long long)seed, why);
        for (uint32_t i = 0; i < mix.mixing.count; i++)
            kinds[mix.mixes[i].kind]++;
    }
    for (int k = 0; k < 4; k++)
        assert_true(kinds[k] > MIX_TRIALS / 20);
}

static void dropout_has_the_bits(void **state)
{
    (void)state;
    char why[400];
    for (uint64_t seed = 0; seed < DROPOUT_TRIALS; seed++)
        if (!drops(seed, why, sizeof why)) fail_msg("%s, seed %llu: %s", path, (unsigned long long)seed, why);
}

static void gather_has_the_bits(void **state)
{
    (void)state;
    char why[400];
    int wrong[2] = {0}, masks = 0, swapped = 0;
    for (uint64_t seed = 0; seed < GATHER_TRIALS; seed++) {
        if (!gathers(seed, why, sizeof why))
            fail_msg("%s, seed %llu: %s", path, (unsigned long long)seed, why);
        for (uint32_t i = 0; i < gathered.gathering.count; i++) {
            wrong[0] += gathered.wrong[2 * i] != UINT32_MAX;
            wrong[1] += gathered.wrong[2 * i + 1] != UINT32_MAX;
            masks += gathered.sources[i].mask.from != NULL;
            swapped += gathered.sources[i].mask.from && gathered.sources[i].swaps;
        }
    }
    assert_true(wrong[0] > GATHER_TRIALS / 20 && wrong[1] > GATHER_TRIALS / 20);
    assert_true(masks > GATHER_TRIALS / 2 && swapped > GATHER_TRIALS / 5 && swapped < masks);
}

static void round_has_the_bits(void **state)
{
    (void)state;
    char why[400];
    for (uint64_t seed = 0; seed < ROUND_TRIALS; seed++)
        if (!rounds(seed, why, sizeof why))
            fail_msg("%s, seed %llu: %s", path, (unsigned long long)seed, why);
}

static bool survives(const ptx_kernel *kernel)
{
    char why[400];
    for (uint64_t seed = 0; seed < MUTANT_TRIALS; seed++)
        if (kernel == rig.mix       ? !mixes(seed, why, sizeof why)
            : kernel == rig.dropout ? !drops(seed, why, sizeof why)
            : kernel == rig.gather  ? !gathers(seed, why, sizeof why)
            : kernel == rig.round   ? !rounds(seed, why, sizeof why)
                                    : !augments(seed, why, sizeof why))
            return false;
    return true;
}

/* Instructions that were executed above and have a relative, one at a time. Those that survive are printed:
 * some mean the same. */
static void changed_instructions_are_found_out(void **state)
{
    (void)state;
    ptx_kernel *const kernels[] = {rig.grey, rig.augment, rig.mix, rig.dropout, rig.gather, rig.round};
    int made = 0, caught = 0;
    rig.machine.most_instructions = 200000;
    for (uint32_t draw = 0; made < MUTANTS && draw < 100 * MUTANTS; draw++) {
        ptx_mutation mutation = ptx_mutation_draw(kernels, 6, draw);
        if (!mutation.at) continue;
        made++;
        ptx_mutation_swap(&mutation);
        const bool found = !survives(mutation.kernel);
        ptx_mutation_swap(&mutation);
        caught += found;
        if (!found)
            printf("survives: %s:%u: %s instead of %s\n", path, mutation.at->line, mutation.instead,
                   mutation.at->name);
    }
    printf("%s: %d of %d changed instructions found out\n", path, caught, made);
    assert_true(survives(rig.augment) && survives(rig.mix) && survives(rig.dropout) && survives(rig.gather) &&
                survives(rig.round));
    assert_true(made >= MUTANTS * 2 / 3 && caught * 100 >= made * CAUGHT_PERCENT);
}

static void do_nothing(const ptx_instruction *at, ptx_warp *warp, uint32_t mask)
{
    (void)at, (void)warp, (void)mask;
}

/* A barrier that is left out is a race, unless it is not needed, such as one at the end of a kernel: those
 * are printed. */
static void missing_barriers_are_found_out(void **state)
{
    (void)state;
    ptx_kernel *const kernels[] = {rig.grey, rig.augment};
    int made = 0, caught = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t pc = 0; pc < kernels[k]->code_count; pc++) {
            ptx_instruction *const at = &kernels[k]->code[pc];
            if (at->flow != PTX_BARRIER || at->threads == 0) continue;
            *at = (ptx_instruction){
                .run = do_nothing, .guard = PTX_NONE, .flow = PTX_STRAIGHT, .line = at->line};
            const bool found = !survives(kernels[k]);
            at->flow = PTX_BARRIER;
            made++;
            caught += found;
            if (!found) printf("survives: %s:%u: without this barrier\n", path, at->line);
        }
    printf("%s: %d of %d missing barriers found out\n", path, caught, made);
    assert_true(survives(rig.augment));
    assert_true(made > 0 && caught * 2 >= made);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(augment_has_the_bits),
        cmocka_unit_test(large_sums_do_not_overflow),
        cmocka_unit_test(mix_has_the_bits),
        cmocka_unit_test(dropout_has_the_bits),
        cmocka_unit_test(gather_has_the_bits),
        cmocka_unit_test(round_has_the_bits),
        cmocka_unit_test(changed_instructions_are_found_out),
        cmocka_unit_test(missing_barriers_are_found_out),
    };
    int failed = argc < 2;
    if (argc >= 3 && strcmp(argv[1], "--count") == 0) return ptx_count_print(argv[2], argv + 3, argc - 3);
    if (failed) printf("usage: test_ptx FILE... | --count FILE [CHAIN...]\n");
    for (int i = 1; i < argc; i++) {
        path = argv[i];
        printf("%s\n", path);
        failed |= cmocka_run_group_tests(tests, open_file, close_file) != 0;
    }
    return failed;
}
