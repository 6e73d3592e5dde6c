"""Cuts a program off at each of its system calls that change files (tests/support/cut_calls.c does it).

    calls = cut_calls.trace(["stoker", "train", …, "--run", run], under=run)
    cut_calls.each_point(calls, start=lambda folder: ["stoker", …, folder / "run"], prepare=…, check=…, modes=…)
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

SHIM = os.environ.get("CUT_CALLS") # none under the sanitizers: they and a preloaded library do not go together
MODES = ("kill", "ENOSPC", "EIO", "full", "broken", "short")
TIMEOUT_S = 120
PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None # for many short-lived files, else where TMPDIR says


@dataclasses.dataclass(frozen=True)
class Call:
    thread: str # "main", or the thread's name
    call: str   # "rename"
    n: int      # 1: the first of this thread and call
    path: str   # below `under`, which is "."; of rename and link the old one
    second: str # of rename and link the new one

    @property
    def at(self):
        return f"{self.thread}:{self.call}:{self.n}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    status: int # -9: killed
    output: str
    errors: str
    calls: list


def read_log(log, under):
    def below(path):
        path = re.sub(r"/#\d+ \(deleted\)$", "/(unnamed)", path)
        return os.path.relpath(path, under) if path.startswith(str(under)) else path

    calls = []
    for line in log.read_text().splitlines() if log.exists() else []:
        thread, call, n, path, second = line.split("\t")
        calls.append(Call(thread, call, int(n), below(path), below(second)))
    return calls


def run(command, under, at=None, do=None, cwd=None, **environment):
    """Runs command with the calls below the folder `under` logged; at: a Call to be cut at, in one of MODES."""
    under = pathlib.Path(under).resolve()
    with tempfile.TemporaryDirectory(prefix="stoker-cut-log-", dir=PLACE) as place:
        log = pathlib.Path(place) / "log"
        variables = dict(os.environ, LC_ALL="C", **environment)
        if SHIM:
            variables.update(LD_PRELOAD=SHIM, CUT_UNDER=str(under), CUT_LOG=str(log), CUT_NO_SYNC="1")
        if at:
            variables.update(CUT_AT=at.at, CUT_DO=do)
        done = subprocess.run([str(word) for word in command], cwd=cwd, env=variables, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        return Outcome(done.returncode, done.stdout, done.stderr, read_log(log, under))


def trace(command, under, **options):
    """The calls of a run that ends well."""
    outcome = run(command, under, **options)
    assert outcome.status == 0, outcome.errors
    return outcome.calls


def fits(call, mode):
    return mode != "short" or call.call in ("write", "pwrite")


def each_point(calls, start, prepare, check, modes=MODES, workers=None, **options):
    """For each call and mode: a new folder, prepare(folder), the command start(folder) cut at that call, then
    check(folder, call, mode, outcome). Everything below the folder counts. Returns how many there were; fails with
    all failures in one."""
    def one(call, mode):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-cut-", dir=PLACE)).resolve()
        try:
            prepare(folder)
            check(folder, call, mode, run(start(folder), folder, call, mode, **options))
        finally:
            shutil.rmtree(folder)

    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        futures = {(call, mode): pool.submit(one, call, mode) for mode in modes for call in calls if fits(call, mode)}
    failures = [f"{mode} at {call.at} ({call.path} {call.second}): {future.exception()}"
                for (call, mode), future in futures.items() if future.exception()]
    if failures:
        raise AssertionError(f"{len(failures)} of {len(futures)} points:\n" + "\n".join(failures[:20]))
    return len(futures)
