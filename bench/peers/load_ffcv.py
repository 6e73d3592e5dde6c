"""FFCV on its own file: JPEGs as they are, masks raw (it has no compressed field for ids).

The JPEGs' bytes are copied into the file instead of encoded again, so that everybody decodes the same. Its decoder asks
libjpeg-turbo for the fast, coarser inverse DCT."""
import importlib.metadata
import pathlib

import numpy
from ffcv.fields import NDArrayField, RGBImageField
from ffcv.fields.ndarray import NDArrayDecoder
from ffcv.fields.rgb_image import IMAGE_MODES, SimpleRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.writer import DatasetWriter


def copy_jpeg(destination, field, malloc):
    """In the place of RGBImageField.encode: takes the bytes of a file and its size instead of pixels."""
    data, destination["height"], destination["width"] = field
    destination["mode"] = IMAGE_MODES["jpg"]
    destination["data_ptr"], storage = malloc(data.nbytes)
    storage[:] = data


class Files:
    def __init__(self, pairs, h, w):
        self.pairs, self.h, self.w = pairs, h, w

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        image, mask = self.pairs[i]
        fields = [(numpy.fromfile(image, numpy.uint8), self.h, self.w)]
        if mask:
            import cv2
            fields.append(cv2.imread(mask, cv2.IMREAD_UNCHANGED))
        return tuple(fields)


class Peer:
    def __init__(self, setup):
        self.setup = setup
        self.versions = f"FFCV {importlib.metadata.version('ffcv')}"  # its own says something else

    def convert(self, path, pairs):
        h, w = self.setup.h, self.setup.w
        fields = {"image": RGBImageField(write_mode="jpg")}
        fields["image"].encode = copy_jpeg
        if pairs[0][1]:
            fields["mask"] = NDArrayField(numpy.dtype("uint8"), (h, w))
        DatasetWriter(str(path), fields, num_workers=self.setup.cpus).from_indexed_dataset(Files(pairs, h, w))

    def open(self, case):
        path, pairs = pathlib.Path(self.setup.scratch, f"{case}.beton"), self.setup.pairs(case)
        if not path.exists():
            self.convert(path, pairs)
        pipelines = {"image": [SimpleRGBImageDecoder()]}
        if pairs[0][1]:
            pipelines["mask"] = [NDArrayDecoder()]
        return Loader(str(path), batch_size=self.setup.batch, num_workers=self.setup.cpus, os_cache=True,
                      order=OrderOption.RANDOM, drop_last=False, pipelines=pipelines)

    @staticmethod
    def batches(loader):
        epoch = iter(loader)
        try:
            for batch in epoch:
                yield batch[0], batch[1] if len(batch) > 1 else None
        finally:
            epoch.close()
            epoch.join()  # it decodes a few batches ahead, also when nobody wants them

    @staticmethod
    def close(_):
        """It maps the file and has no processes."""
