# SPDX-License-Identifier: Apache-2.0
"""Run: what a training has left in its folder; Predictor: its network on files and arrays."""
import os

from . import _stoker
from ._arrays import torch_now
from ._errors import ArgumentError, DataError, FileError
from ._settings import lines_of


class Run:
    """The folder of a run, that of stoker.train or `stoker train`.

        run = stoker.Run("runs/faces")
        plt.plot(run.metrics["step"], run.metrics["loss"])
        plt.plot(run.metrics["val_step"], run.metrics["val_loss"])
        for prediction in run.predict("photos"):
            print(prediction.path, prediction.label)
    """

    def __init__(self, path):
        self.path = os.fsdecode(path)
        if not os.path.isfile(os.path.join(self.path, "config.yaml")):
            raise FileError("this is not the folder of a run: it has no config.yaml", self.path,
                            "name the folder that `stoker train` or stoker.train has written, such as runs/unet-0001")

    def _file(self, name):
        path = os.path.join(self.path, name)
        return path if os.path.isfile(path) else None

    @property
    def info(self):
        """run.json as a dict: network, engine, metric, best_metric, best_step, samples_per_s, advice, …; None: the run has not
        ended yet, or was killed."""
        import json

        path = self._file("run.json")
        if path is None:
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    @property
    def metrics(self):
        """The log as a dict of lists: step, epoch, loss, lr, … of the training part, all of one length, and val_step, val_epoch,
        val_loss, … of the evaluations, all of one length. None for what is unknown."""
        train, val = [], []
        for line in self._lines():
            if "val_loss" in line:
                val.append({key if key.startswith("val_") else "val_" + key: value for key, value in line.items()})
            else:
                train.append(line)
        return {key: [row.get(key) for row in rows] for rows in (train, val) for key in _keys(rows)}

    def _lines(self):
        import json

        path = self._file("metrics.jsonl")
        if path is None:
            return []
        rows = []
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise DataError(f"a line of the log is not JSON: {error}", f"{path}:{number}") from None
        return rows

    @property
    def report(self):
        """Path of report.html; None: there is none yet."""
        return self._file("report.html")

    @property
    def checkpoints(self):
        """Paths of the checkpoints that are kept, oldest first."""
        folder = os.path.join(self.path, "checkpoints")
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
        return [os.path.join(folder, name) for name in sorted(names) if name.startswith("epoch-")]

    @property
    def best(self):
        """Path of the best checkpoint, by the metric of the run; None: nothing was evaluated, or the run has not ended."""
        info = self.info
        if info is None or info.get("best_metric") is None:
            return None
        end = f"-step-{info['best_step']:06d}"
        return next((path for path in self.checkpoints if path.endswith(end)), None)

    def weights(self):
        """Path of the weights: model.safetensors of the best checkpoint, or of the newest if there is no best one."""
        checkpoints = self.checkpoints
        if not checkpoints:
            raise FileError("this run has no checkpoint", self.path)
        return os.path.join(self.best or checkpoints[-1], "model.safetensors")

    def predict(self, inputs, *, checkpoint=None, newest=False, all_windows=False, **settings):
        """Predictions of the best checkpoint for inputs, as Predictor.predict: opens the network, and closes it."""
        with Predictor(self.path, checkpoint=checkpoint, newest=newest, all_windows=all_windows, **settings) as predictor:
            return predictor.predict(inputs)

    def __repr__(self):
        return f"<stoker.Run {self.path!r}>"


def _keys(rows):
    return list({key: None for row in rows for key in row})


class Prediction:
    """What a network says of one sample. By the task all but a few are None.

    index          of the sample in the call
    path           where it lies; "" for pixels of the caller's
    probabilities  [classes] float32
    label          name of the most probable class (its number, if classes have no names)
    mask           [h, w] uint8: class ids, in the size of the original
    points         [points, 2] float32: x, y in pixels of the original
    value          of a regression
    row            last row of a series' window, from 1
    detail         why it cannot be used, and damage the class of damage; the others are None then
    """

    __slots__ = ("index", "path", "probabilities", "label", "mask", "points", "value", "row", "detail", "damage")

    def __init__(self, answer, info):
        self.index, self.path, self.value = answer["index"], answer["path"], answer["value"]
        self.detail, self.damage, self.row = answer["detail"], answer["damage"], answer["row"] or None
        self.probabilities = _array(answer["probabilities"], "float32", (-1,))
        self.mask = _array(answer["mask"], "uint8", (answer["height"], answer["width"]))
        self.points = _array(answer["points"], "float32", (-1, 2))
        self.label = None
        if self.probabilities is not None and info["task"] == "classification":
            best = int(self.probabilities.argmax())
            self.label = info["class_names"][best] if info["class_names"] else best

    def __repr__(self):
        said = [f"{name}={getattr(self, name)!r}" for name in ("label", "value", "row", "detail") if getattr(self, name) is not None]
        said += [f"{name} {tuple(getattr(self, name).shape)}" for name in ("mask", "points") if getattr(self, name) is not None]
        return f"<Prediction {self.index} {self.path!r} {' '.join(said)}>"


def _array(memory, dtype, shape):
    """An array of PyTorch, where it is imported, or of NumPy on the memory."""
    if memory is None:
        return None
    torch = torch_now()
    if torch is not None:
        return torch.frombuffer(memory, dtype=getattr(torch, dtype)).reshape(shape)
    import numpy

    return numpy.frombuffer(memory, dtype).reshape(shape)


class Predictor:
    """The network of a run, opened once for many predictions.

        with stoker.Predictor("runs/faces") as predictor:
            for prediction in predictor.predict("photos"):
                ...

    run: folder of the run
    checkpoint: unset = the best, or the newest if none was evaluated
    newest: the newest instead of the best
    all_windows: of a series every window, not the last one alone
    settings: on top of the run's: device="cuda", threads=2, batch_size=16 …

    It belongs to the thread that opened it: other threads may only call interrupt().
    """

    def __init__(self, run, *, checkpoint=None, newest=False, all_windows=False, **settings):
        lines = [name.encode() + b"=" + text for name, text in lines_of("Predictor", {}, settings)]
        path = run.path if isinstance(run, Run) else run
        self._raw = _stoker.Predictor(os.fsencode(path), None if checkpoint is None else os.fsencode(checkpoint), bool(newest), lines,
                                      bool(all_windows))
        self._info = self._raw.describe()

    def predict(self, inputs):
        """A list of Prediction, in the order of inputs: a path (a file, folder, list, shards or series), a list of paths, or images
        as a uint8 array [n, h, w, c] or [n, c, h, w], or one image without n. A corrupt sample is a Prediction with `detail`.
        Ctrl-C is answered after the batch that is under way."""
        if isinstance(inputs, (str, bytes, os.PathLike)):
            answers = self._raw.predict(_path_of("inputs", inputs))
        elif isinstance(inputs, (list, tuple)):
            answers = []
            paths = [_path_of(f"inputs[{number}]", path) for number, path in enumerate(inputs)]
            for path in paths:
                found = sorted(self._raw.predict(path), key=_index_of)
                answers += [dict(answer, index=len(answers) + place) for place, answer in enumerate(found)]
        else:
            buffer, _owner = _as_nhwc(inputs)
            answers = self._raw.predict_images(buffer)
        return [Prediction(answer, self._info) for answer in sorted(answers, key=_index_of)]

    def interrupt(self):
        """Ends predict() after the batch that is under way by an InterruptedLoadError, or the next one at once. From any thread."""
        self._raw.interrupt()

    @property
    def info(self):
        """What was opened, as a dict: task, network, engine, checkpoint, class_names, …"""
        return dict(self._info)

    def __repr__(self):
        return f"<stoker.Predictor {self._info['network']} for {self._info['task']}: {self._info['checkpoint']!r}>"

    def close(self):
        """Ends its threads. Does nothing to a predictor that is closed."""
        self._raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __reduce__(self):
        raise TypeError("a stoker.Predictor has threads and cannot be pickled; open one in each process")


def _path_of(name, path):
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is a path, not {type(path).__name__}; images are one array")
    path = os.fsencode(path)
    if b"\0" in path:
        raise ValueError(f"{name} has a zero byte in it")
    return path


def _index_of(answer):
    return answer["index"]


def _as_nhwc(images):
    """(buffer [n, h, w, c] on the memory of an array, what holds that memory); channels are where 1 or 3 is."""
    torch = torch_now()
    is_tensor = torch is not None and isinstance(images, torch.Tensor)
    if not is_tensor and not hasattr(images, "transpose"):
        raise TypeError(f"inputs is a path, a list of paths or an array of images, not {type(images).__name__}")
    shape = tuple(images.shape)
    if str(images.dtype).removeprefix("torch.") != "uint8" or len(shape) not in (3, 4) or 0 in shape:
        raise ArgumentError(f"inputs is an array of {images.dtype} with shape {shape}",
                            hint="give uint8, 0 to 255, with dimensions [n, h, w, c] or [n, c, h, w]")
    if len(shape) == 3:
        images, shape = images[None], (1, *shape)
    last, first = shape[3] in (1, 3), shape[1] in (1, 3)
    if last == first:
        raise ArgumentError(f"inputs has the shape {shape}, of which it is not clear where the channels are",
                            hint="give images with 1 or 3 channels, larger than 3 pixels" if last else "1 or 3 channels are possible")
    if is_tensor:
        images = images.detach().cpu()
        return _buffer_of_tensor(images if last else images.permute(0, 2, 3, 1))
    return (images if last else images.transpose(0, 2, 3, 1)), images


def _buffer_of_tensor(images):
    """The same without NumPy, which PyTorch does not need."""
    import ctypes

    images = images.contiguous()
    memory = (ctypes.c_uint8 * images.numel()).from_address(images.data_ptr())
    return memoryview(memory).cast("B").cast("B", tuple(images.shape)), images
