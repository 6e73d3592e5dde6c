#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that writes checkpoints dies, or meets a full or broken disk, at each call that changes files: every
checkpoint that is to be seen is whole, the next start finds the newest and goes on, and nothing is left over."""
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import cut_calls

WRITER = os.environ["CHECKPOINT_WRITER"]
NAME = re.compile(r"epoch-0000-step-(\d{6})")
FILES = {"model.safetensors", "optimizer.safetensors", "average.safetensors", "state.json", "SUMS"}
TENSORS = ["stem.conv.weight", "stem.norm.weight", "stem.norm.running_mean", "stem.norm.num_batches_tracked", "head.weight",
           "head.bias"]
KINDS = {"model": 0, "optimizer": 1, "average": 3}
WRITE_CLASS = set("""open open64 openat openat64 creat creat64 write pwrite pwrite64 writev pwritev pwritev64 pwritev2
    fsync fdatasync sync_file_range syncfs rename renameat renameat2 unlink unlinkat remove mkdir mkdirat rmdir truncate
    truncate64 ftruncate ftruncate64 link linkat symlink symlinkat fallocate fallocate64 posix_fallocate
    posix_fallocate64 copy_file_range sendfile sendfile64 splice mknod mknodat mmap mmap64""".split())

needs_shim = unittest.skipUnless(cut_calls.SHIM, "a preloaded library and the sanitizers do not go together")


def metric(step):
    return None if step % 3 == 0 else 100.0 - abs(step - 4)


def start(folder, steps):
    return [WRITER, folder / "run", steps]


def read_tensors(path):
    """Name -> (dtype, data) of a safetensors file; anything odd about it is an exception."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    assert header.pop("__metadata__") == {"format": "pt"}
    body, end = data[8 + size:], 0
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        assert begin == end
        tensors[name], end = (entry["dtype"], body[begin:stop]), stop
    assert end == len(body)
    return tensors


def expected_tensor(name, kind, dtype, size_bytes, step):
    """As tests/support/small_model.c fills it."""
    tensor = TENSORS.index(name)
    if dtype == "I64":
        kind = 0 # has no average
    count, letter = (size_bytes // 8, "q") if dtype == "I64" else (size_bytes // 4, "f")
    return struct.pack(f"<{count}{letter}", *((step * 1000 + tensor * 100 + kind * 10 + i) % 65536 for i in range(count)))


known = set() # (step, part, digest) of files that were found to be right


def check_checkpoint(path):
    """Its step, when everything in it is as it was for that step."""
    step = int(NAME.fullmatch(path.name)[1])
    assert {file.name for file in path.iterdir()} == FILES, sorted(path.iterdir())
    state = json.loads((path / "state.json").read_text())
    assert state == {"schema": 1, "epoch": 0, "step": step, "metric": metric(step), "state": {"position": 100 * step}}, state
    for part, kind in KINDS.items():
        file = path / f"{part}.safetensors"
        key = step, part, digest(file)
        if key in known:
            continue
        tensors = read_tensors(file)
        names = [name.removesuffix(".momentum_buffer") for name in tensors]
        assert set(names) == {TENSORS[i] for i in ((0, 1, 4) if part == "optimizer" else range(6))}, names
        for name, (dtype, data) in zip(names, tensors.values()):
            assert data == expected_tensor(name, kind, dtype, len(data), step), f"{file}: {name} is not that of its step"
        known.add(key)
    return step


def visible(folder):
    """Steps of the checkpoints that a reader would see, each one checked."""
    checkpoints = folder / "run/checkpoints"
    paths = checkpoints.iterdir() if checkpoints.exists() else []
    return {check_checkpoint(path) for path in paths if not path.name.startswith(".")}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def tree(folder):
    """Events of TensorBoard tell the time, and each start has its own."""
    return {str(path.relative_to(folder)): digest(path) if path.is_file() else None for path in folder.rglob("*")
            if not path.name.startswith("events.")}


def numbers(output, word):
    return [int(number) for number in re.findall(rf"^{word} (\d+)", output, re.M)]


class CheckpointCut(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="stoker-cut-", dir=cut_calls.PLACE)).resolve()
        cls.outcomes = {}
        for steps in (4, 6, 8, 10, 12): # the same run, looked at along its way
            folder = cls.place / str(steps)
            folder.mkdir()
            cls.outcomes[steps] = cut_calls.run(start(folder, steps), folder)
        cls.trees = {steps: tree(cls.place / str(steps)) for steps in cls.outcomes}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    def test_uninterrupted(self):
        for steps, outcome in self.outcomes.items():
            self.assertEqual((outcome.status, outcome.errors), (0, ""))
            self.assertEqual(numbers(outcome.output, "saved"), list(range(2, steps + 1, 2)))
        best = max((step for step in range(2, 13, 2) if step % 3), key=metric)
        self.assertEqual(visible(self.place / "12"), {10, 12, best})
        self.assertNotIn(best, (10, 12))

    def test_resumed(self):
        """Ended early again and again: the files are those of the run that was never cut."""
        with tempfile.TemporaryDirectory(prefix="stoker-cut-", dir=cut_calls.PLACE) as folder:
            folder = pathlib.Path(folder).resolve()
            for steps, found in ((5, 0), (7, 4), (7, 6), (12, 6)):
                outcome = cut_calls.run(start(folder, steps), folder)
                self.assertEqual((outcome.status, outcome.errors), (0, ""))
                self.assertEqual(numbers(outcome.output, "found"), [found])
            self.assertEqual(tree(folder), self.trees[12])

    # --- the order of calls

    @needs_shim
    def test_every_call_is_seen(self):
        """The program uses no function that changes files but those that the shim counts."""
        def names(*words):
            text = subprocess.run(["nm", "-D", *words], check=True, capture_output=True, text=True).stdout
            return {line.split()[-1].split("@")[0] for line in text.splitlines()}

        self.assertGreater(len(names("--undefined-only", WRITER) & WRITE_CLASS), 8)
        self.assertLessEqual(names("--undefined-only", WRITER) & WRITE_CLASS, names("--defined-only", cut_calls.SHIM))

    def letters(self, calls):
        """One letter a call: what it does to a checkpoint."""
        text = ""
        for call in calls:
            path = call.path.removeprefix("run/checkpoints").removeprefix("/")
            if call.call == "fsync" and call.path == "run" and text.endswith("M"):
                text += "P"
            elif not call.path.startswith("run/checkpoints"):
                text += "" if text.endswith("|") else "|"
            elif call.call == "rename":
                text += "R" if path.startswith(".tmp-") else "T"
            elif call.call == "fsync":
                text += "P" if path == "." or path == "" else "D" if NAME.fullmatch(path.removeprefix(".tmp-")) else "s"
            elif call.call == "mkdir":
                text += "m" if path.startswith(".tmp-") else "M"
            else:
                text += {"open": "o", "write": "w", "unlink": "u", "rmdir": "r"}[call.call]
        return text

    @needs_shim
    def test_order(self):
        """Write, fsync of each file, fsync of the folder, rename, fsync of the parent; then the old ones, in the same
        way: renamed, fsync of the parent, removed. One thread, no pages written through memory."""
        calls = self.outcomes[12].calls
        self.assertEqual({call.thread for call in calls}, {"main"})
        self.assertNotIn("mmap", {call.call for call in calls})
        parts = [part for part in self.letters(calls).split("|") if part]
        self.assertEqual(len(parts), 6)
        for part in parts:
            self.assertRegex(part, r"^(MP)?m(ow+s){5}DRP(T+P(u{5}r)+)?$")
        self.assertEqual([part.startswith("M") for part in parts], [True] + 5 * [False])
        self.assertEqual(sum("T" in part for part in parts), 3)
        self.assertTrue(any("www" in part for part in parts))
        self.check_each_file(calls)

    def check_each_file(self, calls):
        """The letters do not say whose: a file's calls stand side by side, and so do its folder's."""
        for path, group in itertools.groupby(calls, lambda call: call.path):
            group = [call.call for call in group]
            if re.search(r"/\.tmp-[^/]+/", path):
                self.assertEqual(group, ["open"] + (len(group) - 2) * ["write"] + ["fsync"])
            elif "/.tmp-" in path and group != ["mkdir"]:
                self.assertEqual(group, ["fsync", "rename"])

    # --- cut

    def check(self, before, end, folder, call, mode, outcome):
        saved = numbers(outcome.output, "saved") + sorted(before)
        self.check_end(mode, outcome)
        steps = visible(folder)
        self.assertGreaterEqual(max(steps, default=0), max(saved, default=0))
        evaluated = [step for step in saved if step % 3]
        if evaluated:
            self.assertIn(max(evaluated, key=metric), steps)
        left = [path.name for path in (folder / "run").rglob("*.tmp-*")] if (folder / "run").exists() else []
        if outcome.status == 1 and mode != "broken" and call.call not in ("unlink", "rmdir") and call.path != "run/lock":
            self.assertEqual(left, []) # who fails cleans up
            self.check_lines(folder / "run/metrics.jsonl", before)
        self.check_next(folder, steps, end, further=mode == "kill")

    def check_lines(self, metrics, before):
        """No half line was added by the program itself."""
        if metrics.exists() and not before:
            text = metrics.read_text()
            self.assertEqual(text, "".join(f'{{"step":{step}}}\n' for step in range(1, text.count("\n") + 1)))

    def check_end(self, mode, outcome):
        if mode == "kill":
            self.assertEqual(outcome.status, -9, outcome.errors)
        elif outcome.status != 0: # what only fails to remove something goes on
            self.assertEqual(outcome.status, 1, outcome.errors)
            self.assertIn("Input/output error" if mode in ("EIO", "broken") else "No space left on device", outcome.errors)
            if mode not in ("EIO", "broken"):
                self.assertIn("the disk is full: free some space", outcome.errors)

    def check_next(self, folder, steps, end, further):
        """The next start finds the newest, goes on to the same end, and has the files of the run that was never cut."""
        for last, found in ((end, max(steps, default=0)), (12, end))[:1 + further]:
            again = cut_calls.run(start(folder, last), folder)
            self.assertEqual((again.status, again.errors), (0, ""))
            self.assertIn(f"found {found} skipped 0\n", again.output)
            self.assertEqual(tree(folder), self.trees[last])

    def cut_each(self, prepare, before, steps, modes=cut_calls.MODES):
        with tempfile.TemporaryDirectory(prefix="stoker-cut-", dir=cut_calls.PLACE) as folder:
            folder = pathlib.Path(folder).resolve()
            prepare(folder)
            calls = cut_calls.trace(start(folder, steps), folder)
        count = cut_calls.each_point(calls, lambda place: start(place, steps), prepare,
                                     lambda *case: self.check(before, steps, *case), modes)
        print(f"{self.id()}: {len(calls)} calls, {count} points", flush=True)
        for call in calls if os.environ.get("CUT_PRINT") else []:
            print(f"  ({call.thread}, {call.call}, {call.n})  {call.path} {call.second}")
        return calls

    @needs_shim
    def test_from_nothing(self):
        calls = self.cut_each(lambda folder: None, set(), 4)
        self.assertGreater(len(calls), 60)

    @needs_shim
    def test_going_on(self):
        """With what an earlier crash has left, and lines of metrics beyond the last checkpoint."""
        def prepare(folder):
            shutil.copytree(self.place / "8", folder, dirs_exist_ok=True, symlinks=True,
                            copy_function=lambda source, target: (shutil.copy if source.endswith((".jsonl", "lock"))
                                                                  else os.link)(source, target))
            with open(folder / "run/metrics.jsonl", "a") as metrics:
                metrics.write('{"step":9}\n{"step":10}\n{"st')
            for name in (".tmp-epoch-0000-step-000010", ".trash-epoch-0000-step-000002"):
                (folder / "run/checkpoints" / name).mkdir()
                (folder / "run/checkpoints" / name / "model.safetensors").write_bytes(b"half")
            (folder / "run/run.json.tmp-99").write_text("{")

        calls = self.cut_each(prepare, visible(self.place / "8"), 10)
        self.assertTrue({"open", "write", "pwrite", "fsync", "rename", "unlink", "rmdir", "mkdir", "ftruncate", "link"} <=
                        {call.call for call in calls})


if __name__ == "__main__":
    unittest.main()
