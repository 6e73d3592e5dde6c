# SPDX-License-Identifier: Apache-2.0
"""What GPUs do while a program runs."""
import sys

from . import _stoker


class Monitor:
    """Watches GPUs and the host in a thread of its own while a with block runs.

        with stoker.Monitor() as monitor:
            train()
        print(monitor)                 # metrics against their targets, and the verdict
        monitor.summary()["verdict"]   # the same as a dict

    interval: seconds between two frames
    gpus: "0,2" or beginnings of ids; unset = those that CUDA_VISIBLE_DEVICES leaves, or all
    record: file to write every frame to; `stoker monitor --replay FILE` shows it
    replay: a recording instead of GPUs
    demo: generated GPUs instead of real ones
    """

    def __init__(self, *, interval=1.0, gpus=None, record=None, replay=None, demo=False):
        import os

        self._options = {"interval": float(interval), "gpus": gpus, "demo": bool(demo), "pid": os.getpid(),
                         "record": None if record is None else os.fspath(record),
                         "replay": None if replay is None else os.fspath(replay)}
        self._raw = self._thread = self._failure = self._summary = None
        self.frame = None  # the newest, as a dict; None for what is unknown

    def start(self):
        """Begins to watch; __enter__ does it."""
        import threading

        if self._thread is not None:
            raise RuntimeError("this monitor was started before; make another one")
        self._raw = _stoker.Monitor(**self._options)
        self.frame = self._raw.next()
        self._thread = threading.Thread(target=self._watch, name="stoker-monitor", daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        try:
            while True:
                frame = self._raw.next()
                if frame is None:
                    return
                self.frame = frame
        except Exception as error:  # shown by stop, in the thread that waits for it
            self._failure = error

    def stop(self):
        """Ends the watch; __exit__ does it. The summary stays."""
        if self._raw is None or self._summary is not None:
            return
        self._raw.interrupt()
        self._thread.join()
        self._summary = dict(self._raw.summary(), missing_reason=self._raw.missing_reason())
        self._raw.close()
        if self._failure is not None:
            raise self._failure

    def summary(self):
        """Of the whole watch, as a dict; it has to be stopped."""
        if self._summary is None:
            raise RuntimeError("the monitor still watches, or was never started: use it as `with stoker.Monitor() as monitor:`")
        return self._summary

    def __enter__(self):
        return self.start()

    def __exit__(self, *ignored):
        self.stop()

    def __str__(self):
        summary = self.summary()
        lines = [f"watched {summary['seconds']:.1f} s"]
        for gpu in summary["gpus"]:
            lines.append(f"GPU {gpu['index']} {gpu['name']}")
            lines += [_row_text(row) for row in gpu["rows"]]
        lines.append(summary["verdict"] or summary["missing_reason"])
        return "\n".join(lines)


def _row_text(row):
    value = "unknown" if row["value"] is None else f"{row['value']:.1f} {row['unit']}"
    least, most = row["least"], row["most"]
    target = "" if most is None else f"  target {least:.0f} to {most:.0f}" if least is not None else f"  target below {most:.0f}"
    words = ", ".join(word for word in (row["grade"], row["note"]) if word)
    return f"  {row['name']:14}{value:>10}{target}{'  ' + words if words else ''}"


def _look(seconds):
    """(the GPUs of a frame, why there are none), over so many seconds."""
    raw = _stoker.Monitor(interval=seconds, count=2)
    try:
        frame = raw.next()
        if frame is not None and frame["gpus"]:
            frame = raw.next() or frame
        return frame["gpus"] if frame else [], raw.missing_reason()
    finally:
        raw.close()


def gpu_utilization(seconds=0.2):
    """Utilization of each GPU in percent, as its driver has it over so many seconds; None for one that does not tell. An empty
    list: there is no GPU (print_gpu_status says why)."""
    return [gpu["util_percent"] for gpu in _look(seconds)[0]]


def print_gpu_status(phase="", *, seconds=0.2, file=None):
    """Prints a line for each GPU: utilization, memory, power, temperature, and why it is held back."""
    gpus, reason = _look(seconds)
    head = f"[{phase}] " if phase else ""
    for line in [_status_text(gpu) for gpu in gpus] or ["no GPU: " + reason.replace("\n", "; ")]:
        print(head + line, file=file or sys.stdout, flush=True)


_THROTTLE = ("power limit", "temperature", "power brake", "in step with another GPU", "clocks set by the user", "other")


def _status_text(gpu):
    def value(key, unit="", scale=1.0, digits=0):
        number = gpu.get(key)
        return "unknown" if number is None else f"{number * scale:.{digits}f}{unit}"

    parts = [f"utilization {value('util_percent', ' %')}",
             f"memory {value('memory_used_bytes', '', 1e-9, 1)} of {value('memory_total_bytes', ' GB', 1e-9, 1)}",
             f"power {value('power_w')} of {value('power_limit_w', ' W')}", value("temperature_c", " °C")]
    bits = int(gpu.get("throttle") or 0)
    held = [name for bit, name in enumerate(_THROTTLE) if bits >> bit & 1]
    if held:
        parts.append("held back by " + ", ".join(held))
    if gpu["state"] != "good":
        parts = [gpu["state"]] + ([gpu["note"]] if gpu["note"] else [])
    return f"GPU {gpu['index']} {gpu['name']}: " + ", ".join(parts)
