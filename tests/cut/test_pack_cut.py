#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker pack` cut off at every call that changes files of the pack, by a kill, a full or a broken disk, and
interrupted at random moments: what has its final name is whole, and the next start ends with the bytes of a pack
that was never cut."""
import json
import os
import pathlib
import shutil
import signal
import tempfile
import time
import unittest

import cut
import cut_calls
import small_data

STOKER = os.environ["STOKER"]
needs_shim = unittest.skipUnless(cut_calls.SHIM, "the sanitizers and a preloaded library do not go together")
REASONS = {"ENOSPC": "No space left on device", "full": "No space left on device", "short": "No space left on device",
           "EIO": "Input/output error", "broken": "Input/output error"}


def tree(pack):
    """Everything in the pack but the lock."""
    return {str(path.relative_to(pack)): path.read_bytes() for path in sorted(pack.rglob("*"))
            if path.is_file() and path.name != "lock"}


def left_over(pack):
    return [path.name for path in pack.rglob("*") if "tmp" in path.name]


class PackCut(unittest.TestCase):
    """Data lies in cls.place, outside of what is cut."""
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="stoker-cut-", dir=cut_calls.PLACE)).resolve()
        cls.data = cls.place / "data"
        small_data.make_pairs(cls.data, 8, 16)
        (cls.data / "classes.txt").write_text("".join(f"class {i}\n" for i in range(19)))
        for number in (1, 6): # bad ones, before and behind the end of a shard
            (cls.data / "images" / f"{number:03}.png").write_bytes(b"\x89PNG")
        for part, count in (("train", 3), ("val", 2)):
            small_data.make_classes(cls.place / "parts" / part, count, 16)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    def start(self, folder, data=None):
        return [STOKER, "pack", data or self.data, folder / "pack", "shard_samples=3", "on_bad_sample=skip",
                "num_workers=0", "-q"]

    def expect(self, start):
        """Calls and files of a pack that is not cut; no call must be left out of sight."""
        with tempfile.TemporaryDirectory(prefix="stoker-cut-", dir=cut_calls.PLACE) as place:
            folder = pathlib.Path(place).resolve()
            calls = cut_calls.trace(start(folder), folder)
            self.assertTrue(json.loads((folder / "pack/pack.json").read_text())["complete"])
            return calls, tree(folder / "pack")

    def check_whole(self, pack, expected):
        """Whatever has its final name has its final bytes, and a shard has its index."""
        there = tree(pack) if pack.exists() else {}
        for name, data in there.items():
            if ".tmp-" in name or name == "pack.json":
                continue
            if name.endswith("ledger.jsonl"):
                self.assertTrue(expected[name].startswith(data) or data.startswith(expected[name]), name)
                continue
            self.assertEqual(data == expected[name], True, name)
            if name.endswith(".tar"):
                self.assertIn(name + ".index", there)
        if "pack.json" in there:
            state = json.loads(there["pack.json"])
            self.assertEqual(state["complete"], there["pack.json"] == expected["pack.json"])
            for part in state["parts"]:
                shards = [name for name in there if name.startswith(part["part"] or "") and name.endswith(".tar")
                          and ".tmp-" not in name]
                self.assertLessEqual(part["shards"], len(shards))

    def cut_each(self, start, modes=cut_calls.MODES):
        calls, expected = self.expect(start)

        def check(folder, call, mode, outcome):
            if mode == "kill":
                self.assertEqual(outcome.status, -9, outcome.errors)
            elif outcome.status != 0: # what only fails to remove something may go on
                self.assertEqual(outcome.status, 1, outcome.errors)
                self.assertIn(REASONS[mode], outcome.errors)
                if mode in ("ENOSPC", "EIO", "full"):
                    names = left_over(folder / "pack") if (folder / "pack").exists() else []
                    self.assertEqual(names if call.call != "unlink" else [], [])
            self.check_whole(folder / "pack", expected)
            again = cut_calls.run(start(folder), folder)
            self.assertEqual((again.status, again.errors), (0, ""))
            self.assertEqual(tree(folder / "pack") == expected, True, "other bytes")

        count = cut_calls.each_point(calls, start, lambda folder: None, check, modes)
        print(f"{self.id()}: {len(calls)} calls, {count} points", flush=True)
        return calls, expected

    @needs_shim
    def test_every_call(self):
        calls, expected = self.cut_each(self.start)
        self.assertEqual({call.thread for call in calls}, {"main"})
        self.assertTrue({"open", "write", "pwrite", "fsync", "rename", "link", "mkdir"} <= {call.call for call in calls})
        self.assertIn("ledger.jsonl", expected)
        self.assertIn("shard-000001.tar", expected)

    @needs_shim
    def test_parts(self):
        def start(folder):
            return self.start(folder, self.place / "parts")

        _, expected = self.cut_each(start, modes=("kill", "EIO"))
        self.assertLessEqual({"train/shard-000000.tar", "val/shard-000000.tar", "train/classes.txt"}, set(expected))

    @needs_shim
    def test_cut_again(self):
        """A pack that was killed before its second shard got its name, with left-overs of all kinds, cut once more."""
        calls, _ = self.expect(self.start)
        at = [call for call in calls if call.call == "rename" and call.second.endswith("shard-000001.tar")][0]
        with tempfile.TemporaryDirectory(prefix="stoker-cut-", dir=cut_calls.PLACE) as place:
            folder = pathlib.Path(place).resolve()
            self.assertEqual(cut_calls.run(self.start(folder), folder, at, "kill").status, -9)
            for name in ("pack.json.tmp-99", "classes.txt.tmp-7", ".tmp-shard-000001.tar.index.tmp-5", "shard-000001.tar"):
                (folder / "pack" / name).write_bytes(b"half")
            before = folder / "before"
            shutil.copytree(folder / "pack", before)
            rest = cut_calls.trace(self.start(folder), folder)

            def prepare(fresh):
                shutil.copytree(before, fresh / "pack")

            _, expected = self.expect(self.start)

            def check(fresh, call, mode, outcome):
                self.assertIn(outcome.status, (-9,) if mode == "kill" else (0, 1), outcome.errors)
                again = cut_calls.run(self.start(fresh), fresh)
                self.assertEqual((again.status, again.errors), (0, ""))
                self.assertEqual(tree(fresh / "pack") == expected, True, "other bytes")

            self.assertIn("unlink", {call.call for call in rest})
            self.assertIn("ftruncate", {call.call for call in rest})
            count = cut_calls.each_point(rest, self.start, prepare, check, ("kill", "EIO"))
            print(f"{self.id()}: {len(rest)} calls, {count} points", flush=True)

    @needs_shim
    def test_order(self):
        """A shard: written, fsynced, indexed; the index gets its name, the shard its own, the folder is fsynced; then
        pack.json says so."""
        calls, _ = self.expect(self.start)
        words = [f"{call.call} {pathlib.Path(call.second or call.path).name}" for call in calls]
        named = words.index("rename shard-000000.tar")
        self.assertEqual(words[named - 1:named + 2],
                         ["rename shard-000000.tar.index", "rename shard-000000.tar", "fsync pack"])
        self.assertLess(words.index("fsync .tmp-shard-000000.tar"), words.index("rename shard-000000.tar.index"))
        self.assertIn("rename pack.json", words[named:words.index("open .tmp-shard-000001.tar")])
        self.assertLess(words.index("link pack.json"), words.index("open .tmp-shard-000000.tar"))


class PackInterrupt(cut.Case):
    """Ctrl-C and SIGTERM at random moments, then the same command again."""
    kind, count, side = "pairs", 140, 96
    TIMES = 5 if cut.SANITIZED else 15

    def words(self, workers):
        return ["pack", "data", "out/pack", "shard_samples=20", f"num_workers={workers}", "-q"]

    def test_interrupted_and_gone_on(self):
        whole = self.run_stoker(*self.words(2))
        _, seconds = whole.wait(60)
        self.assertEqual(whole.process.returncode, 0, whole.errors())
        expected, slowest, stopped = tree(self.out / "pack"), 0, 0
        for i in range(self.TIMES):
            shutil.rmtree(self.out / "pack", ignore_errors=True)
            program = self.run_stoker(*self.words(i % 4))
            program.wait_until(program.takes_signals) if i % 5 else None
            time.sleep(self.random.uniform(0, seconds))
            ready = program.takes_signals()
            number = signal.SIGTERM if i % 3 == 0 else signal.SIGINT
            program.send(number)
            status, ended_s = program.wait(60)
            if status != 0:
                self.assert_ended(program, -number if not ready else 130, cut.ENDING_S, ended_s)
                slowest, stopped = max(slowest, ended_s), stopped + 1
            if status == 130 and "stopped with" in program.errors():
                self.assertIn("the same command resumes", program.errors())
                self.assertEqual(left_over(self.out / "pack"), [])
            again = self.run_stoker(*self.words(2))
            again.wait(60)
            self.assertEqual(again.process.returncode, 0, again.errors())
            self.assertEqual(tree(self.out / "pack") == expected, True, "other bytes")
        self.assertGreater(stopped, 0)
        print(f"{self.id()}: {stopped} times of {self.TIMES}, slowest {1e3 * slowest:.0f} ms", flush=True)

    def test_two_at_once(self):
        """The second says who is at work; the first is not disturbed."""
        first = self.run_stoker(*self.words(1))
        first.wait_until((self.out / "pack/pack.json").exists)
        os.kill(first.process.pid, signal.SIGSTOP)
        second = self.run_stoker(*self.words(1))
        second.wait(60)
        os.kill(first.process.pid, signal.SIGCONT)
        self.assertEqual(second.process.returncode, 1)
        self.assertIn(f"process {first.process.pid} is using the folder 'out/pack'", second.errors())
        first.wait(60)
        self.assertEqual(first.process.returncode, 0, first.errors())

    @cut.needs_preload
    def test_reads_that_hang(self):
        program = self.run_stoker(*self.words(2), "timeout=1", hang="100.png")
        status, seconds = program.wait(60)
        self.assertEqual(status, 1, program.errors())
        self.assertLess(seconds, (1 + cut.ENDING_S + cut.STARTUP_S + 3) * cut.crowd())
        self.assertIn("no sample was read for 1 s", program.errors())
        self.assertIn("100.png", program.errors())
        self.assertEqual(left_over(self.out / "pack"), [])
        again = self.run_stoker(*self.words(2))
        again.wait(60)
        self.assertEqual(again.process.returncode, 0, again.errors())

    @cut.needs_preload
    def test_interrupted_while_reading_hangs(self):
        program = self.run_stoker(*self.words(2), hang="100.png")
        program.wait_until(lambda: (self.out / "pack/shard-000004.tar").exists())
        time.sleep(0.3)
        program.send()
        status, seconds = program.wait(60)
        self.assert_ended(program, 130, cut.ENDING_S, seconds)


if __name__ == "__main__":
    unittest.main()
