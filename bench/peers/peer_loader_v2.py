"""End to end: a folder of JPEG images and PNG masks to augmented batches of 32 by PyTorch's DataLoader, torchvision's decoders and
its transforms v2. Workers stay between epochs; the first epoch, which starts them, is the warm-up."""
import pathlib

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_jpeg, decode_png, read_file

import peer_loader
import peer_torchvision


def versions():
    return peer_torchvision.versions()


class Pairs(Dataset):
    def __init__(self, folder):
        self.images = sorted(pathlib.Path(folder, "images").iterdir())
        self.masks = pathlib.Path(folder, "masks")
        self.transform = peer_torchvision.compose("strong")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        path = self.images[i]
        image = decode_jpeg(read_file(str(path)), ImageReadMode.RGB)
        mask = decode_png(read_file(str(self.masks / (path.stem + ".png"))))[0]
        return self.transform(tv_tensors.Image(image), tv_tensors.Mask(mask))


class Epoch(peer_loader.Epoch):
    def __init__(self, folder, cpus, begin_worker):
        def begin(_):
            begin_worker()
            torch.set_num_threads(1)

        self.loader = DataLoader(Pairs(folder), batch_size=32, shuffle=True, num_workers=cpus,
                                 persistent_workers=True, worker_init_fn=begin)
        self.seen = 0
