"""PyTorch's DataLoader with default collation. How: `pil`, `torchvision` or `opencv`, a colon, and the number of workers.

Workers stay between epochs and use one thread each, as torch itself and OpenCV's documentation advise."""
import numpy
import torch
from torch.utils.data import DataLoader, Dataset


def read_pil():
    import PIL
    from PIL import Image

    def image(path):
        return numpy.asarray(Image.open(path).convert("RGB"))

    def mask(path):
        return numpy.asarray(Image.open(path))

    return image, mask, f"Pillow {PIL.__version__}"


def read_torchvision():
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg, decode_png, read_file

    def image(path):
        return decode_jpeg(read_file(path), ImageReadMode.RGB)

    def mask(path):
        return decode_png(read_file(path))[0]

    return image, mask, f"torchvision {torchvision.__version__}"


def read_opencv():
    import cv2

    def image(path):
        return cv2.imread(path, cv2.IMREAD_COLOR_RGB)

    def mask(path):
        return cv2.imread(path, cv2.IMREAD_UNCHANGED)

    cv2.setNumThreads(0)  # forked workers inherit it
    return image, mask, f"OpenCV {cv2.__version__}"


READERS = {"pil": read_pil, "torchvision": read_torchvision, "opencv": read_opencv}


class Files(Dataset):
    def __init__(self, pairs, image, mask):
        self.pairs, self.image, self.mask = pairs, image, mask

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        image, mask = self.pairs[i]
        return (self.image(image), self.mask(mask)) if mask else self.image(image)


class Peer:
    def __init__(self, setup):
        reader, workers = setup.how.split(":")
        self.image, self.mask, words = READERS[reader]()
        self.setup, self.workers = setup, int(workers)
        self.versions = f"PyTorch {torch.__version__}, {words}"

    def open(self, case):
        return DataLoader(Files(self.setup.pairs(case), self.image, self.mask), batch_size=self.setup.batch,
                          shuffle=True, num_workers=self.workers, persistent_workers=self.workers > 0,
                          worker_init_fn=lambda _: self.setup.begin_worker())

    @staticmethod
    def batches(loader):
        for batch in loader:
            yield batch if isinstance(batch, (list, tuple)) else (batch, None)

    @staticmethod
    def close(loader):
        """Its workers end when nobody has it any more."""
