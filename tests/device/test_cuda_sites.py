#!/usr/bin/env python3
"""test_cuda_sites.py PROGRAM: leaves out each place of the CUDA device that waits, one after the other.

PROGRAM is test_cuda_pipeline. It must pass as it is, and fail with every single wait left out: a wait that nobody would miss is either
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
    """Does it pass?"""
    environment = dict(os.environ, CUDA_PIPELINE_BATCHES="300")
    try:
        done = subprocess.run([program, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False, "time is up"
    return done.returncode == 0, done.stdout


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
    program = sys.argv[1]
    sites = int(subprocess.run([program, "--sites"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    passed, log = run(program)
    wrong = 0 if passed else 1
    if not passed:
        print(log)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda site: is_missed(program, site), range(1, sites + 1)))
    for site, (missed, tests) in enumerate(results, 1):
        wrong += not missed
        print(f"site {site}: " + ("missed by " + ", ".join(tests) if missed else "nobody misses it"))
    print(f"{sites + 1 - wrong} passed, {wrong} failed")
    return 1 if wrong or sites < 1 else 0


sys.exit(main())
