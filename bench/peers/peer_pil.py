"""NumPy and Pillow by hand, as many scripts have it: ImageEnhance has torchvision's brightness, contrast and
saturation; hue is turned in Pillow's HSV; the blur is a 3x3 kernel of the same weights."""
import math

import numpy
import PIL
from PIL import Image, ImageEnhance, ImageFilter

from chains import CHAINS, MEAN, STD

MASK_FILLS = (255,)
SCALE = numpy.float32(1) / (numpy.array(STD, numpy.float32) * 255)
BIAS = -numpy.array(MEAN, numpy.float32) / numpy.array(STD, numpy.float32)


def versions():
    return f"Pillow {PIL.__version__}, NumPy {numpy.__version__}"


def use_threads(_):
    """Both have one."""


def inverse_matrix(degrees, scale, w, h):
    """Of Pillow: from pixels of the result to those of the source, about the centre."""
    c, s = math.cos(math.radians(degrees)) / scale, math.sin(math.radians(degrees)) / scale
    return c, s, w / 2 - c * w / 2 - s * h / 2, -s, c, h / 2 + s * w / 2 - c * h / 2


def turn_hue(image, turn):
    h, s, v = image.convert("HSV").split()
    h = Image.fromarray(numpy.asarray(h) + numpy.uint8(int(turn * 255) % 256))
    return Image.merge("HSV", (h, s, v)).convert("RGB")


def jitter(image, strengths, random):
    steps = [lambda im, a: ImageEnhance.Brightness(im).enhance(1 + a),
             lambda im, a: ImageEnhance.Contrast(im).enhance(1 + a),
             lambda im, a: ImageEnhance.Color(im).enhance(1 + a), turn_hue]
    for i in random.permutation(4):
        if strengths[i]:
            image = steps[i](image, random.uniform(-strengths[i], strengths[i]))
    return image


def blur(image, sigma):
    side = math.exp(-0.5 / sigma ** 2)
    line = numpy.array([side, 1, side])
    return image.filter(ImageFilter.Kernel((3, 3), numpy.outer(line, line).ravel().tolist()))


def make_sample(batch, chain):
    c, random = CHAINS[chain], numpy.random.default_rng()

    def augment(i):
        image, mask = Image.fromarray(batch.images[i]), Image.fromarray(batch.masks[i])
        if random.random() < c.flip_p:
            image, mask = (p.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for p in (image, mask))
        if random.random() < c.affine_p:
            matrix = inverse_matrix(random.uniform(-c.degrees, c.degrees), random.uniform(*(c.scale or (1, 1))),
                                    batch.w, batch.h)
            affine = Image.Transform.AFFINE
            image = image.transform(image.size, affine, matrix, Image.Resampling.BILINEAR)
            mask = mask.transform(mask.size, affine, matrix, Image.Resampling.NEAREST, fillcolor=255)
        if random.random() < c.jitter_p:
            image = jitter(image, c.jitter, random)
        if random.random() < c.blur_p:
            image = blur(image, random.uniform(*c.blur_sigma))
        pixels = numpy.asarray(image, numpy.float32)
        if random.random() < c.noise_p:
            noise = random.standard_normal(pixels.shape, numpy.float32)
            pixels = (pixels + noise * numpy.float32(255 * c.noise_std)).clip(0, 255)
        numpy.copyto(batch.out[i], (pixels * SCALE + BIAS).transpose(2, 0, 1))
        batch.out_masks[i] = mask

    return augment
