#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/golden/write_augment.py: what torchvision makes of a small picture and its mask, for test_golden_augment.c.

Needs torch and torchvision; run by hand when a case is added:

    $(bench/peers/setup) tests/golden/write_augment.py

Everything by transforms.v2.functional on float32 of 0 to 1, with parameters that augment.json tells the test. Files
beside this one: source.npy u8 [h w 3], ids.npy u8 [h w], images.npy f32 [case 3 h w] (0 to 255 unless normalised),
masks.npy u8 [case h w].
"""
import json
import pathlib

import numpy
import torch
import torchvision
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as f

W, H = 31, 22
BILINEAR, NEAREST = v2.InterpolationMode.BILINEAR, v2.InterpolationMode.NEAREST
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def draw_source():
    """Smooth colours, two hard edges and some noise; black, white and grey corners for the colour steps."""
    random = numpy.random.default_rng(4)
    y, x = numpy.mgrid[0:H, 0:W].astype(float)
    image = numpy.stack([127 + 120 * numpy.sin(x / 5 + y / 9), 255 * x / W, 127 + 120 * numpy.cos(y / 4)], -1)
    image[6:14, 9:19] = [230, 30, 60]
    image[15:, 20:] += 60
    image = (image + random.normal(0, 6, image.shape)).clip(0, 255)
    image[:2, :2], image[:2, -2:], image[-2:, :2] = 0, 255, 128
    ids = ((x // 6 + 2 * (y // 5)) % 7).astype(numpy.uint8)
    ids[6:14, 9:19] = 9
    return image.astype(numpy.uint8), ids


STEPS = {
    "brightness": f.adjust_brightness,
    "contrast": f.adjust_contrast,
    "saturation": f.adjust_saturation,
    "hue": f.adjust_hue,
    "gamma": f.adjust_gamma,
    "gray": lambda image, _: f.rgb_to_grayscale(image, 3),
}


def move(case, image, mask):
    fill, mask_fill = [v / 255 for v in case["fill"]], case["mask_fill"]
    if "rotate" in case:
        angle = case["rotate"]
        return (f.rotate(image, angle, BILINEAR, fill=fill), f.rotate(mask, angle, NEAREST, fill=mask_fill))
    if "affine" in case:
        a = case["affine"]
        rest = a["angle"], a["translate"], a["scale"], a["shear"]
        return (f.affine(image, *rest, BILINEAR, fill=fill), f.affine(mask, *rest, NEAREST, fill=mask_fill))
    if "crop" in case:
        # At the centres of pixels, as images are: torch's nearest-exact. For masks by that name torchvision takes
        # its older nearest, which moves them by up to half a pixel against the image; so as a plain tensor.
        x, y, w, h = case["crop"]
        exact = v2.InterpolationMode.NEAREST_EXACT
        return (f.resized_crop(image, y, x, h, w, [H, W], BILINEAR, antialias=False),
                f.resized_crop(mask.as_subclass(torch.Tensor)[None], y, x, h, w, [H, W], exact)[0])
    if case.get("flip") == "horizontal":
        return f.horizontal_flip(image), f.horizontal_flip(mask)
    if case.get("flip") == "vertical":
        return f.vertical_flip(image), f.vertical_flip(mask)
    return image, mask


def augment(case, image, mask):
    image, mask = move(case, image, mask)
    image = image.as_subclass(torch.Tensor)
    for name, value in case.get("steps", []):
        image = STEPS[name](image, value)
    if "blur" in case:
        image = f.gaussian_blur(image, case["blur"][0], case["blur"][1])
    if "erase" in case:
        x, y, w, h = case["erase"]
        image = f.erase(image, y, x, h, w, torch.tensor(case["fill"]).view(3, 1, 1) / 255)
    image = f.normalize(image, MEAN, STD) if case.get("normalize") else image * 255
    return image.numpy(), mask.numpy()


def affine(angle=0.0, translate=(0.0, 0.0), scale=1.0, shear=(0.0, 0.0)):
    return {"affine": {"angle": angle, "translate": list(translate), "scale": scale, "shear": list(shear)}}


def list_cases():
    yield "nothing", {}
    yield "horizontal flip", {"flip": "horizontal"}
    yield "vertical flip", {"flip": "vertical"}
    for angle in (15.0, -20.0, 90.0, 137.5):
        yield f"rotate {angle:g}", {"rotate": angle}
    yield "rotate 33, filled with white", {"rotate": 33.0, "fill": [255, 255, 255], "mask_fill": 0}
    yield "affine angle 25", affine(25.0)
    yield "translate 5, -3", affine(translate=(5, -3))
    yield "scale 0.6", affine(scale=0.6)
    yield "scale 1.7", affine(scale=1.7)
    yield "shear 20, 0", affine(shear=(20.0, 0.0))
    yield "shear -10, 15", affine(shear=(-10.0, 15.0))
    yield "all of affine", affine(-40.0, (-4, 2), 1.25, (8.0, -12.0))
    yield "crop enlarged", {"crop": [5, 3, 13, 9]}
    yield "crop reduced", {"crop": [1, 2, 29, 19]}
    for name, values in {"brightness": (0.6, 1.4), "contrast": (0.5, 1.6), "saturation": (0.2, 1.8),
                         "hue": (-0.5, -0.1, 0.25), "gamma": (0.5, 2.2), "gray": (0.0,)}.items():
        for value in values:
            yield f"{name} {value:g}", {"steps": [[name, value]]}
    yield "blur 3", {"blur": [3, 0.7]}
    yield "blur 5", {"blur": [5, 1.5]}
    yield "blur 7", {"blur": [7, 2.0]}
    yield "normalize", {"normalize": True}
    yield "erase", {"erase": [7, 4, 12, 9]}
    jitter = [["contrast", 1.3], ["hue", 0.07], ["brightness", 0.8], ["saturation", 1.4]]
    yield "jitter", {"steps": jitter}
    # Large enough to be inside everywhere: torchvision weighs a border twice, which would change the mean grey.
    yield "standard", {**affine(12.0, scale=1.6), "steps": [["brightness", 1.15], ["contrast", 0.85]], "normalize": True}
    yield "strong", {**affine(-17.0, scale=1.8), "steps": jitter, "blur": [3, 1.1], "erase": [3, 12, 9, 6],
                     "normalize": True}


def main():
    here = pathlib.Path(__file__).parent
    source, ids = draw_source()
    image = tv_tensors.Image(torch.from_numpy(source).permute(2, 0, 1).float() / 255)
    mask = tv_tensors.Mask(torch.from_numpy(ids))
    cases = [{"name": name, "fill": [10, 200, 90], "mask_fill": 255, **case} for name, case in list_cases()]
    made = [augment(case, image, mask) for case in cases]
    numpy.save(here / "source.npy", source)
    numpy.save(here / "ids.npy", ids)
    numpy.save(here / "images.npy", numpy.stack([m[0] for m in made]).astype(numpy.float32))
    numpy.save(here / "masks.npy", numpy.stack([m[1] for m in made]).astype(numpy.uint8))
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    made_by = json.dumps(f"torchvision {torchvision.__version__}, PyTorch {torch.__version__}")
    (here / "augment.json").write_text(f'{{"made_by": {made_by},\n "mean": {MEAN}, "std": {STD},\n "cases": [\n{lines}]}}\n')


main()
