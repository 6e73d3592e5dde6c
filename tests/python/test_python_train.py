#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.train, Trainer, Run and Predictor: the program's weights bit for bit, callbacks, Ctrl-C, resume, errors, predictions."""
import contextlib
import gc
import io
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy

import python_case
import stoker
from stoker import _stoker

ROOT = "make:gray?count=60"
SETTINGS = {"run.engine": "reference", "data.image_size": 16, "data.batch_size": 8, "data.val_split": 0.2, "data.num_workers": 1,
            "model.width": 4, "model.depth": 1, "train.epochs": 2, "train.log_interval": 2, "run.threads": 1}
STEPS = 12  # 48 samples, two epochs
HEAD = f"import sys, os, stoker\nroot, settings = {ROOT!r}, {SETTINGS!r}\n"
ENDLESS = HEAD + """
settings["train.log_interval"] = settings["train.checkpoint_interval"] = 10**6
settings["data.root"] = "make:gray?count=2000000"
print("ready", flush=True)
"""


def keywords(**more):
    """SETTINGS as keywords, half of them with their section."""
    return {**{name.replace(".", "_") if name.startswith(("run", "model")) else name.partition(".")[2]: value
               for name, value in SETTINGS.items()}, **more}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, name="run", **more):
        return stoker.train(ROOT, run=self.folder / name, **keywords(**more))

    def open(self, name="run", **more):
        trainer = stoker.Trainer(ROOT, **{"run": self.folder / name, **keywords(**more)})
        self.addCleanup(trainer.close)
        return trainer

    def weights(self, run):
        """Bytes of its newest checkpoint."""
        newest = pathlib.Path(stoker.Run(run).checkpoints[-1])
        return newest.name, (newest / "model.safetensors").read_bytes(), (newest / "optimizer.safetensors").read_bytes()


class Training(Case):
    def test_weights_of_the_program(self):
        words = [f"{name}={value}" for name, value in SETTINGS.items()]
        subprocess.run([os.environ["STOKER"], "train", ROOT, "--run", self.folder / "program", *words], check=True, capture_output=True,
                       timeout=120)
        wanted = self.weights(self.folder / "program")
        self.train("keywords")
        self.assertEqual(self.weights(self.folder / "keywords"), wanted)
        sections = {"data": {"root": ROOT}}
        for name, value in SETTINGS.items():
            section, _, key = name.partition(".")
            sections.setdefault(section, {})[key] = value
        sections["train"]["epochs"] = 7  # a keyword counts more
        stoker.train(sections, run=self.folder / "sections", train_epochs=2)
        self.assertEqual(self.weights(self.folder / "sections"), wanted)
        config = self.folder / "config.yaml"
        config.write_text("".join(f"{name.replace('.', ': {', 1)}: {value}}}\n" for name, value in {"train.epochs": 2}.items()))
        rest = {name: value for name, value in SETTINGS.items() if name != "train.epochs"}
        stoker.train(config, run=self.folder / "file", data_root=ROOT, **{name.replace(".", "_"): value for name, value in rest.items()})
        self.assertEqual(self.weights(self.folder / "file"), wanted)

    def test_events(self):
        seen = []
        self.train(callbacks=lambda event, progress: seen.append((event, progress)))
        self.assertEqual([event for event, _ in seen], ["started", *2 * ["logged", "logged", "logged", "evaluated", "saved"]])
        first, logged, evaluated = seen[0][1], seen[1][1], seen[4][1]
        self.assertEqual((first["step"], first["epochs"], first["loss"], first["best_value"], first["checkpoint"]), (0, 2, None, None, None))
        self.assertEqual((logged["step"], logged["logged_step"], logged["batch"], logged["batches"]), (2, 2, 2, 6))
        self.assertEqual(list(logged["values"]), ["top1", "top5"])
        self.assertIsNone(logged["val_values"]["top1"])
        self.assertEqual((evaluated["epoch"], evaluated["best"], evaluated["best_step"]), (1, True, 6))
        self.assertGreater(evaluated["val_loss"], 0)
        self.assertTrue(os.path.isdir(seen[5][1]["checkpoint"]))

    def test_kinds_of_callbacks(self):
        class Listener:
            steps = saved_count = 0

            def stepped(self, progress):
                self.steps += 1

            def saved(self, progress):
                self.saved_count += 1

        listener, logged = Listener(), []
        self.train(callbacks=[listener, {"logged": logged.append}])
        self.assertEqual((listener.steps, listener.saved_count, len(logged)), (STEPS, 2, 6))
        self.assertRaisesRegex(TypeError, "callbacks is a function", self.train, "x", callbacks=3)
        self.assertRaisesRegex(ValueError, "no event 'log'; there are started, stepped", self.train, "y", callbacks={"log": print})
        self.assertFalse((self.folder / "x").exists() or (self.folder / "y").exists())

    def test_an_exception_in_a_callback(self):
        for event, step in (("stepped", 3), ("logged", 4), ("evaluated", 6), ("saved", 6), ("started", 0)):
            calls = []

            def fail(progress):
                calls.append(progress["step"])
                if progress["step"] == step:
                    raise KeyError("mine")

            with self.assertRaisesRegex(KeyError, "mine"):
                self.train(event, callbacks={event: fail})
            self.assertEqual(calls[-1], step)
            kept = int(stoker.Run(self.folder / event).checkpoints[-1][-6:])
            self.assertIn(kept, (step, step + 1), event)  # the step that is under way is finished

    def test_lines(self):
        page = io.StringIO()
        with contextlib.redirect_stderr(page):
            self.train("shown", progress=True)
            self.train("quiet")  # this is no terminal
            self.train("epochs", progress=True, val_split=0)
        lines = page.getvalue().splitlines()
        self.assertRegex(lines[0], r"^epoch 1/2  step 6  loss [\d.]+  val_loss [\d.]+  top1 [\d.]+  top5 [\d.]+  best so far$")
        self.assertEqual([line[:9] for line in lines], 2 * ["epoch 1/2", "epoch 2/2"])
        self.assertRegex(lines[3], r"^epoch 2/2  step \d+  loss [\d.]+  top1 [\d.]+  top5 [\d.]+$")

    def test_resume(self):
        self.train("whole")
        half = self.train("half", stop_after=7)
        self.assertTrue(half.checkpoints[-1].endswith("step-000007"))
        stoker.train(run=half.path, resume=True)
        self.assertEqual(self.weights(half.path), self.weights(self.folder / "whole"))
        with stoker.Trainer(run=half.path, resume=True, epochs=3) as trainer:
            self.assertEqual((trainer.info["resumed"], trainer.info["resumed_step"], trainer.info["epochs"]), (True, STEPS, 3))
            self.assertEqual(trainer.train()["epoch"], 3)


class Steps(Case):
    def test_step_by_step(self):
        self.train("whole")
        trainer = self.open()
        for epoch in range(2):
            steps = 0
            while trainer.step():
                steps += 1
            self.assertEqual(steps, 6)
            score = trainer.evaluate()
            self.assertEqual((score["samples"], score["bad_samples"], score["per_class"]), (12, 0, None))
            self.assertEqual(score["loss"], trainer.progress["val_loss"])
            trainer.save()
        trainer.finish()
        self.assertRaisesRegex(stoker.ArgumentError, "the run is over", trainer.step)
        self.assertEqual(self.weights(trainer.info["run"]), self.weights(self.folder / "whole"))
        self.assertAlmostEqual(sum(row["share"] for row in trainer.stall), 1)
        self.assertTrue(stoker.Run(trainer.info["run"]).report)

    def test_description(self):
        trainer = self.open(run=None, files=False)
        info = trainer.info
        self.assertEqual((info["run"], info["task"], info["engine"], info["metric"], info["class_count"], info["sample_count"]),
                         (None, "classification", "reference", "top1", 10, 48))
        self.assertEqual(info["class_names"][0], "arrow")
        self.assertIn("model.name", [row["name"] for row in trainer.effects])
        self.assertIn("classification", repr(trainer))
        self.assertRaisesRegex(stoker.ConfigError, "no_files", trainer.save)
        self.assertRaises(TypeError, pickle.dumps, trainer)

    def test_interrupt(self):
        trainer = self.open(callbacks={"stepped": lambda progress: trainer.interrupt() if progress["step"] == 5 else None})
        self.assertRaisesRegex(stoker.InterruptedLoadError, "after step 5", trainer.train)
        self.assertTrue(trainer.progress["interrupted"])
        self.assertEqual(trainer.train()["step"], STEPS)
        trainer.interrupt()
        trainer.close()
        self.assertRaisesRegex(stoker.ArgumentError, "closed", trainer.interrupt)

    def test_calls_from_a_callback(self):
        refused = []

        def try_all(progress):
            self.assertEqual(trainer.progress["step"], progress["step"])
            for call in (trainer.step, trainer.train, trainer.evaluate, trainer.close, lambda: trainer.stall):
                try:
                    call()
                except stoker.ArgumentError as error:
                    refused.append("in another call" in str(error))

        trainer = self.open(callbacks={"evaluated": try_all})
        trainer.train()
        self.assertEqual(refused, 10 * [True])

    def test_an_exception_in_a_step(self):
        def fail(progress):
            if progress["step"] == 2:
                raise KeyError("mine")

        trainer = self.open(callbacks={"stepped": fail})
        self.assertTrue(trainer.step())
        self.assertRaisesRegex(KeyError, "mine", trainer.step)
        self.assertTrue(trainer.step())  # nothing is left of it
        self.assertEqual(trainer.progress["step"], 3)

    def test_another_thread(self):
        trainer, said = self.open(), []

        def step():
            try:
                trainer.step()
            except stoker.ArgumentError as error:
                said.append(str(error))

        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
        self.assertIn("another thread", said[0])
        self.assertTrue(trainer.step())

    def test_python_runs_meanwhile(self):
        """The GIL is free while a trainer computes: a thread counts between two callbacks."""
        counted, done = [0], threading.Event()

        def count():
            while not done.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        seen = []
        trainer = self.open(callbacks={"evaluated": lambda progress: seen.append(counted[0])})
        thread.start()
        try:
            trainer.train()
        finally:
            done.set()
            thread.join()
        self.assertLess(seen[0], seen[1])

    def test_fork(self):
        trainer = self.open()
        trainer.step()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                try:
                    trainer.step()
                except stoker.ThreadError as error:
                    code = 0 if "forked" in str(error) and "spawn" in error.hint else 2
                trainer.close()
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertTrue(trainer.step())


class CtrlC(Case):
    """A real SIGINT in an epoch that lasts minutes: the step is finished, a checkpoint is written, KeyboardInterrupt is raised."""

    def start(self, script):
        child = subprocess.Popen([sys.executable, "-B", "-c", ENDLESS + script, self.folder / "run"], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(lambda: (child.kill(), child.communicate()))
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def test_train(self):
        for callbacks in ('{"started": lambda progress: print("started", flush=True)}',
                          '{"started": lambda progress: print("started", flush=True), "stepped": lambda progress: None}'):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            child = self.start(f"""
try:
    stoker.train(settings, run=sys.argv[1], callbacks={callbacks})
except KeyboardInterrupt:
    run = stoker.Run(sys.argv[1])
    print(len(run.checkpoints), run.info["interrupted"], run.info["steps"], flush=True)
""")
            self.assertEqual(child.stdout.readline(), "started\n")
            child.send_signal(signal.SIGINT)
            out, said = child.communicate(timeout=60)
            kept, interrupted, steps = out.split()
            self.assertEqual((kept, interrupted, child.returncode), ("1", "True", 0), said)
            self.assertLess(int(steps), 200000, "nothing was logged or evaluated before: steps look for signals")

    def test_no_handler(self):
        """Without Python's handler the signal does what it does by default; the library has none."""
        child = self.start("""
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
stoker.train(settings, run=sys.argv[1], callbacks={"started": lambda progress: print("started", flush=True)})
""")
        self.assertEqual(child.stdout.readline(), "started\n")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        self.assertEqual(child.returncode, -signal.SIGINT)


class Memory(Case):
    def test_nothing_grows(self):
        def fail(progress):
            raise KeyError

        def start(**more):
            return stoker.Trainer(ROOT, files=False, **keywords(**more))

        def rounds(count):
            for _ in range(count):
                trainer = start(callbacks={"stepped": lambda progress: None})
                trainer.train()
                self.assertTrue(trainer.effects and trainer.stall and trainer.info and trainer.evaluate())
                trainer.close()
                trainer = start(callbacks={"logged": fail})
                self.assertRaises(KeyError, trainer.train)
                trainer.close()
                self.assertRaises(stoker.Error, start, lr="fast")
                predictor.predict(images)
            gc.collect()

        images = numpy.zeros((20, 16, 16, 1), numpy.uint8)
        predictor = stoker.Predictor(self.train())
        rounds(10)
        before = sys.getallocatedblocks()
        rounds(30)
        self.assertLess(sys.getallocatedblocks() - before, 30 * 5)  # one dict of progress that is lost has more objects
        predictor.close()


class Errors(Case):
    def test_unknown_settings(self):
        for name, said in (("epoch", "did you mean 'epochs'"), ("train_epoch", "did you mean 'train_epochs'"),
                           ("optimizer_lrr", "did you mean 'optimizer_lr'"), ("train", "settings of section train are keywords"),
                           ("rotation", "did you mean 'rotation_degrees'"), ("xyzzyx", "stoker train --help")):
            with self.assertRaisesRegex(TypeError, f"unexpected keyword argument '{name}'; .*{said}"):
                stoker.train(ROOT, **{name: 1})
        with self.assertRaisesRegex(stoker.ConfigError, "epochs") as caught:
            stoker.train({"train": {"epoch": 1}})
        self.assertEqual(caught.exception.place, "train.epoch")

    def test_wrong_values(self):
        for setting, kind, place in (({"train_epochs": 0}, stoker.ConfigError, "train.epochs"), ({"lr": "fast"}, stoker.ConfigError, "lr"),
                                     ({"run_engine": "abacus"}, stoker.Error, None)):
            with self.assertRaises(kind) as caught:
                self.train(**setting)
            if place:
                self.assertEqual(caught.exception.place, place)
        with self.assertRaisesRegex(TypeError, "lr cannot be"):
            self.train(lr=object())
        with self.assertRaisesRegex(ValueError, "zero byte"):
            self.train(model_file="a\0b")
        self.assertRaisesRegex(TypeError, "config is a settings file", stoker.train, 3)
        self.assertRaisesRegex(stoker.ArgumentError, "resume needs run", stoker.train, ROOT, resume=True)

    def test_no_data(self):
        missing = str(self.folder / "nothing")
        with self.assertRaises(stoker.Error) as caught:
            stoker.train(data_root=missing, run=self.folder / "run")
        self.assertIn(missing, str(caught.exception))
        with self.assertRaises(stoker.Error) as caught:
            stoker.train(missing + ".yaml")
        self.assertIn("nothing.yaml", str(caught.exception))

    def test_a_run_that_is_there(self):
        self.train()
        with self.assertRaises(stoker.Error) as caught:
            self.train()
        self.assertIn(str(self.folder / "run"), str(caught.exception))

    def test_raw_types_are_opened_once(self):
        trainer = self.open()
        self.assertRaises(TypeError, trainer._raw.__init__)
        self.assertRaises(TypeError, _stoker.Trainer)


class Runs(Case):
    def test_run(self):
        run = self.train()
        self.assertEqual(repr(run), f"<stoker.Run {run.path!r}>")
        self.assertEqual(run.metrics["step"], [2, 4, 6, 8, 10, 12])
        self.assertEqual(run.metrics["val_step"], [6, 12])
        self.assertEqual({len(values) for values in run.metrics.values()}, {2, 6})
        self.assertEqual(run.info["steps"], STEPS)
        self.assertEqual([path[-6:] for path in run.checkpoints], ["000006", "000012"])
        self.assertTrue(run.report.endswith("report.html"))
        values = run.metrics["val_top1"]
        self.assertTrue(run.best.endswith(f"step-{run.metrics['val_step'][values.index(max(values))]:06d}"))
        self.assertEqual(run.weights(), os.path.join(run.best, "model.safetensors"))

    def test_of_a_run_under_way(self):
        trainer = self.open()
        run = stoker.Run(trainer.info["run"])
        self.assertEqual((run.info, run.report, run.metrics, run.checkpoints, run.best), (None, None, {}, [], None))
        self.assertRaisesRegex(stoker.FileError, "no checkpoint", run.weights)
        trainer.step()
        trainer.save()
        self.assertEqual(run.weights(), os.path.join(run.checkpoints[0], "model.safetensors"))

    def test_no_run(self):
        with self.assertRaises(stoker.FileError) as caught:
            stoker.Run(self.folder)
        self.assertEqual(caught.exception.place, str(self.folder))
        self.assertIn("stoker train", caught.exception.hint)
        run = self.train()
        with open(self.folder / "run" / "metrics.jsonl", "a", encoding="utf-8") as log:
            log.write("{half")
        with self.assertRaises(stoker.DataError) as caught:
            print(run.metrics)
        self.assertRegex(caught.exception.place, r"metrics\.jsonl:9$")


class Predictions(python_case.Case):
    def predictor(self, root, **settings):
        given = {"run_engine": "reference", "image_size": 8, "batch_size": 4, "val_split": 0.2, "num_workers": 1, "model_width": 2,
                 "model_depth": 1, "epochs": 1, "run_threads": 1, **settings}
        run = stoker.train(root, run=tempfile.mkdtemp(dir=self.root) + "/run", **given)
        predictor = stoker.Predictor(run)
        self.addCleanup(predictor.close)
        return run, predictor

    def test_classes(self):
        folder = self.data("pairs") / "images"
        run, predictor = self.predictor("make:gray?count=60")
        said = predictor.predict(folder)
        self.assertEqual([one.index for one in said], list(range(python_case.COUNT)))
        for one in said:
            self.assertEqual(one.probabilities.shape, (10,))
            self.assertAlmostEqual(float(one.probabilities.sum()), 1, places=5)
            self.assertEqual(one.label, predictor.info["class_names"][int(one.probabilities.argmax())])
            self.assertIsNone(one.mask)
        # The program says the same.
        done = subprocess.run([os.environ["STOKER"], "predict", run.path, folder, "--json", "--output", self.root / "said"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        for one, row in zip(said, json.loads(done.stdout)["predictions"], strict=True):
            self.assertEqual((one.path, one.label), (row["file"], row["classes"][0]["name"]))
            self.assertAlmostEqual(float(one.probabilities.max()), row["classes"][0]["probability"], places=6)
        files = [one.path for one in said[:3]]
        some = run.predict(files)
        self.assertEqual([one.index for one in some], [0, 1, 2])
        for one, other in zip(some, said):
            numpy.testing.assert_array_equal(one.probabilities, other.probabilities)

    def test_images(self):
        _, predictor = self.predictor("make:gray?count=60")
        images = numpy.random.default_rng(1).integers(0, 256, (5, 12, 10, 1), numpy.uint8)
        said = predictor.predict(images)
        turned = predictor.predict(numpy.ascontiguousarray(images.transpose(0, 3, 1, 2)))
        strided = predictor.predict(numpy.repeat(images, 2, axis=2)[:, :, ::2])
        for one, other, third in zip(said, turned, strided):
            self.assertEqual(one.path, "")
            numpy.testing.assert_array_equal(one.probabilities, other.probabilities)
            numpy.testing.assert_array_equal(one.probabilities, third.probabilities)
        numpy.testing.assert_array_equal(predictor.predict(images[2])[0].probabilities, said[2].probabilities)
        images.flags.writeable = False
        self.assertEqual(len(predictor.predict(images)), 5)
        flipped = numpy.ascontiguousarray(images[:, ::-1])[:, ::-1]  # a negative stride
        for one, other in zip(said, predictor.predict(flipped), strict=True):
            numpy.testing.assert_array_equal(one.probabilities, other.probabilities)
        for wrong in (images.astype("float32"), images[..., 0, 0], numpy.zeros((2, 3, 5, 3), numpy.uint8), numpy.zeros((2, 5, 5, 4), numpy.uint8),
                      numpy.zeros((0, 8, 8, 1), numpy.uint8), images.astype(">u2"), numpy.array("x")):
            self.assertRaisesRegex(stoker.ArgumentError, "inputs ", predictor.predict, wrong)
        for wrong, kind, said in ((3, TypeError, "inputs is a path, .*not int"), (None, TypeError, "inputs is a path"),
                                  ([self.root, images], TypeError, r"inputs\[1\] is a path, not ndarray; images are one array"),
                                  ("a\0b", ValueError, "inputs has a zero byte"), (["a\0b"], ValueError, r"inputs\[0\] has a zero byte")):
            self.assertRaisesRegex(kind, said, predictor.predict, wrong)
        self.assertEqual(predictor.predict([]), [])

    def test_interrupted(self):
        _, predictor = self.predictor("make:gray?count=60")
        images = numpy.random.default_rng(1).integers(0, 256, (40, 12, 10, 1), numpy.uint8)
        wanted = [one.probabilities for one in predictor.predict(images)]

        def end(*ignored):
            raise TimeoutError("enough")

        before = signal.signal(signal.SIGALRM, end)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        lots, start = numpy.repeat(images, 1000, axis=0), time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        self.assertRaisesRegex(TimeoutError, "enough", predictor.predict, lots)
        took = time.monotonic() - start
        thread = threading.Timer(0.2, predictor.interrupt)
        thread.start()
        self.assertRaises(stoker.InterruptedLoadError, predictor.predict, lots)
        thread.join()
        predictor.interrupt()
        self.assertRaises(stoker.InterruptedLoadError, predictor.predict, images)
        for one, other in zip(predictor.predict(images), wanted, strict=True):
            numpy.testing.assert_array_equal(one.probabilities, other)
        start = time.monotonic()
        predictor.predict(lots[:len(lots) // 20])
        self.assertLess(took, 0.2 + 10 * (time.monotonic() - start))  # the whole takes twenty of these

    def test_masks(self):
        _, predictor = self.predictor(self.data(), data_num_classes=19)
        said = predictor.predict(self.data() / "images")
        self.assertEqual((said[0].mask.shape, str(said[0].mask.dtype)), ((8, 8), "uint8"))
        self.assertTrue(all(one.mask.max() < 19 for one in said))
        self.assertIsNone(said[0].label)
        said[0].mask[0, 0] = 3  # it is the caller's
        self.assertIn("mask (8, 8)", repr(said[0]))

    def test_values_and_series(self):
        _, predictor = self.predictor(self.data("values"))
        said = predictor.predict(self.data("values") / "images")
        self.assertEqual((len(said), said[0].label, said[0].probabilities, said[0].row), (python_case.COUNT, None, None, None))
        self.assertTrue(all(isinstance(one.value, float) for one in said))
        run, predictor = self.predictor(self.data("series", 60), sequence_length=5, image_size=None, model_width=None, model_depth=None)
        series = self.data("series", 60) / "series.csv"
        last, = predictor.predict(series)
        self.assertEqual(last.row, 60)
        every = run.predict(series, all_windows=True)
        self.assertEqual([one.row for one in every], list(range(5, 61)))
        self.assertEqual(every[-1].value, last.value)
        self.assertRaisesRegex(stoker.ConfigError, "reads series", predictor.predict, numpy.zeros((2, 8, 8, 1), numpy.uint8))

    def test_points(self):
        _, predictor = self.predictor("make:captcha?count=30", image_size=32, model_depth=None)
        one, = predictor.predict(numpy.full((40, 50, 3), 200, numpy.uint8))
        self.assertEqual((predictor.info["task"], one.points.shape), ("points", (predictor.info["point_count"], 2)))
        self.assertTrue(((one.points >= 0) & (one.points <= [50, 40])).all())

    def test_a_corrupt_file(self):
        _, predictor = self.predictor("make:gray?count=60")
        folder = self.root / "damaged"
        shutil.copytree(self.data("pairs") / "images", folder)
        file = sorted(path for path in folder.rglob("*") if path.is_file())[3]
        file.write_bytes(file.read_bytes()[:-30])
        bad, = (one for one in predictor.predict(folder) if one.detail)
        self.assertEqual((bad.path, bad.damage, bad.probabilities), (str(file), "truncated", None))

    def test_fork(self):
        _, predictor = self.predictor("make:gray?count=60")
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                predictor.predict(numpy.zeros((1, 8, 8, 1), numpy.uint8))
            except stoker.ThreadError as error:
                code = 0 if "forked" in str(error) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_refused(self):
        run, predictor = self.predictor("make:gray?count=60")
        self.assertRaises(stoker.Error, predictor.predict, self.root / "nothing")
        predictor.close()
        predictor.close()
        self.assertRaisesRegex(stoker.ArgumentError, "closed", predictor.predict, self.root)
        self.assertRaises(stoker.Error, stoker.Predictor, self.root / "nothing")
        self.assertRaisesRegex(TypeError, "did you mean 'batch_size'", run.predict, self.root, batchsize=3)


if __name__ == "__main__":
    unittest.main()
