#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Augment with NumPy: the bits of a loader, types and layouts, draws and their numbers, other processes, wrong arguments."""
import gc
import multiprocessing
import os
import pickle
import sys
import threading
import unittest
import unittest.mock

import numpy

import python_case

import stoker


def make_images(count=4, height=12, width=16, channels=3, seed=1):
    return numpy.random.default_rng(seed).integers(0, 256, (count, channels, height, width), numpy.uint8)


def make_masks(count=4, height=12, width=16, dtype=numpy.int64):
    return numpy.random.default_rng(2).integers(0, 19, (count, height, width)).astype(dtype)


def augment_in_child(augment, images, results):
    results.put(augment(images, epoch=1, ids=[1, 2, 3, 4]))


class Results(python_case.Case):
    def equal(self, left, right):
        numpy.testing.assert_array_equal(left, right)

    def test_bits_of_a_loader(self):
        for settings in ({"augment": "strong"}, {"augment": {"preset": "minimal", "hue": 0.2}, "mean": [0.5, 0.25, 0], "std": 0.5}):
            loader = self.open(seed=5, dtype="f32", **settings)
            augment = stoker.Augment(settings.pop("augment"), seed=5, dtype="f32", **settings)
            for epoch in (0, 3):
                decoded = self.open(seed=5, dtype="u8")
                loader.set_epoch(epoch)
                decoded.set_epoch(epoch)
                for wanted, batch in zip(loader, decoded, strict=True):
                    images, masks = augment(*batch, epoch=batch.epoch, ids=batch.ids)
                    self.equal(wanted.ids, batch.ids)
                    self.equal(images, wanted[0])
                    self.equal(masks, wanted[1])

    def test_kinds(self):
        images, augment = make_images(), stoker.Augment("strong", seed=1)
        result = augment(images, ids=range(4))
        self.assertEqual((type(result), result.dtype, result.shape), (numpy.ndarray, numpy.uint8, images.shape))
        self.assertTrue((result != images).any())
        floats = augment((images / 255).astype(numpy.float32), ids=range(4))
        self.assertEqual((floats.dtype, floats.shape), (numpy.float32, images.shape))
        self.equal(numpy.floor(floats * 255 + 0.5), result)
        for dtype, named in (("float16", "float16"), ("u8", "uint8"), (numpy.float32, "float32"), (numpy.dtype("uint8"), "uint8")):
            other = stoker.Augment("strong", seed=1, dtype=dtype)(images, ids=range(4))
            self.assertEqual(other.dtype, named)
            numpy.testing.assert_allclose(other.astype(numpy.float32) / (255 if named == "uint8" else 1), floats, atol=1 / 255)
        normalized = stoker.Augment("strong", seed=1, mean=0.5, std=0.25)(images, ids=range(4))
        self.assertEqual(normalized.dtype, numpy.float32)  # bytes cannot hold them
        numpy.testing.assert_allclose(normalized, (floats - 0.5) / 0.25, atol=1e-5)
        with self.assertRaisesRegex(stoker.UnsupportedError, "NumPy has no bfloat16"):
            stoker.Augment(dtype="bf16")(images)

    def test_rounding_above_one(self):
        loader = self.open(augment="strong", batch_size=22)
        images = next(iter(loader))[0]
        ones = numpy.full((1, 3, 4, 4), 255 * numpy.float32(1 / 255) * (1 + numpy.float32(2**-20)), numpy.float32)
        self.assertGreater(ones.max(), 1)
        self.equal(stoker.Augment(dtype="u8")(ones), numpy.full((1, 3, 4, 4), 255))
        self.equal(stoker.Augment(dtype="u8")(images), numpy.floor(images * 255 + 0.5))
        for wrong in (1 + 2**-19, -1e-6):
            with self.assertRaisesRegex(stoker.SampleError, "images: .*not 0 to 1"):
                stoker.Augment()(numpy.full_like(ones, wrong))

    def test_layouts(self):
        images, augment = make_images(), stoker.Augment("strong", seed=1)
        wanted = augment(images, ids=range(4))
        nhwc = numpy.ascontiguousarray(images.transpose(0, 2, 3, 1))
        self.equal(stoker.Augment("strong", seed=1, axes="nhwc")(nhwc, ids=range(4)), wanted.transpose(0, 2, 3, 1))
        last = augment(nhwc.transpose(0, 3, 1, 2), ids=range(4))
        self.assertEqual(last.strides, nhwc.transpose(0, 3, 1, 2).strides)
        self.equal(last, wanted)
        wide = numpy.zeros((4, 3, 24, 40), numpy.uint8)
        wide[:, :, ::2, 4:36:2] = images
        flipped = numpy.ascontiguousarray(images[:, :, ::-1])[:, :, ::-1]  # a negative stride
        for strided in (wide[:, :, ::2, 4:36:2], flipped):
            self.equal(augment(strided, ids=range(4)), wanted)
        images.flags.writeable = False
        self.equal(augment(images, ids=range(4)), wanted)
        gray = make_images(channels=1)
        self.assertEqual(augment(gray).shape, gray.shape)

    def test_masks_points_labels(self):
        images, labels = make_images(), numpy.array([3, 1, 0, 2])
        points = numpy.array([[[1, 2, 1], [15, 11, 0]]] * 4, numpy.float32)
        augment = stoker.Augment({"preset": "none", "horizontal_flip_prob": 1}, flip_pairs={1: 2})
        for dtype in (numpy.int64, numpy.uint8):
            masks = make_masks(dtype=dtype)
            results = augment(images, masks, points, labels)
            self.assertEqual(results[1].dtype, dtype)
            swapped = numpy.select([masks == 1, masks == 2], [dtype(2), dtype(1)], masks)
            self.equal(results[0], images[..., ::-1])
            self.equal(results[1], swapped[..., ::-1])
            self.equal(results[2][:, :, 0], 16 - points[:, :, 0])
            self.equal(results[2][:, :, 1:], points[:, :, 1:])
            self.equal(results[3], [3, 1, 0, 2])  # numbers are those of masks
        self.equal(augment(images, labels=labels)[1], [3, 2, 0, 1])
        self.equal(augment(images, masks=masks)[1], swapped[..., ::-1])
        pair = stoker.Augment({"preset": "none", "horizontal_flip_prob": 1}, flip_pairs="0:1")(images, points=points)
        self.equal(pair[1][:, ::-1, 0], 16 - points[:, :, 0])  # of points, where there is nothing else
        named = stoker.Augment({"preset": "none", "horizontal_flip_prob": 1}, class_names=["sky", "left_ear", "right_ear", "hat"])
        self.equal(named(images, labels=labels)[1], [3, 2, 0, 1])

    def test_sizes(self):
        images = [make_images(1, 8 + 3 * i, 30 - i)[0] for i in range(5)]
        masks = tuple(make_masks(1, 8 + 3 * i, 30 - i)[0] for i in range(5))
        for size in (16, (10, 20)):
            height, width = (size, size) if size == 16 else size
            augment = stoker.Augment("standard", image_size=size)
            out, out_masks = augment(images, masks, ids=range(5))
            self.assertEqual((out.shape, out_masks.shape), ((5, 3, height, width), (5, height, width)))
            self.equal(augment(images[2][None], ids=[2])[0], out[2])
        batch = augment(list(make_images()), make_masks(), ids=range(4))
        for left, right in zip(batch, augment(make_images(), make_masks(), ids=range(4)), strict=True):
            self.equal(left, right)
        self.assertEqual(stoker.Augment()([images[0]] * 3).shape, (3, 3, 8, 30))
        with self.assertRaisesRegex(stoker.ArgumentError, r"images has images of different sizes.*\n.*set image_size"):
            stoker.Augment()(images)

    def test_mixed_targets(self):
        images, masks, labels = make_images(5), make_masks(5), numpy.arange(5)
        for name in ("mixup", "cutmix"):
            augment = stoker.Augment({f"{name}_alpha": 1, f"{name}_prob": 1}, seed=4)
            _, (first, second, share) = augment(images, labels=labels)
            self.equal(first, labels)
            self.equal(second, [1, 0, 3, 2, 4])
            self.assertEqual((share.dtype, share[4]), (numpy.float32, 1))
            self.assertTrue(((share[:4] > 0) & (share[:4] < 1)).all())
            mixed, (masks_a, masks_b, _) = augment(images, masks)
            self.assertEqual((masks_a.shape, masks_b.shape, masks_b.dtype), (masks.shape, masks.shape, numpy.int64))
            _, sets = augment(images, labels=numpy.eye(5, dtype=numpy.float32))
            numpy.testing.assert_allclose(sets.sum(1), 1, atol=1e-6)
            self.assertEqual(augment.eval()(images, labels=labels)[1].tolist(), labels.tolist())
            with self.assertRaisesRegex(stoker.ArgumentError, "points is set, but mixup"):
                augment.train()(images, points=numpy.zeros((5, 1, 3), numpy.float32))

    def test_own_memory(self):
        images = make_images()
        augment = stoker.Augment()
        result = augment(images)
        self.equal(result, images)
        result[:] = 0
        self.equal(augment(images), make_images())

    def test_sources_are_given_back(self):
        images, masks, points = make_images(), make_masks(), numpy.zeros((4, 2, 3), numpy.float32)
        augment, one, wrong = stoker.Augment("minimal"), make_images(1)[0], masks.astype(numpy.int16)
        kept = (images, masks, points, one, wrong)

        def counts():
            return [sys.getrefcount(array) for array in kept]

        def run():
            augment(images, masks, points)
            augment([one] * 3)
            for arguments in ((images, wrong), (images, masks, points[:, :, :1]), ([one, one, one.astype(float)], None)):
                with self.assertRaises(stoker.ArgumentError):
                    augment(*arguments)

        before = counts()
        for _ in range(3):
            run()
        self.assertEqual(counts(), before)

    def test_no_growth(self):
        def rss_bytes():
            gc.collect()
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * 4096

        def run(count):
            for i in range(count):
                augment([image for image in images], list(masks), ids=range(4))
                for wrong in (masks[:, :4], masks.astype(numpy.int16), masks.astype(numpy.float32), "masks"):
                    with self.assertRaises((stoker.ArgumentError, TypeError)):
                        augment(images, wrong)
                if i % 16 == 0:
                    stoker.Augment("strong")
            return rss_bytes()

        images, masks, augment = make_images(4, 64, 64), make_masks(4, 64, 64), stoker.Augment("strong")
        before = run(100)
        self.assertLess(run(400) - before, 2 << 20)


class PooledResults(Results):
    """The same where results get the memory of earlier ones, as large ones do."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(unittest.mock.patch("stoker._augment._POOLED", 0))

    def test_memory_comes_back(self):
        images, masks, augment = make_images(), make_masks(), stoker.Augment("strong")
        wanted = [augment(images, masks, ids=range(4 * i, 4 * i + 4)) for i in range(6)]  # all of them kept
        self.assertEqual(len({result.ctypes.data for results in wanted for result in results}), 12)
        place = wanted[2][1].ctypes.data
        view, expected = wanted[2][1][1:, ::2], wanted[2][1][1:, ::2].copy()
        copies = [tuple(result.copy() for result in results) for results in wanted]
        del wanted
        seen = set()
        for _ in range(3):
            for i, results in enumerate(copies):
                again = augment(images, masks, ids=range(4 * i, 4 * i + 4))
                seen.update(result.ctypes.data for result in again)
                for left, right in zip(again, results, strict=True):
                    self.equal(left, right)
        self.equal(view, expected)  # a view alone keeps its memory
        self.assertNotIn(place, seen)
        self.assertLess(len(seen), 8)
        kept = augment(images)
        del augment, again
        gc.collect()
        self.assertEqual(kept.shape, images.shape)  # it outlives its Augment
        kept[:] = 0

    def test_little_is_kept(self):
        augment = stoker.Augment()
        images = make_images(1, 512, 512)

        def rss_bytes():
            gc.collect()
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * 4096

        augment(images)
        before = rss_bytes()
        kept = [augment(images) for _ in range(64)]  # 48 MB
        del kept
        self.assertLess(rss_bytes() - before, 6 << 20)

    def test_freed_by_other_threads(self):
        images, augment = make_images(), stoker.Augment("strong")
        wanted = augment(images, ids=range(4))
        results = []
        for _ in range(50):
            results.append(augment(images, ids=range(4)))
            thread = threading.Thread(target=results.clear)
            thread.start()
            self.equal(augment(images, ids=range(4)), wanted)
            thread.join()


class Draws(python_case.Case):
    def test_running_numbers(self):
        images = make_images(8)
        augment = stoker.Augment("strong", seed=2)
        whole = augment(images, epoch=0, ids=range(8))
        parts = [augment(images[:3]), augment(images[3:8])]
        numpy.testing.assert_array_equal(numpy.concatenate(parts), whole)
        self.assertTrue((augment(images) != whole).any())  # 8 to 15
        numpy.testing.assert_array_equal(augment(images, epoch=1), augment(images, epoch=1, ids=range(8)))
        augment(images, epoch=1)  # continues
        numpy.testing.assert_array_equal(augment(images), augment(images, ids=range(16, 24)))
        augment.set_epoch(0)
        numpy.testing.assert_array_equal(augment(images), whole)
        augment._next = (1 << 32) - 2  # the last ids, then the first again
        numpy.testing.assert_array_equal(augment(images), augment(images, ids=[*range((1 << 32) - 2, 1 << 32), *range(6)]))

    def test_ids(self):
        images = make_images()
        augment = stoker.Augment("strong", seed=2)
        wanted = augment(images, ids=numpy.array([7, 0, 7, 9]))
        for ids in ([7, 0, 7, 9], (7, 0, 7, 9), iter([7, 0, 7, 9])):
            numpy.testing.assert_array_equal(augment(images, ids=ids), wanted)
        self.assertTrue((wanted[0] != stoker.Augment("strong", seed=3)(images, ids=[7, 0, 7, 9])[0]).any())

    def test_eval(self):
        images = make_images()
        augment = stoker.Augment("strong", mean=0.5, std=0.5)
        self.assertTrue(augment.training)
        first = augment(images, ids=range(4))
        self.assertIs(augment.eval(), augment)
        numpy.testing.assert_allclose(augment(images), (images / 255 - 0.5) / 0.5, atol=1e-5)
        self.assertIs(augment.train(), augment.to("cpu"))
        numpy.testing.assert_array_equal(augment.forward(images), first)  # eval counts nothing

    def test_presets_and_settings(self):
        images = make_images()

        def result(*words, **settings):
            return stoker.Augment(*words, **settings)(images, epoch=3, ids=range(4))

        numpy.testing.assert_array_equal(result(), images)
        numpy.testing.assert_array_equal(result("strong", horizontal_flip_prob=0), result({"preset": "strong", "horizontal_flip_prob": 0}))
        numpy.testing.assert_array_equal(result({"preset": "minimal"}, hue=(-0.1, 0.1)), result("minimal", hue=[-0.1, 0.1]))
        numpy.testing.assert_array_equal(result(schedule={0: "none", 2: "strong"}), result("strong"))
        numpy.testing.assert_array_equal(result("strong", threads=1), result("strong", threads=3))

    def test_effects(self):
        rows = {row["name"]: row for row in stoker.Augment("strong", threads=1, flip_pairs="auto").effects}
        self.assertEqual(rows["device"]["in_effect"], "cpu")
        self.assertEqual(rows["flip_pairs"]["in_effect"], "none")
        self.assertIn("strong", repr(stoker.Augment("strong")))


class Processes(python_case.Case):
    def test_pickled(self):
        images, augment = make_images(), stoker.Augment("strong", seed=4, image_size=9)
        augment(images)
        again = pickle.loads(pickle.dumps(augment))
        numpy.testing.assert_array_equal(again(images), augment(images))  # of the same number

    def test_forked_and_spawned(self):
        images, augment = make_images(), stoker.Augment("strong", seed=4, threads=2)
        wanted = augment(images, epoch=1, ids=[1, 2, 3, 4])  # the pool has threads now
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            results = context.Queue()
            child = context.Process(target=augment_in_child, args=(augment, images, results))
            child.start()
            numpy.testing.assert_array_equal(results.get(timeout=60), wanted)
            child.join(60)
            self.assertEqual(child.exitcode, 0)

    def test_effects_after_a_fork(self):
        augment = stoker.Augment("strong", threads=2)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                augment(make_images())
                rows = {row["name"]: row for row in augment.effects}
                code = 0 if rows["threads"]["in_effect"] == "1" and "forked" in rows["threads"]["why"] else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_one_thread_at_a_time_and_without_the_gil(self):
        images, tiny, augment = make_images(16, 200, 200), make_images(1, 2, 2), stoker.Augment("strong", threads=1)
        refused, done = threading.Event(), threading.Event()

        def run():
            for _ in range(1000):
                if refused.is_set():
                    break
                try:
                    augment(images)
                except stoker.ArgumentError:
                    pass  # the other one was faster
            done.set()

        thread = threading.Thread(target=run)
        thread.start()
        said = ""
        while not said and not done.is_set():  # with the GIL held, no call would ever meet another
            try:
                augment(tiny)
            except stoker.ArgumentError as error:
                said = str(error)
        refused.set()
        thread.join(60)
        self.assertIn("in use by another call of this stoker.Augment", said)
        self.assertEqual(augment(images).shape, images.shape)


class Refusals(python_case.Case):
    def test_arrays(self):
        images, masks, augment = make_images(), make_masks(), stoker.Augment("minimal")
        points, labels = numpy.zeros((4, 2, 3), numpy.float32), numpy.zeros(4, numpy.int64)
        floats = (images / 255).astype(numpy.float32)
        for arguments, kind, said in (
                (dict(images=images[0]), stoker.ArgumentError, r"images has the shape \(3, 12, 16\), not \[n, c, h, w\]"),
                (dict(images=images.transpose(0, 2, 3, 1)), stoker.ArgumentError, "images has 12 channels"),
                (dict(images=images[:0]), stoker.ArgumentError, "images is an empty batch"),
                (dict(images=[]), stoker.ArgumentError, "images is an empty batch"),
                (dict(images=images[:, :, :0]), stoker.ArgumentError, "images has the shape"),
                (dict(images=images.astype(float)), stoker.ArgumentError, "images has the dtype f64"),
                (dict(images=images.astype(numpy.int8)), stoker.ArgumentError, "images has a dtype that"),
                (dict(images=floats.astype(">f4")), stoker.ArgumentError, "images has a dtype that"),
                (dict(images=floats * 2), stoker.SampleError, "images"),
                (dict(images=7), TypeError, "images is <class 'int'>"),
                (dict(images=b"pixels"), TypeError, "images is <class 'bytes'>"),
                (dict(images=numpy.array(7, numpy.uint8)), stoker.ArgumentError, r"images has the shape \(\)"),
                (dict(images=[images[0], images[1].astype(float)]), stoker.ArgumentError, r"images\[1\] has the dtype f64"),
                (dict(images=[images[0], "x"]), TypeError, r"images\[1\] is <class 'str'>"),
                (dict(images=images, masks=masks[:3]), stoker.ArgumentError, "masks has the shape"),
                (dict(images=images, masks=masks.astype(numpy.float32)), stoker.ArgumentError, "masks has the dtype f32"),
                (dict(images=images, masks=masks + 250), stoker.SampleError, "masks"),
                (dict(images=images, masks=5), TypeError, "masks is <class 'int'>"),
                (dict(images=images, masks=list(masks)), stoker.ArgumentError, "masks is a list, and images is one array"),
                (dict(images=list(images), masks=masks[:2]), ValueError, "masks is a list of 2"),
                (dict(images=list(images), masks=7), TypeError, "masks is <class 'int'>"),
                (dict(images=images, masks=labels), stoker.ArgumentError, r"masks has the shape \(4,\).*\n.*are labels="),
                (dict(images=list(images), masks=list(masks[:2])), ValueError, "masks is a list of 2, and the batch has 4 images"),
                (dict(images=list(images), masks=[]), ValueError, "masks is a list of 0"),
                (dict(images=images, points=points[..., :2]), stoker.ArgumentError, "points has the shape"),
                (dict(images=images, points=points[0]), stoker.ArgumentError, r"points has the shape \(2, 3\)"),
                (dict(images=images, points=points.astype(float)), stoker.ArgumentError, "points has the dtype f64"),
                (dict(images=images, points=numpy.zeros((4, 4, 3), numpy.float32)[:, ::2]), stoker.ArgumentError, "points is not dense"),
                (dict(images=images, labels=labels[:2]), stoker.ArgumentError, "labels has the shape"),
                (dict(images=images, labels=numpy.zeros(8, numpy.int64)[::2]), stoker.ArgumentError, "labels is not dense"),
                (dict(images=images, labels=[1, 2, 3, 4]), stoker.ArgumentError, "labels is <class 'list'>"),
                (dict(images=images, labels=labels.astype(numpy.int32)), stoker.ArgumentError, "labels has a dtype that"),
                (dict(images=images, ids=[1, 2]), stoker.ArgumentError, "ids is not a dense array"),
                (dict(images=images, ids=numpy.zeros(4)), stoker.ArgumentError, "ids is not a dense array"),
                (dict(images=images, ids=[1, 2, -3, 4]), stoker.ArgumentError, r"ids\[2\] is -3"),
                (dict(images=images, ids=[0.5] * 4), TypeError, "ids is an int64 array"),
                (dict(images=images, ids=3), TypeError, "ids is an int64 array"),
                (dict(images=images, epoch=-1), ValueError, "epoch is a number"),
                (dict(images=images, epoch=1 << 32), ValueError, "epoch is a number"),
                (dict(images=images, epoch="x"), ValueError, "epoch is a number")):
            with self.assertRaisesRegex(kind, said):
                augment(**arguments)
        self.assertEqual(augment(images).shape, images.shape)  # none of them broke it

    def test_read_only_arrays(self):
        arrays = make_images(), make_masks(), numpy.zeros((4, 2, 3), numpy.float32), numpy.arange(4)
        augment, ids = stoker.Augment("minimal"), numpy.arange(4)
        wanted = augment(*arrays, ids=ids)
        for array in (*arrays, ids):
            array.flags.writeable = False
        for left, right in zip(augment(*arrays, ids=ids), wanted, strict=True):
            numpy.testing.assert_array_equal(left, right)
            self.assertTrue(left.flags.writeable)

    def test_options(self):
        for words, settings, kind, said in ((["strog"], {}, stoker.ConfigError, "strog"), ([3], {}, TypeError, "augment is a preset"),
                                            ([{"hu": 1}], {}, TypeError, "no setting 'hu'; did you mean 'hue'"),
                                            ([], {"hu": 1}, TypeError, "unexpected keyword argument 'hu'; did you mean 'hue'"),
                                            ([], {"rotation": 1}, TypeError, "did you mean 'rotation_degrees'"),
                                            ([], {"degrees": 1}, TypeError, "did you mean 'rotation_degrees'"),
                                            ([], {"std": 0}, stoker.ConfigError, "std is 0"),
                                            ([], {"xyzzy": 1}, TypeError, "help"), ([], {"p": 0.5}, TypeError, "horizontal_flip_prob"),
                                            ([], {"device": "cuda"}, TypeError, "runs where its images are"),
                                            ([], {"hue": 7}, stoker.ConfigError, "augment.hue"),
                                            ([], {"image_size": 0}, stoker.Error, "image_size"),
                                            ([], {"dtype": "int3"}, stoker.ConfigError, "data.dtype"),
                                            ([], {"dtype": "u8", "mean": 0.5}, stoker.ArgumentError, "mean is set, but bytes"),
                                            ([], {"std": -1}, stoker.Error, "std"), ([], {"axes": "hw"}, ValueError, "axes is 'nchw' or"),
                                            ([], {"threads": 0}, ValueError, "threads is a number"), ([], {"seed": "x"}, ValueError, "x"),
                                            (["minimal"], {"flip_pairs": "1"}, stoker.Error, "flip_pairs"),
                                            ([], {"class_names": "cat"}, TypeError, "class_names is a list"),
                                            ([], {"point_names": [1]}, TypeError, "point_names is a list")):
            with self.assertRaisesRegex(kind, said):
                stoker.Augment(*words, **settings)


if __name__ == "__main__":
    unittest.main()
