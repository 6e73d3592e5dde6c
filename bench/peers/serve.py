"""python serve.py PEER HOW CPUS DATA N H W: one contestant of `stoker bench`, in a process of its own.

PEER is a module beside this file: `peer_…` augments (augment_worker.py says how it is asked), `load_…` loads files
(load_worker.py), `train_…` trains (train_worker.py); python_stoker.py is ourselves. HOW says how it uses the CPUs. The first line on standard output is `ready VERSIONS` or `absent REASON`.
Then each line on standard input, WORD CASE, is answered by a line or by `absent REASON`. It ends with its input, and
dies with the process that started it.
"""
import ctypes
import importlib
import os
import pathlib
import signal
import sys

sys.dont_write_bytecode = True  # the folder is removed when the parent ends

WORKERS = {"peer": "augment_worker", "load": "load_worker", "train": "train_worker", "python": "python_stoker"}


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business


def read_note(module):
    """What bench/peers/setup noted when it could not install this module; None if there is no such note."""
    notes = pathlib.Path(sys.prefix, "peers")
    for path in sorted(notes.glob("*.failed")):
        if path.stem == module or path.stem.startswith(module + "."):
            return path.read_text().split("\n")[0]
    return None


def describe(error):
    """One line."""
    note = read_note(error.name) if isinstance(error, ModuleNotFoundError) and error.name else None
    text = f"not installed: {note}" if note else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:180]


def open_contestant(peer_name, how, cpus, data, sizes):
    worker = importlib.import_module(WORKERS[peer_name.split("_")[0]])
    return worker.Contestant(importlib.import_module(peer_name), worker.Setup(how, cpus, data, sizes, die_with_parent))


def serve(answer):
    peer_name, how, cpus, data = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    try:
        contestant = open_contestant(peer_name, how, cpus, data, [int(s) for s in sys.argv[5:8]])
        answer(f"ready {contestant.versions}")
    except Exception as error:
        answer(f"absent {describe(error)}")
        return
    for line in sys.stdin:
        try:
            answer(contestant.run(*line.split()))
        except Exception as error:
            answer(f"absent {describe(error)}")


def main():
    die_with_parent()
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # libraries print what they like
    os.dup2(nowhere, 2)
    serve(lambda text: print(text, file=replies))


main()
