#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Augment in place of Kornia: the DataLoader stays, batches of images and masks are augmented together in the training loop.
The faces are decoded once, into memory, so that augmentation and network are what takes time."""
import time
from typing import Any

import shared

shared.need("torch", "numpy", "kornia", "stoker")

import kornia.augmentation as K
import stoker
import torch
from torch.utils.data import DataLoader, TensorDataset

SIDE, BATCH = 96, 16

with_kornia = K.AugmentationSequential(
    K.RandomHorizontalFlip(p=0.5), K.RandomRotation(15.0, p=1.0), K.ColorJitter(0.2, 0.2, 0.2, 0.05, p=1.0),
    data_keys=["input", "mask"])

with_stoker = stoker.Augment(horizontal_flip_prob=0.5, rotation_degrees=15, brightness=0.2, contrast=0.2, saturation=0.2, hue=0.05,
                             flip_pairs="none", mask_fill=0)  # as Kornia: a flip renames no classes, outside is class 0


def augment(name: str, images: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if name == "dataloader":
        images, floats = with_kornia(images, masks[:, None].float())  # masks as float [n 1 h w] there and back
        return images, floats[:, 0].long()
    images, masks = with_stoker(images, masks)
    return images, masks


def augment_ms(name: str, dataset: Any) -> float:
    """Of a batch, without the training."""
    images, masks = dataset[:BATCH]
    for count in (3, 30):  # the first are to warm up
        start = time.perf_counter()
        for _ in range(count):
            augment(name, images, masks)
    return (time.perf_counter() - start) / count * 1e3


def train_epoch(model: Any, optimizer: Any, loader: Any, name: str) -> None:
    for images, masks in loader:
        images, masks = augment(name, images, masks)
        loss: Any = torch.nn.functional.cross_entropy(model(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main() -> None:
    arguments = shared.parse_arguments(__doc__, epochs=12)
    root = shared.make_data("faces", arguments)
    sets = {}
    for part in ("train", "val"):
        with stoker.Loader(root, part=part, batch_size=BATCH, image_size=SIDE, shuffle=False) as faces:
            batches = list(faces)
        sets[part] = TensorDataset(torch.cat([images for images, _ in batches]), torch.cat([masks for _, masks in batches]))
    loaders: dict[str, Any] = {}
    for name in shared.NAMES if arguments.loader == "both" else (arguments.loader,):
        generator = torch.Generator().manual_seed(arguments.seed)
        loaders[name] = (DataLoader(sets["train"], BATCH, shuffle=True, generator=generator), DataLoader(sets["val"], BATCH))
    shared.compare(arguments, "mIoU", loaders, shared.new_segmenter, train_epoch, shared.mean_iou)
    print("augmentation of a batch:", ", ".join(f"{name} {augment_ms(name, sets['train']):.1f} ms" for name in loaders))


if __name__ == "__main__":
    main()
