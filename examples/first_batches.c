/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest use of libstoker: load a data set once and say what came.
 *
 *     cc first_batches.c $(pkg-config --cflags --libs stoker) -o first_batches && ./first_batches DIR
 */
#include <stoker/stoker.h>

#include <stdio.h>

static int complain(const stk_error *error)
{
    fprintf(stderr, "%s\n%s\n%s\n", error->message, error->place, error->hint);
    return 1;
}

int main(int argc, char **argv)
{
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    options.root = argc > 1 ? argv[1] : "make:gray";
    options.batch_size = 32;
    options.epochs = 1;
    stk_loader *loader;
    stk_batch *batch;
    stk_error error;
    if (stk_loader_open(&loader, &options, &error) != STK_OK) return complain(&error);
    stk_status status;
    long long samples = 0;
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK) {
        samples += batch->count; /* batch->images: [n h w c] u8, batch->labels: [n] i64, … */
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    if (status != STK_END) return complain(&error);
    printf("%lld samples\n", samples);
    return 0;
}
