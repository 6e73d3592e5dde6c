/* SPDX-License-Identifier: Apache-2.0 */
/* How the interpreter runs warps and blocks: lanes that part and meet, tables of branches, barriers, memory
 * of all kinds; and everything that it must refuse, with its line. */
#include "ptx/ptx_one.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static ptx_one one;

static void run(const ptx_one_text *text)
{
    stk_error error = {0};
    memset(one.out, 0xA5, sizeof one.out);
    if (ptx_one_run(&one, text, &error) != STK_OK) fail_msg("%s", error.message);
}

static int fill_inputs(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < PTX_ONE_VALUES; i++) {
        one.in[0][i] = i * i % 37;
        one.in[1][i] = 1000 + i;
        one.in[2][i] = i % 3;
        one.in[3][i] = UINT64_MAX - i;
    }
    return 0;
}

/* Each lane goes round as often as its number says; odd ones take another way. */
static void lanes_part_and_meet(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r',
                        .statements = "mov.u32 %ro, 0; mov.u32 %rx0, %ra;\n"
                                      "LOOP: setp.eq.s32 %px0, %rx0, 0; @%px0 bra DONE;\n"
                                      "and.b32 %rx1, %rx0, 1; setp.ne.s32 %px1, %rx1, 0; @%px1 bra ODD;\n"
                                      "add.s32 %ro, %ro, 10; bra.uni NEXT;\n"
                                      "ODD: add.s32 %ro, %ro, 1;\n"
                                      "NEXT: add.s32 %rx0, %rx0, -1; bra.uni LOOP;\n"
                                      "DONE: add.s32 %ro, %ro, 100000;"});
    for (uint32_t i = 0; i < PTX_LANES; i++)
        assert_int_equal(one.out[i], 100000 + one.in[0][i] / 2 * 10 + (one.in[0][i] + 1) / 2);
}

static void tables_lead_to_their_rows(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r',
                        .statements = "{\nTABLE: .branchtargets ZERO, ONE, TWO;\nbrx.idx %rc, TABLE;\n}\n"
                                      "TWO: mov.u32 %ro, 22; bra.uni END;\n"
                                      "ZERO: mov.u32 %ro, 20; bra.uni END;\n"
                                      "ONE: mov.u32 %ro, 21;\nEND: add.s32 %ro, %ro, 0;"});
    for (uint32_t i = 0; i < PTX_LANES; i++)
        assert_int_equal(one.out[i], 20 + i % 3);
}

/* Every thread reads what the one opposite has written, in another warp. */
static void barriers_hold_all_threads(void **state)
{
    (void)state;
    static const char statements[] =
        "mov.u32 %rx0, memory; shl.b32 %rx1, %rt, 2; add.s32 %rx2, %rx0, %rx1;\n"
        "st.shared.u32 [%rx2], %rb;\n"
        "bar.sync 0;\n"
        "mov.u32 %rx3, 252; sub.s32 %rx1, %rx3, %rx1; add.s32 %rx2, %rx0, %rx1;\n"
        "ld.shared.u32 %ro, [%rx2];";
    for (int backwards = 0; backwards < 2; backwards++) {
        run(&(ptx_one_text){.result = 'r',
                            .threads = 64,
                            .backwards = backwards,
                            .declared = ".shared .align 4 .b8 memory[256];",
                            .statements = statements});
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(one.out[i], 1063 - i);
    }
}

/* The last lanes of a warp that is not full do nothing. */
static void blocks_need_not_be_full(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r', .threads = 41, .statements = "mov.u32 %ro, %ntid.x; bar.sync 0;"});
    for (uint32_t i = 0; i < 41; i++)
        assert_int_equal(one.out[i], 41);
    assert_true(one.out[41] == UINT64_C(0xA5A5A5A5A5A5A5A5));
}

static void threads_have_local_memory(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'l',
                        .declared = ".local .align 16 .b8 own[32];",
                        .statements = "mov.u64 %lx0, own; cvta.local.u64 %lx1, %lx0;\n"
                                      "st.local.v2.u64 [%lx0+16], {%la, %lb};\n"
                                      "ld.u64 %lx2, [%lx1+24]; ld.local.u64 %lx3, [own+16];\n"
                                      "ld.local.s8 %rx0, [%lx0+24]; cvt.s64.s32 %lx4, %rx0;\n"
                                      "sub.s64 %lo, %lx2, %lx3; add.s64 %lo, %lo, %lx4;"});
    for (uint32_t i = 0; i < PTX_LANES; i++)
        assert_true(one.out[i] == one.in[1][i] - one.in[0][i] + (uint64_t)(int8_t)(uint8_t)one.in[1][i]);
}

static void sums_of_all_threads_are_whole(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r',
                        .threads = 64,
                        .before = ".global .align 4 .u32 sum = 5;",
                        .statements = "mov.u64 %lx0, sum; atom.global.add.u32 %rx0, [%lx0], %rt;\n"
                                      "red.global.add.u32 [sum], 1; bar.sync 0; ld.global.u32 %ro, [%lx0];"});
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(one.out[i], 5 + 64 * 63 / 2 + 64);
}

static void the_least_of_all_threads_stays(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r',
                        .threads = 64,
                        .before = ".global .align 4 .u32 least = 4000000000;",
                        .statements = "mov.u64 %lx0, least; add.s32 %rx1, %rt, 7;\n"
                                      "atom.global.min.u32 %rx0, [%lx0], %rx1; bar.sync 0;\n"
                                      "red.global.min.u32 [least], 3000000000; ld.global.u32 %ro, [%lx0];"});
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(one.out[i], 7);
}

static void modules_have_tables(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r',
                        .before = ".const .align 4 .b32 table[4] = {7, -8, 0f3F800000};",
                        .statements =
                            "mov.u64 %lx0, table; mul.wide.u32 %lx1, %rc, 4; add.s64 %lx0, %lx0, %lx1;\n"
                            "ld.const.u32 %ro, [%lx0];"});
    static const uint32_t expected[] = {7, (uint32_t)-8, 0x3f800000};
    for (uint32_t i = 0; i < PTX_LANES; i++)
        assert_int_equal(one.out[i], expected[i % 3]);
}

/* What a pragma says to be unused is rubbish. */
static void unused_bytes_are_spoilt(void **state)
{
    (void)state;
    run(&(ptx_one_text){.result = 'r',
                        .statements =
                            ".pragma \"nounroll\"; .pragma \"used_bytes_mask 0x4F\";\n"
                            "ld.global.v2.u32 {%rx0, %rx1}, [%lin+8]; ld.global.u32 %rx2, [%lin+12];\n"
                            "add.s32 %ro, %rx1, %rx2; add.s32 %ro, %ro, %rx0;"});
    for (uint32_t i = 0; i < PTX_LANES; i++)
        assert_int_equal(one.out[i], UINT32_C(0xA500A5A5) + one.in[0][1]);
}

static const struct {
    const char *statements, *why, *declared;
} refused[] = {
    {"mul.f32 %ro, %ra, %rb;", "one.ptx:41: unknown instruction 'mul.f32': without .rn it may be fused",
     NULL},
    {"mul.rn.ftz.f32 %ro, %ra, %rb;", "subnormal", NULL},
    {"div.approx.f32 %ro, %ra, %rb;", "not one certain number", NULL},
    {"frobnicate.b32 %ro, %ra;", "unknown instruction 'frobnicate.b32'", NULL},
    {"shfl.sync.idx.b32 %ro, %ra, %rb, %rc, %rd;", "unknown instruction", NULL},
    {"add.s32 %ro, %ra, %lb;", "'add.s32' does not take '448'", NULL},
    {"add.s32 5, %ra, %rb;", "'add.s32' does not take 'i44'", NULL},
    {"add.s32 %ro, %ra, %rq;", "unknown register '%rq'", NULL},
    {"ld.global.evict_last.u32 %ro, [%lin];", "unknown instruction", NULL},
    {"atom.global.add.f32 %ro, [%lin], %ra;", "unknown instruction", NULL},
    {"atom.global.min.s32 %ro, [%lin], %ra;", "unknown instruction", NULL},
    {"ld.global.u64 %ro, [%lin];", "with these operands", NULL},
    {"ld.global.u32 %ro, [one_param_0];", "with these operands", NULL},
    {".pragma \"unknown\";", "unknown pragma \"unknown\"", NULL},
    {".pragma \"used_bytes_mask 1\"; st.global.u32 [%lx1], %ra;", "with these operands", NULL},
    {"bar.sync 1;", "with these operands", NULL},
    {"bra NOWHERE;", "no label or name 'NOWHERE'", NULL},
    {"LX: mov.u32 %ro, 1; LX: mov.u32 %ro, 1;", "label 'LX' is there twice", NULL},
    {"brx.idx %ra, LX; LX: mov.u32 %ro, 1;", "not what a branch needs", NULL},
    {"mov.u32 %ro, 1", "',' expected instead of 'cvt.u64.u32'", NULL},
    {"", "unknown type '.f64'", ".reg .f64 %d<4>;"},
    {"", "unknown directive '.maxnreg'", NULL},
    {"ld.global.u32 %ro, [%lin+-4];", "line 41, ld.global.u32: lane 0 reads 4 bytes", NULL},
    {"ld.global.u32 %ro, [%lin+2048];", "outside of what it may", NULL},
    {"ld.global.v2.u32 {%ro, %rx0}, [%lin+4];", "which is not aligned", NULL},
    {"st.global.u32 [%lin], %ra;", "writes 4 bytes", NULL},
    {"ld.shared.u32 %ro, [m+16];", "outside of what it may", ".shared .align 4 .b8 m[16];"},
    {"st.shared.u32 [m+4], %ra;", "lane 1 writes 4 bytes at 0x404, which another thread uses",
     ".shared .align 4 .b8 m[16];"},
    {"ld.shared.u32 %ro, [m]; setp.eq.s32 %px0, %rt, 9; @%px0 st.shared.u8 [m+3], %ra;",
     "lane 9 writes 1 bytes", ".shared .align 4 .b8 m[16];"},
    {"setp.eq.s32 %px0, %rt, 9; @%px0 st.shared.u8 [m+3], %ra; bar.sync 0; ld.shared.u32 %ro, [m]; "
     "@!%px0 st.shared.u8 [m+3], %ra;",
     "lane 0 writes 1 bytes", ".shared .align 4 .b8 m[16];"},
    {"ld.global.u32 %ro, [%lx1];", "reads 4 bytes at 0xa5a5", NULL},
    {"div.u32 %ro, %ra, 0;", "division by 0", NULL},
    {"AGAIN: bra.uni AGAIN;", "it does not end", NULL},
    {"LT: .branchtargets LA; LA: brx.idx %rb, LT;", "branch 1000 of 1", NULL},
    {"setp.eq.s32 %px0, %rt, 3; @%px0 ret; bar.sync 0;", "ended before a barrier", NULL},
    {"setp.lt.u32 %px0, %rt, 32; @%px0 ret; bar.sync 0;", "some warps ended before a barrier", NULL},
    {"setp.eq.s32 %px0, %rt, 3; @%px0 bra LB; bar.sync 0; LB: bar.sync 0;", "two barriers", NULL},
};

static void wrong_ones_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        stk_error error = {0};
        ptx_one_text text = {.result = 'r',
                             .threads = 64,
                             .statements = refused[i].statements,
                             .declared = refused[i].declared};
        if (strstr(refused[i].why, ".maxnreg")) text.before = ".maxnreg 64";
        assert_int_not_equal(ptx_one_run(&one, &text, &error), STK_OK);
        if (!strstr(error.message, refused[i].why))
            fail_msg("'%s': '%s' instead of '%s'", refused[i].statements, error.message, refused[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_part_and_meet),
        cmocka_unit_test(tables_lead_to_their_rows),
        cmocka_unit_test(barriers_hold_all_threads),
        cmocka_unit_test(blocks_need_not_be_full),
        cmocka_unit_test(threads_have_local_memory),
        cmocka_unit_test(sums_of_all_threads_are_whole),
        cmocka_unit_test(the_least_of_all_threads_stays),
        cmocka_unit_test(modules_have_tables),
        cmocka_unit_test(unused_bytes_are_spoilt),
        cmocka_unit_test(wrong_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, fill_inputs, NULL);
}
