# SPDX-License-Identifier: Apache-2.0
"""Written by tools/make_python_docs from the option tables."""
KEYWORDS = """\
Augments batches of a program's own images, in the library's own threads: in place of Kornia or torchvision.transforms.v2.

    augment = stoker.Augment("strong", image_size=224)
    for images, masks in dataloader:               # torch tensors, also on a GPU, or NumPy arrays
        images, masks = augment(images, masks)

augment(images, masks=None, points=None, labels=None, *, epoch=None, ids=None)

images are uint8, or float32 from 0 to 1 (read as 8-bit levels): [n, c, h, w] with 1 or 3 channels, of any strides, or a list of
[c, h, w], of different sizes if image_size is set. masks: uint8 or int64 [n, h, w], or a list of [h, w]; points: float32 [n, k, 3]
of x, y in pixels and visible 0 or 1; labels: int64 classes [n], float32 values [n] or sets of classes [n, k].

Returns the same kind: tensors for tensors, arrays for arrays, in memory of their own, images in the channels_last format if
they came so; uint8 for uint8 and float32 for float32, or dtype; float32 if mean or std is set. Images alone, or a tuple of what
was given, in the order of the arguments. With MixUp or CutMix masks and classes are (target_a, target_b, share_of_a), other
labels are mixed themselves; pairs are samples 2i and 2i + 1 of the batch.

What is drawn depends on seed, epoch and id of each sample only. ids: those of a Loader's batch give the bits that this Loader
would have made with the same seed and settings. Without ids samples are numbered as they come, from 0 at the first call and
where epoch changes; without epoch it stays what it was, 0 at first. In worker processes of a DataLoader, without ids, PyTorch's
seed of the worker is added, so that all workers and epochs differ; the pass has one thread there. A schedule needs epoch.

CUDA tensors are augmented on their GPU, in the order of PyTorch's current stream, with the bits of the CPU; all results lie there.
Masks lie where the images are; labels, points and ids may be in host memory. There images may not be larger than image_size
unless they are cropped.

train() and eval(), as of a torch.nn.Module (eval: images are resized and normalized only); module() makes one. Pickled, or used
after a fork, it opens again in the new process.

preset_or_dict: a preset (none, minimal, standard, strong) or a dict of settings, {"preset": "minimal", "hue": 0.1}; unset = none
image_size: height and width of results, a number or (h, w); unset = as the images
seed: random seed [default 0]
dtype: of result images: uint8, float32, float16, bfloat16 (of tensors only); unset = by the images
axes: of images: nchw or nhwc [default nchw]
mean, std: (v - mean) / std per channel, of values from 0 to 1 [default 0 and 1]
flip_pairs: classes and points that change sides in mirrored samples: auto = by their names, none, or "4:5,l_ear:r_ear"; numbers
    are classes of masks, or else of labels, and of points where there is nothing else
class_names, point_names: lists of names, for flip_pairs
threads: of the pass [default the CPU budget]

schedule: augmentation schedule: presets by epoch, counted from 0, such as {0: minimal, 50: strong}; none
    before the first
fill: fill color outside the source image and of erased boxes; unset = black [0 to 255 levels]
mask_fill: fill class id outside the source mask [default 255; 0 to 255]
crop: random resized crop: part of the image, a range, or s for s to 1 [0 to 1 of the area]
crop_ratio: aspect ratio of the random resized crop [default [0.75, 1.3333333333333333]; 0.01 to 100 width /
    height]
crop_prob: probability of a random resized crop; otherwise the whole image is resized [default 1; 0 to 1]
horizontal_flip_prob: probability of a random horizontal flip (hflip, left-right) [0 to 1]
vertical_flip_prob: probability of a random vertical flip (vflip, top-bottom) [0 to 1]
scale: random scaling (zoom) factor: a range, or s for 1 - s to 1 + s [0 to 100]
scale_prob: probability of random scaling [default 1; 0 to 1]
shear: random shear along x: a range, or d for -d to d [-89 to 89 degrees]
shear_prob: probability of random shear [default 1; 0 to 1]
rotation_degrees: random rotation about the center, counter-clockwise: a range, or d for -d to d [-360 to 360
    degrees]
rotation_prob: probability of random rotation [default 1; 0 to 1]
translate: random translation (shift): the largest to either side [0 to 1 of width and height]
translate_prob: probability of random translation [default 1; 0 to 1]
jitter_prob: probability of color jitter (torchvision's ColorJitter): brightness, contrast, saturation and hue
    are all skipped otherwise [default 1; 0 to 1]
jitter_order: order of the four color jitter operations: drawn = random for each sample, fixed = as listed
    here [default drawn; drawn, fixed]
brightness: brightness jitter, factor of all values: a range, or v for 1 - v to 1 + v [0 to 100]
brightness_prob: probability of brightness jitter [default 1; 0 to 1]
contrast: contrast jitter, factor of the distance from the mean gray: a range, or v for 1 - v to 1 + v [0 to
    100]
contrast_prob: probability of contrast jitter [default 1; 0 to 1]
saturation: saturation jitter, factor of the distance from the pixel's gray: a range, or v for 1 - v to 1 + v
    [0 to 100]
saturation_prob: probability of saturation jitter [default 1; 0 to 1]
hue: hue jitter, shift of the hue: a range, or v for -v to v [-0.5 to 0.5 of the circle]
hue_prob: probability of hue jitter [default 1; 0 to 1]
gray_prob: probability of converting to grayscale (torchvision's RandomGrayscale) [0 to 1]
gamma: gamma correction, exponent of values from 0 to 1: a range, or v for 1 - v to 1 + v [0 to 100]
gamma_prob: probability of gamma correction [default 1; 0 to 1]
blur_kernel: Gaussian blur kernel size: 3, 5 or 7; 0 = off [0 to 7 px]
blur_sigma: Gaussian blur standard deviation (sigma): a number, or a range to draw it from [default [0.1, 2];
    0.01 to 100 px]
blur_prob: probability of Gaussian blur [default 1; 0 to 1]
noise_std: Gaussian noise standard deviation, per pixel: a number, or a range to draw it from [0 to 1 of the
    brightest level]
noise_prob: probability of Gaussian noise [default 1; 0 to 1]
erase_prob: probability of random erasing of a box [0 to 1]
erase_scale: random erasing: area of the box, a number, or a range to draw it from [default [0.02, 0.33];
    0.0001 to 1 of the area]
erase_ratio: random erasing: aspect ratio of the box [default [0.3, 3.3]; 0.01 to 100 height / width]
mixup_alpha: mixup of pairs of samples: the share is drawn from Beta(alpha, alpha) [0 to 1,000]
mixup_prob: probability of mixup for a pair; unset = 1, or with cutmix: half of what is left [0 to 1]
cutmix_alpha: cutmix: paste boxes between pairs of samples, their area drawn from Beta(alpha, alpha) [0 to
    1,000]
cutmix_prob: probability of cutmix for a pair; unset = 1, or with mixup: half of what is left [0 to 1]
"""
