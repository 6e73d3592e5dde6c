"""What the tests of hanging and interrupted programs share: starting `stoker` and looking at how it ends."""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import small_data
from crowd import crowd

STOKER = os.environ["STOKER"]
SANITIZED = bool(os.environ.get("CUT_SANITIZED"))
HANGING_PREAD = os.environ.get("HANGING_PREAD")
STARTUP_S = 0.5                         # from exec to the first line of main, on a busy machine
ENDING_S = 4.0 if SANITIZED else 1.0    # the requirement; sanitizers look for leaks before they let go

needs_preload = unittest.skipUnless(HANGING_PREAD, "a preloaded pread and the sanitizers do not go together")


class Program:
    """A started `stoker`, in a session of its own, with what it prints kept in files."""

    def __init__(self, *words, folder, hang=None, fail=None, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STOKER")}
        clean.update(environment, LC_ALL="C")
        if hang or fail:
            clean.update(LD_PRELOAD=HANGING_PREAD, HANG_FILE=hang or "", FAIL_FILE=fail or "")
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.start = time.monotonic()
        self.process = subprocess.Popen([STOKER, *map(str, words)], cwd=folder, env=clean, stdin=subprocess.DEVNULL,
                                        stdout=self.out, stderr=self.err, start_new_session=True)

    def wait(self, seconds):
        """Status and seconds it took; kills what does not end, and then the status is that of SIGKILL."""
        begin = time.monotonic()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.process.returncode, time.monotonic() - begin

    def close(self):
        self.process.kill()
        self.process.wait()
        self.out.close()
        self.err.close()

    def send(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def takes_signals(self):
        """Whether it has got as far as taking Ctrl-C over from the system."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return False
        blocked = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
        return bool(int(blocked, 16) >> (signal.SIGINT - 1) & 1)

    def wait_until(self, happened, seconds=60):
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"it never came to that; it said: {self.errors()}")
            time.sleep(0.005)

    def output(self):
        return os.pread(self.out.fileno(), 1 << 20, 0).decode()

    def errors(self):
        return os.pread(self.err.fileno(), 1 << 20, 0).decode()

    def left_processes(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 0)
            return True
        return False


class Case(unittest.TestCase):
    """Has a folder with a small data set in `data`, and a folder `out` for what is written."""
    kind, count, side = "pairs", 40, 16

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-cut-"))
        small_data.MAKERS[cls.kind](cls.folder / "data", cls.count, cls.side)
        seed = int(os.environ.get("CUT_SEED", time.time_ns() % 1000000))
        print(f"{cls.__name__}: CUT_SEED={seed}", flush=True)
        cls.random = random.Random(seed)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.out = self.folder / "out"
        self.out.mkdir()
        self.programs = []

    def tearDown(self):
        for program in self.programs:
            program.close()
        shutil.rmtree(self.out)

    def run_stoker(self, *words, **options):
        program = Program(*words, folder=self.folder, **options)
        self.programs.append(program)
        return program

    def all_at_once(self, check, cases):
        """check(*case) for every case, beside each other: programs that hang need no CPU."""
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            futures = [(case, pool.submit(check, *case)) for case in cases]
        for case, future in futures:
            with self.subTest(case=case):
                future.result()

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.out.rglob("*"))

    def assert_ended(self, program, status, within_s, seconds):
        self.assertEqual(program.process.returncode, status, program.errors())
        self.assertLess(seconds, within_s * crowd(), program.errors())
        if not SANITIZED: # the leak checker's own helper process may still be there
            self.assertFalse(program.left_processes())
