#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cuda_sites.py PROGRAM [ARGUMENTS]: leaves out each place that waits for a GPU, one after the other.

PROGRAM is test_cuda_pipeline for those of the device, test_torch_waits for those of the engine. With --sites it prints their numbers. It must pass as it is, and fail with every single wait left out: a wait that nobody would miss is either
superfluous or not tested.
"""
import concurrent.futures
import os
import subprocess
import sys

TRIES = 3  # a busy machine can be slow enough for luck to help once
LIMIT_S = 100
AT_ONCE = 3  # they sleep most of the time


def run(program, *arguments):
    """Does it pass? None: it is skipped."""
    environment = dict(os.environ, CUDA_PIPELINE_BATCHES="300")
    try:
        done = subprocess.run([*program, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False, "time is up"
    return None if done.returncode == 77 else done.returncode == 0, done.stdout


def failed_tests(log):
    lines = [line.split("] ")[1] for line in log.splitlines() if line.startswith("[  FAILED  ] ") and "listed below" not in line]
    return sorted(set(lines)) or [log.strip().splitlines()[-1] if log.strip() else "nothing"]


def is_missed(program, site):
    """(does a test fail without this wait, which)"""
    for _ in range(TRIES):
        passed, log = run(program, "--skip", str(site))
        if not passed:
            return True, failed_tests(log)
    return False, []


def main():
    program = sys.argv[1:]
    passed, log = run(program)
    if not passed:
        print(log)
    if passed is None:
        return 77
    sites = list(map(int, subprocess.run([*program, "--sites"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()))
    wrong = 0 if passed else 1
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda site: is_missed(program, site), sites))
    for site, (missed, tests) in zip(sites, results):
        wrong += not missed
        print(f"site {site}: " + ("missed by " + ", ".join(tests) if missed else "nobody misses it"))
    print(f"{len(sites) + 1 - wrong} passed, {wrong} failed")
    return 1 if wrong or not sites else 0


sys.exit(main())
