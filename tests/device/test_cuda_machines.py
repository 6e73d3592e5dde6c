#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cuda_machines.py PROBE STOKER FAKE: machines that first users have, made of copies of the fake driver (FAKE).

Several NVRTCs and none, Python environments that are not active, containers without a part of the driver, WSL2: each works, with the
reference's bits, or says in one sentence what to do. PROBE is cuda_machine.c."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FAKE, STOKER, PROBE = (os.path.abspath(sys.argv.pop()) for _ in range(3))
HIDDEN = ("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "STOKER_TORCH", "STOKER_CUDA_LIBRARY", "STOKER_NVRTC_LIBRARY", "STOKER_NVML",
          "CUDA_VISIBLE_DEVICES")
ALL = "50,60,61,70,75,80,86,89,90"
SHIPPED = "the driver JIT-compiles the shipped PTX: "
WHEEL = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
CONTAINER = "NVIDIA_DRIVER_CAPABILITIES=compute,utility"


class Machine(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)
        for folder in ("loader", "root", "bin", "here"):
            (self.work / folder).mkdir()
        # What this machine has of its own is behind files that are no libraries.
        for name in ("libnvrtc.so", "libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13", "libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ml.so"):
            (self.work / "loader" / name).touch()
        self.python()
        self.variables = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        self.variables.update(LD_LIBRARY_PATH=str(self.work / "loader"), HOME=str(self.work), STOKER_CACHE_DIR=str(self.work / "cache"),
                              STOKER_FAKE_CUDA=str(self.work / "script"), PATH=f"{self.work}/bin:{os.environ['PATH']}")
        self.script("driver 12040")

    def script(self, *lines):
        (self.work / "script").write_text("late 0\n" + "".join(line + "\n" for line in lines))

    def put(self, path, script=""):
        """A copy, for links to one file are one library to the loader."""
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FAKE, file)
        file.with_name(file.name + ".script").write_text(script + "\n")
        return str(file)

    def driver(self):
        self.put("loader/libcuda.so.1")

    def nvrtc(self, path, version, known=ALL):
        return self.put(path, f"nvrtc {version.replace('.', ' ')} {known}")

    def python(self, *folders):
        """The python3 of PATH, with these folders for packages."""
        program = self.work / "bin/python3"
        program.write_text("#!/bin/sh\ncat <<END\n" + "".join(f"{folder}\n" for folder in folders) + "END\n")
        program.chmod(0o755)

    def run_probe(self, *libraries, status=0, **more):
        done = subprocess.run([PROBE, str(self.work / "root"), *libraries], env=dict(self.variables, **more), cwd=self.work / "here",
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return dict(line.partition(": ")[::2] if ": " in line else (line.rstrip(":"), "") for line in done.stdout.splitlines())

    def expect_nvrtc(self, versions, *libraries, note="", **more):
        said = self.run_probe(*libraries, **more)
        self.assertEqual((said["nvrtc"], said["note"]), (versions, note))

    # A toolkit 13 and a driver of CUDA 12.

    def test_the_nvrtc_that_fits_the_driver(self):
        self.driver()
        self.nvrtc("root/usr/local/cuda-13.0/lib64/libnvrtc.so.13", "13.0")
        self.nvrtc("root/usr/local/cuda-12.8/lib64/libnvrtc.so.12", "12.8")
        self.nvrtc("root/opt/cuda/lib64/libnvrtc.so.12", "12.2")
        self.nvrtc("env/lib/python3.11/site-packages/" + WHEEL, "12.4")
        self.nvrtc("env/lib/python3.11/site-packages/torch/lib/libnvrtc.so.11.2", "11.8")
        self.expect_nvrtc("12.4 12.2 11.8 12.8 13.0", VIRTUAL_ENV=str(self.work / "env"))
        self.script("driver 13000")
        self.expect_nvrtc("13.0 12.8 12.4 12.2 11.8", VIRTUAL_ENV=str(self.work / "env"))

    def test_nvrtc_13_alone(self):
        self.driver()
        self.nvrtc("root/usr/local/cuda/lib64/libnvrtc.so.13", "13.0")
        self.expect_nvrtc("13.0", note=SHIPPED + "NVRTC 13.0 is newer than the driver's CUDA 12.4")

    def test_nvrtc_13_and_a_driver_too_old_for_the_ptx(self):
        self.driver()
        self.nvrtc("root/usr/local/cuda/lib64/libnvrtc.so.13", "13.0")
        self.script("driver 11040")
        said = self.run_probe(status=1)
        self.assertRegex(said["error"], r"^cannot compile kernels for 'cuda:0': NVRTC 13\.0 is newer than the driver's CUDA 11\.4; "
                         r"shipped PTX: cuModuleLoadData failed: .*222\); NVRTC 13\.0: cuModuleLoadData failed: .*222\)$")
        self.assertIn("update the driver, or set STOKER_NVRTC_LIBRARY to an older NVRTC", said["hint"])

    def test_the_next_one_where_the_driver_refuses_ptx(self):
        self.driver()
        self.nvrtc("root/opt/cuda/lib64/libnvrtc.so.12", "12.8", "75")  # PTX for sm_80, newer than the driver's
        said = self.run_probe()
        self.assertRegex(said["note"], "^" + SHIPPED + "NVRTC 12.8: cuModuleLoadData failed")
        self.nvrtc("root/usr/local/cuda/lib64/libnvrtc.so.12", "12.9")
        self.expect_nvrtc("12.8 12.9")

    def test_the_next_one_where_the_gpu_is_too_old(self):
        self.driver()
        self.script("driver 13000", "gpu 0 sm 61")
        self.nvrtc("root/usr/local/cuda-13.0/lib64/libnvrtc.so.13", "13.0", "75,80,90")
        said = self.run_probe()
        self.assertEqual(said["note"], SHIPPED + "NVRTC 13.0: NVRTC 13.0 does not support sm_61: it supports sm_75 and newer")
        self.nvrtc("root/usr/local/cuda-12.4/lib64/libnvrtc.so.12", "12.4")
        self.expect_nvrtc("13.0 12.4")

    def test_a_compiler_that_fails(self):
        self.driver()
        self.put("root/usr/local/cuda/lib64/libnvrtc.so.12", f"nvrtc 12 4 {ALL}\nfault nvrtcCompileProgram fail 7")
        said = self.run_probe()
        self.assertRegex(said["note"], "^" + SHIPPED + r"NVRTC 12\.4: nvrtcCompileProgram failed: builtin operation failure \(7\)$")
        self.nvrtc("root/opt/cuda/lib64/libnvrtc.so.12", "12.2")
        self.expect_nvrtc("12.4 12.2")

    # None at all.

    def test_without_nvrtc(self):
        self.driver()
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found")
        self.script("driver 12040", "gpu 0 sm 52")
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found")

    def test_the_program_says_so(self):
        self.driver()
        for words in ((), ("--check",)):
            done = subprocess.run([STOKER, "devices", *words], env=dict(self.variables, STOKER_NVRTC_LIBRARY="none"), capture_output=True,
                                  text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(SHIPPED + "NVRTC not found\n", done.stdout)
        self.assertIn("bit-identical to the reference", done.stdout[done.stdout.index("cuda:0"):])

    def test_the_effects_say_so(self):
        self.driver()
        more, data = dict(self.variables, STOKER_NVRTC_LIBRARY="none"), str(self.work / "data")
        subprocess.run([STOKER, "make", "faces", data, "--count", "4"], env=more, check=True, capture_output=True, timeout=100)
        done = subprocess.run([STOKER, "load", data, "augment.preset=standard", "augment.device=cuda:0", "--json"], env=more, check=True,
                              capture_output=True, text=True, timeout=100)
        row = next(row for row in json.loads(done.stdout)["effects"] if row["name"] == "augment.device")
        self.assertEqual(row["why"], "NVIDIA Fake 0; " + SHIPPED + "NVRTC not found")

    def test_without_nvrtc_and_with_an_old_driver(self):
        self.driver()
        self.script("driver 11040")
        said = self.run_probe(status=1)
        self.assertRegex(said["error"], r"^cannot compile kernels for 'cuda:0': NVRTC not found; shipped PTX: cuModuleLoadData failed: .*222\)$")

    def test_the_variable(self):
        self.driver()
        own = self.nvrtc("own.so", "12.2")
        self.nvrtc("root/usr/local/cuda/lib64/libnvrtc.so.12", "12.4")
        self.expect_nvrtc("12.2", STOKER_NVRTC_LIBRARY=own)
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found", STOKER_NVRTC_LIBRARY="none")
        said = self.run_probe(status=1, STOKER_NVRTC_LIBRARY="/nowhere/libnvrtc.so")
        self.assertRegex(said["error"], "^STOKER_NVRTC_LIBRARY=/nowhere/libnvrtc.so cannot be opened: ")
        self.assertIn("unset STOKER_NVRTC_LIBRARY", said["hint"])

    # Python environments that no variable names.

    def test_packages_of_the_python_of_path(self):
        self.driver()
        self.nvrtc("site/" + WHEEL, "12.4")
        self.python("", "relative", self.work / "other", self.work / "site")
        self.expect_nvrtc("12.4")

    def test_python_is_asked_where_nothing_else_fits(self):
        self.driver()
        self.nvrtc("site/" + WHEEL, "12.4")
        self.python(self.work / "site")
        self.nvrtc("root/usr/local/cuda/lib64/libnvrtc.so.13", "13.0")
        self.expect_nvrtc("12.4 13.0")
        self.nvrtc("root/opt/cuda/lib64/libnvrtc.so.12", "12.2")
        self.expect_nvrtc("12.2 13.0")  # not asked

    def test_the_current_folder_is_no_place(self):
        self.driver()
        self.nvrtc("here/" + WHEEL, "12.4")
        self.nvrtc("here/relative/" + WHEEL, "12.4")
        self.python("", "relative", ".")
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found")

    def test_beside_the_named_pytorch(self):
        self.driver()
        self.nvrtc("site/" + WHEEL, "12.4")
        self.nvrtc("site/torch/lib/libnvrtc.so.12", "12.1")
        self.expect_nvrtc("12.4 12.1", STOKER_TORCH=str(self.work / "site/torch/lib"))

    def test_beside_the_pytorch_of_the_process(self):
        self.driver()
        self.nvrtc("site/nvidia/cu13/lib/libnvrtc.so.13", "12.3")
        lib = os.path.dirname(self.put("site/torch/lib/libtorch_cpu.so"))
        self.expect_nvrtc("12.3", "libtorch_cpu.so", LD_LIBRARY_PATH=f"{self.work}/loader:{lib}")  # it has no soname, the real one has

    def test_without_python(self):
        self.driver()
        (self.work / "bin/python3").write_text("#!/bin/sh\nexit 127\n")
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found")

    # Containers with parts of the driver.

    def test_container_without_utility(self):
        self.driver()
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found")  # augmentation does not need that part
        done = subprocess.run([STOKER, "monitor", "--json", "--interval", "0.1", "--duration", "0.2"], env=self.variables, capture_output=True,
                              text=True, timeout=100)
        self.assertIn("libnvidia-ml.so.1 is missing, but the driver's libcuda.so.1 is present; start the container with " + CONTAINER, done.stderr)

    def test_container_without_compute(self):
        said = self.run_probe(status=1)
        self.assertRegex(said["error"], r"^cuda:0 is not available: libcuda\.so\.1 not found ")
        self.assertIn("a container needs `--gpus all` and " + CONTAINER, said["hint"])

        done = subprocess.run([STOKER, "devices"], env=self.variables, capture_output=True, text=True, timeout=100)
        self.assertRegex(done.stdout, r"cuda +not available: libcuda\.so\.1 not found .*: no NVIDIA driver\n +hint: .*" + CONTAINER)

    def test_container_without_the_translator_of_ptx(self):
        self.driver()
        self.script("driver 12040", "fault cuModuleLoadData fail 221")
        said = self.run_probe(status=1)
        self.assertRegex(said["error"], r"shipped PTX: cuModuleLoadData failed: PTX JIT compiler library not found \(.*, 221\)$")
        self.assertIn("a container needs " + CONTAINER, said["hint"])

    def test_driver_that_does_not_start(self):
        self.driver()
        for code, word in ((3, "spawn"), (304, "/dev/nvidia"), (802, "nvidia-fabricmanager"), (999, "nvidia_uvm")):
            self.script(f"fault cuInit fail {code}")
            self.assertIn(word, self.run_probe(status=1)["hint"])

    # WSL2, whose driver is in a folder of its own.

    def test_wsl(self):
        self.put("root/usr/lib/wsl/lib/libcuda.so.1")
        self.expect_nvrtc("", note=SHIPPED + "NVRTC not found")
        self.nvrtc("env/lib/python3.12/site-packages/" + WHEEL, "12.4")
        self.expect_nvrtc("12.4", CONDA_PREFIX=str(self.work / "env"))


unittest.main(verbosity=2)
