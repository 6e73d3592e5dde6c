"""SPDL's pipeline of threads. How: `simplejpeg` (masks by OpenCV) or `ffmpeg`, SPDL's own decoder for both.

A task of a thread is a whole batch: with single samples handing them over costs half as much again as decoding. A pipeline
is made for every epoch, as its examples have it; that takes a millisecond."""
import random

import numpy
import spdl.io
from spdl.pipeline import PipelineBuilder


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


class Direct:
    """simplejpeg, each image straight into its place of the batch; masks by OpenCV."""

    def __init__(self, setup):
        import cv2
        import simplejpeg
        cv2.setNumThreads(0)
        self.h, self.w, self.cv2, self.decode_jpeg = setup.h, setup.w, cv2, simplejpeg.decode_jpeg
        self.versions = f"SPDL {spdl.io.__version__}, simplejpeg {simplejpeg.__version__}"

    def decode(self, pairs):
        images = numpy.empty((len(pairs), self.h, self.w, 3), numpy.uint8)
        masks = numpy.empty((len(pairs), self.h, self.w), numpy.uint8) if pairs[0][1] else None
        for i, (image, mask) in enumerate(pairs):
            self.decode_jpeg(read_bytes(image), "RGB", buffer=images[i])
            if mask:
                data = numpy.frombuffer(read_bytes(mask), numpy.uint8)
                masks[i] = self.cv2.imdecode(data, self.cv2.IMREAD_UNCHANGED)
        return images, masks


class Own:
    """FFmpeg's decoders, as SPDL wraps them."""

    def __init__(self, _):
        self.versions = f"SPDL {spdl.io.__version__}"

    @staticmethod
    def load(paths, pix_fmt):
        return spdl.io.to_numpy(spdl.io.load_image_batch(list(paths), width=None, height=None, pix_fmt=pix_fmt))

    def decode(self, pairs):
        images, masks = zip(*pairs)
        return self.load(images, "rgb24"), self.load(masks, "gray").squeeze(-1) if masks[0] else None


class Peer:
    def __init__(self, setup):
        self.way = (Direct if setup.how == "simplejpeg" else Own)(setup)
        self.setup, self.versions = setup, self.way.versions

    def open(self, case):
        return self.setup.pairs(case)

    def batches(self, pairs):
        random.shuffle(pairs)
        size, cpus = self.setup.batch, self.setup.cpus
        parts = [pairs[start:start + size] for start in range(0, len(pairs), size)]
        pipeline = (PipelineBuilder().add_source(parts).pipe(self.way.decode, concurrency=cpus).add_sink(2)
                    .build(num_threads=cpus))
        with pipeline.auto_stop():
            yield from pipeline

    @staticmethod
    def close(_):
        """Nothing is kept between epochs."""
