#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python/bench/costs.py: what the Python module costs: time and memory of `import stoker`, and Python's own time for a batch, that is
the time of the thread that takes batches without what the library does in it, and for a call of Augment. With PyTorch where it is
imported by --torch. PYTHONPATH=build/python, or an installed wheel."""
import statistics
import subprocess
import sys
import time

IMPORT = """
import sys, time
def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
before, start, cpu = rss(), time.perf_counter(), time.process_time()
import stoker
print(time.perf_counter() - start, time.process_time() - cpu, rss() - before)
"""


def import_costs(rounds=15):
    rows = [subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout.split() for _ in range(rounds)]
    return *(statistics.median(float(row[i]) for row in rows) for i in (0, 1)), max(int(row[2]) for row in rows)


def batch_costs(batches=3000):
    """Seconds of CPU of this thread per batch that is ready; the library's own part of a call included."""
    import stoker

    with stoker.Loader("make:gray?count=4096", batch_size=1, image_size=8, num_workers=2, prefetch_factor=64) as loader:
        times = []
        while len(times) < batches:
            for _ in loader:
                times.append(time.thread_time_ns())
    steps = [(b - a) * 1e-3 for a, b in zip(times, times[1:])]
    return statistics.median(steps), statistics.quantiles(steps, n=20)[-1]


def augment_cost(calls=3000):
    """Seconds of CPU of this thread for a call of Augment on one tiny image: all but the pass itself."""
    import stoker

    if "torch" in sys.modules:
        images = sys.modules["torch"].zeros(1, 3, 2, 2, dtype=sys.modules["torch"].uint8)
    else:
        import numpy

        images = numpy.zeros((1, 3, 2, 2), numpy.uint8)
    augment, times = stoker.Augment(threads=1), []
    for _ in range(calls):
        start = time.thread_time_ns()
        augment(images)
        times.append((time.thread_time_ns() - start) * 1e-3)
    return statistics.median(times)


def main():
    if "--torch" in sys.argv:
        import torch  # noqa: F401  the loader sees it
    seconds, cpu_seconds, grown = import_costs()
    print(f"import stoker            {1e3 * seconds:6.1f} ms ({1e3 * cpu_seconds:.1f} of CPU), {grown / 2**20:.1f} MB")
    median, most = batch_costs()
    print(f"a batch, in this thread  {median:6.1f} us, 95 % below {most:.1f} us")
    print(f"a call of Augment        {augment_cost():6.1f} us, on one image of 2 x 2")


main()
