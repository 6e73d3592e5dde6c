# SPDX-License-Identifier: Apache-2.0
"""DataLoaders: where they were made, their settings, and how long the training thread waits for each batch."""
import threading
import weakref

from stoker_hook import layout, record, settings, steps, work, wrap

_get_ident = threading.get_ident
_torch = None
_places = {}  # id of a loader: (its place, a weak reference that takes it out)
_making = None  # the loader whose iterator is made
_shapes = {}


def made(loader, frame):
    key = id(loader)
    place = wrap.place_of(wrap.user_frame(frame))
    _places[key] = place, weakref.ref(loader, lambda _: _places.pop(key, None))


def iterator_wanted(loader, frame):
    global _making
    _making = loader
    work.patch_imported()


def iterator_made(iterator, frame):
    """The iterator is PyTorch's own and never pickled: it carries the row of its loader."""
    global _making
    if _making is not None:
        iterator._stoker_row, _making = row_of(_making), None


def row_of(loader):
    place = _places.get(id(loader), ("",))[0]
    key = (place, type(loader.dataset).__name__, loader.batch_size, loader.num_workers, type(loader.sampler).__name__,
           getattr(loader.multiprocessing_context, "_name", None))
    return record.loaders.row(key, lambda: about(loader, place))


def about(loader, place):
    data = _torch.utils.data
    sampler, batches = loader.sampler, loader.batch_sampler
    shuffle = {data.RandomSampler: True, data.SequentialSampler: False}.get(type(sampler))
    if isinstance(sampler, data.DistributedSampler):
        shuffle = bool(sampler.shuffle)
    length = None
    if type(batches) is data.BatchSampler and (shuffle is not None or isinstance(sampler, data.WeightedRandomSampler)):
        length = len(batches)
    collate = data._utils.collate
    methods = _torch.multiprocessing
    context = loader.multiprocessing_context
    method = context.get_start_method() if context is not None else methods.get_start_method(allow_none=True) or methods.get_all_start_methods()[0]
    return {"site": place, "dataset": type(loader.dataset).__name__, "sampler": type(sampler).__name__, "start_method": method,
            "num_workers": loader.num_workers, "batch_size": loader.batch_size or getattr(batches, "batch_size", None),
            "prefetch_factor": loader.prefetch_factor, "length": length, "persistent_workers": bool(loader.persistent_workers),
            "pin_memory": bool(loader.pin_memory), "drop_last": bool(getattr(batches, "drop_last", loader.drop_last)), "shuffle": shuffle,
            "custom_collate": loader.collate_fn not in (collate.default_collate, collate.default_convert)}


def first_tensor(batch, depth=0):
    if isinstance(batch, _torch.Tensor):
        return batch
    if depth < 3:
        for part in batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (tuple, list)) else ():
            found = first_tensor(part, depth + 1)
            if found is not None:
                return found
    return None


def look_at(row, batch):
    """Samples in the batch. Another shape than before, but for their number, is counted."""
    tensor = first_tensor(batch)
    if tensor is None or type(tensor) is not _torch.Tensor or tensor.dim() == 0:
        return 0
    shape = tensor.shape
    before = _shapes.setdefault(row.at, shape)
    if shape[1:] != before[1:]:
        _shapes[row.at] = shape
        row.values[layout.LOADER_SHAPE_CHANGES] += 1
    settings.see_input(tensor)
    return shape[0]


def got(row, iterator, asked, first, batch):
    waited = steps.got_batch(row, asked, look_at(row, batch), _torch.is_grad_enabled())
    values = row.values
    values[layout.LOADER_BATCHES] += 1
    values[layout.LOADER_WAIT_NS] += waited
    if first:
        values[layout.LOADER_EPOCHS] += 1
        values[layout.LOADER_FIRST_WAIT_NS] += waited
        values[layout.LOADER_SEED] = iterator._base_seed & 0xffffffffffffffff
    elif waited > values[layout.LOADER_WAIT_MAX_NS]:
        values[layout.LOADER_WAIT_MAX_NS] = waited
    row.put()
    record.words[layout.BATCHES] += 1


def waited_for(original):
    def __next__(self):
        row = getattr(self, "_stoker_row", None)
        if row is None or steps.busy or _get_ident() != steps.thread:
            return original(self)
        try:
            first = self._num_yielded == 0
            asked = steps.ask_batch(row)
        except Exception as error:
            record.stop(error)
            return original(self)
        try:
            batch = original(self)
        except BaseException:
            steps.got_batch(None, asked, 0, True)
            raise
        try:
            got(row, self, asked, first, batch)
        except Exception as error:
            record.stop(error)
        return batch
    return __next__


record.after_fork.append(_shapes.clear)


def patch(torch):
    global _torch
    _torch = torch
    from torch.utils.data import dataloader
    wrap.Noticed(dataloader.DataLoader, "__init__", made)
    wrap.Noticed(dataloader.DataLoader, "_get_iterator", iterator_wanted)
    wrap.Noticed(dataloader._BaseDataLoaderIter, "__init__", iterator_made)
    wrap.around(dataloader._BaseDataLoaderIter, "__next__", waited_for)
