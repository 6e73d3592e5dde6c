# SPDX-License-Identifier: Apache-2.0
"""Keywords as settings: which names there are, and values as the texts that people write in files."""
import os

from . import _stoker
from ._errors import ConfigError, Error

# What DataLoader takes and Stoker does not, and what to use for it.
_OF_DATALOADER = {
    "dataset": "pass the path of the data set as the first argument",
    "sampler": "use shuffle, order and seed",
    "batch_sampler": "use batch_size, shuffle, order and seed",
    "collate_fn": "batches are arrays already; change them in the loop",
    "worker_init_fn": "workers are threads of the library and run no Python",
    "multiprocessing_context": "workers are threads, there are no processes",
    "generator": "use seed",
    "pin_memory_device": "use device='cuda:N'",
    "transform": "use augment",
    "transforms": "use augment",
    "train": "use part='train' or part='val'",
    "split": "use part for a part that the data set has, val_split for a random one",
    "epochs": "each iteration over a Loader is an epoch",
    "in_order": "batches always come in order",
}


def rows(section):
    """{keyword: description} of a section of settings."""
    if section not in _known:
        _known[section] = {row["name"].replace(".", "_"): row for row in _stoker.settings(section)}
    return _known[section]


_known: dict = {}


def nearest(name, names):
    """The name that was meant: one of which it is a word, best the first, as rotation of rotation_degrees, or one that is spelled like it; or None."""
    import difflib

    for known in names:
        if len(name) > 2 and known.startswith(name + "_"):
            return known
    for known in names:
        if len(name) > 2 and name in known.split("_"):
            return known
    return next(iter(difflib.get_close_matches(name, names, 1, 0.6)), None)


def refuse_keyword(function, name, others=()):
    """Raises the TypeError for a keyword that is not there."""
    text = f"{function}() got an unexpected keyword argument '{name}'"
    if name in _OF_DATALOADER:
        raise TypeError(f"{text}: {_OF_DATALOADER[name]}")
    names = [*rows("data"), *others]
    if name in rows("augment"):
        raise TypeError(f"{text}: pass it as augment={{'{name}': …}}")
    near = nearest(name, names)
    if near:
        raise TypeError(f"{text}; did you mean '{near}'?")
    raise TypeError(f"{text}; `stoker load --help` lists the settings of section data")


def _number_text(name, value):
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{name} cannot be {value!r} ({type(value).__name__})")


def _is_zero(value):
    try:
        return float(value) == 0
    except (TypeError, ValueError):
        return False


def text_of(name, value):
    """The value of a setting as it stands in a file: bytes, because paths may be any."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if name == "std" and _is_zero(value):  # to the library it is the default
        raise ConfigError(f"std is {value!r}, and images are divided by it", hint="leave it out for 1; `stoker stats` prints the data set's own")
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsencode(value)
    if isinstance(value, (list, tuple)):
        return b"[" + b", ".join(text_of(name, item) for item in value) + b"]"
    if isinstance(value, dict):
        return b",".join(text_of(name, key) + b":" + text_of(name, item) for key, item in value.items())
    if name in ("dtype", "mask_dtype"):  # torch.float16, numpy.uint8, numpy.dtype("uint8")
        word = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
        return word.removeprefix("torch.").encode()
    return _number_text(name, value).encode()


def pairs_of(function, section, keywords, others=()):
    """Keywords as [(name, text)] of bytes; None is left out: the default."""
    known, pairs = rows(section), []
    for name, value in keywords.items():
        row = known.get(name)
        if row is None:
            row = next((row for row in known.values() if name in (row["aliases"] or "").split()), None)
        if row is None:
            refuse_keyword(function, name, others)
        if value is not None:
            text = text_of(name, value)
            if b"\0" in text:
                raise ValueError(f"{name} has a zero byte in it")
            pairs.append((row["name"].encode(), text))
    return pairs


def augment_text(augment):
    """augment= as the library takes it: a preset's name, or the section as YAML in one line."""
    if augment is None or isinstance(augment, str):
        return augment
    if isinstance(augment, dict):
        import json

        known = rows("augment")
        for name in augment:
            if name != "preset" and name not in known and name.replace(".", "_") not in known:
                _refuse_augment(name, known)
        return json.dumps(augment, ensure_ascii=False)[1:-1] if augment else None
    raise TypeError(f"augment is a preset such as 'strong' or a dict of settings, not {type(augment).__name__}")


# What Kornia and torchvision take and Augment does not, and what to use for it.
_OF_KORNIA = {
    "p": "each operation has a probability of its own, such as horizontal_flip_prob",
    "data_keys": "pass masks, points and labels to the call",
    "same_on_batch": "each sample has draws of its own; the same ids have the same",
    "keepdim": "a batch stays a batch",
}


def augment_of_keywords(function, preset, settings):
    """A preset or a dict, and settings of section augment as keywords, together as the library takes them."""
    if preset is not None and not isinstance(preset, (str, dict)):
        augment_text(preset)
    known = rows("augment")
    for name in settings:
        text = f"{function}() got an unexpected keyword argument '{name}'"
        if name == "device":
            raise TypeError(f"{text}: it runs where its images are, on the CPU or on their GPU")
        if name in _OF_KORNIA:
            raise TypeError(f"{text}: {_OF_KORNIA[name]}")
        if name not in known:
            near = nearest(name, known)
            raise TypeError(f"{text}; " + (f"did you mean '{near}'?" if near else "help(stoker.Augment) lists them"))
    given = {name: value for name, value in settings.items() if value is not None}
    if not given:
        return augment_text(preset)
    return augment_text({**({"preset": preset} if isinstance(preset, str) else preset or {}), **given})


def _refuse_augment(name, known):
    near = nearest(str(name), known)
    hint = f"; did you mean '{near}'?" if near else ""
    raise TypeError(f"augment has no setting '{name}'{hint}")


def _all_names():
    """({keyword: key}, {dotted names}) of all settings: sections and bare names."""
    if not _all:
        keywords, dotted = {}, set()
        for section in _stoker.sections():
            for row in _stoker.settings(section):
                for name in (row["name"], *(row["aliases"] or "").split()):
                    for key in (f"{section}.{name}", name):
                        keywords.setdefault(key.replace(".", "_"), key)
                        dotted.add(key)
        _all.extend((keywords, dotted))
    return _all


_all: list = []


def keyword_of(key):
    """The keyword of a setting as files have it: image_size for data.image_size, model_name for model.name, because others have a
    name, too; None: there is no such setting."""
    _, dotted = _all_names()
    section, _, name = key.partition(".")
    if key not in dotted:
        return None
    others = [other for other in _stoker.sections() if f"{other}.{name}" in dotted]
    return (name if section == "data" or others == [section] else key).replace(".", "_")


def _text_without_zero(name, value):
    text = text_of(name.rpartition(".")[2], value)
    if b"\0" in text:
        raise ValueError(f"{name} has a zero byte in it")
    return text


def _flat(sections, dotted, above=""):
    """(key, text) of a dict of sections; a dict that is the value of a setting is one."""
    pairs = []
    for key, value in sections.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and name not in dotted:
            pairs += _flat(value, dotted, f"{name}.")
        elif value is not None:
            pairs.append((name, _text_without_zero(name, value)))
    return pairs


def lines_of(function, sections, keywords):
    """[(key, text)] of a dict of sections and of keywords such as train_epochs or epochs, which count more."""
    known, dotted = _all_names()
    pairs = dict(_flat(sections, dotted))
    for name, value in keywords.items():
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else "`stoker train --help` lists the settings"
            if name in _stoker.sections():
                hint = f"settings of section {name} are keywords of their own, or config={{'{name}': {{…}}}}"
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'; {hint}")
        if value is not None:
            key = known[name]
            pairs.pop(key, None)
            pairs[key] = _text_without_zero(name, value)
    return list(pairs.items())


__all__ = ["Error", "augment_of_keywords", "augment_text", "keyword_of", "lines_of", "nearest", "pairs_of", "rows", "text_of"]
