#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A read that never returns is named with stage, file and thread within timeout + 1 s, and Ctrl-C still ends the
program within 1 s."""
import json
import signal
import time
import unittest

import cut

TIMEOUT_S = 2
NAMED_S = TIMEOUT_S + 1 + cut.STARTUP_S
IMAGE, MASK, LOOKED_AT_ON_OPEN = "images/033.png", "masks/017.png", "images/000.png"


@cut.needs_preload
class Hang(cut.Case):
    def start(self, verb, file, words):
        return self.run_stoker(verb, "data", f"timeout={TIMEOUT_S}", "batch_size=4", *words, hang=file)

    def assert_named(self, program, file, thread):
        self.assertRegex(program.errors(), rf"thread '{thread}' hangs in stage 'read'")
        self.assertIn(f"data/{file}", program.errors())

    def check(self, verb, file, thread, *words):
        program = self.start(verb, file, words)
        _, seconds = program.wait(60)
        self.assert_ended(program, 1, NAMED_S, seconds)
        self.assert_named(program, file, thread)
        self.assertEqual(program.errors().count("hangs in stage"), 1)

    def check_caller(self, verb, file, *words):
        program = self.start(verb, file, [*words, "num_workers=0"])
        program.wait_until(lambda: "hangs in stage" in program.errors(), NAMED_S)
        self.assert_named(program, file, "caller")
        program.send()
        _, seconds = program.wait(60)
        self.assert_ended(program, 130, cut.ENDING_S, seconds)

    def test_in_workers(self):
        workers = [("load", file, r"stk-load-\d", f"num_workers={count}") for file in (IMAGE, MASK) for count in (1, 2, 4)]
        policies = [("load", file, r"stk-load-\d", f"on_bad_sample={policy}", "num_workers=2") # a hang is no bad sample
                    for policy in ("skip", "replace") for file in (IMAGE, MASK)]
        calls = [("stats", IMAGE, r"stk-load-\d"), ("load", IMAGE, r"stk-load-\d", "-q"),
                 ("load", IMAGE, r"stk-load-\d", "--json"),
                 ("load", IMAGE, r"stk-load-\d", "--hash", "batch_size=40", "order=sequential")]
        self.all_at_once(self.check, workers + policies + calls)

    def test_on_open(self):
        self.all_at_once(self.check, [("load", LOOKED_AT_ON_OPEN, "stk-probe", f"num_workers={workers}")
                                      for workers in (0, 1, 2, 4)])

    def test_state_is_kept_back(self):
        """What hangs is no position to go on from: the state before stays, here that of the beginning."""
        self.check("load", IMAGE, r"stk-load-\d", "--state", "out/state", "--ledger", "out/ledger")
        self.assertEqual(self.files(), ["out/ledger", "out/state"])
        self.assertEqual(json.loads((self.out / "state").read_text())["position"], 0)

    def test_in_the_callers_thread(self):
        """num_workers=0: the program's own thread hangs and cannot return, so it can only say so."""
        self.all_at_once(self.check_caller, [("load", IMAGE), ("load", MASK), ("load", IMAGE, "-q"), ("stats", MASK),
                                             ("load", IMAGE, "--json", "on_bad_sample=skip")])


@cut.needs_preload
class HangWhileOpening(cut.Case):
    kind = "list"

    def test_a_list_that_hangs(self):
        """The caller's own thread hangs; a long scan may be in order, so it is a warning."""
        program = self.run_stoker("load", "data", f"timeout={TIMEOUT_S}", hang="labels.csv")
        program.wait_until(lambda: "opening 'data' has taken" in program.errors(), NAMED_S)
        program.send()
        _, seconds = program.wait(60)
        self.assert_ended(program, 130, cut.ENDING_S, seconds)

    def test_a_read_error_is_a_damage(self):
        program = self.run_stoker("load", "data", "--json", "on_bad_sample=skip", fail="images/007.png")
        status, _ = program.wait(60)
        self.assertEqual(status, 0, program.errors())
        self.assertEqual(json.loads(program.output())["damages"], {"read_error": 1})


@cut.needs_preload
class InterruptWhileHanging(cut.Case):
    def check(self, number, verb, hang, *words):
        program = self.run_stoker(verb, "data", "timeout=60", "batch_size=4", *words, hang=hang)
        program.wait_until(program.takes_signals)
        time.sleep(1) # so that it has come to the file
        program.send(number)
        _, seconds = program.wait(60)
        self.assert_ended(program, 130, cut.ENDING_S, seconds)
        self.assertEqual(program.errors().count("stoker: interrupted\n"), 1, program.errors())

    def test_in_workers(self):
        self.all_at_once(self.check, [
            (signal.SIGINT, "load", IMAGE, "num_workers=1", "--state", "out/1"),
            (signal.SIGINT, "load", IMAGE, "num_workers=2", "--state", "out/2", "--ledger", "out/ledger"),
            (signal.SIGINT, "load", MASK, "num_workers=4", "--state", "out/4"),
            (signal.SIGTERM, "load", MASK, "num_workers=2"),
            (signal.SIGINT, "stats", IMAGE)])
        self.assertEqual(self.files(), ["out/1", "out/2", "out/4", "out/ledger"])

    def test_in_the_callers_thread_or_on_open(self):
        self.all_at_once(self.check, [
            (signal.SIGINT, "load", IMAGE, "num_workers=0", "--state", "out/state"),
            (signal.SIGTERM, "load", MASK, "num_workers=0"),
            (signal.SIGINT, "load", LOOKED_AT_ON_OPEN, "--state", "out/never"),
            (signal.SIGINT, "load", LOOKED_AT_ON_OPEN, "-q"),
            (signal.SIGTERM, "load", LOOKED_AT_ON_OPEN, "num_workers=0"),
            (signal.SIGINT, "stats", LOOKED_AT_ON_OPEN)])
        self.assertEqual(self.files(), ["out/state"])


class Stopped(cut.Case):
    TIMEOUT_S = 5 if cut.SANITIZED else 1  # longer than a sample takes on a crowded machine

    def test_a_program_that_was_stopped_does_not_hang(self):
        """Ctrl-Z and fg, while opening or at work: the time between is nobody's."""
        self.all_at_once(self.check, [(0.0,), (0.02,), (0.5,)])

    def check(self, moment):
        program = self.run_stoker("load", "make:faces", "limit=150" if cut.SANITIZED else "limit=600", "batch_size=4", "num_workers=2", f"timeout={self.TIMEOUT_S}", "-q")
        program.wait_until(program.takes_signals)
        time.sleep(moment)
        program.send(signal.SIGSTOP)
        time.sleep(self.TIMEOUT_S + 1.5)
        program.send(signal.SIGCONT)
        status, _ = program.wait(60)
        self.assertEqual((status, program.errors()), (0, ""))


class StoppedWhileDecoding(cut.Case):
    """limits.time is the thread's CPU time: images are as good after SIGSTOP or a suspended laptop as before."""
    count, side = 60, 1400
    LIMITS = ("limits.time=2" if cut.SANITIZED else "limits.time=0.5", "timeout=1")

    def stop_often(self, program, stop_s):
        program.wait_until(program.takes_signals)
        for _ in range(3):
            time.sleep(0.05 + self.random.random() * 0.1)
            if program.process.poll() is not None:
                break
            program.send(signal.SIGSTOP)
            time.sleep(stop_s)
            program.send(signal.SIGCONT)
        return program.wait(120)[0]

    def load(self):
        return self.run_stoker("load", "data", *self.LIMITS, "batch_size=4", "on_bad_sample=skip", "--hash", "--json", "-q")

    def test_the_stream_is_the_same(self):
        undisturbed, stopped = self.load(), self.load()
        self.assertEqual(self.stop_often(stopped, 2.5), 0, stopped.errors())
        self.assertEqual(undisturbed.wait(120)[0], 0, undisturbed.errors())
        first, second = json.loads(undisturbed.output()), json.loads(stopped.output())
        self.assertEqual(second["bad_samples"], 0, second["damages"])
        self.assertEqual(second["digest"], first["digest"])

    def test_pack(self):
        program = self.run_stoker("pack", "data", "out/shards", *self.LIMITS, "-q")
        self.assertEqual(self.stop_often(program, 2.5), 0, program.errors())


if __name__ == "__main__":
    unittest.main()
