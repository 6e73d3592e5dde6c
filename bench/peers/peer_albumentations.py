"""Albumentations. Its operations of the same names have torchvision's meanings on bytes: ColorJitter (random
order, contrast about the mean grey), Affine with one scale for both axes, GaussianBlur with a kernel of 3,
GaussNoise with a fixed strength. The transposition to channel after channel goes straight into the batch."""
import albumentations
import cv2
import numpy

from chains import CHAINS, MEAN, STD

MASK_FILLS = (255,)


def versions():
    return f"Albumentations {albumentations.__version__}, OpenCV {cv2.__version__}"


def use_threads(count):
    cv2.setNumThreads(count)


def compose(chain):
    a, c = albumentations, CHAINS[chain]
    fills = {"fill": 0, "fill_mask": 255}
    brightness, contrast, saturation, hue = c.jitter
    steps = [a.HorizontalFlip(p=c.flip_p)]
    if c.scale:
        steps.append(a.Affine(scale=c.scale, keep_ratio=True, rotate=(-c.degrees, c.degrees), p=c.affine_p, **fills))
    else:
        steps.append(a.Rotate(limit=(-c.degrees, c.degrees), border_mode=cv2.BORDER_CONSTANT, p=c.affine_p, **fills))
    steps.append(a.ColorJitter(brightness=(1 - brightness, 1 + brightness), contrast=(1 - contrast, 1 + contrast),
                               saturation=(1 - saturation, 1 + saturation), hue=(-hue, hue), p=c.jitter_p))
    if c.blur_p:
        steps.append(a.GaussianBlur(blur_limit=(3, 3), sigma_limit=c.blur_sigma, p=c.blur_p))
    if c.noise_p:
        steps.append(a.GaussNoise(std_range=(c.noise_std, c.noise_std), p=c.noise_p))
    steps.append(a.Normalize(mean=MEAN, std=STD))
    return a.Compose(steps)


def make_sample(batch, chain):
    transform = compose(chain)

    def augment(i):
        done = transform(image=batch.images[i], mask=batch.masks[i])
        numpy.copyto(batch.out[i], done["image"].transpose(2, 0, 1))
        batch.out_masks[i] = done["mask"]

    return augment
