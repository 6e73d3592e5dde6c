#include "contestant.h"

#include "bench_process.h"

#include "core/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WEIGH_MS = 10, WEIGH_MOST_S = 60 };

void stk__rival_enter(stk__rival *rival, stk__bench *bench, const stk__rival_case *race)
{
    static const char *const units[STK_METRICS] = {"samples/s", "CPU-s/1000", "MB", "ms to first batch"};
    char setting[64];
    snprintf(setting, sizeof setting, "%s%s", rival->setting,
             rival->kind == STK_RIVAL_CONVERTED && race->which == STK_RACE_PAIRS ? ", masks raw" : "");
    for (int i = 0; i < STK_METRICS; i++) {
        stk__bench_row *row = stk__bench_begin(bench, rival->contestant, race->title, setting, units[i]);
        if (i == 0) rival->rows = row;
    }
    rival->rows->columns = STK_METRICS;
    rival->rows->ours = rival->kind <= STK_RIVAL_PACKED;
    if (!rival->rows->ours && rival->peer.present)
        snprintf(rival->rows->versions, sizeof rival->rows->versions, "%.150s", rival->peer.words);
}

/* No number at all is better than a few good ones of somebody who then failed. */
static void give_up(stk__rival *rival)
{
    for (int i = 0; i < STK_METRICS; i++) {
        stk__bench_row *row = &rival->rows[i];
        row->count = 0;
        snprintf(row->why, sizeof row->why, "%s", rival->peer.words);
    }
    stk__peer_stop(&rival->peer); /* memory and threads for the others */
}

static bool send_request(stk__rival *rival, const char *word, const stk__rival_case *race)
{
    char request[48];
    if (rival->rows->why[0]) return false;
    snprintf(request, sizeof request, "%s %s", word, race->word);
    if (stk__peer_send(&rival->peer, request)) return true;
    give_up(rival);
    return false;
}

static bool receive_number(stk__rival *rival, const char *word, double *value)
{
    char answer[STK_PEER_ANSWER];
    if (!stk__peer_receive(&rival->peer, word, answer)) {
        give_up(rival);
        return false;
    }
    *value = strtod(answer, NULL);
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
    return true;
}

void stk__rival_check(stk__rival *rival, const stk__rival_case *race)
{
    double difference;
    if (!send_request(rival, "check", race) || !receive_number(rival, "difference", &difference)) return;
    if (!rival->rows->ours || rival->kind == STK_RIVAL_COARSE) rival->rows->difference = difference;
}

void stk__rival_weigh(stk__rival *rival, const stk__rival_case *race)
{
    double ms;
    uint64_t most = 0;
    if (!send_request(rival, "round", race)) return;
    const uint64_t until_ns = stk__clock_ns() + WEIGH_MOST_S * STK_SECOND_NS;
    do {
        const uint64_t now = stk__group_memory_bytes(rival->peer.pid);
        if (now > most) most = now;
    } while (!stk__peer_answers(&rival->peer, WEIGH_MS) && stk__clock_ns() < until_ns);
    if (!receive_number(rival, "ms", &ms)) return;
    stk__bench_row *row = &rival->rows[STK_METRIC_MEMORY];
    if (most > 0)
        stk__bench_add(row, (double)most * 1e-6);
    else
        snprintf(row->why, sizeof row->why, "the kernel does not tell (smaps_rollup)");
}

void stk__rival_run(stk__rival *rival, const stk__rival_case *race)
{
    double ms;
    const double before = stk__group_cpu_seconds(rival->peer.pid);
    if (!send_request(rival, "round", race) || !receive_number(rival, "ms", &ms)) return;
    const double cpu_s = stk__group_cpu_seconds(rival->peer.pid) - before;
    stk__bench_add(&rival->rows[STK_METRIC_RATE], (double)race->samples * 1000 / ms);
    stk__bench_add(&rival->rows[STK_METRIC_CPU], 1000 * cpu_s / (double)race->samples);
}

void stk__rival_first(stk__rival *rival, const stk__rival_case *race)
{
    double ms;
    if (!send_request(rival, "first", race) || !receive_number(rival, "ms", &ms)) return;
    stk__bench_add(&rival->rows[STK_METRIC_FIRST], ms);
}

void stk__rival_dismiss(stk__rival *rival, const char *why)
{
    if (rival->rows->count > 0 || rival->rows->why[0]) return;
    snprintf(rival->peer.words, sizeof rival->peer.words, "%s", why);
    give_up(rival);
}
