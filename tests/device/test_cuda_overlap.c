/* SPDX-License-Identifier: Apache-2.0 */
/* A network computes while the next batch is copied and augmented: shown by the trace that the fake GPU
 * writes, with times of a real one; and 10,000 batches through a loader, everything late at random. */
#include "core/clock.h"
#include "core/hash.h"
#include "cuda_resident.h"
#include "device/device.h"
#include "device/trial.h"
#include "fake_cuda_driver.h"
#include "support/sample_set.h"
#include "support/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { COUNT = 20, W = 32, H = 24, BATCH = 4, STEPS = 24, MOST_SPANS = 4096, MANY = 10000 };

typedef struct span {
    int stream;
    char what[32];
    unsigned long long start_ns, end_ns;
} span;

static const fake_driver *fake;
static dataset pairs;
static workspace folder;
static char trace_path[300];
static span spans[MOST_SPANS];
static int span_count;

static int begin(void **state)
{
    (void)state;
    fake = fake_driver_open();
    pairs = dataset_pairs(COUNT, W, H);
    folder = workspace_make();
    return 0;
}

static int end(void **state)
{
    (void)state;
    dataset_remove(&pairs);
    workspace_remove(&folder);
    return 0;
}

static void play(const char *name, double copy_gb_per_s, double kernel_ms)
{
    snprintf(trace_path, sizeof trace_path, "%s/%s", folder.path, name);
    fake_driver_play("late 0\ncopy %g\nkernel stk_augment %g\ntrace %s", copy_gb_per_s, kernel_ms,
                     trace_path);
}

static void read_trace(void)
{
    char line[512];
    FILE *file = fopen(trace_path, "r");
    assert_non_null(file);
    span_count = 0;
    while (fgets(line, sizeof line, file) && span_count < MOST_SPANS) {
        span *s = &spans[span_count++];
        if (sscanf(line,
                   "{\"gpu\": %*d, \"stream\": %d, \"what\": \"%31[a-z_]\", \"bytes\": %*u, \"start_ns\": "
                   "%llu, \"end_ns\": %llu}",
                   &s->stream, s->what, &s->start_ns, &s->end_ns) != 4)
            fail_msg("not a span: %s", line);
    }
    fclose(file);
}

/* The n-th span of a kind, from 0, in the order of their ends. */
static const span *find_span(const char *what, int n)
{
    for (int i = 0; i < span_count; i++)
        if (strcmp(spans[i].what, what) == 0 && n-- == 0) return &spans[i];
    fail_msg("the trace has too few of %s", what);
    return NULL;
}

static bool overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
    return a_start < b_end && b_start < a_end;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static stk_loader_options options_of_two_slots(void)
{
    stk_loader_options o = resident_options(pairs.root);
    o.batch_size = BATCH;
    o.num_workers = 1;
    o.prefetch_factor = 1; /* one waits ready, one is lent */
    o.augment = RESIDENT_STRONG;
    o.device = "cuda:0";
    return o;
}

typedef struct step {
    uint64_t wait_ns, start_ns, end_ns; /* for data; of the network */
} step;

/* A network that the host waits for, as with a sleep. */
static void run_steps(step steps[STEPS], long network_ms)
{
    const stk_loader_options o = options_of_two_slots();
    stk_loader *loader = resident_open(&o);
    for (int k = 0; k < STEPS; k++) {
        stk_batch *batch = NULL;
        stk_error error = {0};
        const uint64_t asked_ns = stk__clock_ns();
        stk_status status = stk_loader_next(loader, &batch, &error);
        if (status == STK_END) status = stk_loader_next(loader, &batch, &error); /* the next epoch */
        assert_int_equal(status, STK_OK);
        assert_int_equal(stk_batch_wait(batch, &error), STK_OK);
        steps[k].start_ns = stk__clock_ns();
        steps[k].wait_ns = steps[k].start_ns - asked_ns;
        sleep_ms(network_ms);
        steps[k].end_ns = stk__clock_ns();
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    read_trace();
}

/* How many of the steps after the first few waited longer than this. */
static int count_waits(const step steps[STEPS], double more_than_ms)
{
    int count = 0;
    for (int k = 4; k < STEPS; k++)
        count += (double)steps[k].wait_ns > more_than_ms * 1e6;
    return count;
}

/* Copies that end before the kernel of batch k + 1 and run while the network has batch k. */
static bool has_copy_beside(const step steps[STEPS], int k, const span *kernel)
{
    for (int i = 0; i < span_count; i++)
        if (strcmp(spans[i].what, "copy_in") == 0 && spans[i].end_ns <= kernel->start_ns + 1000000 &&
            overlap(spans[i].start_ns, spans[i].end_ns, steps[k].start_ns, steps[k].end_ns))
            return true;
    return false;
}

typedef struct finding {
    int kernels, copies, late; /* of STEPS - 4: overlap the network; waited for data */
} finding;

static finding look(const step steps[STEPS], double late_ms)
{
    finding f = {.late = count_waits(steps, late_ms)};
    for (int k = 3; k + 1 < STEPS; k++) {
        const span *kernel = find_span("stk_augment", k + 1);
        f.kernels += overlap(kernel->start_ns, kernel->end_ns, steps[k].start_ns, steps[k].end_ns);
        f.copies += has_copy_beside(steps, k, kernel);
    }
    print_message(
        "of %d batches: %d kernels and %d copies overlap the network of the one before; %d waited for data\n",
        STEPS - 4, f.kernels, f.copies, f.late);
    return f;
}

/* Copy and kernel take 8 and 25 ms, the network 100: they hide behind it, and the data is there when asked
 * for. A busy machine may lose a few, or all of one try. */
static void work_on_the_next_batch_overlaps_the_network(void **state)
{
    (void)state;
    step steps[STEPS];
    finding f = {0};
    for (int attempt = 0; attempt < 3; attempt++) {
        char name[16];
        snprintf(name, sizeof name, "fits%d", attempt);
        play(name, BATCH * W * H * 4 / 8e6, 25);
        run_steps(steps, 100);
        f = look(steps, 20);
        if (f.kernels >= STEPS - 6 && f.copies >= STEPS - 6 && f.late <= 2) return;
    }
    fail_msg("%d kernels, %d copies, %d late", f.kernels, f.copies, f.late);
}

/* The same measure sees it when the sum does not fit: 60 ms of kernel behind 10 of network. */
static void what_does_not_fit_is_waited_for(void **state)
{
    (void)state;
    step steps[STEPS];
    play("too_long", 0, 60);
    run_steps(steps, 10);
    assert_true(count_waits(steps, 20) >= STEPS - 8);
}

/* A network on a stream of its own: nobody waits on the host, and kernels run while it does. */
static void a_network_on_a_stream_overlaps_too(void **state)
{
    (void)state;
    reader r;
    stk_error error = {0};
    play("stream", BATCH * W * H * 3 * 4 / 30e6, 15); /* the network: copying images out, 30 ms */
    reader_start(&r);
    const stk_loader_options o = options_of_two_slots();
    stk_loader *loader = resident_open(&o);
    for (int k = 0; k < STEPS; k++) {
        stk_batch *batch = NULL;
        stk_status status = stk_loader_next(loader, &batch, &error);
        if (status == STK_END) status = stk_loader_next(loader, &batch, &error);
        assert_int_equal(status, STK_OK);
        assert_int_equal(stk_batch_wait_on(batch, r.stream, &error), STK_OK);
        reader_take(&r, &batch->images);
        stk_batch_release_after(batch, r.stream);
    }
    stk_loader_close(&loader);
    reader_wait(&r);
    reader_end(&r);
    read_trace();
    int overlaps = 0;
    for (int k = 2; k + 1 < STEPS; k++) {
        const span *kernel = find_span("stk_augment", k + 1), *network = find_span("copy_out", k);
        overlaps += overlap(kernel->start_ns, kernel->end_ns, network->start_ns, network->end_ns);
        assert_true(find_span("stk_augment", k)->end_ns <=
                    network->end_ns); /* and each after its own batch */
    }
    print_message("%d of %d kernels overlap the network's stream\n", overlaps, STEPS - 3);
    assert_true(overlaps >= STEPS - 3 - 4);
    assert_int_equal(fake->count("pageable_copies"), 0);
    fake_driver_expect_nothing_left("a network's stream");
}

static stk_loader_options options_of_many(void)
{
    stk_loader_options o = resident_options(pairs.root);
    o.batch_size = 1;
    o.num_workers = 2;
    o.image_size[0] = 6;
    o.image_size[1] = 9;
    o.cache = "64M";
    o.augment = RESIDENT_STRONG;
    return o;
}

/* A batch to the host goes in parts: what is made is copied out while the next part is copied in or made. */
static void parts_of_a_batch_to_the_host_overlap(void **state)
{
    (void)state;
    stk__device *device = NULL;
    stk__trial trial = {0};
    uint64_t seed = 0;
    do
        assert_int_equal(stk__trial_make(&trial, seed++, 40, NULL), STK_OK);
    while (trial.batch.count < 2);
    play("host.json", 1e-3, 30); /* a copy takes as long as it has bytes, in us */
    assert_int_equal(stk__device_open(&device, "cuda:0", NULL), STK_OK);
    assert_int_equal(stk__device_augment(device, &trial.batch, NULL), STK_OK);
    assert_int_equal(stk__trial_compare(&trial).differing, 0);
    assert_true(device->last_kernel_ns >= 2 * 29000000);
    stk__device_close(&device);
    read_trace();
    const span *out = find_span("copy_out", 0), *made = find_span("stk_augment", 0);
    int beside = 0;
    for (int i = 0; i < span_count; i++)
        beside += spans[i].stream == made->stream && spans[i].start_ns >= made->end_ns &&
                  overlap(out->start_ns, out->end_ns, spans[i].start_ns, spans[i].end_ns);
    assert_true(out->stream != made->stream && out->start_ns >= made->end_ns);
    assert_true(beside > 0);
    stk__trial_fini(&trial);
}

static void hash_many_on_the_host(stk__hash *hash, int batches)
{
    const stk_loader_options o = options_of_many();
    stk_loader *loader = resident_open(&o);
    for (int b = 0; b < batches;) {
        stk_batch *batch;
        const stk_status status = stk_loader_next(loader, &batch, NULL);
        if (status == STK_END) continue;
        assert_int_equal(status, STK_OK);
        stk__hash_update(hash, batch->images.data, (size_t)stk_tensor_bytes(&batch->images));
        stk_batch_release(batch);
        b++;
    }
    stk_loader_close(&loader);
}

/* Now and then the consumer waits on the host, now and then it releases without a stream. */
static void hash_many_on_the_gpu(stk__hash *hash, int batches)
{
    reader r;
    stk_error error = {0};
    reader_start(&r);
    stk_loader_options o = options_of_many();
    o.device = "cuda:0";
    stk_loader *loader = resident_open(&o);
    for (int b = 0; b < batches;) {
        stk_batch *batch;
        const stk_status status = stk_loader_next(loader, &batch, &error);
        if (status == STK_END) continue;
        if (status != STK_OK) fail_msg("%s", error.message);
        assert_int_equal(b % 3 ? stk_batch_wait_on(batch, r.stream, &error) : stk_batch_wait(batch, &error),
                         STK_OK);
        reader_take(&r, &batch->images);
        if (b % 16 == 15 || b + 1 == batches) {
            reader_wait(&r);
            stk__hash_update(hash, r.bytes, r.used);
            r.used = 0;
            stk_batch_release(batch);
        } else {
            stk_batch_release_after(batch, r.stream);
        }
        b++;
    }
    stk_loader_close(&loader);
    reader_end(&r);
}

static void many_batches_come_at_random(void **state)
{
    (void)state;
    const char *few = getenv("CUDA_OVERLAP_BATCHES");
    const int batches = few ? atoi(few) : MANY;
    stk__hash *host, *gpu;
    assert_int_equal(stk__hash_create(&host, NULL), STK_OK);
    assert_int_equal(stk__hash_create(&gpu, NULL), STK_OK);
    hash_many_on_the_host(host, batches);
    fake_driver_play("late 20\nseed 11");
    hash_many_on_the_gpu(gpu, batches);
    const stk__digest here = stk__hash_digest(host), there = stk__hash_digest(gpu);
    assert_memory_equal(&here, &there, sizeof here);
    assert_true(fake->count("kernels") >= batches);
    assert_int_equal(fake->count("pageable_copies"), 0);
    fake_driver_expect_nothing_left("many batches");
    stk__hash_destroy(&host);
    stk__hash_destroy(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_on_the_next_batch_overlaps_the_network),
        cmocka_unit_test(what_does_not_fit_is_waited_for),
        cmocka_unit_test(a_network_on_a_stream_overlaps_too),
        cmocka_unit_test(parts_of_a_batch_to_the_host_overlap),
        cmocka_unit_test(many_batches_come_at_random),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
