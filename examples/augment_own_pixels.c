/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest use of the augmenter: a batch of one's own pixels, with masks, in three epochs. Here the
 * pixels come from a loader that only decodes; they may come from anywhere.
 *
 *     cc augment_own_pixels.c $(pkg-config --cflags --libs stoker) -o augment_own_pixels &&
 * ./augment_own_pixels DIR
 */
#include <stoker/stoker.h>

#include <stdio.h>
#include <stdlib.h>

static int complain(const stk_error *error)
{
    fprintf(stderr, "%s\n%s\n%s\n", error->message, error->place, error->hint);
    return 1;
}

/* Results in memory of our own: images as f32 [n 3 h w], masks as i64 [n h w], as PyTorch has them. */
static stk_tensor make_tensor(stk_dtype dtype, int ndim, const int64_t *shape)
{
    stk_tensor tensor = {.dtype = dtype, .ndim = ndim};
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = stride;
        stride *= shape[i];
    }
    tensor.data = malloc((size_t)stk_tensor_bytes(&tensor));
    return tensor;
}

static double mean_of(const stk_tensor *images)
{
    const float *values = images->data;
    const int64_t count = stk_tensor_bytes(images) / (int64_t)sizeof *values;
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)values[i];
    return sum / (double)count;
}

/* The batch stays as it is: each epoch draws other numbers for its samples, by their ids. */
static int augment(const stk_batch *batch, stk_error *error)
{
    stk_augment_options options = STK_AUGMENT_OPTIONS_INIT;
    options.augment = "standard"; /* or YAML: "rotation_degrees: 20, hue: 0.1" */
    options.axes = STK_AXES_NCHW;
    options.seed = 1;
    stk_augmenter *augmenter;
    if (stk_augmenter_open(&augmenter, &options, error) != STK_OK) return complain(error);
    const int64_t n = batch->count, h = batch->images.shape[1], w = batch->images.shape[2];
    stk_augment_io io = STK_AUGMENT_IO_INIT;
    io.count = n;
    io.ids = batch->sample_ids.data;
    io.images = batch->images; /* u8 [n h w 3] */
    io.masks = batch->masks;   /* u8 [n h w] */
    io.out_images = make_tensor(STK_DTYPE_F32, 4, (int64_t[]){n, batch->images.shape[3], h, w});
    io.out_masks = make_tensor(STK_DTYPE_I64, 3, (int64_t[]){n, h, w});
    stk_status status = STK_OK;
    for (io.epoch = 0; io.epoch < 3 && status == STK_OK; io.epoch++) {
        status = stk_augmenter_apply(augmenter, &io, error);
        if (status == STK_OK)
            printf("epoch %d: %d images of %dx%d, mean %.4f\n", (int)io.epoch, (int)n, (int)w, (int)h,
                   mean_of(&io.out_images));
    }
    free(io.out_images.data);
    free(io.out_masks.data);
    stk_augmenter_close(&augmenter);
    return status == STK_OK ? 0 : complain(error);
}

int main(int argc, char **argv)
{
    stk_loader_options options = STK_LOADER_OPTIONS_INIT;
    options.root = argc > 1 ? argv[1] : "make:faces?count=8";
    options.batch_size = 8;
    options.epochs = 1;
    stk_loader *loader;
    stk_batch *batch;
    stk_error error;
    if (stk_loader_open(&loader, &options, &error) != STK_OK) return complain(&error);
    int result = 1;
    if (stk_loader_next(loader, &batch, &error) != STK_OK) {
        complain(&error);
    } else if (!batch->images.data || !batch->masks.data) {
        fprintf(stderr, "this example needs images of one size, and their masks\n");
        stk_batch_release(batch);
    } else {
        result = augment(batch, &error);
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    return result;
}
