"""tools/fuzz and tools/coverage in made-up trees, with made-up compilers and targets."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class ToolTest(unittest.TestCase):
    tool = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        (self.tree / "tools").mkdir()
        shutil.copy(ROOT / "tools" / self.tool, self.tree / "tools")

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def script(self, name, text):
        self.write(name, "#!/bin/sh\n" + text + "\n").chmod(0o755)

    def run_tool(self, *arguments, **environment):
        path = f"{self.tree}/bin:{os.environ['PATH']}"
        done = subprocess.run([sys.executable, self.tree / "tools" / self.tool, *arguments], text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PATH": path, **environment})
        return done.returncode, done.stdout


class Fuzz(ToolTest):
    tool = "fuzz"

    def setUp(self):
        super().setUp()
        self.write("tests/fuzz/good.dict", "")
        self.write("tests/fuzz/bad.dict", "")
        self.script("bin/clang", "exit 0")
        self.script("bin/meson", f"mkdir -p {self.tree}/build-fuzz && touch {self.tree}/build-fuzz/build.ninja")
        self.script("bin/ninja", "exit 0")
        for folder in ("build", "build-fuzz"):
            self.script(f"{folder}/tests/fuzz/fuzz_good", 'echo "$@" > "$(dirname "$0")"/../../arguments; echo "#9 x cov: 41 ft: 7" >&2; '
                                                          'echo "Done 12345 runs in 1 second(s)"')
        (self.tree / "build-fuzz" / "arguments").unlink(missing_ok=True)

    def test_one_line_per_target_and_the_sum(self):
        status, output = self.run_tool("good", FUZZ_SECONDS="7")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?m)^ok    good .* 12,345 inputs +41 edges  0 findings$")
        self.assertTrue(output.endswith("\n1 passed, 0 failed\n"), output)
        self.assertIn("-max_total_time=7 ", (self.tree / "build-fuzz" / "arguments").read_text())

    def test_git_is_not_needed(self):
        for name in ("dirname", "mkdir", "touch"):  # all that the scripts above need beside sh
            (self.tree / "bin" / name).symlink_to(shutil.which(name))
        status, output = self.run_tool("good", PATH=f"{self.tree}/bin")
        self.assertEqual(status, 0, output)
        self.assertRegex(self.run_tool("--tally")[1], r"(?m)^good +unknown +0\.0 +12,345 +0$")

    def test_a_finding_is_named(self):
        found = self.tree / "build-fuzz" / "findings" / "bad-crash-1"
        self.script("build-fuzz/tests/fuzz/fuzz_bad",
                    f'echo "x.c:3: Assertion a failed."; echo "Test unit written to {found}"; exit 77')
        status, output = self.run_tool(FUZZ_JOBS="1")
        self.assertEqual(status, 1, output)
        self.assertRegex(output, r"(?m)^FAIL  bad .* %s$" % found)
        self.assertIn("      x.c:3: Assertion a failed.", output)
        self.assertTrue(output.endswith("\n1 passed, 1 failed\n"), output)

    def test_a_target_that_dies_without_a_word(self):
        self.script("build-fuzz/tests/fuzz/fuzz_bad", "kill -9 $$")
        status, output = self.run_tool("bad")
        self.assertEqual(status, 1, output)
        self.assertRegex(output, r"(?m)^FAIL  bad .* none was left$")

    def test_interrupting_is_no_finding(self):
        self.script("build-fuzz/tests/fuzz/fuzz_bad", 'echo "==1== libFuzzer: run interrupted; exiting"; exit 72')
        self.assertEqual(self.run_tool("bad")[0], 0)

    def test_without_libfuzzer_the_driver_does_it(self):
        self.script("bin/clang", "exit 1")
        self.script("tools/build", "exit 0")
        self.script("build/tests/fuzz/fuzz_bad", "echo input > fuzz_bad.input; exit 134")
        status, output = self.run_tool()
        self.assertEqual(status, 1, output)
        self.assertTrue(output.startswith("skip  libFuzzer: clang cannot link it here"), output)
        self.assertRegex(output, r"(?m)^FAIL  bad .*/build-fuzz/findings/bad-input$")
        self.assertTrue(output.endswith("\n1 passed, 1 failed, 1 skipped\n"), output)

    def test_a_build_that_fails_is_shown(self):
        self.script("bin/ninja", "echo some compiler error; exit 1")
        status, output = self.run_tool("good")
        self.assertEqual(status, 1, output)
        self.assertIn("some compiler error", output)

    def test_unknown_targets(self):
        status, output = self.run_tool("goood")
        self.assertEqual((status, output), (1, "tools/fuzz: no target 'goood'; there are bad, good\n"))

    def test_the_tally_adds_up(self):
        for _ in range(2):
            self.run_tool("good")
        status, output = self.run_tool("--tally")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?m)^good +unknown +0\.0 +24,690 +0$")


class Coverage(ToolTest):
    tool = "coverage"

    def setUp(self):
        super().setUp()
        self.source = self.write("src/decode/exif.c", "")
        self.script("tools/build", "exit 0")
        self.script("tools/run_tests", 'echo "3 passed, 0 failed"')
        self.write("build-coverage/a.gcno", "")
        self.write("build-coverage/b.gcno", "")
        self.script("tools/run_tests", f"cd {self.tree}/build-coverage && touch a.gcda b.gcda")

    def report(self, *programs):
        """Each program: how often lines 1, 2, … of the parser were run."""
        for number, counts in enumerate(programs):
            lines = [{"line_number": line, "count": count} for line, count in enumerate(counts, 1)]
            text = json.dumps({"files": [{"file": "../src/decode/exif.c", "lines": lines}]})
            self.write(f"report{number}", text + "\n")
        self.script("bin/gcov", f"cat {self.tree}/report*")

    def test_lines_count_that_any_program_runs(self):
        self.report([1] * 10 + [0] * 10, [0] * 5 + [2] * 13 + [0] * 2)
        status, output = self.run_tool()
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?m)^src/decode/exif.c +20 +90.0 %   met$")
        self.assertTrue(output.endswith("\n1 passed, 0 failed\n"), output)

    def test_below_the_goal_the_lines_are_named(self):
        self.report([1] * 8 + [0] * 3 + [1] * 4 + [0])
        status, output = self.run_tool()
        self.assertEqual(status, 1, output)
        self.assertRegex(output, r"(?m)^src/decode/exif.c +16 +75.0 %   MISSED\n    not reached: 9-11, 16$")
        self.assertTrue(output.endswith("\n0 passed, 1 failed\n"), output)

    def test_a_parser_that_nothing_runs(self):
        self.report([1])
        self.write("src/source/csv.c", "")
        status, output = self.run_tool()
        self.assertEqual(status, 1, output)
        self.assertRegex(output, r"(?m)^src/source/csv.c +0 +0.0 %   MISSED$")

    def test_what_drives_cuda_is_reached_to_the_last_line(self):
        self.write("src/device/cuda/cuda.c", "")
        self.report([1] * 19 + [0])
        report = self.tree / "report0"
        report.write_text(report.read_text().replace("src/decode/exif.c", "src/device/cuda/cuda.c"))
        status, output = self.run_tool("cuda")
        self.assertEqual(status, 1, output)
        self.assertRegex(output, r"(?m)^src/device/cuda/cuda.c +20 +95.0 %   MISSED\n    not reached: 20$")
        self.assertNotIn("exif", output)
        status, output = self.run_tool("nothing")
        self.assertEqual(status, 1, output)

    def test_tests_that_fail(self):
        self.report([1])
        self.script("tools/run_tests", f'cd {self.tree}/build-coverage && touch a.gcda; test "$4" = curve')
        status, output = self.run_tool()
        self.assertEqual(status, 1, output)
        self.assertTrue(output.endswith("\n1 passed, 1 failed\n"), output)


if __name__ == "__main__":
    unittest.main()
