# SPDX-License-Identifier: Apache-2.0
"""train and Trainer: what `stoker train` does, with callbacks, from a script."""
import os
import sys

from . import _stoker
from ._errors import Error
from ._settings import lines_of

EVENTS = ("started", "stepped", "logged", "evaluated", "saved", "bad_sample")


class Trainer:
    """A training run: the whole of it (train), or step by step.

        with stoker.Trainer("faces", run="runs/faces", image_size=64, val_split=0.2, epochs=3) as trainer:
            for epoch in range(trainer.info["epochs"]):
                while trainer.step():
                    ...
                print(trainer.evaluate()["loss"])
                trainer.save()
            trainer.finish()           # run.json, report.html

    config: a settings file, a dict of sections {"train": {"epochs": 3}}, or the data set as in Loader; unset = keywords only
    run: folder of the run; unset = a new one in runs/
    resume: continue the run in `run` from its newest checkpoint, with its settings; those given here count more
    files: False = no folder, log, checkpoint or report
    stop_after: train() returns after so many steps, with a checkpoint; unset = at the end
    callbacks: a function (event, progress) for all events but "stepped"; a dict {event: function(progress)}; an object with
        methods of these names; or a list of these. Events: started, stepped (each step), logged (every train.log_interval
        steps), evaluated, saved, bad_sample. progress is the dict of Trainer.progress, None for what is unknown; of bad_sample
        it is a row as in Loader.bad_samples. An exception ends the training with a checkpoint, and is raised again
    progress: True = a line for each epoch on standard error; unset = if that is a terminal or a notebook; False = none
    settings: all other keywords, as `stoker train --help` lists them, dots as underscores: train_epochs=3, or epochs=3 where
        the name is unique

    It belongs to the thread that opened it: other threads may only call interrupt().
    """

    def __init__(self, config=None, *, run=None, resume=False, files=True, stop_after=None, callbacks=None, progress=None, **settings):
        file, sections = _read_config(config)
        lines = lines_of("train", sections, settings)
        hearers = _hearers(callbacks) + ([_Lines(self)] if _shows(progress) else [])
        steps = any("stepped" in hearer for hearer in hearers)
        try:
            self._raw = _stoker.Trainer(
                file, [name.encode() + b"=" + text for name, text in lines], None if run is None else os.fsencode(run), bool(resume),
                bool(files), 0 if stop_after is None else stop_after.__index__(), _caller(hearers), steps)
        except Error as error:
            raise _with_name(error, lines) from None
        self._info = self._raw.describe()

    def train(self):
        """The rest of the run: steps, logs, evaluations and checkpoints to the last epoch, then run.json and report.html. Ctrl-C
        ends it after the step that is under way, with a checkpoint. Called again it continues. Returns progress."""
        self._raw.train()
        return self.progress

    def step(self):
        """One change of the weights. False: the epoch was over before it, and the next call begins the next one."""
        return self._raw.step()

    def evaluate(self):
        """Loss and values over the validation part, as a dict."""
        return self._raw.evaluate()

    def save(self):
        """Writes a checkpoint."""
        self._raw.save()

    def finish(self):
        """Writes run.json and report.html of what was trained since open; train() does it."""
        self._raw.finish()

    def interrupt(self):
        """Ends train() after the step that is under way, with a checkpoint, by an InterruptedLoadError; or the next step().
        From any thread, and from callbacks."""
        self._raw.interrupt()

    @property
    def progress(self):
        """Where the run stands, as a dict: step, epoch, epochs, loss, values, val_loss, val_values, best_value, …"""
        return self._raw.progress()

    @property
    def info(self):
        """What was opened, as a dict: run, task, network, engine, device, parameter_count, sample_count, …"""
        return dict(self._info)

    @property
    def effects(self):
        """Settings that are in effect other than asked for, or were left to Stoker: a list of dicts with name, requested,
        in_effect, why and differs."""
        return [row for row in self._raw.effects() if row["differs"] or row["why"]]

    @property
    def stall(self):
        """Where the time went since the first step: a list of dicts with name, seconds and share."""
        return self._raw.stall()

    def __repr__(self):
        return f"<stoker.Trainer {self._info['network']} for {self._info['task']}: {self._info['run']!r}>"

    def close(self):
        """Ends the trainer's threads. Nothing is saved. Does nothing to a trainer that is closed."""
        self._raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __reduce__(self):
        raise TypeError("a stoker.Trainer has threads and cannot be pickled; open one in each process")


def train(config=None, *, run=None, resume=False, stop_after=None, callbacks=None, progress=None, **settings):
    """Trains a network as `stoker train` does, to the same bits, and returns its stoker.Run.

        run = stoker.train("faces", run="runs/faces", image_size=64, val_split=0.2, epochs=3)
        print(run.metrics["val_loss"], run.report)

    Arguments are those of stoker.Trainer. Ctrl-C, and an exception in a callback, end it with a checkpoint, from which
    resume=True continues."""
    from ._run import Run

    with Trainer(config, run=run, resume=resume, stop_after=stop_after, callbacks=callbacks, progress=progress, **settings) as trainer:
        trainer.train()
        return Run(trainer.info["run"])


def _read_config(config):
    """(settings file or None, dict of sections)."""
    if config is None or isinstance(config, dict):
        return None, config or {}
    if not isinstance(config, (str, bytes, os.PathLike)):
        raise TypeError(f"config is a settings file, a data set or a dict of sections, not {type(config).__name__}")
    path = os.fsencode(config)
    if path.startswith(b"make:") or os.path.isdir(path):
        return None, {"data.root": path}
    return path, {}


def _with_name(error, lines):
    """The same failure, its place the name of the setting instead of its number."""
    number = error.place.removeprefix("settings[").removesuffix("]")
    if number == error.place or not number.isdigit() or int(number) >= len(lines):
        return error
    return type(error)(error.message, lines[int(number)][0], error.hint, error.damage)


def _hearers(callbacks):
    """callbacks= as a list of dicts {event: function}."""
    if callbacks is None:
        return []
    if isinstance(callbacks, (list, tuple)):
        return [hearer for item in callbacks for hearer in _hearers(item)]
    if isinstance(callbacks, dict):
        for event in callbacks:
            if event not in EVENTS:
                raise ValueError(f"callbacks has no event {event!r}; there are {', '.join(EVENTS)}")
        return [dict(callbacks)]
    found = {event: getattr(callbacks, event) for event in EVENTS if callable(getattr(callbacks, event, None))}
    if found:
        return [found]
    if callable(callbacks):
        return [{event: _bind(callbacks, event) for event in EVENTS if event != "stepped"}]
    raise TypeError(f"callbacks is a function (event, progress), a dict, or an object with methods such as 'logged', "
                    f"not {type(callbacks).__name__}")


def _bind(function, event):
    return lambda facts: function(event, facts)


def _caller(hearers):
    """What the extension calls; None if nobody listens."""
    if not hearers:
        return None

    def hear(event, facts):
        for hearer in hearers:
            function = hearer.get(event)
            if function is not None:
                function(facts)

    return hear


def _shows(progress):
    if progress is not None:
        return bool(progress)
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class _Lines(dict):
    """progress=: a line for each evaluation, or, where there is none, for each epoch."""

    def __init__(self, trainer):
        super().__init__(logged=self._log, evaluated=self._evaluate)
        self._trainer = trainer
        self._epoch = 0

    def _log(self, progress):
        epoch = progress["epoch"] + (progress["batch"] == progress["batches"])
        if self._trainer.info["val_sample_count"] == 0 and epoch > self._epoch:
            self._print(dict(progress, epoch=epoch), progress["values"].items())
            self._epoch = epoch

    def _evaluate(self, progress):
        values = [("val_loss", progress["val_loss"]), *progress["val_values"].items()]
        self._print(progress, values, "  best so far" if progress["best"] else "")

    def _print(self, progress, values, end=""):
        texts = [f"{name} {'unknown' if value is None else format(value, '.4g')}" for name, value in (("loss", progress["loss"]), *values)]
        print(f"epoch {progress['epoch']}/{progress['epochs']}  step {progress['step']}  {'  '.join(texts)}{end}", file=sys.stderr, flush=True)
