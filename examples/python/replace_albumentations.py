#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Loader in place of a DataLoader with Albumentations: 512 x 512 faces and masks, decoded with OpenCV, trained at 64 x 64.
No flip: Albumentations would leave the left eye a left one; Stoker exchanges such classes (flip_pairs)."""
import os
import pathlib
from typing import Any

import shared

shared.need("torch", "numpy", "cv2", "albumentations", "stoker")

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # it asks the index for a newer version otherwise
import albumentations as A  # type: ignore[import-untyped]
import cv2
import stoker
import torch
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH, WORKERS = 64, 16, 2


class Faces(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __init__(self, folder: Any, transform: Any) -> None:
        self.images = sorted(pathlib.Path(folder, "images").iterdir())
        self.masks = sorted(pathlib.Path(folder, "masks").iterdir())
        self.transform = transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        cv2.setNumThreads(0)
        image: Any = cv2.imread(self.images[index])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[index], cv2.IMREAD_UNCHANGED)
        result = self.transform(image=image, mask=mask)
        return torch.from_numpy(result["image"]).permute(2, 0, 1).float() / 255, torch.from_numpy(result["mask"]).long()


def dataloaders(root: Any, seed: int) -> tuple[Any, Any]:
    resize = A.Resize(SIDE, SIDE, interpolation=cv2.INTER_AREA)
    transform = A.Compose([resize, A.Affine(scale=(0.9, 1.1), rotate=(-15, 15), fill_mask=255, p=1),
                           A.ColorJitter(brightness=(0.8, 1.2), contrast=(0.8, 1.2), saturation=(0.8, 1.2), hue=(-0.05, 0.05), p=1)],
                          seed=seed)
    generator = torch.Generator().manual_seed(seed)
    return (DataLoader(Faces(root / "train", transform), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True,
                       pin_memory=torch.cuda.is_available(), generator=generator),
            DataLoader(Faces(root / "val", A.Compose([resize])), BATCH, num_workers=WORKERS))


def stoker_loaders(root: Any, seed: int) -> tuple[Any, Any]:
    augment = {"scale": 0.1, "rotation_degrees": 15, "brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.05}
    return (stoker.Loader(root, batch_size=BATCH, num_workers=WORKERS, image_size=SIDE, augment=augment, seed=seed),
            stoker.Loader(root, part="val", batch_size=BATCH, num_workers=WORKERS, image_size=SIDE))


def train_epoch(model: Any, optimizer: Any, loader: Any, name: str) -> None:
    for images, masks in loader:
        loss: Any = torch.nn.functional.cross_entropy(model(images), masks, ignore_index=255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main() -> None:
    arguments = shared.parse_arguments(__doc__, epochs=12)
    root = shared.make_data("faces", arguments)
    loaders = {name: make(root, arguments.seed) for name, make in (("dataloader", dataloaders), ("stoker", stoker_loaders))
               if arguments.loader in (name, "both")}
    shared.compare(arguments, "mIoU", loaders, shared.new_segmenter, train_epoch, shared.mean_iou)


if __name__ == "__main__":
    main()
