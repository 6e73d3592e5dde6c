#!/usr/bin/env python3
"""test_selftest.py STOKER FOLDER NVML: `stoker devices --selftest` on GPUs that are made up (tests/fake): the whole of it, every part failing, and
Ctrl-C. Status 77: there is no PyTorch here."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fake", "torch"))
import on_fake_gpu  # noqa: E402

NVML, FOLDER, STOKER = (sys.argv.pop() for _ in range(3))
BEGIN, END = "----- stoker selftest: begin -----", "----- stoker selftest: end -----"
NAME = "gpu 0 name NVIDIA Fake 80GB\n"  # as the fake NVML has it
WATCHED = "".join(f"0 {curve}\n" for curve in ("util_percent const 93", "link_generation const 1", "link_generation_max const 4",
                                               "link_width const 16", "link_width_max const 16")) + "samples 50 120\n"


class Selftest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)
        (self.work / "nvml").write_text(WATCHED)
        (self.work / "proc/driver/nvidia").mkdir(parents=True)
        (self.work / "proc/driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23\n")
        lib = self.work / "torch" / "lib"
        lib.mkdir(parents=True)
        for name in ("libtorch_cpu.so", "libtorch_cuda.so"):
            (lib / name).symlink_to(os.path.join(FOLDER, name))
        (self.work / "torch" / "version.py").write_text("__version__ = '9'\ncuda: Optional[str] = '12.8'\n")

    def environment(self, script, **more):
        # GPUs of other vendors that may be here are out of sight.
        variables = on_fake_gpu.environment(FOLDER, script, STOKER_CACHE_DIR=str(self.work / "cache"), STOKER_MONITOR_ROOT=str(self.work),
                                            STOKER_NVML=NVML, STOKER_FAKE_NVML=str(self.work / "nvml"))
        self.addCleanup(os.unlink, variables["STOKER_FAKE_CUDA"])
        variables["STOKER_TORCH"] = str(self.work / "torch" / "lib")
        return dict(variables, **more)

    def selftest(self, *words, script="", status=0, **more):
        """What a short one prints, and says."""
        done = subprocess.run([STOKER, "devices", "--selftest", "--quick", *words], env=self.environment("late 0\n" + script, **more),
                              capture_output=True, text=True, timeout=150)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def block(self, text):
        """Lines of the one block, which is all there is; nothing of this machine is in it."""
        lines = text.splitlines()
        self.assertEqual((lines[0], lines[-1]), (BEGIN, END), text)
        for word in (str(self.work), FOLDER, os.path.dirname(STOKER), os.uname().nodename, "GPU-"):
            self.assertNotIn(word, text)
        self.assertNotRegex(text, r"(^|[\s'=(])/\w")
        self.assertRegex(lines[-2], r"^\d+ ok, \d+ failed, \d+ unknown$")
        return lines

    def tally(self, text):
        return tuple(int(word) for word in re.findall(r"\d+", self.block(text)[-2]))

    def expect_line(self, text, pattern):
        self.assertTrue(re.search("^" + pattern + "$", text, re.M), f"no line '{pattern}' in:\n{text}")

    def test_all_of_it(self):
        text, _ = self.selftest(script=NAME)
        self.assertEqual(self.tally(text)[1:], (0, 0), text)
        for pattern in (r"stoker +\d+\.\d+\.\d+", r"driver +570\.86\.15, CUDA 12\.8", r"NVRTC +12\.8", r"PyTorch +\d+\.\d+\.\d+, CUDA 12\.8",
                        r"cuda:0: NVIDIA Fake 80GB, NVIDIA CUDA, sm_80, 108 multiprocessors, 8\.6 GB, PCIe 4\.0 x16",
                        r"  values unlike the reference's +0 +0 \([\d,]{6,} values, 48 batches\) +ok",
                        r"  to the GPU, pinned memory +\S+ GB/s +>= 22\.05 GB/s \(70 % of PCIe 4\.0 x16, 31\.5 GB/s\) +not judged",
                        r"  from the GPU, pageable memory +\S+ GB/s +>= 4\.726 GB/s \(15 % of PCIe 4\.0 x16, 31\.5 GB/s\) +not judged",
                        r"  strong, 1 x 512 x 512 +\S+ ms +its memory's speed is unknown +not judged",
                        r"  conv +\S+ +<= 1\.0e-04 +ok", r"  value_error +\S+ +<= 5\.0e-05 +ok",
                        r"  relative difference, first 2 steps +\S+ +<= 0\.001 +ok", r"  largest of 8 steps +\S+ +<= 0\.02 +ok",
                        r"  a step +\S+ ms +<= \S+ ms \(the CPU's\) +not judged", r"  waiting for data +(< )?\S+ % +<= 5 % +not judged",
                        r"  utilisation by NVML +93 % +>= 85 % +not judged", r"  memory, most +\S+ GB +planned: \S+ GB, .*"):
            self.expect_line(text, pattern)
        # PyTorch's numbers against those of another engine: they agree in what is shown.
        here, there = (re.search(rf"  loss on {device} +(.*)", text)[1] for device in ("cuda:0", "cpu"))
        here, there = ([float(word) for word in words.split()] for words in (here, there))
        self.assertEqual((len(here), len(there)), (4, 4))
        for one, other in zip(here, there):
            self.assertAlmostEqual(one, other, delta=1e-3 * other)
        self.assertEqual(len(re.findall(r"<= [15]\.0e-0[45] +ok$", text, re.M)), 27)  # every operation

    def test_one_of_two_as_json_with_bars(self):
        master, slave = os.openpty()
        seen = bytearray()

        def watch():
            while True:
                try:
                    data = os.read(master, 4096)
                except OSError:
                    return
                seen.extend(data)
        reader = threading.Thread(target=watch, daemon=True)
        reader.start()
        script = "late 0\ngpus 2\ngpu 1 name NVIDIA GeForce RTX 4090\n"
        done = subprocess.run([STOKER, "devices", "--selftest", "--quick", "--gpu", "1", "--json"], stdout=subprocess.PIPE, stderr=slave,
                              env=self.environment(script, STOKER_NVML="/nowhere"), timeout=150, check=True)
        os.close(slave)
        reader.join(10)
        for what in ("device check", "operations", "training on cuda:1", "training on cpu", "training under load"):
            self.assertIn(what, seen.decode())
        report = json.loads(done.stdout)
        self.assertEqual((report["schema"], report["quick"], report["interrupted"], report["failed"]), (1, True, False, 0))
        self.assertEqual([gpu["name"] for gpu in report["gpus"]], ["cuda:1"])
        gpu = report["gpus"][0]
        self.assertIsNone(gpu["link"])
        rows = {(row["section"], row["name"]): row for row in gpu["rows"]}
        self.assertEqual(report["unknown"], 2)  # link and utilisation
        self.assertEqual(report["ok"], sum(row["verdict"] == "ok" for row in gpu["rows"]))
        self.assertEqual(rows[("training under load", "utilisation by NVML")]["verdict"], "unknown")
        self.assertIn("NVIDIA", rows[("NVML", "PCIe link")]["why"])
        bits = rows[("device check", "values unlike the reference's")]
        self.assertEqual((bits["value"], bits["expected"], bits["limit"], bits["verdict"]), (0, 0, "most", "ok"))
        augmented = rows[("augmentation", "standard, 1 x 512 x 512")]
        self.assertIn("at 1008 GB/s, RTX 4090", augmented["basis"])
        # One picture: 17 bytes a pixel, and 3 where it has contrast.
        self.assertAlmostEqual(augmented["expected"], 4 * 20 * 512 * 512 / 1008e6, delta=1e-4)

    def test_nvml_hangs(self):
        (self.work / "nvml").write_text(WATCHED + "fault nvmlDeviceGetSamples from 1 hang 100\nfault nvmlDeviceGetUtilizationRates hang 100\n")
        text, _ = self.selftest(script=NAME)
        self.expect_line(text, r"  utilisation by NVML +unknown: the driver told nothing in that time")
        self.assertEqual(self.tally(text), (30, 0, 1))

    def test_pytorch_is_missing(self):
        text, _ = self.selftest(status=1, STOKER_TORCH="/nowhere", script="gpu 0 clock 1\ngpu 0 bus 8\nfault cuDeviceGetUuid fail 1\n")
        self.expect_line(text, r"PyTorch +none: PyTorch cannot be opened: libtorch_cpu\.so: .*")
        self.expect_line(text, r"  all operations +FAILED: run\.device = 'cuda:0' cannot be used: PyTorch cannot be opened: .*")
        self.assertEqual(len(re.findall(r"FAILED: run\.device", text)), 3)
        self.expect_line(text, r"  values unlike the reference's +0 .* ok")
        self.expect_line(text, r"  standard, .* ms +<= .* ms \(4 x \S+ ms at 2e-06 GB/s, as told\) +not judged")
        self.expect_line(text, r"  PCIe link +unknown: NVML has another GPU in its place; .*")
        self.assertEqual(self.tally(text), (1, 3, 1))

    def test_the_gpu_that_is_watched_is_the_one_that_works(self):
        """CUDA counts in the order of CUDA_VISIBLE_DEVICES, NVML in its own."""
        (self.work / "nvml").write_text("gpus 2\n" + "".join(f"{gpu} link_generation_max const {3 + gpu}\n{gpu} link_width_max const 16\n"
                                                             for gpu in range(2)))
        two = "gpus 2\n" + NAME + NAME.replace("0", "1", 1)
        for visible, word, generation in ((None, "0", 3), ("1,0", "0", 4), ("1,0", "1", 3), ("GPU-00000001,0", "0", 4)):
            more = {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
            text, _ = self.selftest("--gpu", word, status=1, STOKER_TORCH="/nowhere", script=two, **more)
            self.expect_line(text, rf"cuda:{word}: NVIDIA Fake 80GB, .*, PCIe {generation}\.0 x16")
        (self.work / "nvml").write_text(WATCHED)
        text, _ = self.selftest("--gpu", "1", status=1, STOKER_TORCH="/nowhere", script=two)
        self.expect_line(text, r"  PCIe link +unknown: NVML does not list this GPU; .*")

    def test_nvrtc_is_missing(self):
        text, _ = self.selftest(status=1, STOKER_NVRTC_LIBRARY="/nowhere/libnvrtc.so", script=NAME)
        self.expect_line(text, r"NVRTC +none: STOKER_NVRTC_LIBRARY=libnvrtc\.so cannot be opened: .*")
        self.expect_line(text, r"  opening the device +FAILED: STOKER_NVRTC_LIBRARY=libnvrtc\.so cannot be opened: .*")
        self.expect_line(text, r"  conv +\S+ +<= 1\.0e-04 +ok")  # needs none
        self.assertEqual(self.tally(text), (27, 3, 0))

    def test_wrong_bits_and_failing_calls(self):
        cases = (("wrong 1\n", r"  values unlike the reference's +[1-9]\S* +0 \(.*\) +FAILED"),
                 ("fault cuLaunchKernel at 5 fail 1\n", r"  random batches +FAILED: cuLaunchKernel failed: .*"),
                 ("fault cuMemAlloc_v2 at 9 fail 2\n", r".* FAILED: cuMemAlloc failed: .*out of memory.*"),
                 ("gpu 0 sm 37\n", r"  cuda:0 +FAILED: sm_37 is older than sm_50"),
                 ("fault kernel at 12 lose 719\n", r"  to the GPU, pinned memory +FAILED: 'cuda:0' is lost and not used again: .*"))
        for number, (script, pattern) in enumerate(cases):
            text, _ = self.selftest(status=1, STOKER_TORCH="/nowhere", STOKER_CACHE_DIR=str(self.work / f"cache{number}"), script=NAME + script)
            self.expect_line(text, pattern)
            self.assertGreater(self.tally(text)[1], 0)

    def test_out_of_memory_and_a_lost_gpu_while_training(self):
        text, _ = self.selftest(status=1, STOKER_FAKE_TORCH_SHORT="60", script=NAME)
        self.expect_line(text, r"  \w+ +FAILED: .*out of memory.*")
        self.expect_line(text, r"  cuda:0 +FAILED: cuda:0 is out of memory: .*")
        self.expect_line(text, r"  to the GPU, pinned memory +\S+ GB/s .*")
        # The first part has the same kernels without PyTorch; both trainings end with the GPU.
        trace = self.work / "kernels"
        self.selftest(status=1, STOKER_TORCH="/nowhere", script=NAME + f"trace {trace}\n")
        kernels = trace.read_text().count('"stk_')
        text, _ = self.selftest(status=1, script=NAME + f"fault kernel at {kernels + 3} lose 719\n")
        self.assertEqual(len(re.findall(r"^  cuda:0 +FAILED: .+$", text, re.M)), 2, text)
        self.assertEqual(self.tally(text), (28, 2, 0))

    def test_ctrl_c_keeps_what_was_measured(self):
        trace = self.work / "trace"
        process = subprocess.Popen([STOKER, "devices", "--selftest"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment(NAME + f"late 0\ntrace {trace}\n"))
        until = time.monotonic() + 100
        while not (trace.exists() and '"bytes":268435456' in trace.read_text().replace(" ", "")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        text, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text + said)
        self.expect_line(text, r"  values unlike the reference's +0 +0 \([\d,]+ values, 192 batches\) +ok")
        self.expect_line(text, r"  all of it +unknown: interrupted")
        self.expect_line(text, r"\d+ s, interrupted")
        counted = self.tally(text)
        self.assertTrue(counted[0] >= 1 and counted[2] >= 4, text)

    def test_no_gpu_is_one_sentence(self):
        for script, more, sentence in (("gpus 0\n", {}, "the driver is there but lists no GPU"),
                                       ("", {"CUDA_VISIBLE_DEVICES": "-1"}, "CUDA_VISIBLE_DEVICES='-1' may hide them all"),
                                       ("fault cuInit fail 803\n", {}, "cuInit failed"),
                                       ("", {"STOKER_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}, "cannot be opened")):
            text, said = self.selftest(status=1, script=script, **more)
            self.assertEqual(text, "")
            self.assertRegex(said, r"^stoker: there is no NVIDIA GPU to test: [^\n]+\n$")
            self.assertIn(sentence, said)
        text, said = self.selftest("--gpu", "3", status=1)
        self.assertEqual((text, said), ("", "stoker: there is no GPU 3 to test: the driver lists 1\n"))


if __name__ == "__main__":
    if not on_fake_gpu.real_torch():
        print("skipped: there is no PyTorch")
        sys.exit(77)
    unittest.main(verbosity=2)
