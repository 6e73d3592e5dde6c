"""test_opencl_drivers.py STOKER FAKE PROGRAM: OpenCL drivers that fail as soon as they are asked (tests/fake/opencl).

`stoker devices` lists everything else and says why OpenCL is not there; PROGRAM, a test that opens OpenCL's devices,
passes without them.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

STOKER, FAKE, PROGRAM = map(os.path.abspath, sys.argv[1:4])
TRIAL = "the OpenCL driver ended its trial process "


def start(mood, *command):
    environment = {**os.environ, "STOKER_OPENCL_LIBRARY": FAKE, "STOKER_FAKE_OPENCL": mood}
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


class Drivers(unittest.TestCase):
    def list_opencl(self, mood):
        """Its row, and what was written to standard error."""
        process = start(mood, STOKER, "devices", "--json")
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        rows = {row["name"].split(":")[0]: row for row in json.loads(output)["devices"]}
        self.assertEqual(list(rows), ["cpu", "opencl", "cuda", "null"])
        self.assertTrue(rows["cpu"]["available"])
        return rows["opencl"], errors

    def check(self, mood, why):
        row, errors = self.list_opencl(mood)
        self.assertEqual((row["available"], row["why"], errors), (False, why, ""))

    def test_one_that_aborts(self):
        self.check("abort", TRIAL + "by signal 6 (Aborted): fake driver: no topology")

    def test_one_that_crashes(self):
        self.check("segfault", TRIAL + "by signal 11 (Segmentation fault): fake driver: reads what is not there")

    def test_one_that_is_killed_without_a_word(self):
        self.check("mute", TRIAL + "by signal 9 (Killed)")

    def test_one_that_exits(self):
        row, errors = self.list_opencl("exit")
        self.assertEqual(errors, "")
        self.assertTrue(row["why"].startswith(TRIAL + "with status 3: fake driver: "), row)

    def test_one_that_exits_as_if_all_were_well(self):
        self.check("quit", TRIAL + "with status 0")

    def test_one_that_hangs(self):
        begin = time.monotonic()
        self.check("hang", "the OpenCL driver did not answer within 20 s")
        self.assertGreater(time.monotonic() - begin, 19)

    def test_one_that_works(self):
        row, errors = self.list_opencl("works")
        self.assertEqual((row["name"], row["model"], row["why"]),
                         ("opencl:0", "fake model", "the driver has no compiler"))
        self.assertEqual(errors, "fake driver: works\n")  # of this process, not of the trial

    def test_what_it_says_does_not_steer_the_terminal(self):
        output, _ = start("exit", STOKER, "devices").communicate(timeout=60)
        self.assertIn("opencl     not available: " + TRIAL + "with status 3: fake driver: \\x1b[31mno licence\n", output)

    def test_there_is_no_core_file(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f'cd {folder} && ulimit -c unlimited && exec "$0" devices'
            output, _ = start("abort", "sh", "-c", script, STOKER).communicate(timeout=60)
            self.assertIn("by signal 6 (Aborted)", output)
            self.assertEqual(os.listdir(folder), [])

    def test_closed_standard_streams(self):
        output, _ = start("abort", "sh", "-c", '"$0" devices 0<&- 2>&-', STOKER).communicate(timeout=60)
        self.assertIn("by signal 6 (Aborted): fake driver: no topology\n", output)

    def test_a_loader_that_wants_it(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([STOKER, "make", "faces", folder + "/faces", "--count", "4"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            process = start("abort", STOKER, "load", folder + "/faces", "augment.device=opencl:0",
                            "augment.preset=standard")
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("by signal 6 (Aborted): fake driver: no topology", errors)
        self.assertIn("augment.device=cpu", errors)

    def test_tests_survive_it(self):
        process = start("abort", PROGRAM)
        output, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 0, output + errors)
        self.assertIn("fake driver: no topology", output + errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
