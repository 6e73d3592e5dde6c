/* SPDX-License-Identifier: Apache-2.0 */
/* A data set of your own in libstoker: images that are drawn instead of read, with a class each. What a
 * database, an archive or a camera has comes in the same way.
 *
 *     cc own_dataset.c $(pkg-config --cflags --libs stoker) -o own_dataset && ./own_dataset
 */
#include <stoker/stoker.h>

#include <stdio.h>
#include <string.h>

enum { COUNT = 200, SIDE = 32 };

/* Bars: across for class 0, down for class 1. Called from many threads at once. */
static stk_status draw_bars(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                            stk_error *error)
{
    (void)context;
    (void)field; /* there are no masks: it is always the image */
    (void)error;
    uint8_t *pixels = stk_sample_sink_pixels(sink, SIDE, SIDE, 1);
    for (int i = 0; pixels && i < SIDE * SIDE; i++)
        pixels[i] = (index % 2 ? i % SIDE : i / SIDE) / 4 % 2 ? 255 : (uint8_t)index;
    return STK_OK; /* a sample that is damaged: set error->damage, return STK_ERROR_SAMPLE */
}

static stk_status tell_class(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    (void)context;
    (void)error;
    facts->label = (double)(index % 2);
    return STK_OK;
}

static int complain(const stk_error *error)
{
    fprintf(stderr, "%s\n%s\n%s\n", error->message, error->place, error->hint);
    return 1;
}

int main(void)
{
    static const char *const names[] = {"across", "down"};
    stk_dataset dataset = STK_DATASET_INIT;
    dataset.count = COUNT;
    dataset.label = STK_LABEL_CLASS;
    dataset.class_count = 2;
    dataset.class_names = names;
    dataset.read = draw_bars;
    dataset.facts = tell_class;
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    options.dataset = &dataset;
    options.augment = "minimal";
    options.epochs = 1;
    stk_loader *loader;
    stk_batch *batch;
    stk_error error;
    if (stk_loader_open(&loader, &options, &error) != STK_OK) return complain(&error);
    stk_status status;
    long long samples = 0, of_class[2] = {0};
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK) {
        const int64_t *labels = batch->labels.data;
        for (int64_t i = 0; i < batch->count; i++)
            of_class[labels[i]]++;
        samples += batch->count;
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    if (status != STK_END) return complain(&error);
    printf("%lld samples: %lld %s, %lld %s\n", samples, of_class[0], names[0], of_class[1], names[1]);
    return samples == COUNT && of_class[1] == COUNT / 2 ? 0 : 1;
}
