/* SPDX-License-Identifier: Apache-2.0 */
/* The augmenter: batches of the caller's own pixels through Stoker's fused pass.
 *
 *     stk_augment_options options = STK_AUGMENT_OPTIONS_INIT;
 *     options.augment = "standard";
 *     stk_augmenter *augmenter;
 *     if (stk_augmenter_open(&augmenter, &options, &error) != STK_OK) …
 *     stk_augment_io io = STK_AUGMENT_IO_INIT;
 *     io.count = n;
 *     io.images = …;                 // tensors in memory of the caller, who keeps it
 *     io.out_images = …;
 *     for (io.epoch = 0; …; io.epoch++)
 *         if (stk_augmenter_apply(augmenter, &io, &error) != STK_OK) …
 *     stk_augmenter_close(&augmenter);
 *
 * What is drawn for a sample is a function of (seed, epoch, id) alone: a loader with the same settings and
 * augment.device=cpu gives the same bits. Images are read as 8-bit levels, as the fused pass is exact for
 * those: floats 0 to 1 (up to 1 + 2^-20, which rounding may make of 1) as v * 255, rounded.
 *
 * Images and masks come from host memory, or, if the device is a CUDA GPU, from the memory of that GPU, where
 * it reads them itself. Results go to host memory on every device, or to the memory of that GPU, where those
 * of images that lie there stay. */
#ifndef STOKER_AUGMENT_H
#define STOKER_AUGMENT_H

#include "stoker/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means default everywhere. */
typedef struct stk_augment_options {
    size_t struct_size;     /* sizeof(stk_augment_options): see STK_INIT (status.h) */
    const char *augment;    /* as stk_loader_options.augment; NULL: images are only resized and normalized */
    int64_t seed;           /* of everything that is drawn */
    int32_t image_size[2];  /* h, w of results; 0: as the images of the batch, which then share one size */
    stk_store dtype;        /* of result images; auto: f32. u8: levels, rounded; then without mean and std, on
                               CPUs or, with results there, on a CUDA GPU */
    stk_axes axes;          /* of result images */
    double mean[3], std[3]; /* (v - mean) / std per channel, of values 0 to 1; 0: 0 and 1 */
    /* Classes and points that change sides in mirrored samples, as stk_loader_options.flip_pairs: "auto" by
     * their names, "none", or a list, "4:5,l_ear:r_ear"; NULL: auto. Numbers of a list, and names of classes,
     * are those of a batch's masks; without masks, of its labels; if point_count is set and class_count is
     * not, numbers are points. */
    const char *flip_pairs;
    const char *const *class_names; /* [class_count]; NULL: they have none */
    const char *const *point_names; /* [point_count]; NULL: they have none */
    int32_t class_count;            /* 0: unknown; ids of masks go up to 255 in any case */
    int32_t point_count;            /* of each sample; 0: unknown, as many as a batch has */
    const char *device;             /* "cpu" (also NULL), "opencl:0", "cuda:0" */
    int64_t threads;  /* of the device "cpu"; 0: the CPU budget. They are those of the process's pool */
    double timeout_s; /* after which a GPU that hangs is given up; 0: 60 */
} stk_augment_options;

#define STK_AUGMENT_OPTIONS_INIT STK_INIT(stk_augment_options)

typedef struct stk_augmenter stk_augmenter;

/* On failure *augmenter is NULL and nothing is left behind. Texts in options need to live only during the
 * call. Threads: any. */
STK_API stk_status stk_augmenter_open(stk_augmenter **augmenter, const stk_augment_options *options,
                                      stk_error *error);

/* Sets *augmenter to NULL; does nothing with NULL or NULL inside. Threads: one, with no other call under way.
 */
STK_API void stk_augmenter_close(stk_augmenter **augmenter);

/* One batch: n = count samples in, as many out. All memory is the caller's. Absent tensors have dtype NONE.
 * No result may overlap a source or another result. */
typedef struct stk_augment_io {
    size_t struct_size; /* sizeof(stk_augment_io) */
    int64_t count;      /* 1 to 65535 */
    uint64_t epoch;     /* below 2^32 */
    const int64_t *ids; /* [n] 0 to 2^32 - 1; NULL: 0, 1, … n - 1 */
    stk_axes axes;      /* of images, and of each in image_list */

    /* Sources, read only. Images and masks may have any strides, and lie in host memory or in that of the
     * options' CUDA device, all of them in one; on a device no image may be larger than options.image_size,
     * unless options.augment crops. Unless rows are dense and u8 (and images NHWC) each is copied on its way
     * (on a device in any case). Others are dense, in host memory. */
    stk_tensor images;            /* [n h w c] or [n c h w], u8 or f32; c is 1 or 3 */
    stk_tensor masks;             /* [n h w] u8 or i64, ids 0 to 255 */
    const stk_tensor *image_list; /* [n] instead of images, for different sizes: [h w c] or [c h w]; NULL */
    const stk_tensor *mask_list;  /* [n] beside image_list: [h w], as large as its image; NULL: none */
    stk_tensor labels;            /* [n] i64 classes; or f32: [n] values, [n k] 1 for each class of k */
    stk_tensor points;            /* [n k 3] f32: x, y in pixels (centers at +0.5), visible 0/1 */

    /* Results, dense, H x W as image_size; there must be one for each source. With MixUp or CutMix pairs are
     * samples 2i and 2i + 1 of the batch, an odd last one stays unmixed, and masks2, labels2 (of classes) and
     * lambda are needed too; without, they are filled if they are there. Points are not mixed: a batch with
     * points is then refused. Other labels are mixed themselves. */
    stk_tensor out_images;  /* [n H W c] or [n c H W], of dtype and axes of the options */
    stk_tensor out_masks;   /* [n H W] u8 or i64 */
    stk_tensor out_masks2;  /* as out_masks: the second target, the first if unmixed */
    stk_tensor out_labels;  /* as labels */
    stk_tensor out_labels2; /* as labels; of classes only */
    stk_tensor out_lambda;  /* [n] f32: share of the first target, 1 if unmixed */
    stk_tensor out_points;  /* as points */
} stk_augment_io;

#define STK_AUGMENT_IO_INIT STK_INIT(stk_augment_io)

/* Returns when all results are there. Images and masks, given and as results, may lie in the memory of the
 * options' CUDA device; work of the caller's that uses them must have ended before the call.
 * STK_ERROR_ARGUMENT names the argument that is wrong, STK_ERROR_SAMPLE the sample with a float outside 0 to
 * 1 or an id outside 0 to 255; what results hold after a failure is undefined. After STK_ERROR_TIMEOUT a GPU
 * may still write to them, and the augmenter can only be closed. Nothing is allocated for a batch that is no
 * larger than those before. Threads: one at a time; a call while another is under way is refused. */
STK_API stk_status stk_augmenter_apply(stk_augmenter *augmenter, const stk_augment_io *io, stk_error *error);

/* Options that are in effect other than requested, or were left to the augmenter: [*count], which belong to
 * it. Names are those of stk_augment_options. NULL, and 0, if an argument is NULL. Threads: any: they never
 * change. */
STK_API const stk_loader_effect *stk_augmenter_effects(const stk_augmenter *augmenter, int *count);

/* Does any phase of the settings mix pairs (MixUp, CutMix)? Then apply needs lambda and the second targets.
 * False for NULL. Threads: any. */
STK_API bool stk_augmenter_mixes(const stk_augmenter *augmenter);

/* One number that is drawn or decided for a sample. */
typedef struct stk_augment_fact {
    const char *operation; /* "rotation" */
    const char *what;      /* "degrees" */
    double value;
} stk_augment_fact;

enum { STK_AUGMENT_FACTS = 64 };

typedef struct stk_augment_explanation {
    double forward[6]; /* x' = f[0] x + f[1] y + f[2], y' = f[3] x + f[4] y + f[5]: from points of the image
                          to points of the result, in pixels, centers at +0.5 */
    bool mirrored;
    int32_t fact_count;
    stk_augment_fact facts[STK_AUGMENT_FACTS]; /* static texts */
} stk_augment_explanation;

/* What apply does to the sample `id` in an epoch, mixing excepted. size: h, w of its image. Threads: any. */
STK_API stk_status stk_augmenter_explain(const stk_augmenter *augmenter, uint64_t epoch, int64_t id,
                                         const int32_t *size, stk_augment_explanation *explanation,
                                         stk_error *error);

#ifdef __cplusplus
}
#endif

#endif
