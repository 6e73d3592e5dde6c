# SPDX-License-Identifier: Apache-2.0
"""Augment: a program's own arrays through the fused pass, in place of Kornia and torchvision.transforms.v2."""
import os
from math import prod

from . import _stoker
from ._arrays import to_numpy, to_torch, torch_now
from ._augment_doc import KEYWORDS
from ._errors import ArgumentError, Error, UnsupportedError
from ._settings import augment_of_keywords, pairs_of

_WORDS = {"u8": "u8", "uint8": "u8", "f32": "f32", "float32": "f32", "f16": "f16", "float16": "f16", "bf16": "bf16", "bfloat16": "bf16"}
_TYPES = {"u8": "uint8", "i64": "int64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_POOLED = 1 << 18  # values; a smaller result is memory of PyTorch or NumPy
_IDS = 1 << 32  # a sample's id is below this, and so is an epoch


def _worker_info():
    """Of PyTorch's DataLoader, in one of its worker processes; else None."""
    torch = torch_now()
    return None if torch is None else torch.utils.data.get_worker_info()


def _is_tensor(array):
    torch = torch_now()
    return torch is not None and isinstance(array, torch.Tensor)


def _dtype_name(array):
    return str(getattr(array, "dtype", "")).removeprefix("torch.")


def _shape_of(name, array, axes):
    """The shape of an array that has these axes."""
    shape = getattr(array, "shape", None)
    if shape is None or not hasattr(array, "dtype"):
        raise TypeError(f"{name} is {type(array)}, not an array of NumPy or PyTorch")
    if len(shape) != len(axes):
        raise ArgumentError(f"{name} has the shape {tuple(shape)}, not [{', '.join(axes)}]", hint="axes= says how images lie; a batch has n first")
    return tuple(shape)


def _names(name, given):
    """Names of classes or points as the extension takes them."""
    if given is None:
        return None
    given = given if isinstance(given, (str, bytes)) else list(given)
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise TypeError(f"{name} is a list of names, not {given!r}")
    return [item.encode("utf-8", "surrogateescape") for item in given]


def _lay_masks(masks, listed):
    """Masks as images lie: a list beside a list."""
    if masks is None:
        return None
    if isinstance(masks, (list, tuple)):
        if listed:
            return list(masks)
        raise ArgumentError("masks is a list, and images is one array", hint="give both as arrays, or both as lists")
    if len(getattr(masks, "shape", "nhw")) == 1:
        raise ArgumentError(f"masks has the shape {tuple(masks.shape)}, not [n, h, w]", hint="classes and values are labels=")
    return list(masks) if listed and hasattr(masks, "shape") else masks


class _Batch:
    """What the images of a call are: how many, of which size and type, and where their results go."""

    def __init__(self, images, planar):
        self.listed = isinstance(images, (list, tuple))
        axes = ("c", "h", "w") if planar else ("h", "w", "c")
        first = images
        if self.listed:
            first = images[0] if images else None
            shape = (len(images), *_shape_of("images[0]", first, axes)) if images else (0,)
        else:
            shape = _shape_of("images", images, ("n", *axes))
        self.count, *shape = shape
        if self.count == 0:
            raise ArgumentError("images is an empty batch", hint="leave out batches without samples")
        self.channels, self.height, self.width = shape if planar else (shape[2], shape[0], shape[1])
        self.bytes = all(_dtype_name(image) == "uint8" for image in (images if self.listed else [images]))
        self.torch = torch_now() if _is_tensor(first) else None
        self.device = first.device if self.torch is not None and first.is_cuda else None  # a GPU; None: host memory
        self.gpu = -1 if self.device is None else self.device.index
        self.channels_last = planar and not self.listed and self.channels > 1 and self._steps(images)[1] == 1

    def _steps(self, images):
        if self.torch is not None:
            return images.stride() if images.layout == self.torch.strided else (0,) * 4
        strides = getattr(images, "strides", None) or (0,) * 4
        return tuple(step / images.itemsize for step in strides)

    def empty(self, raw, shape, dtype):
        """Memory for a result, of the kind that the images are. Large results get memory of earlier ones that are gone: new memory
        takes longer than the pass."""
        pooled = prod(shape) >= _POOLED
        if pooled and (self.torch is not None or dtype != "bf16"):
            return (to_numpy if self.torch is None else to_torch)(raw.result(dtype, shape))
        if self.torch is not None:
            return self.torch.empty(shape, dtype=getattr(self.torch, _TYPES[dtype]), device="cpu")
        if dtype == "bf16":
            raise UnsupportedError("NumPy has no bfloat16", hint="dtype='float16', or give tensors of PyTorch")
        from numpy import empty

        return empty(shape, _TYPES[dtype])

    def empty_pixels(self, raw, shape, dtype):
        """Memory for images or masks, where the given images are."""
        if self.device is None:
            return self.empty(raw, shape, dtype)
        return self.torch.empty(shape, dtype=getattr(self.torch, _TYPES[dtype]), device=self.device)

    def to_host(self, array):
        """Labels and the like are read there."""
        return array.cpu() if self.device is not None and getattr(array, "is_cuda", False) else array

    def to_device(self, array):
        return array if array is None or self.device is None else array.to(self.device)

    def apply(self, raw, *arguments):
        """On a GPU after PyTorch's current stream: it has made what was given, and is through with what was in the memory of results."""
        if self.device is None:
            return raw.apply(self.count, *arguments)
        with self.torch.cuda.device(self.device):  # PyTorch hands out tensors of the current one only
            self.torch.cuda.current_stream().synchronize()
            return raw.apply(self.count, *arguments)

    def turned(self, image):
        """[n h w c] in memory as [n c h w]."""
        return image.permute(0, 3, 1, 2) if self.torch is not None else image.transpose(0, 3, 1, 2)


def _reworded(error):
    """The library's failure in the words of this call: io.image_list[3] is images[3], options.dtype is dtype."""
    texts = []
    for text in (error.message, error.hint):
        for old, new in (("io.image_list", "images"), ("io.mask_list", "masks"), ("io.count", "images"), ("io.", ""), ("options.", ""),
                         ("stk_augmenter_apply", "this stoker.Augment")):
            text = text.replace(old, new)
        texts.append(text)
    return type(error)(texts[0], error.place, texts[1], error.damage)


class Augment:
    def __init__(self, preset_or_dict=None, *, image_size=None, seed=None, dtype=None, axes="nchw", mean=None, std=None, flip_pairs=None,
                 class_names=None, point_names=None, threads=None, **settings):
        self._augment = augment_of_keywords("Augment", preset_or_dict, settings)
        if axes not in ("nchw", "nhwc"):
            raise ValueError(f"axes is 'nchw' or 'nhwc', not {axes!r}")
        if threads is not None and (not hasattr(threads, "__index__") or threads.__index__() < 1):
            raise ValueError(f"threads is a number from 1 on, not {threads!r}")
        self._planar = axes == "nchw"
        self._pairs = pairs_of("Augment", "data", dict(image_size=image_size, mean=mean, std=std, flip_pairs=flip_pairs))
        self._seed = 0 if seed is None else int(seed)
        wanted = dict(pairs_of("Augment", "data", dict(dtype=dtype))).get(b"dtype", b"auto").decode().lower()
        self._dtype = None if wanted == "auto" else _WORDS.get(wanted, wanted)
        self._normalizes = mean is not None or std is not None
        self._class_names, self._point_names = _names("class_names", class_names), _names("point_names", point_names)
        self._threads = None if threads is None else threads.__index__()
        self._epoch = self._next = 0  # what the next call without epoch and ids is
        self.training = True
        self._start()
        raw = self._raw(self._dtype or "f32", axes, 0, 0)
        self._size, self._effects = raw.size(), raw.effects()

    def _start(self):
        self._opened, self._pid = {}, os.getpid()
        self._alone = False  # the pool's threads are not here

    def _raw(self, dtype, axes, point_count, added, gpu=-1):
        """The library's augmenter for results like these, opened at the first."""
        if self._pid != os.getpid():  # a fork: threads of the pool are not in this process
            self._start()
            self._alone = True
        key = (dtype, axes, point_count, added, self.training, gpu)
        if key not in self._opened:
            threads = 0 if gpu >= 0 else 1 if self._alone or (self._threads is None and _worker_info() is not None) else self._threads or 0
            seed = (self._seed + added) % _IDS if added else self._seed
            pairs = [*self._pairs, (b"dtype", dtype.encode()), (b"axes", axes.encode()), (b"seed", str(seed).encode())]
            try:
                self._opened[key] = _stoker.Augmenter(pairs, self._augment if self.training else None, self._class_names, self._point_names,
                                                      point_count, threads, gpu)
            except Error as error:
                raise _reworded(error) from None
        return self._opened[key]

    # A batch

    def __call__(self, images, masks=None, points=None, labels=None, *, epoch=None, ids=None):
        """Augments a batch; see help(stoker.Augment)."""
        batch = _Batch(images, self._planar)
        masks = _lay_masks(masks, batch.listed)
        if epoch is not None:
            self.set_epoch(epoch)
        labels, points = batch.to_host(labels), batch.to_host(points)
        added, ids = self._draws(batch.count, batch.to_host(ids))
        dtype = self._dtype or ("u8" if batch.bytes and not self._normalizes else "f32")
        nhwc = batch.channels_last or not self._planar
        alone = points is not None and masks is None and labels is None and self._class_names is None and self._point_names is None
        raw = self._raw(dtype, "nhwc" if nhwc else "nchw", _shape_of("points", points, "nk3")[1] if alone else 0, added, batch.gpu)
        results = self._results(raw, batch, dtype, nhwc, (masks, points, labels))
        sources = (list(images) if batch.listed else images, masks, labels, points)
        try:
            batch.apply(raw, self._epoch, ids, self._planar, sources, results)
        except Error as error:
            raise _reworded(error) from None
        return self._dress(batch, results)

    forward = __call__

    def _draws(self, count, ids):
        """(what is added to the seed, ids as int64). Worker processes of a DataLoader each draw something else, and in each of its
        epochs: PyTorch gives them a seed."""
        if ids is not None:
            if hasattr(ids, "dtype"):
                return 0, ids
            from array import array

            try:
                return 0, array("q", ids)
            except (TypeError, OverflowError) as error:
                raise TypeError(f"ids is an int64 array or a list of whole numbers: {error}") from None
        if not self.training:
            return 0, None
        from array import array

        info, first = _worker_info(), self._next
        self._next += count
        if info is None:
            added = 0
        else:
            added = (info.seed - info.id) % _IDS
            first += info.id * (_IDS // info.num_workers)
        return added, array("q", [number % _IDS for number in range(first, first + count)])

    def _results(self, raw, batch, dtype, nhwc, targets):
        (masks, points, labels), mixes = targets, raw.mixes()
        height, width = self._size if self._size != (0, 0) else (batch.height, batch.width)
        plane, lone = (batch.count, height, width), (batch.count,)
        images = batch.empty_pixels(raw, (*plane, batch.channels) if nhwc else (batch.count, batch.channels, height, width), dtype)
        out_masks = out_masks2 = out_labels = out_labels2 = out_points = None
        if masks is not None:
            first = masks[0] if isinstance(masks, list) and masks else masks
            ids = "u8" if _dtype_name(first) == "uint8" else "i64"
            out_masks = batch.empty_pixels(raw, plane, ids)
            out_masks2 = batch.empty_pixels(raw, plane, ids) if mixes else None
        if labels is not None:
            shape = getattr(labels, "shape", None)
            if shape is None or len(shape) not in (1, 2):
                raise ArgumentError(f"labels is {type(labels) if shape is None else tuple(shape)}, not an array [n] of classes or values, or [n, k]")
            classes = "float" not in _dtype_name(labels)
            out_labels = batch.empty(raw, tuple(shape), "i64" if classes else "f32")
            out_labels2 = batch.empty(raw, tuple(shape), "i64") if mixes and classes else None
        if points is not None:
            out_points = batch.empty(raw, _shape_of("points", points, "nk3"), "f32")
        return images, out_masks, out_masks2, out_labels, out_labels2, batch.empty(raw, lone, "f32") if mixes else None, out_points

    @staticmethod
    def _dress(batch, results):
        images, masks, masks2, *facts = results
        labels, labels2, share, points = map(batch.to_device, facts)
        parts = [batch.turned(images) if batch.channels_last else images]
        if masks is not None:
            parts.append(masks if masks2 is None else (masks, masks2, share))
        if points is not None:
            parts.append(points)
        if labels is not None:
            parts.append(labels if labels2 is None else (labels, labels2, share))
        return parts[0] if len(parts) == 1 else tuple(parts)

    # Which draws

    def set_epoch(self, epoch):
        """Calls from now on belong to this epoch; samples are counted from 0 again if it is another one. The argument epoch of a
        call does the same."""
        if not hasattr(epoch, "__index__") or not 0 <= epoch.__index__() < _IDS:
            raise ValueError(f"epoch is a number from 0 to {_IDS - 1}, not {epoch!r}")
        if epoch.__index__() != self._epoch:
            self._epoch, self._next = epoch.__index__(), 0

    # As a torch.nn.Module

    def train(self, mode=True):
        """Draws again, after eval."""
        self.training = bool(mode)
        return self

    def eval(self):
        """Only resizes and normalizes, as validation needs it: nothing is drawn, nothing mixed."""
        return self.train(False)

    def to(self, *ignored, **also_ignored):
        """Itself: it has no parameters, and works where the images of a call are."""
        return self

    def module(self):
        """A torch.nn.Module on this Augment: inside of a model, train() and eval() of the model reach it."""
        from . import _augment_module

        return _augment_module.AugmentModule(self)

    # What it is

    @property
    def effects(self):
        """Options that are in effect other than asked for, or were left to Stoker: a list of dicts with name, requested, in_effect
        and why."""
        rows = [dict(zip(("name", "requested", "in_effect", "why"), row)) for row in self._effects]
        if self._alone:
            rows = [row for row in rows if row["name"] != "threads"]
            rows.append({"name": "threads", "requested": str(self._threads or ""), "in_effect": "1",
                         "why": "this process was forked, and the pool's threads are not here"})
        return [row for row in rows if row["name"] != "dtype"]  # by the images

    def __repr__(self):
        return f"<stoker.Augment {self._augment or 'none'}{'' if self.training else ', eval'}>"

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name not in ("_opened", "_pid", "_alone")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._start()


Augment.__doc__ = KEYWORDS
