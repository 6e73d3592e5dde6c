"""End to end: folders of JPEG files, one for each class, through PyTorch's DataLoader, OpenCV and the strong chain of
Albumentations into a small network, written again from tiny.yaml. Workers stay between epochs; the first epoch, which
starts them, is the warm-up."""
import os
import pathlib

import cv2
import torch
from albumentations.pytorch import ToTensorV2
from torch import nn
from torch.utils.data import DataLoader, Dataset

import peer_albumentations

BATCH = 32


class Files(Dataset):
    def __init__(self, folder):
        classes = sorted(path for path in folder.iterdir() if path.is_dir())
        self.samples = [(str(path), label) for label, name in enumerate(classes) for path in sorted(name.iterdir())]
        self.transform = peer_albumentations.compose("strong")
        self.to_tensor = ToTensorV2()

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        path, label = self.samples[i]
        image = self.transform(image=cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB))["image"]
        return self.to_tensor(image=image)["image"], label


def tiny(classes):
    return nn.Sequential(nn.AvgPool2d(16),
                         nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                         nn.Conv2d(16, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, classes))


class Peer:
    def __init__(self, setup):
        self.versions = f"PyTorch {torch.__version__}, {peer_albumentations.versions()}"
        self.count = setup.count
        torch.set_num_threads(setup.cpus)

        def begin(_):
            setup.begin_worker()
            cv2.setNumThreads(1)
            torch.set_num_threads(1)

        files = Files(setup.folder)
        self.loader = DataLoader(files, batch_size=BATCH, shuffle=True, num_workers=setup.cpus, persistent_workers=True,
                                 worker_init_fn=begin)
        self.model = tiny(len(os.listdir(setup.folder)))
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-3, fused=True)

    def run(self):
        seen = 0
        for images, labels in self.loader:
            self.optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(self.model(images), labels).backward()
            torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
            self.optimizer.step()
            seen += len(labels)
        if seen != self.count:
            raise RuntimeError(f"{seen} of {self.count} samples came")
        return seen

    check = run
