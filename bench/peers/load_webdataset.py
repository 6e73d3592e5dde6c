"""WebDataset over tar shards in PyTorch's DataLoader. How: `shards`, a colon, and the number of workers.

Images are decoded by simplejpeg, masks by OpenCV: faster than its own decoders, which use Pillow. Batches are made by the
workers, as its documentation advises."""
import pathlib
import tarfile

import cv2
import numpy
import simplejpeg
import torch
import webdataset

SHARDS = 8


def decode_image(data):
    return torch.from_numpy(simplejpeg.decode_jpeg(data, "RGB"))


def decode_mask(data):
    return torch.from_numpy(cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_UNCHANGED))


class Peer:
    def __init__(self, setup):
        cv2.setNumThreads(0)
        self.setup, self.workers = setup, int(setup.how.split(":")[1])
        self.versions = f"WebDataset {webdataset.__version__}, simplejpeg {simplejpeg.__version__}, PyTorch {torch.__version__}"

    def shards(self, case):
        pairs, names = self.setup.pairs(case), []
        for number in range(SHARDS):
            path = pathlib.Path(self.setup.scratch, f"{case}-{self.workers}-{number:06d}.tar")
            names.append(str(path))
            if path.exists():
                continue
            with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
                for image, mask in pairs[number::SHARDS]:
                    tar.add(image, pathlib.Path(image).name)
                    if mask:
                        tar.add(mask, pathlib.Path(mask).name)
        return names

    def open(self, case):
        fields, decoders = ["jpg"], [decode_image]
        if case == "pairs":
            fields.append("png")
            decoders.append(decode_mask)
        data = (webdataset.WebDataset(self.shards(case), shardshuffle=SHARDS, nodesplitter=webdataset.split_by_node,
                                      workersplitter=webdataset.split_by_worker)
                .to_tuple(*fields).map_tuple(*decoders).batched(self.setup.batch, partial=True))
        return webdataset.WebLoader(data, batch_size=None, num_workers=self.workers,
                                    persistent_workers=self.workers > 0,
                                    worker_init_fn=lambda _: self.setup.begin_worker())

    @staticmethod
    def batches(loader):
        for batch in loader:
            yield batch[0], batch[1] if len(batch) > 1 else None

    @staticmethod
    def close(_):
        """Its workers end when nobody has it any more."""
