"""End to end: a folder of JPEG images and PNG masks to augmented batches of 32 by PyTorch's DataLoader, OpenCV and
Albumentations. Workers stay between epochs; the first epoch, which starts them, is the warm-up."""
import pathlib

import cv2
import torch
from albumentations.pytorch import ToTensorV2
from torch.utils.data import DataLoader, Dataset

import peer_albumentations


def versions():
    return f"PyTorch {torch.__version__}, {peer_albumentations.versions()}"


class Pairs(Dataset):
    def __init__(self, folder):
        self.images = sorted(pathlib.Path(folder, "images").iterdir())
        self.masks = pathlib.Path(folder, "masks")
        self.transform = peer_albumentations.compose("strong")
        self.to_tensor = ToTensorV2()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        path = self.images[i]
        image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(str(self.masks / (path.stem + ".png")), cv2.IMREAD_GRAYSCALE)
        done = self.to_tensor(**self.transform(image=image, mask=mask))
        return done["image"], done["mask"]


class Epoch:
    def __init__(self, folder, cpus, begin_worker):
        def begin(_):
            begin_worker()
            cv2.setNumThreads(1)
            torch.set_num_threads(1)

        self.loader = DataLoader(Pairs(folder), batch_size=32, shuffle=True, num_workers=cpus,
                                 persistent_workers=True, worker_init_fn=begin)
        self.seen = 0

    def run(self, _):
        self.seen = sum(len(images) for images, masks in self.loader)

    def check(self, count):
        if self.seen != count:
            raise RuntimeError(f"{self.seen} of {count} samples came")
