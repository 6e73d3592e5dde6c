# SPDX-License-Identifier: Apache-2.0
"""Written by tools/make_python_docs from the option tables."""
KEYWORDS = """\
Loads a data set in batches, in the library's own threads.

    with stoker.Loader("faces", batch_size=64, augment="strong") as loader:
        for epoch in range(10):
            for images, masks in loader:
                ...

Nine tenths for training, one for validation, where nothing is shuffled or augmented:

    train = stoker.Loader("faces", val_split=0.1, augment="strong")
    val = stoker.Loader("faces", val_split=0.1, part="val")

Each batch is a tuple (images, masks), (images, labels), (images, points), (windows, values), whatever the data set has:
torch tensors where torch is imported, else NumPy arrays. Images are [n, c, h, w] float32 from 0 to 1, masks and labels int64.
It also has ids, weights, epoch and position: help(stoker.Batch). len(loader) counts batches. Arrays are the loader's own
memory: a batch that is kept holds its slot until the last of its arrays is gone. The stream of batches depends on data set,
seed and batch size only, never on the number of workers.

augment: a preset (none, minimal, standard, strong) or a dict such as {"preset": "minimal", "hue": 0.1}; its keys are the
    keywords that help(stoker.Augment) lists after threads. Other parts than train are not augmented
device: where batches end: None or "cpu", or "cuda", "cuda:1"; PyTorch's current stream waits for them

root: path of the data set: a folder, a list of images (.csv, .jsonl), a time series (.csv, .npy), WebDataset
    shards (a folder of .tar, one .tar, x-{000..012}.tar), or generated data: make:faces, make:captcha,
    make:gray, make:series
batch_size: samples in a batch, per rank [default 32; 1 to 65,536]
num_workers: number of worker threads that load data; 0 = load in the calling thread, for debugging [default
    every usable CPU, at most 16; 0 to 256]
shuffle: shuffle the samples every epoch; default: on for training, off for validation
drop_last: drop the last incomplete batch of an epoch [default false]
pin_memory: batches that are copied to a GPU are in pinned memory (page-locked)
prefetch_factor: batches to prefetch per worker [default 2; 1 to 64 batches]
val_root: path of the validation set, if it is not part of root
part: split of the data set to load: training, validation, both, or the test set that it holds out itself
    [default train; train, val, all, test]
columns: columns of a list by role: file, label (a class), labels (several: multi-label), value (regression),
    mask, split, points (key points), such as file=Image Name,label=species,split=none; unset = by their
    names, and what is not used is listed
layout: how to read a folder; auto = by the names of its folders (images + masks, train/val/test, else a
    folder per class), and an error where two readings are possible [default auto; auto, classes, pairs,
    images, list, parts]
images: folder of the images, below root; unset = found by its name
masks: folder of the segmentation masks, below root; unset = found by its name
mask_suffix: suffix of mask names: _mask pairs x.jpg with x_mask.png; none = no suffix; unset = found
mask_prefix: prefix of mask names: mask_ pairs x.jpg with mask_x.png; none = no prefix; unset = found
train_list: text file with the training samples, one path or key per line; others are left out
val_list: text file with the samples held out for validation, one path or key per line
test_list: text file with the samples held out for testing, one path or key per line
val_split: validation split: fraction of the samples held out for validation [0 to 0.9]
split_seed: random seed of the validation split
limit: maximum number of samples to use; 0 = all [0 to 4,294,967,295 samples]
image_size: resize images and masks to it; unset = as stored [a number or (height, width); 1 to 65,535 px]
channels: number of image channels: 1 = grayscale, 3 = RGB, 0 = as found [0 to 3]
num_classes: number of classes: class ids in masks must be below it, or 255; 0 = from classes.txt, else
    unchecked [0 to 255]
mask_map: class id mapping: values in mask files to class ids, such as 0:0,255:1; none = ids as stored;
    threshold = 128 and above is class 1, for black and white JPEG masks; auto = look at the masks first,
    0/255 becomes 0/1; default: none
mask_colors: colors of RGB masks and their classes: a file of lines 'r g b name', a published table, a list
    such as 000000:0,ff0000:1, or auto = number the colors found; default: RGB masks must be gray
mask_frame: masks and points of images with an EXIF orientation: drawn on the pixels as stored or on the
    upright image; auto = as the sizes of masks prove, else stop [default auto; auto, stored, upright]
flip_pairs: left-right pairs: classes and points that change places when a flip mirrors an image, as ids or
    names such as 4:5,l_ear:r_ear; auto = by their names, none = a flip keeps them [default auto]
jpeg: JPEG decoding; fast = less time, but pixels differ by some levels of 255 where colors change [default
    exact; exact, fast]
exif: EXIF orientation of JPEG and PNG: rotate and flip images upright [default true]
dtype: data type of images in a batch; auto = u8 as decoded, f32 when they are augmented or normalized
    [default float32; auto, u8 = uint8, f32 = float32, f16 = float16, bf16 = bfloat16]
axes: memory layout of images: nhwc = channels last, nchw = channels first as in PyTorch [default nchw; nhwc,
    nchw]
mask_dtype: data type of masks in a batch [default int64; u8 = uint8, i64 = int64]
mean: normalization mean, subtracted from images (0 to 1): one number or one per channel; stoker stats prints
    it [-10 to 10]
std: normalization standard deviation, divides images after the mean is subtracted: one number or one per
    channel; unset = 1 [0 to 100]
sequence_length: rows in a window of a time series [default 60; 1 to 1,000,000 rows]
cache: cache decoded images in memory, so that later epochs skip decoding: none, auto, or a size such as 8G
    [default none]
persistent_workers: keep worker threads between epochs; Stoker always does
order: sample order: sequential, full (shuffle all), or blocks(k) (blocks of k neighbors stay together, for
    slow disks)
seed: random seed (sample order, augmentation, initial weights, dropout)
on_bad_sample: corrupt or unreadable sample: fail = stop and name it, replace = use another one, skip = keep
    its place with weight 0 [default fail; fail, replace, skip]
timeout: a worker or device that hangs longer is named, and loading fails [default 60; 0.1 to 86,400 s]
rank: distributed rank of this process: 0 to ranks - 1 [0 to 65,535]
ranks: distributed world size: number of processes that share every batch [default 1; 1 to 65,536]
limits_bytes: maximum file size [default 256M; 1 to 1,000,000,000,000 bytes]
limits_pixels: maximum image size, height x width [default 100e6; 1 to 4,000,000,000 pixels]
limits_scans: maximum number of scans of a progressive JPEG [default 200; 1 to 1,000,000]
limits_warnings: maximum number of decoder warnings per image; more = corrupt; harmless ones do not count [0
    to 1,000,000]
limits_time: maximum time to decode one image: CPU time of its thread [default 10; 0.001 to 3,600 s]
limits_memory: maximum memory of all prefetched batches; and of one batch whose images keep their own size.
    Large PNG images count while they are decompressed: what batches leave of it, at least half [default 2G; 1
    to 1,000,000,000,000,000 bytes]
"""
