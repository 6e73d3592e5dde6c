"""SPDL's pipeline of threads. How: `simplejpeg` (masks by OpenCV) or `ffmpeg`, SPDL's own decoder for both.

simplejpeg decodes straight into the batch. A pipeline is made for every epoch, as its examples have it: that takes a
millisecond."""
import random

import numpy
import spdl.io
from spdl.pipeline import PipelineBuilder


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


class Direct:
    """Each sample is decoded into its place of the batch; a batch is complete when its last sample comes."""

    def __init__(self, setup):
        import cv2
        import simplejpeg
        cv2.setNumThreads(0)
        self.setup, self.cv2, self.decode_jpeg = setup, cv2, simplejpeg.decode_jpeg
        self.versions = f"SPDL {spdl.io.__version__}, simplejpeg {simplejpeg.__version__}"

    def places(self, pairs):
        h, w, size = self.setup.h, self.setup.w, self.setup.batch
        for start in range(0, len(pairs), size):
            part = pairs[start:start + size]
            images = numpy.empty((len(part), h, w, 3), numpy.uint8)
            masks = numpy.empty((len(part), h, w), numpy.uint8) if part[0][1] else None
            for i, (image, mask) in enumerate(part):
                yield images, masks, i, image, mask

    def decode(self, place):
        images, masks, i, image, mask = place
        self.decode_jpeg(read_bytes(image), "RGB", buffer=images[i])
        if mask:
            data = numpy.frombuffer(read_bytes(mask), numpy.uint8)
            masks[i] = self.cv2.imdecode(data, self.cv2.IMREAD_UNCHANGED)
        return images, masks

    def build(self, pairs):
        return (PipelineBuilder().add_source(self.places(pairs))
                .pipe(self.decode, concurrency=self.setup.cpus, output_order="input")
                .aggregate(self.setup.batch).pipe(lambda places: places[0]).add_sink(2))


class Own:
    """FFmpeg's decoder, as SPDL wraps it; whole batches are converted at the end."""

    def __init__(self, setup):
        self.setup = setup
        self.versions = f"SPDL {spdl.io.__version__}"

    def decode(self, pair):
        image, mask = pair
        frames = spdl.io.decode_packets(spdl.io.demux_image(image), filter_desc="format=pix_fmts=rgb24")
        if not mask:
            return frames, None
        return frames, spdl.io.decode_packets(spdl.io.demux_image(mask), filter_desc="format=pix_fmts=gray")

    @staticmethod
    def gather(frames):
        images, masks = zip(*frames)
        arrays = [spdl.io.to_numpy(spdl.io.convert_frames(list(f))) for f in (images, masks) if f[0]]
        return arrays[0], arrays[1].squeeze() if masks[0] else None

    def build(self, pairs):
        return (PipelineBuilder().add_source(pairs)
                .pipe(self.decode, concurrency=self.setup.cpus)
                .aggregate(self.setup.batch).pipe(self.gather).add_sink(2))


class Peer:
    def __init__(self, setup):
        self.way = (Direct if setup.how == "simplejpeg" else Own)(setup)
        self.setup, self.versions = setup, self.way.versions

    def open(self, case):
        return self.setup.pairs(case)

    def batches(self, pairs):
        random.shuffle(pairs)
        pipeline = self.way.build(pairs).build(num_threads=self.setup.cpus)
        with pipeline.auto_stop():
            yield from pipeline

    @staticmethod
    def close(_):
        """Nothing is kept between epochs."""
