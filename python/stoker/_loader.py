# SPDX-License-Identifier: Apache-2.0
"""Loader: files in, batches out, with the manners of PyTorch's DataLoader."""
from . import _stoker
from ._arrays import to_numpy, to_torch, torch_now
from ._distributed import find_rank
from ._errors import ArgumentError, DataError, StaleIteratorError, UnsupportedError
from ._loader_doc import KEYWORDS
from ._settings import augment_text, pairs_of, text_of

# The tensors of _stoker.Loader.next().
_IMAGES, _MASKS, _LABELS, _POINTS, _WINDOWS, _MASKS2, _LABELS2, _LAMBDA, _IDS, _WEIGHTS = range(10)

_OWN_KEYWORDS = ("root", "augment", "device")

# What a DataLoader has and a Loader has not, and what to use for it.
_OF_DATALOADER = {
    "dataset": "it is used as it is, not wrapped, and load_state_dict skips batches; the number of samples is loader.info['sample_count']",
    "sampler": "it has an order of its own, by the keywords shuffle, order and seed, and set_epoch",
    "batch_sampler": "it has an order of its own, by the keywords shuffle, order and seed, and set_epoch",
    "collate_fn": "batches are arrays already; change them in the loop",
}


class Batch(tuple):
    """What a loop gets: (images, masks), (images, labels), (images, points), (windows, values) …, in this order,
    whatever the data set has. With MixUp or CutMix a target is (target_a, target_b, share of a).

    epoch     number of the epoch
    position  number of the first sample in the order of the epoch
    ids       sample ids, int64; Loader.sample(id) has their names
    weights   float32: 1, or 0 for a sample that on_bad_sample='skip' left out
    """

    _tensors = epoch = position = None
    _after = None  # (epoch, position) of the batch after it

    def _extra(self, index):
        if self._tensors is None:
            raise ArgumentError("this batch was made by something else than a stoker.Loader")
        tensor = self._tensors[index]
        if not isinstance(tensor, _stoker.Tensor):
            return tensor  # a copy
        return to_numpy(tensor) if torch_now() is None else to_torch(tensor)

    @property
    def ids(self):
        return self._extra(_IDS)

    @property
    def weights(self):
        return self._extra(_WEIGHTS)

    def to(self, device, non_blocking=False):
        """The batch on another device, with its ids (which stay in host memory), weights, epoch and position; itself if it
        is there. Lightning and accelerate move batches with it."""
        parts = _move(self, device, non_blocking)
        if parts is self:
            return self
        if self._tensors is None:
            return Batch(parts)
        return _remade(parts, self.ids, _move(self.weights, device, non_blocking), self.epoch, self.position, self._after)

    def __reduce__(self):
        if self._tensors is None:
            return Batch, (tuple(self),)
        return _remade, (tuple(self), self.ids, self.weights, self.epoch, self.position, self._after)


def _move(part, device, non_blocking):
    """A tensor, or a tuple of parts, on another device; the same object if it is there."""
    if isinstance(part, tuple):
        parts = tuple(_move(one, device, non_blocking) for one in part)
        return part if all(new is old for new, old in zip(parts, part)) else parts
    if not hasattr(part, "to"):
        raise UnsupportedError("arrays of NumPy cannot be moved to a device", hint="import torch before iterating")
    return part.to(device, non_blocking=non_blocking)


def _remade(parts, ids, weights, epoch, position, after):
    """A batch on another device or in another process: nothing of it lies in a slot."""
    batch = Batch(parts)
    batch._tensors = {_IDS: ids, _WEIGHTS: weights}
    batch.epoch, batch.position, batch._after = epoch, position, after
    return batch


class _Iterator:
    """One epoch, or what is left of it."""

    __slots__ = ("_loader",)

    def __init__(self, loader):
        self._loader = loader

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        if loader is None:
            raise StopIteration
        if loader._iterator is not self:
            raise StaleIteratorError(
                "this iterator has ended, because its loader has a newer one or was moved to another place",
                hint="use one iterator at a time, or open a loader for each",
            )
        batch = loader._next()
        if batch is None:
            self._loader = None
            raise StopIteration
        return batch


def _device_text(device):
    """Stoker's name of a device: None, 'cpu', 'cuda', 'cuda:1', a torch.device, a number."""
    if device is None:
        return None
    text = f"cuda:{device}" if isinstance(device, int) else str(device)
    torch = torch_now()
    if text == "cuda":
        return f"cuda:{torch.cuda.current_device()}" if torch is not None else "cuda:0"
    return None if text == "cpu" else text


class Loader:
    def __init__(self, root, *, batch_size=None, num_workers=None, shuffle=None, drop_last=None, pin_memory=None,
                 prefetch_factor=None, augment=None, device=None, **settings):
        named = dict(batch_size=batch_size, num_workers=num_workers, shuffle=shuffle, drop_last=drop_last,
                     pin_memory=pin_memory, prefetch_factor=prefetch_factor, **settings)
        pairs = pairs_of("Loader", "data", named, _OWN_KEYWORDS)
        self._implied = self._fill_in(pairs)
        self._root = root
        self._iterator = None  # the newest
        self._resumed = None  # epoch that load_state_dict has moved to, until it is iterated
        self._epoch = None  # that set_epoch asked for
        self._end_is_due = False  # batches of an epoch were taken, its end was not
        self._copies = 0
        self._raw = _stoker.Loader([(b"root", text_of("root", root)), *pairs, *self._implied],
                                   augment_text(augment), _device_text(device), num_workers is None)
        info = self._raw.describe()
        self._length, self._has_images, self._on_gpu = info["batches_per_epoch"], info["height"] > 0, info["resident"]
        self._warn_of_empty_batches(info, int(dict([*pairs, *self._implied]).get(b"ranks", b"1")))

    @staticmethod
    def _warn_of_empty_batches(info, ranks):
        """A mean over an empty batch is NaN, and its gradients would reach all ranks."""
        steps, left = divmod(info["sample_count"], info["batch_size"] * ranks)
        if 0 < left < ranks and steps < info["batches_per_epoch"]:
            import warnings

            warnings.warn(f"the last batch of an epoch is empty on {ranks - left} of {ranks} ranks ({left} samples are left); "
                          "drop_last=True leaves it out", stacklevel=3)

    def _fill_in(self, pairs):
        """What is PyTorch's default and not the library's: [n c h w] float32, masks int64; and the rank."""
        given = dict(pairs)
        implied = {b"axes": b"nchw", b"mask_dtype": b"i64", b"dtype": b"f32"}
        self._turn = False
        if given.get(b"dtype", b"").lower() in (b"u8", b"uint8"):
            # Bytes stay as decoded: [n h w c] in memory, shown as [n c h w] if nothing else was asked for.
            implied = {}
            self._turn = given.get(b"axes", b"nchw").lower() == b"nchw"
            pairs[:] = [pair for pair in pairs if pair != (b"axes", given.get(b"axes")) or not self._turn]
        if not {b"rank", b"ranks"} & given.keys():
            found = find_rank()
            if found is not None:
                implied[b"rank"], implied[b"ranks"] = (str(number).encode() for number in found)
        return [(name, text) for name, text in implied.items() if name not in given]

    # Iteration

    def __len__(self):
        """Batches of an epoch, of this rank."""
        return self._length

    def __iter__(self):
        """Starts an epoch: the next one, also after a break; that of set_epoch; or what is left of the one that
        load_state_dict has moved to. Older iterators raise from now on."""
        state = self.state_dict()
        self._iterator = None
        at = wanted = (state["epoch"], state["position"])
        if self._epoch is not None and self._epoch != self._resumed:
            wanted = (self._epoch, 0)
        elif self._epoch is None and self._resumed is None and at[1] != 0:
            wanted = (at[0] + 1, 0)
        if wanted != at:
            self._seek(dict(state, epoch=wanted[0], position=wanted[1]))
        elif self._end_is_due:
            self._raw.next()  # all batches were taken, the end of their epoch was not
            self._end_is_due = False
        if wanted != at:
            self._resumed = None
        self._epoch = None
        self._iterator = _Iterator(self)
        return self._iterator

    def _next(self):
        taken = self._raw.next()
        self._end_is_due = taken is not None
        self._resumed = None
        return None if taken is None else self._dress(*taken)

    def _dress(self, tensors, epoch, position, copied, after):
        self._copies += copied
        torch = torch_now()
        take = to_numpy if torch is None else to_torch
        if self._on_gpu:
            take = self._use_on_stream(torch, tensors, copied)
        batch = Batch(self._parts(tensors, take))
        if self._on_gpu and copied:  # nothing may hold the slot
            tensors = [None if index < _IDS else take(tensor) for index, tensor in enumerate(tensors)]
        batch._tensors, batch.epoch, batch.position, batch._after = tensors, epoch, position, after
        return batch

    def _parts(self, tensors, take):
        images, masks, labels, points, windows, masks2, labels2, share = tensors[:_IDS]
        parts = []
        if images is not None:
            parts.append(take(images.channels_first() if self._turn else images))
        elif self._has_images:
            raise DataError(
                "the images of this batch have different sizes", hint="set image_size, or leave dtype out"
            )
        if windows is not None:
            parts.append(take(windows))
        if masks is not None:
            parts.append(take(masks) if masks2 is None else (take(masks), take(masks2), take(share)))
        if labels is not None:
            parts.append(take(labels) if labels2 is None else (take(labels), take(labels2), take(share)))
        if points is not None:
            parts.append(take(points))
        return parts

    def _use_on_stream(self, torch, tensors, copied):
        """How to take tensors in a GPU's memory: PyTorch's current stream waits for the batch, its slot for the stream."""
        if torch is None:
            raise UnsupportedError(
                "batches on a GPU are tensors of PyTorch, which is not imported",
                hint="import torch before iterating, or leave device out",
            )
        weights = tensors[_WEIGHTS]
        weights.use_on(torch.cuda.current_stream(weights.__dlpack_device__()[1]).cuda_stream)
        return (lambda tensor: to_torch(tensor).clone()) if copied else to_torch

    # Where the stream stands

    def set_epoch(self, epoch):
        """The next iteration is that of this epoch: its order and its augmentation, as a sampler's set_epoch. An
        epoch that load_state_dict has moved to is continued, not started again."""
        if not hasattr(epoch, "__index__") or epoch.__index__() < 0:
            raise ValueError(f"epoch is a number from 0 on, not {epoch!r}")
        self._epoch = epoch.__index__()

    def state_dict(self, after=None):
        """Where the next batch begins, as a dict for JSON or torch.save. It counts batches that were delivered,
        not those that were read ahead. after: a batch of this loader, for a program that takes batches before it
        uses them: where the batch after this one begins."""
        import json

        state = json.loads(self._raw.tell())
        if after is not None:
            if getattr(after, "_after", None) is None:
                raise ArgumentError("after is not a batch of a stoker.Loader", hint="give the batch as it came, not a part of it")
            state["epoch"], state["position"] = after._after
        return state

    def load_state_dict(self, state_dict):
        """Moves to a state, also of a loader with another number of workers or ranks; the next iteration
        continues there. StateError: it belongs to another data set, seed or order."""
        if not isinstance(state_dict, dict):
            raise TypeError(f"state_dict is what state_dict() returned, a dict, not {type(state_dict).__name__}")
        self._seek(state_dict)
        self._iterator = self._epoch = None
        self._resumed = self.state_dict()["epoch"]

    def _seek(self, state):
        import json

        self._raw.seek(json.dumps(state))
        self._end_is_due = False

    # What it is

    @property
    def info(self):
        """What was found and decided at open, as a dict: sample_count, class_names, height, …"""
        return self._raw.describe()

    @property
    def effects(self):
        """Settings that are in effect other than asked for, or were left to Stoker: a list of dicts with name,
        requested, in_effect and why."""
        implied = {"data." + name.decode() for name, _ in self._implied}
        rows = [dict(zip(("name", "requested", "in_effect", "why"), row)) for row in self._raw.effects()]
        rows = [row for row in rows if row["in_effect"] or row["name"] not in implied]
        if self._copies:
            rows.append({
                "name": "data.prefetch_factor", "requested": "", "in_effect": f"{self._copies} batches copied",
                "why": f"the program keeps batches, and all but one of {self.info['slot_count']} slots were in use; "
                       "raise prefetch_factor to keep more without a copy"})
        return rows

    @property
    def bad_samples(self):
        """Corrupt samples so far, as on_bad_sample treated them: a list of dicts with epoch, position, id, damage,
        path, detail and action."""
        names = ("epoch", "position", "id", "damage", "path", "detail", "action")
        return [dict(zip(names, row)) for row in self._raw.bad_samples()]

    def stats(self):
        """Counts and times since open, as a dict: samples, wait_s, stage_s of all workers together, …"""
        return self._raw.stats()

    def sample(self, id):
        """(key, path) of the sample with this id (Batch.ids)."""
        return self._raw.sample(int(id))

    @property
    def batch_size(self):
        """Samples in a batch, per rank."""
        return self.info["batch_size"]

    @property
    def num_workers(self):
        """Threads that load."""
        return self.info["num_workers"]

    def __getattr__(self, name):
        hint = _OF_DATALOADER.get(name)
        raise AttributeError(f"a stoker.Loader has no '{name}'" + (f": {hint}" if hint else ""), name=name, obj=self)

    def __repr__(self):
        return f"<stoker.Loader {self._root!r}: {self._length} batches>"

    # Life

    def close(self):
        """Ends the loader's threads. Batches that are still in use stay valid; their memory goes with the last of
        their arrays. Does nothing to a loader that is closed."""
        self._raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __reduce__(self):
        raise TypeError("a stoker.Loader has threads and cannot be pickled; open one in each process")


Loader.__doc__ = KEYWORDS
