#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker monitor -- CMD: signals and the end of CMD are those it would have alone; its life is what is watched."""
import json
import os
import pty
import signal
import subprocess
import time
import unittest

STOKER = os.environ["STOKER"]
SLACK_S = 4  # a busy machine
CHILD = """
import os, signal, sys, time
count = {signal.SIGINT: 0, signal.SIGTERM: 0}
def note(number, frame):
    count[number] += 1
signal.signal(signal.SIGINT, note)
signal.signal(signal.SIGTERM, note)
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end and not sum(count.values()):
    time.sleep(0.02)
time.sleep(0.3) # for a second one, that should not come
print("int", count[signal.SIGINT], "term", count[signal.SIGTERM], flush=True)
sys.exit(40)
"""


def start(*command, **more):
    return subprocess.Popen([STOKER, "monitor", "--demo", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **more)


def start_child(*options):
    process = start(*options, "--", "python3", "-c", CHILD, "10")
    assert process.stdout.readline() == "ready\n"
    return process


class Signals(unittest.TestCase):
    def end(self, process):
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def test_term_is_passed_on(self):
        process = start_child()
        process.send_signal(signal.SIGTERM)
        status, out, err = self.end(process)
        self.assertEqual((status, out), (40, "int 0 term 1\n"))
        self.assertIn("verdict: ", err.replace("GPU 0: ", "verdict: "))

    def test_int_for_us_alone_is_passed_on(self):
        process = start_child()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[:2], (40, "int 1 term 0\n"))

    def test_signal_that_kills_it(self):
        process = start("--", "sleep", "20")
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        status, _, err = self.end(process)
        self.assertEqual(status, 128 + signal.SIGTERM)
        self.assertIn("monitored for ", err)

    def test_it_is_not_ended_before_it_wants_to(self):
        process = start("--", "sh", "-c", "trap '' TERM; echo ready; sleep 1.2; echo done; exit 5")
        self.assertEqual(process.stdout.readline(), "ready\n")
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        self.assertEqual(self.end(process)[:2], (5, "done\n"))

    def test_without_a_command_the_report_follows(self):
        for number in signal.SIGINT, signal.SIGTERM:
            process = start("--interval", "0.2")
            process.stdout.readline()
            time.sleep(0.5)
            began = time.monotonic()
            process.send_signal(number)
            status, out, _ = self.end(process)
            self.assertEqual(status, 0)
            self.assertIn("GPU 0: monitored for 0.", out)
            self.assertLess(time.monotonic() - began, SLACK_S)

    def test_a_command_that_cannot_be_watched_is_not_run(self):
        process = start("--gpu", "77", "--", "sh", "-c", "echo ran")
        status, out, err = self.end(process)
        self.assertEqual((out, status in (1, 2)), ("", True), err)


class Terminal(unittest.TestCase):
    def run_in_terminal(self, keys, *command):
        """(status, what was shown): keys are typed once something was shown."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(STOKER, [STOKER, "monitor", "--demo", "--gpu", "0", "--", *command])
        shown = b""
        typed = False
        try:
            while True:
                shown += os.read(terminal, 65536)
                if b"ready" in shown and not typed:
                    typed = True
                    os.write(terminal, keys)
        except OSError: # the other end is closed
            pass
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()

    def test_ctrl_c_reaches_both_once(self):
        status, shown = self.run_in_terminal(b"\x03", "python3", "-c", CHILD, "10")
        self.assertEqual(status, 40)
        self.assertIn("int 1 term 0", shown)
        self.assertIn("monitored for ", shown)

    def test_ctrl_c_that_kills_it(self):
        status, shown = self.run_in_terminal(b"\x03", "sh", "-c", "echo ready; exec sleep 10")
        self.assertEqual(status, 130)
        self.assertIn("monitored for ", shown)

    def test_it_has_the_terminal(self):
        status, shown = self.run_in_terminal(b"hello\n", "sh", "-c", "test -t 0 -a -t 1 -a -t 2 && echo ready; read x; echo got:$x")
        self.assertEqual(status, 0)
        self.assertIn("got:hello", shown)


class Life(unittest.TestCase):
    def summary(self, *command):
        process = start("--json", "--interval", "5", "--", *command)
        _, err = process.communicate(timeout=30)
        return process.returncode, json.loads(err.splitlines()[-1])["summary"]

    def test_it_is_watched_from_beginning_to_end(self):
        status, summary = self.summary("sleep", "0.7")
        self.assertEqual(status, 0)
        self.assertGreaterEqual(summary["seconds"], 0.69)
        self.assertLess(summary["seconds"], 0.7 + SLACK_S)
        self.assertEqual(summary["frames"], 2) # its beginning, and all of it in one short interval

    def test_pid_is_watched_to_its_end(self):
        """Also when nobody waits for it: a zombie does not run any more."""
        job = subprocess.Popen(["sleep", "0.8"])
        process = start("--interval", "0.1", "--json", "--pid", str(job.pid))
        out, _ = process.communicate(timeout=30)
        summary = json.loads(out.splitlines()[-1])["summary"]
        job.wait()
        self.assertEqual(process.returncode, 0)
        self.assertLess(summary["seconds"], 0.8 + SLACK_S)
        self.assertGreater(summary["seconds"], 0.3)

    def test_signals_are_as_they_were(self):
        """Blocked signals and a changed mask would be inherited."""
        with open("/proc/self/status") as file:
            before = [line for line in file if line.startswith(("SigBlk", "SigIgn"))]
        process = start("--", "grep", "-E", "SigBlk|SigIgn", "/proc/self/status")
        out, _ = process.communicate(timeout=30)
        self.assertEqual(out.splitlines(True)[0], before[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
