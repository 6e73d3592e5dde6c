#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_memory_plan.py STOKER MODELS [--quick]: what `train --plan` says and takes, and what `train` refuses.

A plan is arithmetic: little memory and time at any batch size, and PyTorch is not opened. A run that does not fit into the memory
that is available is refused with a batch size that then trains, and stays within it: on a machine whose /proc/meminfo is made up
in a mount namespace (root), and in a real cgroup (version 2, or 1 with the memory controller) where this test may make one: below
the one that STOKER_TEST_CGROUP names, or at the top."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

STOKER = MODELS = None
TIMED = True  # a sanitizer takes its own time and memory
ROOTS = {"unet": "faces", "hrnet_w18": "faces", "locator": "captcha", "resnet": "gray", "lstm": "series"}
LIMIT = 160 << 20
BIG = ["make:faces?count=64", "model.name=unet", "width=8", "depth=3", "image_size=128", "batch_size=64", "epochs=1",
       "run.engine=onednn", "run.device=cpu"]


def run(words, folder, before=(), variables=None):
    done = subprocess.run([*before, STOKER, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, **(variables or {})})
    return done.returncode, done.stdout, done.stderr


def plan(words, folder):
    status, out, err = run(["train", *words, "--plan", "--json", "-q"], folder)
    assert status == 0, err
    return json.loads(out)


class Arithmetic(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_plan_takes_little(self):
        """<= 60 MB and < 1 s of CPU time for every shipped network at batch size 65,536."""
        names = sorted(name[:-5] for name in os.listdir(MODELS) if name.endswith(".yaml"))
        self.assertEqual(names, sorted(ROOTS))
        for name in names:
            words = [f"make:{ROOTS[name]}?count=100000", f"model.name={name}", "val_split=0.1", "batch_size=65536", "run.engine=onednn",
                     "run.device=cpu"]
            child = subprocess.Popen([STOKER, "train", *words, "--plan", "-q"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
            out = child.stdout.read()
            child.stdout.close()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0, name)
            self.assertIn("does not fit: ", out, name)
            if TIMED:
                self.assertLess(usage.ru_maxrss * 1024, 60e6, name)
                self.assertLess(usage.ru_utime + usage.ru_stime, 1, name)

    def test_torch_is_looked_for_but_not_opened(self):
        with open(os.path.join(self.folder, "libtorch_cpu.so"), "w", encoding="utf-8") as file:
            file.write("no library")
        words = ["train", "make:gray?count=40", "image_size=32", "run.engine=torch", "run.device=cpu"]
        status, out, err = run([*words, "--plan", "--json", "-q"], self.folder, variables={"STOKER_TORCH": self.folder})
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(out)["engine"], "torch")
        self.assertIn("not known", json.loads(out)["planned_memory_estimate_reason"])  # there is no file with its version
        status, _, err = run([*words, "--plan", "-q"], self.folder, variables={"STOKER_TORCH": "/nowhere"})
        self.assertEqual(status, 1)
        self.assertIn("PyTorch", err)

    def test_a_plan_for_an_unknown_pytorch_is_an_estimate(self):
        """Of one that is known it holds; the version is read from the file beside the library."""
        os.mkdir(os.path.join(self.folder, "lib"))
        for name, text in (("lib/libtorch_cpu.so", "no library"), ("version.py", "")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        words = ["train", "make:gray?count=40", "image_size=32", "run.engine=torch", "run.device=cpu", "--plan"]
        variables = {"STOKER_TORCH": os.path.join(self.folder, "lib")}
        for line, known in (("__version__ = '2.10.0+cu128'", True), ("__version__ = '2.15.0'", True), ("__version__ = '2.99.0'", False),
                            ("__version__ = '3.0.0'", False), ("__version__ = 'main'", False), ("", False)):
            with open(os.path.join(self.folder, "version.py"), "w", encoding="utf-8") as file:
                file.write(f"from typing import Optional\n{line}\n")
            status, out, err = run([*words, "--json", "-q"], self.folder, variables=variables)
            self.assertEqual(status, 0, err)
            self.assertEqual(json.loads(out)["planned_memory_estimate_reason"] is None, known, line)
            status, out, err = run([*words, "-q"], self.folder, variables=variables)
            self.assertEqual(status, 0, err)
            self.assertEqual("  at most  " in out, known, out)
            self.assertEqual("\nan estimate: this PyTorch is not known" in out and "fits: about " in out, not known, out)

    @unittest.skipIf("--slow" in sys.argv or not os.environ.get("STOKER_TORCH") or not shutil.which("cc"), "no PyTorch, or no compiler")
    def test_a_run_with_an_unknown_pytorch_says_estimate(self):
        """The real one behind a library that says another version."""
        real = os.environ["STOKER_TORCH"]
        with open(os.path.join(self.folder, "newer.c"), "w", encoding="utf-8") as file:
            file.write("unsigned long long aoti_torch_abi_version(void);\n"
                       "unsigned long long aoti_torch_abi_version(void) { return 2ULL << 56 | 99ULL << 48; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "libtorch_cpu.so", "newer.c", "-Wl,-soname,newer", "-Wl,--no-as-needed", f"-L{real}",
                        "-l:libtorch_cpu.so", f"-Wl,-rpath,{real}", "-Wl,--allow-shlib-undefined"], cwd=self.folder, check=True)
        words = ["train", "make:gray?count=8", "image_size=32", "model.width=2", "batch_size=4", "epochs=1", "run.engine=torch",
                 "run.device=cpu", "--run", "run", "--json"]
        for folder, known in ((self.folder, False), (real, True)):
            status, out, err = run(words, self.folder, variables={"STOKER_TORCH": folder})
            self.assertEqual(status, 0, err)
            self.assertEqual(json.loads(out)["planned_memory_estimate_reason"] is None, known)
            self.assertEqual("an estimate: this PyTorch is not known" in err, not known, err)
            self.assertEqual("memory   at most" in err, known, err)
            shutil.rmtree(os.path.join(self.folder, "run"))

    def test_flops_of_a_sample_do_not_depend_on_the_batch(self):
        for name, root in ROOTS.items():
            words = [f"make:{root}?count=90", f"model.name={name}", "run.engine=reference"]
            if name != "lstm":
                words.append("image_size=64")
            told = {plan([*words, f"batch_size={n}"], self.folder)["sample_flops"] for n in (1, 7, 16, 64, 400)}
            self.assertEqual(len(told), 1, (name, told))

    def test_a_data_set_smaller_than_a_batch_is_planned_as_such(self):
        words = ["make:faces?count=12", "model.name=unet", "width=4", "image_size=64", "run.engine=reference", "num_workers=1"]
        small, large = (plan([*words, f"batch_size={n}"], self.folder) for n in (12, 60000))
        self.assertEqual(small["activation_bytes"], large["activation_bytes"])
        self.assertLess(large["planned_memory_bytes"], small["planned_memory_bytes"] + 30e6)
        said = "batches of 12"
        for n, more in ((12, ""), (60000, " (batch_size=60000, but there are no more samples)")):
            status, out, err = run(["train", *words, f"batch_size={n}", "--plan"], self.folder)
            self.assertEqual(status, 0, err)
            self.assertIn(f"\nfor {said}{more}\n", out)
            self.assertIn(f", {said}{more}\n", err)


class Refusal(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def refused_then_trained(self, before, enforced=False):
        """A run that does not fit ends with the out-of-memory status before its folder is made; what it advises trains."""
        status, out, err = run(["train", *BIG, "--run", "run", "-q"], self.folder, before)
        self.assertEqual(status, 1, err)
        self.assertRegex(err, r"training needs \d+ MB of memory, the (machine|cgroup) has \d+ MB available")
        self.assertIn("run.force=true", err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "run")))
        advice = re.search(r"batch_size=(\d+) would; with gradient_checkpointing batch_size=(\d+) would", err)
        self.assertIsNotNone(advice, err)
        plain, again = int(advice[1]), int(advice[2])
        self.assertTrue(1 <= plain < again <= 64)
        for more in ([f"batch_size={plain}"], [f"batch_size={again}", "train.gradient_checkpointing=true"]):
            status, out, err = run(["train", *BIG, *more, "--run", "run", "--json", "-q"], self.folder, before)
            self.assertEqual(status, 0, err)
            if TIMED and not enforced:  # a sanitizer takes memory of its own; pages of libraries are on no cgroup's account
                self.assertLess(json.loads(out)["peak_memory_bytes"], LIMIT)
            shutil.rmtree(os.path.join(self.folder, "run"))

    def test_on_a_small_machine(self):
        meminfo = os.path.join(self.folder, "meminfo")
        with open(meminfo, "w", encoding="utf-8") as file:
            file.write(f"MemTotal: {LIMIT >> 10} kB\nMemAvailable: {LIMIT - (24 << 20) >> 10} kB\n")
        before = ["unshare", "-m", "sh", "-c", f"mount --bind {meminfo} /proc/meminfo && exec \"$@\"", "sh"]
        if subprocess.run([*before, "true"], capture_output=True).returncode:
            self.skipTest("no mount namespaces here (root is needed)")
        self.refused_then_trained(before)
        status, out, _ = run(["train", *BIG, "--run", "run", "--json", "-q", "run.force=true"], self.folder, before)
        self.assertEqual(status, 0)
        self.assertGreater(json.loads(out)["peak_memory_bytes"], LIMIT)

    def make_cgroup(self):
        """The folder of a new cgroup that is limited to LIMIT, or None."""
        for parent in (os.environ.get("STOKER_TEST_CGROUP", "/nowhere"), "/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            group = os.path.join(parent, f"stoker-plan-{os.getpid()}")
            try:
                os.mkdir(group)
                self.addCleanup(os.rmdir, group)
                limit = next(name for name in ("memory.max", "memory.limit_in_bytes") if os.path.exists(os.path.join(group, name)))
                with open(os.path.join(group, limit), "w", encoding="utf-8") as file:
                    file.write(str(LIMIT))
                with open(os.path.join(group, "cgroup.procs"), encoding="utf-8") as file:
                    file.read()
                return group
            except (OSError, StopIteration):
                continue
        return None

    def test_in_a_cgroup(self):
        group = self.make_cgroup()
        if not group:
            self.skipTest("no cgroup with a memory limit can be made here (root is needed, or STOKER_TEST_CGROUP)")
        self.refused_then_trained(["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh"], enforced=True)


if __name__ == "__main__":
    STOKER, MODELS = os.path.abspath(sys.argv[1]), sys.argv[2]
    TIMED = "--slow" not in sys.argv
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main(argv=sys.argv[:1] + [word for word in sys.argv[3:] if word != "--slow"])
