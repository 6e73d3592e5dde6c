#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a batch holds, in which types, and how long: arrays share the loader's memory until the last of them is gone."""
import copy
import gc
import itertools
import os
import pickle
import unittest
import zlib

import numpy

import python_case
from python_case import COUNT, expected_image, expected_mask

import stoker


def rss_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


class Arrays(python_case.Case):
    def test_images_and_masks(self):
        for batch in self.open():
            images, masks = batch
            self.assertEqual((images.dtype, images.shape[1:]), (numpy.float32, (3, 8, 8)))
            self.assertEqual((masks.dtype, masks.shape[1:]), (numpy.int64, (8, 8)))
            self.assertTrue(images.flags.c_contiguous and images.flags.writeable)
            for place, number in enumerate(batch.ids):
                image = expected_image(number).transpose(2, 0, 1)
                numpy.testing.assert_allclose(images[place], image.astype(numpy.float32) / 255, atol=1e-6)
                numpy.testing.assert_array_equal(masks[place], expected_mask(number))
            self.assertEqual(batch.weights.tolist(), [1] * len(images))

    def test_labels(self):
        loader = self.open("classes")
        self.assertEqual(loader.info["class_names"], ["cat", "dog"])
        for batch in loader:
            images, labels = batch
            self.assertEqual((labels.dtype, labels.shape), (numpy.int64, (len(images),)))
            for number, label in zip(batch.ids, labels):
                self.assertEqual(loader.sample(number)[0].split("/")[0], ("cat", "dog")[label])

    def test_values_windows_and_sets_of_labels(self):
        images, values = next(iter(self.open("values")))
        self.assertEqual((values.dtype, values.shape, images.shape), (numpy.float32, (4,), (4, 1, 8, 8)))
        windows, targets = next(iter(self.open("series", sequence_length=5)))
        self.assertEqual((windows.dtype, windows.shape[:2], targets.dtype), (numpy.float32, (4, 5), numpy.float32))
        images, labels = next(iter(self.open("labels", columns="file=file,labels=tags")))
        self.assertEqual((labels.dtype, labels.shape), (numpy.float32, (4, 3)))

    def test_bytes_as_decoded(self):
        for axes, shape in ((None, (4, 3, 8, 8)), ("nchw", (4, 3, 8, 8)), ("nhwc", (4, 8, 8, 3))):
            for dtype in ("uint8", "u8", numpy.uint8, numpy.dtype("uint8")):
                images, masks = batch = next(iter(self.open(dtype=dtype, axes=axes, shuffle=False)))
                self.assertEqual((images.dtype, images.shape, masks.dtype), (numpy.uint8, shape, numpy.uint8))
                pixels = images if axes == "nhwc" else images.transpose(0, 2, 3, 1)
                for place, number in enumerate(batch.ids):
                    numpy.testing.assert_array_equal(pixels[place], expected_image(number))

    def test_other_types(self):
        images, masks = next(iter(self.open(dtype="float16", axes="nhwc", mask_dtype="uint8")))
        self.assertEqual((images.dtype, images.shape, masks.dtype), (numpy.float16, (4, 8, 8, 3), numpy.uint8))
        with self.assertRaisesRegex(stoker.UnsupportedError, "bfloat16"):
            next(iter(self.open(dtype="bf16")))

    def test_normalized(self):
        images, _ = batch = next(iter(self.open(mean=[0.5, 0.25, 0], std=0.5)))
        plain = expected_image(batch.ids[0]).transpose(2, 0, 1) / 255
        numpy.testing.assert_allclose(images[0], (plain - numpy.array([0.5, 0.25, 0]).reshape(3, 1, 1)) / 0.5, atol=1e-5)

    def test_mixed_targets(self):
        images, target = next(iter(self.open("classes", augment={"preset": "none", "mixup_prob": 1, "mixup_alpha": 0.4})))
        first, second, share = target
        self.assertEqual((first.dtype, second.dtype, share.dtype), (numpy.int64, numpy.int64, numpy.float32))
        self.assertTrue(((share >= 0) & (share <= 1)).all())

    def test_buffer_and_dlpack(self):
        raw = next(iter(self.open(dtype="u8")))._tensors[0]
        self.assertEqual(memoryview(raw).shape, (4, 8, 8, 3))
        self.assertEqual(raw.__dlpack_device__(), (1, 0))
        array = numpy.from_dlpack(raw)
        self.assertTrue(numpy.shares_memory(array, numpy.asarray(raw)))
        turned = raw.channels_first()
        self.assertEqual(numpy.from_dlpack(turned).shape, (4, 3, 8, 8))
        self.assertEqual(zlib.crc32(raw), zlib.crc32(numpy.asarray(raw)))
        self.assertRaises(BufferError, zlib.crc32, turned)  # not contiguous
        self.assertRaises(BufferError, raw.__dlpack__, copy=True)
        self.assertRaises(BufferError, raw.__dlpack__, dl_device=(2, 0))
        self.assertRaises(TypeError, type(raw))
        self.assertIsNotNone(raw.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0)))  # dropped unused

    def test_pickled(self):
        batch = next(iter(self.open()))
        again = pickle.loads(pickle.dumps(batch))
        for copied in (again, copy.deepcopy(batch), pickle.loads(pickle.dumps(again))):
            self.assertIs(type(copied), stoker.Batch)
            for left, right in zip((*copied, copied.ids, copied.weights), (*batch, batch.ids, batch.weights), strict=True):
                numpy.testing.assert_array_equal(left, right)
                self.assertFalse(numpy.shares_memory(left, right))
            self.assertEqual((copied.epoch, copied.position), (batch.epoch, batch.position))
        with self.assertRaises(stoker.ArgumentError):
            stoker.Batch(batch).ids


class Lifetimes(python_case.Case):
    def expect(self, batch, images, masks):
        for place, number in enumerate(batch.ids.tolist()):
            numpy.testing.assert_array_equal(masks[place], expected_mask(number))
            numpy.testing.assert_allclose(images[place], expected_image(number).transpose(2, 0, 1) / 255, atol=1e-6)

    def test_kept_after_close(self):
        loader = self.open()
        kept = list(itertools.islice(loader, 3))
        loader.close()
        loader.close()
        for batch in kept:
            self.expect(batch, *batch)
        del loader, batch
        for batch in kept:
            self.expect(batch, *batch)

    def test_dlpack_after_close(self):
        """A capsule, and an array made of one, keep the slot when the loader is closed and gone."""
        class Capsule:
            def __init__(self, tensor):
                self.device, self.capsule = tensor.__dlpack_device__(), tensor.__dlpack__()

            def __dlpack_device__(self):
                return self.device

            def __dlpack__(self, **ignored):
                return self.capsule

        loader = self.open(dtype="uint8", axes="nhwc", shuffle=False)
        batch = next(iter(loader))
        array, capsules = numpy.from_dlpack(batch._tensors[0]), [Capsule(batch._tensors[0]) for _ in range(2)]
        del batch
        loader.close()
        del loader
        gc.collect()
        later = numpy.from_dlpack(capsules[0])
        del capsules  # one of them was never taken
        for number in range(4):
            numpy.testing.assert_array_equal(array[number], expected_image(number))
            numpy.testing.assert_array_equal(later[number], expected_image(number))

    def test_kept_beside_an_epoch(self):
        loader = self.open(num_workers=3, prefetch_factor=2)
        kept = []
        for number, batch in enumerate(loader):
            if number % 2:
                kept.append((batch, batch[0][1:], batch[1][..., ::2]))  # views alone keep the memory, too
        list(loader)
        for batch, images, masks in kept:
            self.expect(batch, *batch)
            numpy.testing.assert_array_equal(images, batch[0][1:])

    def test_one_array_keeps_the_batch(self):
        loader = self.open(prefetch_factor=1, num_workers=1, shuffle=False)
        part = next(iter(loader))[1][2:3, :1]
        for _ in range(3):
            list(loader)
        numpy.testing.assert_array_equal(part[0], expected_mask(2)[:1])

    def test_written_into(self):
        loader = self.open(shuffle=False)
        for images, masks in loader:
            images *= 0
        for batch in loader:
            self.expect(batch, *batch)

    def test_no_growth(self):
        loader = self.open(num_workers=2)

        def load(batches):
            while batches > 0:
                for images, masks in loader:
                    batches -= 1
            gc.collect()
            return rss_bytes()

        before = load(300)
        self.assertLess(load(1200 if "STOKER_UNDER_ASAN" in os.environ else 10000) - before, 2 << 20)

    def test_no_growth_of_loaders(self):
        def open_and_close(count):
            for _ in range(count):
                with stoker.Loader(self.data(), batch_size=4, num_workers=2) as loader:
                    kept = next(iter(loader))
                del kept
            return rss_bytes()

        before = open_and_close(20)
        self.assertLess(open_and_close(80) - before, 4 << 20)

    def test_threads_end(self):
        def threads():
            with open("/proc/self/status") as status:
                return int(next(line for line in status if line.startswith("Threads:")).split()[1])

        before = threads()
        loader = self.open(num_workers=3)
        batch = next(iter(loader))
        self.assertEqual(threads(), before + 4)  # and the watchdog
        loader.close()
        self.assertEqual(threads(), before + 4)  # a batch is in use
        images = batch[0]
        del batch
        self.assertEqual(threads(), before + 4)
        del images
        self.assertEqual(threads(), before)

    def test_ends_in_the_middle(self):
        script = "import stoker, sys; loader = stoker.Loader(sys.argv[1], num_workers=2, batch_size=4); kept = next(iter(loader)); {}"
        for end in ("pass", "globals().update(stale=iter(loader))", "loader.circle = loader", "del loader"):
            self.run_python(script.format(end), self.data())


if __name__ == "__main__":
    unittest.main()
