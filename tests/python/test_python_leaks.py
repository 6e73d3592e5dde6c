#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No call of the extension leaves a Python object behind, whether it returns or raises: blocks that the interpreter has allocated are
counted before and after many calls. LeakSanitizer cannot see such objects where the garbage collector's lists hold them."""
import gc
import os
import sys
import tempfile
import unittest

import numpy

import python_case
import stoker
from stoker import _stoker

TIMES = 200


def blocks():
    """Allocated blocks; under a sanitizer, where Python's memory is malloc's, objects that the garbage collector knows."""
    gc.collect()
    return len(gc.get_objects()) if "STOKER_UNDER_ASAN" in os.environ else sys.getallocatedblocks()


class Case(python_case.Case):
    def expect_nothing_left(self, name, call, times=TIMES):
        """A leak is a block for each call at least, each time; caches of the interpreter fill up at first."""
        grown = []
        while len(grown) < 6:
            before = blocks()
            for _ in range(times):
                call()
            grown.append(blocks() - before)
            if grown[-1] < times // 2:
                return
        self.fail(f"{name}: blocks more after {times} calls: {grown}")

    def refused(self, call, *arguments, **keywords):
        def refuse():
            try:
                call(*arguments, **keywords)
            except (stoker.Error, TypeError, ValueError, BufferError):
                return
            raise AssertionError(f"{call} has not refused {arguments}")

        return refuse


class Loaders(Case):
    def test_facts(self):
        loader = self.open("classes")
        raw = loader._raw
        for call in (raw.describe, raw.effects, raw.stats, raw.bad_samples, raw.tell, lambda: raw.sample(3), lambda: raw.seek(raw.tell()),
                     loader.state_dict, _stoker.sections, lambda: _stoker.settings("data")):
            self.expect_nothing_left(call, call)
        for call in (self.refused(raw.sample, 99), self.refused(raw.seek, "x"), self.refused(raw.seek, 3), self.refused(_stoker.Loader, 1),
                     self.refused(stoker.Loader, self.data(), batch_size=0), self.refused(stoker.Loader, "nowhere"),
                     self.refused(stoker.Loader, self.data(), std=0)):
            self.expect_nothing_left(call, call)

    def test_batches(self):
        loader = self.open(num_workers=1)
        raw = loader._raw
        self.expect_nothing_left("next", raw.next)
        self.expect_nothing_left("epoch", lambda: [batch for batch in loader], 30)

        def arrays():
            tensors = raw.next() or raw.next()
            image = tensors[0][0]
            for view in (numpy.asarray(image), image.channels_first(), image.__dlpack__(), image.__dlpack_device__(), memoryview(image)):
                del view

        self.expect_nothing_left("arrays", arrays)

    def test_opened_and_closed(self):
        def run():
            with stoker.Loader(self.data(), batch_size=4, num_workers=0) as loader:
                for _ in loader:
                    break

        self.expect_nothing_left("open", run, 100)

    def test_bad_samples(self):
        folder = self.root / "bad"
        if not folder.exists():
            import shutil

            shutil.copytree(self.data(), folder)
            (folder / "images" / "003.png").write_bytes(b"\x89PNG")
        loader = stoker.Loader(folder, batch_size=4, num_workers=1, on_bad_sample="skip")
        self.addCleanup(loader.close)

        def run():
            for _ in loader:
                pass
            loader._raw.bad_samples()

        run()
        before = blocks()
        for _ in range(20):
            run()
        self.assertLess(blocks() - before, 20 * 8 + 60)  # the ledger itself grows by a row for each epoch
        strict = stoker.Loader(folder, batch_size=4, num_workers=1)
        self.addCleanup(strict.close)
        self.expect_nothing_left("error", self.refused(lambda: list(strict)), 30)


class Augmenters(Case):
    def test_calls(self):
        images, masks = numpy.zeros((2, 3, 8, 8), numpy.uint8), numpy.zeros((2, 8, 8), numpy.int64)
        augment = stoker.Augment("strong")
        raw = augment._raw("u8", "nchw", 0, 0)
        for call in (raw.effects, raw.mixes, raw.size, lambda: raw.result("f32", (2, 3)), lambda: augment(images, masks),
                     lambda: augment(list(images), list(masks)), lambda: stoker.Augment("minimal")):
            self.expect_nothing_left(call, call)
        for call in (self.refused(augment, images, masks[:1]), self.refused(augment, images[0]), self.refused(augment, images, ids=[1]),
                     self.refused(augment, list(images), [masks[0], 7]), self.refused(augment, images, masks.astype("f8")),
                     self.refused(raw.result, "f64", (1,)), self.refused(raw.result, "u8", ()), self.refused(raw.result, "u8", ("x",)),
                     self.refused(stoker.Augment, hue=9), self.refused(stoker.Augment, class_names=[1])):
            self.expect_nothing_left(call, call)


class Trainers(Case):
    def test_calls(self):
        settings = dict(run_engine="reference", image_size=16, batch_size=8, val_split=0.2, num_workers=1, model_width=2, model_depth=1,
                        run_threads=1, epochs=1000, log_interval=1)
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            run = stoker.train("make:gray?count=24", run=f"{folder}/run", **{**settings, "epochs": 1})
            with stoker.Trainer("make:gray?count=24", files=False, callbacks=lambda *facts: seen.append(facts), progress=False, **settings) as trainer:
                raw = trainer._raw

                def called(call):
                    seen.clear()
                    call()

                for call, times in ((lambda: called(raw.step), 60), (raw.progress, TIMES), (raw.describe, TIMES), (raw.effects, 60), (raw.stall, TIMES),
                                    (lambda: called(raw.evaluate), 30), (self.refused(raw.save), 60)):
                    self.expect_nothing_left(call, call, times)
            images = numpy.zeros((2, 16, 16, 1), numpy.uint8)
            with stoker.Predictor(run) as predictor:
                for call in (predictor._raw.describe, lambda: predictor._raw.predict_images(images), self.refused(predictor.predict, "nowhere"),
                             self.refused(predictor.predict, images[0, 0]), self.refused(predictor._raw.predict_images, images.astype("f4"))):
                    self.expect_nothing_left(call, call, 60)
            self.expect_nothing_left("open", self.refused(stoker.Trainer, "nowhere"), 60)

    def test_monitor(self):
        raw = _stoker.Monitor(demo=True, interval=0.1, count=5)
        for call in (raw.summary, raw.missing_reason):
            self.expect_nothing_left(call, call)


if __name__ == "__main__":
    unittest.main()
