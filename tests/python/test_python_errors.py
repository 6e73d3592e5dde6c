#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong is an exception that names it: keywords, values, data, closed loaders, forks, hanging files, Ctrl-C."""
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import python_case
from python_case import ids_of

import stoker


class Keywords(python_case.Case):
    def test_unknown_keywords(self):
        for name, said in (("batchsize", "did you mean 'batch_size'"), ("num_worker", "did you mean 'num_workers'"),
                           ("collate_fn", "change them in the loop"), ("sampler", "use shuffle"), ("hue", "augment={'hue'"),
                           ("xyzzy", "stoker load --help"), ("limits.pixels", "did you mean 'limits_pixels'"), ("train", "part='train'"),
                           ("split", "part for a part"), ("epochs", "is an epoch"), ("transforms", "use augment"),
                           ("channel", "did you mean 'channels'"), ("batch", "did you mean 'batch_size'")):
            with self.assertRaisesRegex(TypeError, f"unexpected keyword argument '{name}'.*{said}"):
                stoker.Loader(self.data(), **{name: 1})
        with self.assertRaises(TypeError):
            stoker.Loader()

    def test_every_setting_is_a_keyword(self):
        from stoker._settings import rows
        values = {0: "x", 1: 1, 2: 1, 3: 0.5, 4: True, 6: "1M", 7: "1s", 8: [4, 4], 9: 0.5, 12: [0.5, 0.5, 0.5]}
        for name, row in rows("data").items():
            if name == "root":
                continue
            value = values.get(row["type"]) or row["choices"].split("|")[0].split("=")[0]
            try:
                stoker.Loader(self.data(), **{name: value}).close()
            except stoker.Error:
                pass  # it was understood, and does not fit this data set

    def test_aliases_and_kinds_of_values(self):
        self.assertEqual(self.open(num_workers=None, workers=3).num_workers, 3)
        self.assertEqual(self.open(image_size=(4, 6)).info["height"], 4)
        self.assertEqual(self.open(num_workers="auto", limits_memory="1G", timeout="90s").batch_size, 4)
        self.assertEqual(self.open(mask_map={number: number % 2 for number in range(19)}).info["class_count"], 0)
        self.assertEqual(len(stoker.Loader(os.fsencode(self.data()), batch_size=11)), 2)

    def test_wrong_values(self):
        for settings, kind, said in (({"batch_size": 0}, stoker.ConfigError, "data.batch_size"),
                                     ({"batch_size": "many"}, stoker.ConfigError, "data.batch_size = 'many'"),
                                     ({"batch_size": 1.5}, stoker.ConfigError, "data.batch_size"),
                                     ({"batch_size": object()}, TypeError, "batch_size cannot be"),
                                     ({"shuffle": "perhaps"}, stoker.ConfigError, "data.shuffle"),
                                     ({"order": "a\0b"}, ValueError, "zero byte"),
                                     ({"dtype": "int3"}, stoker.ConfigError, "data.dtype"),
                                     ({"std": 0}, stoker.ConfigError, "std is 0, and images are divided by it\n  hint: leave it out"),
                                     ({"std": [0.5, 0, "0"]}, stoker.ConfigError, "std is 0"),
                                     ({"std": "0.0"}, stoker.ConfigError, "std is '0.0'"),
                                     ({"augment": 3}, TypeError, "augment is a preset"),
                                     ({"augment": "strog"}, stoker.ConfigError, "strog"),
                                     ({"augment": {"hu": 1}}, TypeError, "no setting 'hu'; did you mean 'hue'"),
                                     ({"augment": {"hue": 7}}, stoker.ConfigError, "augment.hue"),
                                     ({"device": "tpu"}, stoker.Error, "tpu"),
                                     ({"rank": 2, "ranks": 2}, stoker.ConfigError, "data.rank")):
            with self.assertRaisesRegex(kind, said):
                self.open(**settings)
        with self.assertRaisesRegex(TypeError, "root cannot be"):
            stoker.Loader(None)
        with self.assertRaisesRegex(ValueError, "RANK='x'"):
            os.environ.update(RANK="x", WORLD_SIZE="2")
            self.addCleanup(lambda: [os.environ.pop(name) for name in ("RANK", "WORLD_SIZE")])
            self.open()

    def test_no_data(self):
        with self.assertRaises(stoker.Error) as caught:
            stoker.Loader(self.root / "nothing")
        self.assertIn(str(self.root / "nothing"), str(caught.exception))
        (self.root / "empty").mkdir()
        with self.assertRaisesRegex(stoker.DataError, "empty: found no images"):
            stoker.Loader(self.root / "empty")
        with self.assertRaisesRegex(stoker.ConfigError, "data.root is not set"):
            stoker.Loader("")
        with self.assertRaisesRegex(stoker.DataError, "hint: lower batch_size, or set drop_last=False"):
            self.open(batch_size=100, drop_last=True)


class Hints(unittest.TestCase):
    def test_in_python(self):
        from stoker._hints import in_python
        for said, here in (("lower data.batch_size, or set data.drop_last=false", "lower batch_size, or set drop_last=False"),
                           ("data.image_size=WxH resizes both", "image_size=(H, W) resizes both"),
                           ("such as data.cache=auto or data.cache=8G", "such as cache='auto' or cache='8G'"),
                           ("set data.num_classes=3, or data.limits.memory", "set num_classes=3, or limits_memory"),
                           ("data.mask_map=0:0,255:1 if 255 is class 1, or none", "mask_map='0:0,255:1' if 255 is class 1, or none"),
                           ("data.columns='file=1,label=2'", "columns='file=1,label=2'"), ("data.images=NAME or lower data.limit.", "images=NAME or lower limit."),
                           ("run.engine=onednn; model.name=unet", "engine='onednn'; model_name='unet'"),
                           ("--resume continues the run in it", "resume=True continues the run in it"),
                           ("stoker train --run a/b --resume writes it", "stoker.train(run='a/b', resume=True) writes it"),
                           ("it takes one value, not a list; to try each: --grid a.b=1,2", "it takes one value, not a list; to try each, train in a loop"),
                           ("a run has config.yaml, run.json", "a run has config.yaml, run.json"),
                           ("such as '/x/data.images/train' or data.nothing=1", "such as '/x/data.images/train' or data.nothing=1")):
            self.assertEqual(in_python(said), here)


class Damage(python_case.Case):
    def damaged(self):
        folder = self.root / "damaged"
        if not folder.exists():
            shutil.copytree(self.data(), folder)
            file = folder / "images" / "005.png"
            file.write_bytes(file.read_bytes()[:-30])
        return folder

    def open_damaged(self, **settings):
        loader = stoker.Loader(self.damaged(), **{"batch_size": 4, "num_workers": 2, "shuffle": False, **settings})
        self.addCleanup(loader.close)
        return loader

    def test_a_corrupt_file_is_named(self):
        batches = iter(self.open_damaged())
        next(batches)
        for _ in range(2):
            with self.assertRaises(stoker.SampleError) as caught:
                next(batches)
            error = caught.exception
            self.assertEqual((error.place, error.damage), (str(self.damaged() / "images" / "005.png"), "truncated"))
            self.assertIn("on_bad_sample", error.hint)
            self.assertIn("005.png: ", str(error))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.damage), (stoker.SampleError, str(error), "truncated"))

    def test_skipped_and_replaced(self):
        for policy, action in (("skip", "skipped"), ("replace", "replaced")):
            loader = self.open_damaged(on_bad_sample=policy)
            weights = [weight for batch in loader for weight in batch.weights.tolist()]
            self.assertEqual(weights[5], 0 if policy == "skip" else 1)
            bad, = loader.bad_samples
            self.assertEqual((bad["id"], bad["epoch"], bad["position"], bad["damage"], bad["action"]), (5, 0, 5, "truncated", action))
            self.assertTrue(bad["path"].endswith("images/005.png"))
            self.assertEqual(loader.stats()["bad_samples"], 1)

    def test_images_of_different_sizes(self):
        import small_data
        folder = self.root / "sizes"
        for number, side in enumerate((8, 8, 9, 8)):
            small_data.write(folder / "images" / f"{number}.png", small_data.image(number, side))
        with self.assertRaisesRegex(stoker.DataError, "different sizes"):
            list(stoker.Loader(folder, batch_size=4, dtype="uint8"))
        loader = stoker.Loader(folder, batch_size=2, shuffle=False, num_workers=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                for number, (images,) in enumerate(loader):
                    self.assertEqual((images.shape, len(caught)), ((2, 3, 8, 8), 1 if loader.stats()["resized_images"] else 0))
        self.assertRegex(str(caught[0].message), r"different sizes and are resized to 8x8.*image_size=")
        self.assertEqual((caught[0].filename, loader.stats()["resized_images"]), (__file__, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(len(list(stoker.Loader(folder, batch_size=4, image_size=8))), 1)
            self.assertRaisesRegex(UserWarning, "different sizes", list, stoker.Loader(folder, batch_size=4))


class Life(python_case.Case):
    def test_closed(self):
        with self.open() as loader:
            batches = iter(loader)
            next(batches)
        for call in (loader.state_dict, loader.stats, lambda: iter(loader), lambda: loader.info, lambda: loader.effects,
                     lambda: loader.sample(0), lambda: loader.load_state_dict({})):
            self.assertRaisesRegex(stoker.ArgumentError, "closed", call)
        self.assertRaises(stoker.Error, next, batches)
        self.assertEqual(len(loader), 6)
        loader.close()

    def test_what_a_dataloader_has(self):
        loader = self.open()
        for name, said in (("dataset", "used as it is.*sample_count"), ("sampler", "shuffle, order and seed"), ("batch_sampler", "set_epoch"),
                           ("collate_fn", "in the loop"), ("nothing", "a stoker.Loader has no 'nothing'$")):
            with self.assertRaisesRegex(AttributeError, said):
                getattr(loader, name)
        with self.assertRaisesRegex(stoker.UnsupportedError, "arrays of NumPy cannot be moved"):
            next(iter(loader)).to("cpu")

    def test_wrong_ids(self):
        loader = self.open()
        self.assertEqual(loader.sample(3)[0], "003")
        for wrong in (-1, 22):
            self.assertRaises(stoker.ArgumentError, loader.sample, wrong)
        self.assertRaises(TypeError, pickle.dumps, loader)

    def test_fork(self):
        loader = self.open(shuffle=False)
        kept = next(iter(loader))
        before = kept[1].copy()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                try:
                    next(iter(loader))
                except stoker.ThreadError as error:
                    if "forked" in str(error) and "spawn" in error.hint and (kept[1] == before).all():
                        del kept
                        loader.close()
                        del loader
                        with stoker.Loader(self.data(), batch_size=4) as own:
                            code = 0 if len(list(own)) == 6 else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(ids_of(loader)[0], [0, 1, 2, 3])

    def test_one_thread_at_a_time(self):
        loader = self.open(num_workers=1, augment="strong")
        seen, errors = [], []

        def take():
            batches = loader._raw
            try:
                while taken := batches.next():
                    seen.append(taken[1:3])
            except stoker.ArgumentError as error:
                errors.append(str(error))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(len(seen), len(set(seen)))
        for error in errors:
            self.assertIn("another thread", error)


@unittest.skipUnless("HANGING_PREAD" in os.environ, "nothing can be preloaded here")
class Hang(python_case.Case):
    """A file whose reading never ends."""

    def start(self, script, **settings):
        variables = dict(python_case.environment(), LD_PRELOAD=os.environ["HANGING_PREAD"], HANG_FILE="images/021.png")
        head = f"import stoker, sys, os; loader = stoker.Loader(sys.argv[1], shuffle=False, batch_size=4, **{settings})\n"
        child = subprocess.Popen([sys.executable, "-c", head + script, self.data()], env=variables, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (child.kill(), child.communicate()))
        return child

    def test_named_after_the_timeout(self):
        child = self.start("""
try:
    for batch in loader: pass
except stoker.LoadTimeoutError as error:
    print(error.place)
    sys.stdout.flush()
os._exit(3)
""", num_workers=2, timeout=0.5)
        out, said = child.communicate(timeout=60)
        self.assertEqual((out.strip(), child.returncode), (str(self.data() / "images" / "021.png"), 3), said)

    def test_interrupt(self):
        child = self.start("""
taken = 0
try:
    for batch in loader:
        taken += 1
        if taken == 5: print("ready", flush=True)
except KeyboardInterrupt:
    print("interrupted", taken, flush=True)
    os._exit(4)
""", num_workers=1)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(0.2)  # into the wait; were it before, the signal would be seen just the same
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, said = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("interrupted 5\n", 4), said)
        self.assertLess(time.monotonic() - start, 10)

    def test_closed_by_another_thread(self):
        child = self.start("""
import threading, time
def close():
    time.sleep(0.3)
    loader.close()
threading.Thread(target=close).start()
try:
    for batch in loader: pass
except stoker.ArgumentError as error:
    print(error)
    sys.stdout.flush()
os._exit(5)
""", num_workers=1)
        out, said = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 5, said)
        self.assertIn("closed", out)


if __name__ == "__main__":
    unittest.main()
