#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""live_command.py processes|loader: a training command for test_process_live.c to watch. It writes a line when its processes do what they do, and
ends when its standard input does.

processes: children by fork and spawn that burn CPU, sleep and read a file; it looks as if it had loaded PyTorch.
loader: PyTorch's DataLoader with two workers, new ones for each epoch."""
import mmap
import multiprocessing
import os
import pathlib
import select
import sys
import tempfile
import time

READ_BYTES = 4 << 20


def burn(ready, _):
    ready.release()
    while True:
        pass


def sleep(ready, _):
    ready.release()
    while True:
        time.sleep(0.05)


def read(ready, folder):
    with open(folder + "/data.bin", "rb", buffering=0) as file:
        ready.release()
        while True:
            file.seek(0)
            file.read(READ_BYTES)
            time.sleep(0.01)


def wait_for_end(seconds):
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def run_processes(folder):
    pathlib.Path(folder, "data.bin").write_bytes(bytes(READ_BYTES))
    pathlib.Path(folder, "libtorch_cpu.so").write_bytes(bytes(4096))
    with open(folder + "/libtorch_cpu.so", "rb") as library:
        mapped = mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ)
    children = [("burn", "fork", burn), ("sleep", "fork", sleep), ("read", "spawn", read)]
    pids = []
    for name, method, work in children:
        context = multiprocessing.get_context(method)
        ready = context.Semaphore(0)
        child = context.Process(target=work, args=(ready, folder), daemon=True)
        child.start()
        if not ready.acquire(timeout=60):
            raise SystemExit(f"'{name}' does not begin")
        pids.append(f"{name} {child.pid}")
    print(*pids, flush=True)
    wait_for_end(60)
    mapped.close()


class Burner:
    """A dataset whose samples cost CPU time."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return index


def run_loader():
    from torch.utils.data import DataLoader
    loader = DataLoader(Burner(), batch_size=4, num_workers=2)
    print("ready", flush=True)
    end = time.monotonic() + 90
    while time.monotonic() < end and not wait_for_end(0):
        for _ in loader:
            pass


if __name__ == "__main__":
    if sys.argv[1] == "loader":
        run_loader()
    else:
        with tempfile.TemporaryDirectory() as temporary:
            run_processes(temporary)
