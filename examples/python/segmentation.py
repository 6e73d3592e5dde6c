#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Segmentation with a plain training loop: 512 x 512 faces and masks of 19 classes, trained at 64 x 64 with flips and
brightness. First with a Dataset in a DataLoader, then with stoker.Loader."""
import random
from typing import Any

import shared

shared.need("torch", "numpy", "PIL", "stoker")

import numpy
import stoker
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH, WORKERS = 64, 16, 2
# A flip makes the left eye the right one: classes that change places, by their number.
MIRRORED = numpy.arange(256)
MIRRORED[[2, 3, 4, 5, 7, 8]] = [3, 2, 5, 4, 8, 7]


class Faces(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __init__(self, folder: Any, augment: bool) -> None:
        self.images = sorted((folder / "images").iterdir())
        self.masks = sorted((folder / "masks").iterdir())
        self.augment = augment

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        image = numpy.asarray(Image.open(self.images[index]).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR))
        mask = numpy.asarray(Image.open(self.masks[index]).resize((SIDE, SIDE), Image.Resampling.NEAREST))
        image = image.astype(numpy.float32) / 255
        if self.augment:
            if random.random() < 0.5:
                image, mask = image[:, ::-1], MIRRORED[mask[:, ::-1]]
            image = numpy.clip(image * random.uniform(0.8, 1.2), 0, 1)
        return torch.tensor(image.transpose(2, 0, 1).copy()), torch.tensor(mask.astype(numpy.int64))


def train_epoch(model: Any, optimizer: Any, loader: Any, name: str) -> None:
    """The same loop with both."""
    for images, masks in loader:
        loss: Any = torch.nn.functional.cross_entropy(model(images), masks, ignore_index=255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main() -> None:
    arguments = shared.parse_arguments(__doc__, epochs=12)
    root = shared.make_data("faces", arguments)
    loaders: dict[str, Any] = {}
    if arguments.loader != "stoker":
        random.seed(arguments.seed)
        generator = torch.Generator().manual_seed(arguments.seed)
        loaders["dataloader"] = (
            DataLoader(Faces(root / "train", True), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True, generator=generator),
            DataLoader(Faces(root / "val", False), BATCH, num_workers=WORKERS))
    if arguments.loader != "dataloader":
        augment = {"horizontal_flip_prob": 0.5, "brightness": 0.2}
        loaders["stoker"] = (
            stoker.Loader(root, batch_size=BATCH, num_workers=WORKERS, image_size=SIDE, augment=augment, seed=arguments.seed),
            stoker.Loader(root, part="val", batch_size=BATCH, num_workers=WORKERS, image_size=SIDE))
    shared.compare(arguments, "mIoU", loaders, shared.new_segmenter, train_epoch, shared.mean_iou)


if __name__ == "__main__":
    main()
