#!/usr/bin/env python3
"""test_cuda_sites.py PROGRAM: leaves out each place of the CUDA device that waits, one after the other.

PROGRAM is test_cuda_pipeline. It must pass as it is, and fail with every single wait left out: a wait that nobody would miss is either
superfluous or not tested.
"""
import os
import subprocess
import sys

TRIES = 3  # a busy machine can be slow enough for luck to help once
LIMIT_S = 100


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


def main():
    program = sys.argv[1]
    sites = int(subprocess.run([program, "--sites"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    passed, log = run(program)
    wrong = 0 if passed else 1
    if not passed:
        print(log)
    for site in range(1, sites + 1):
        for _ in range(TRIES):
            passed, log = run(program, "--skip", str(site))
            if not passed:
                break
        wrong += passed
        print(f"site {site}: " + ("nobody misses it" if passed else "missed by " + ", ".join(failed_tests(log))))
    print(f"{sites + 1 - wrong} passed, {wrong} failed")
    return 1 if wrong or sites < 1 else 0


sys.exit(main())
