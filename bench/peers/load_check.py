"""Did every sample come, once, with the right pixels? Compares a whole epoch with what Stoker's loader made of the same files.

`reference.u8` beside this file: of every sample, by name, each STEP-th pixel of each STEP-th row [N GRID GRID 3] and of its mask
[N GRID GRID]; then all pixels of the first FULL samples [FULL H W 3] and their masks [FULL H W]."""
import pathlib

import numpy

STEP, FULL = 64, 32
# Decoders may differ in the inverse DCT, in how they interpolate colour and in rounding, not in what they show. Measured on
# these files: equal (libjpeg-turbo's accurate way), mean 0.02 (its fast inverse DCT), 0.9 (FFmpeg's conversion).
MEAN_LIMIT = 2.0
GRID_LIMIT = 6.0  # few pixels, some of them on edges


class Check:
    def __init__(self, setup, case):
        n, h, w = setup.count, setup.h, setup.w
        grid = (-(-h // STEP), -(-w // STEP))
        data = numpy.fromfile(pathlib.Path(__file__).parent / "reference.u8", numpy.uint8)
        full = min(FULL, n)
        shapes = [(n, *grid, 3), (n, *grid), (full, h, w, 3), (full, h, w)]
        parts = numpy.split(data, numpy.cumsum([numpy.prod(shape) for shape in shapes])[:-1])
        self.grids, self.mask_grids, self.images, self.masks = (p.reshape(s) for p, s in zip(parts, shapes))
        self.with_masks, self.shape = case == "pairs", (h, w)
        self.flat = self.grids.reshape(n, -1).astype(numpy.float32)
        self.lengths = (self.flat ** 2).sum(1)
        self.times = numpy.zeros(n, int)
        self.sum = self.largest = self.compared = 0

    def add(self, images, masks):
        images = numpy.asarray(images)
        if self.with_masks:
            if masks is None:
                raise RuntimeError("batches come without masks")
            masks = numpy.asarray(masks)
        if images.dtype != numpy.uint8 or (self.with_masks and masks.dtype != numpy.uint8):
            raise RuntimeError(f"batches are {images.dtype}, masks {masks is not None and masks.dtype}, not uint8")
        if images.shape[1] == 3:
            images = images.transpose(0, 2, 3, 1)
        if images.shape[1:] != (*self.shape, 3) or (self.with_masks and masks.shape[1:] != self.shape):
            raise RuntimeError(f"images are {images.shape[1:]}, masks {masks is not None and masks.shape[1:]}")
        grids = images[:, ::STEP, ::STEP].reshape(len(images), -1).astype(numpy.float32)
        nearest = (self.lengths[:, None] - 2 * self.flat @ grids.T).argmin(0)  # of the squared distances
        for i, sample in enumerate(nearest):
            self.times[sample] += 1
            self.add_sample(sample, images[i], masks[i] if self.with_masks else None)

    def add_sample(self, sample, image, mask):
        self.compare(image[::STEP, ::STEP], self.grids[sample], GRID_LIMIT)
        if mask is not None and (mask[::STEP, ::STEP] != self.mask_grids[sample]).any():
            raise RuntimeError(f"the mask of sample {sample} has other ids")
        if sample < len(self.images):
            self.compare(image, self.images[sample], MEAN_LIMIT)
            if mask is not None and (mask != self.masks[sample]).any():
                raise RuntimeError(f"the mask of sample {sample} has other ids")

    def compare(self, image, ours, limit):
        difference = numpy.abs(image.astype(numpy.int16) - ours)
        if difference.mean() > limit:
            raise RuntimeError(f"pixels differ from Stoker's by {difference.mean():.1f} on average")
        self.sum += difference.sum()
        self.compared += difference.size
        self.largest = max(self.largest, int(difference.max()))

    def finish(self):
        """Mean and largest difference."""
        if (self.times != 1).any():
            raise RuntimeError(f"{(self.times == 0).sum()} samples did not come, {(self.times > 1).sum()} came twice")
        return f"{self.sum / self.compared:.4f} {self.largest}"
