# SPDX-License-Identifier: Apache-2.0
"""Time by name inside of datasets, in workers and, where there are none, in the training process: transforms, decoders, collate; the rest
is "dataset code". What one calls inside of another is taken off the outer one. Looked at while a batch is fetched only."""
import sys
import threading
import time

from stoker_hook import layout, record, wrap

now = record.now
cpu_now = time.thread_time_ns
# module, the attribute in it, what it does, its name
FUNCTIONS = (("PIL.Image", "open", layout.KIND_READ, "PIL.Image.open"), ("PIL.ImageFile", "ImageFile.load", layout.KIND_DECODE, "PIL.Image.load"),
             ("cv2", "imread", layout.KIND_DECODE, "cv2.imread"), ("cv2", "imdecode", layout.KIND_DECODE, "cv2.imdecode"),
             ("torchvision.io", "read_image", layout.KIND_DECODE, "torchvision.io.read_image"),
             ("torchvision.io", "decode_image", layout.KIND_DECODE, "torchvision.io.decode_image"),
             ("numpy", "load", layout.KIND_READ, "numpy.load"))
_waiting = list(FUNCTIONS)
LOOK_EVERY, CPU_EVERY = 32, 8  # fetches: for modules imported meanwhile; that read the CPU clock, which is a system call


class Local(threading.local):
    inner = None  # [wall, CPU] of what was named inside of the open one; None where nothing is fetched
    with_cpu = False


_local = Local()
_fetches = 0


def work_row(name, kind):
    return record.works.row((name, kind), lambda: {"name": name[:90], "kind": kind})


def measure(row, count, function, args, kwargs):
    """Calls the function and adds its own time to the row. Between fetches that read it, CPU time is as much of the time as it was."""
    local = _local
    outer, inner, with_cpu = local.inner, [0, 0], local.with_cpu
    local.inner = inner
    cpu = cpu_now() if with_cpu else 0
    begun = now()
    try:
        return function(*args, **kwargs)
    finally:
        wall = now() - begun
        if with_cpu:
            cpu = cpu_now() - cpu
        local.inner = outer
        own, values = wall - inner[0], row.values
        if outer is not None:
            outer[0] += wall
            outer[1] += cpu
        values[layout.WORK_CPU_NS] += max(0, cpu - inner[1]) if with_cpu else own * values[layout.WORK_CPU_NS] // (values[layout.WORK_TOTAL_NS] or 1)
        values[layout.WORK_COUNT] += count
        values[layout.WORK_TOTAL_NS] += own
        if own > values[layout.WORK_MAX_NS]:
            values[layout.WORK_MAX_NS] = own
        row.put()


def named(function, name, kind):
    """A wrapper that measures while a batch is fetched."""
    row = None

    def measured(*args, **kwargs):
        nonlocal row
        if _local.inner is None:
            return function(*args, **kwargs)
        if row is None:
            row = work_row(name, kind)
        return measure(row, 1, function, args, kwargs)
    return measured


def name_of(transform):
    if isinstance(transform, type(name_of)):
        return transform.__name__
    return getattr(getattr(transform, "func", None), "__name__", None) or type(transform).__name__


class Transforms:
    """Stands for a Compose in its own method, which only asks for .transforms: each of them measured."""

    def __init__(self, given):
        self.given = list(given)
        self.transforms = [wrap.like_hidden(named(one, name_of(one), layout.KIND_TRANSFORM)) for one in self.given]

    def fits(self, given):
        return len(given) == len(self.given) and all(a is b for a, b in zip(given, self.given))


def measured_compose(original):
    """Of torchvision's two Compose: the loop over the transforms stays theirs."""
    stand_ins = {}

    def run(self, *args, **kwargs):
        if _local.inner is None:
            return original(self, *args, **kwargs)
        stand_in = stand_ins.get(id(self))
        if stand_in is None or not stand_in.fits(self.transforms):
            stand_in = stand_ins[id(self)] = Transforms(self.transforms)
        return original(stand_in, *args, **kwargs)
    return run


def measured_albumentation(original):
    """BasicTransform.__call__, by the class of the transform."""
    def __call__(self, *args, **kwargs):
        if _local.inner is None:
            return original(self, *args, **kwargs)
        return measure(work_row(type(self).__name__, layout.KIND_TRANSFORM), 1, original, (self, *args), kwargs)
    return __call__


SPECIAL = [("torchvision.transforms.transforms", "Compose.__call__", measured_compose),
           ("torchvision.transforms.v2._container", "Compose.forward", measured_compose),
           ("albumentations.core.transforms_interface", "BasicTransform.__call__", measured_albumentation)]


def patch_imported():
    """Wraps what has been imported by now."""
    for entry in _waiting + SPECIAL:
        module = sys.modules.get(entry[0])
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue
        (_waiting if entry in _waiting else SPECIAL).remove(entry)
        owner, name = module, entry[1]
        if "." in name:
            owner, name = getattr(module, name.split(".")[0], None), name.split(".")[1]
        if callable(entry[2]):
            wrap.around(owner, name, entry[2])
        else:
            wrap.around(owner, name, lambda original: named(original, entry[3], entry[2]))


def fetched(original):
    """fetch() of PyTorch's two fetchers: a batch from the dataset."""
    def fetch(self, possibly_batched_index):
        try:
            begin_fetch(self)
            row = work_row("dataset code", layout.KIND_DATASET)
            count = len(possibly_batched_index) if isinstance(possibly_batched_index, (list, tuple)) else 1
        except Exception as error:
            record.stop(error)
            return original(self, possibly_batched_index)
        begun = now()
        try:
            return measure(row, count, original, (self, possibly_batched_index), {})
        finally:
            record.words[layout.FETCH_NS] += now() - begun
    return fetch


def begin_fetch(fetcher):
    global _fetches
    if _fetches % LOOK_EVERY < 2:
        patch_imported()
    _local.with_cpu = _fetches % CPU_EVERY == 0
    _fetches += 1
    if not hasattr(fetcher, "_stoker_seen"):  # a fetcher is PyTorch's own, made for each iterator
        fetcher._stoker_seen = True
        fetcher.collate_fn = wrap.like_hidden(named(fetcher.collate_fn, "collate", layout.KIND_COLLATE))
        info = sys.modules["torch.utils.data._utils.worker"]._worker_info
        if info is not None and not record.words[layout.WORKER]:
            record.words[layout.WORKER] = info.id + 1
            record.words[layout.WORKER_SEED] = info.seed - info.id
            from stoker_hook import tensor
            tensor.unpatch()


def forget():
    global _fetches
    _local.inner, _fetches = None, 0


record.after_fork.append(forget)


def patch(torch):
    from torch.utils.data._utils import fetch
    for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        wrap.around(fetcher, "fetch", fetched)
