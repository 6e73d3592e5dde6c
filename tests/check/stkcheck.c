/* SPDX-License-Identifier: Apache-2.0 */
/* stkcheck: every level and device of the fused augmentation against the plain C reference, bit by bit.
 *
 *   stkcheck [--seed N] [--only FAMILY[/ROUND]] [--who CONTESTANT] [--rounds N] [--list] [--bench]
 *
 * The same seed draws the same cases. --who: nobody else takes part. A failure names the command that repeats
 * it. */
#include "check/check_bench.h"
#include "check/check_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    uint64_t seed;
    const char *only; /* NULL: all */
    const char *who;  /* NULL: all */
    int rounds;       /* 0: as many as the family says */
    bool list, bench;
    bool f16c_is_right;
} options;

static bool read_options(options *o, int count, char **words)
{
    for (int i = 1; i < count; i++) {
        const char *const word = words[i], *const value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(word, "--list") == 0)
            o->list = true;
        else if (strcmp(word, "--bench") == 0)
            o->bench = true;
        else if (strcmp(word, "--seed") == 0 && value)
            o->seed = strtoull(words[++i], NULL, 10);
        else if (strcmp(word, "--only") == 0 && value)
            o->only = words[++i];
        else if (strcmp(word, "--who") == 0 && value)
            o->who = words[++i];
        else if (strcmp(word, "--rounds") == 0 && value)
            o->rounds = atoi(words[++i]);
        else
            return false;
    }
    return true;
}

/* -1: all rounds, -2: none */
static int wanted_round(const options *o, const char *family)
{
    if (!o->only) return -1;
    const size_t length = strcspn(o->only, "/");
    if (strlen(family) != length || strncmp(o->only, family, length) != 0) return -2;
    return o->only[length] ? atoi(o->only + length + 1) : -1;
}

static void tell(const options *o, const char *family, int round, const check_case *c)
{
    const stk__augment_target *const t = &c->target;
    printf("  %dx%d -> %dx%dx%d %s, pitch +%d, pixels %d, offset %zu, dtype %d%s\n", c->source_w, c->source_h,
           t->w, t->h, t->channels, t->planar ? "planar" : "interleaved", c->pitch_slack, (int)c->pixels,
           c->image_offset, (int)t->dtype, c->has_mask ? ", mask" : "");
    printf("  again: stkcheck --seed %llu --only %s/%d\n", (unsigned long long)o->seed, family, round);
}

/* What is running, for the handler: who leaves the memory of a case hits a page that cannot be touched. */
static char running[160];

static void stop_at_fence(int number)
{
    (void)number;
    const ssize_t written = write(STDOUT_FILENO, running, strlen(running));
    _exit(written > 0 ? 1 : 3);
}

static void note_running(const options *o, const char *who, const char *family, int round)
{
    snprintf(running, sizeof running,
             "FAIL %s %s/%d: touched memory outside of source or target\n  again: stkcheck --seed %llu "
             "--only %s/%d\n",
             who, family, round, (unsigned long long)o->seed, family, round);
}

typedef struct score {
    int checked, failed;
} score;

static bool takes_part(const contestant *who, const options *o, const check_case *c)
{
    if (o->who && strcmp(o->who, who->name) != 0) return false;
    if (who->why_not()) return false;
    return c->target.dtype != STK_DTYPE_F16 || !who->converts_by_f16c || o->f16c_is_right;
}

static void check_one(const options *o, check_room *room, const check_family *family, int round, score *s)
{
    const check_case c = check_case_draw(family, o->seed, round);
    size_t count;
    const contestant *const all = check_contestants(&count);
    check_room_prepare(room, &c);
    for (size_t i = 0; i < count; i++) {
        if (!takes_part(&all[i], o, &c)) continue;
        char text[512];
        note_running(o, all[i].name, family->name, round);
        fflush(stdout);
        const char *const wrong = check_room_compare(room, &c, &all[i], text);
        s->checked++;
        if (!wrong) continue;
        s->failed++;
        if (s->failed > 20) continue;
        printf("FAIL %s %s/%d: %s\n", all[i].name, family->name, round, wrong);
        tell(o, family->name, round, &c);
    }
}

static void tell_who_is_missing(const options *o)
{
    size_t count;
    const contestant *const all = check_contestants(&count);
    for (size_t i = 0; i < count; i++)
        if ((!o->who || strcmp(o->who, all[i].name) == 0) && all[i].why_not())
            printf("%s is left out: %s\n", all[i].name, all[i].why_not());
    if (!o->f16c_is_right)
        printf(
            "float16 of the CPU's levels is left out: VCVTPS2PH of this CPU does not round ties to even\n");
}

static int check_all(const options *o)
{
    size_t count;
    const check_family *const families = check_families(&count);
    check_room room = check_room_create();
    tell_who_is_missing(o);
    signal(SIGSEGV, stop_at_fence);
    score all = {0, 0};
    for (size_t f = 0; f < count; f++) {
        const int only = wanted_round(o, families[f].name),
                  rounds = o->rounds ? o->rounds : families[f].rounds;
        score s = {0, 0};
        for (int r = 0; only == -1 && r < rounds; r++)
            check_one(o, &room, &families[f], r, &s);
        if (only >= 0) check_one(o, &room, &families[f], only, &s);
        if (s.checked) printf("%-12s %5d checked %5d failed\n", families[f].name, s.checked, s.failed);
        all.checked += s.checked;
        all.failed += s.failed;
    }
    check_room_destroy(&room);
    printf("%d checked, %d failed, seed %llu\n", all.checked, all.failed, (unsigned long long)o->seed);
    return all.failed || !all.checked;
}

static void list_all(void)
{
    size_t count;
    const contestant *const all = check_contestants(&count);
    for (size_t i = 0; i < count; i++)
        printf("contestant %s%s\n", all[i].name, all[i].why_not() ? " (not on this machine)" : "");
    const check_family *const families = check_families(&count);
    for (size_t f = 0; f < count; f++)
        printf("family %s, %d rounds\n", families[f].name, families[f].rounds);
}

int main(int count, char **words)
{
    options o = {.seed = 1, .f16c_is_right = check_f16c_is_right()};
    if (!read_options(&o, count, words)) {
        fprintf(stderr,
                "usage: stkcheck [--seed N] [--only FAMILY[/ROUND]] [--who CONTESTANT] [--rounds N] [--list] "
                "[--bench]\n");
        return 2;
    }
    if (o.list) list_all();
    if (o.bench) check_bench(o.only);
    const int status = o.list || o.bench ? 0 : check_all(&o);
    check_contestants_close();
    return status;
}
