#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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
IDLE = "idle 20000000\n"  # what is only timed is not computed
LINK = ("util_percent const 93", "link_generation const 4", "link_generation_max const 4", "link_width const 16", "link_width_max const 16")
SPEED = "gpu 0 speed 1410 1555 25\ngpu 0 clock 1215000\ngpu 0 bus 5120\n"  # an A100 of 40 GB, and as its driver tells
LIST = pathlib.Path(__file__).resolve().parents[2] / "src" / "device" / "known_gpus.list"
# As drivers call them.
NAMES = {"A100 80 GB PCIe": "NVIDIA A100 80GB PCIe", "A100 80 GB": "NVIDIA A100-SXM4-80GB", "A100 40 GB": "NVIDIA A100-SXM4-40GB",
         "H100 PCIe": "NVIDIA H100 PCIe", "H100 SXM": "NVIDIA H100 80GB HBM3", "T4": "Tesla T4", "V100 SXM2": "Tesla V100-SXM2-16GB",
         "V100 PCIe": "Tesla V100-PCIE-32GB"}


def watched(gpus=1, **changes):
    """A script of the fake NVML."""
    curves = {line.split()[0]: line for line in LINK}
    curves.update({name: f"{name} const {value}" for name, value in changes.items()})
    return f"gpus {gpus}\nsamples 50 120\n" + "".join(f"{gpu} {curve}\n" for gpu in range(gpus) for curve in curves.values())


WATCHED = watched()


def known_gpus():
    """[(short name, lines of the script with K for the GPU's number)] of the list."""
    rows = re.findall(r'^GPU\("[^"]*", "([^"]*)", (\d+), (\d+), (\d+), (\d+),', LIST.read_text(), re.M)
    for name, sm, units, clock, memory in rows:
        driver = NAMES.get(name, ("NVIDIA GeForce " if name.startswith("RTX") else "NVIDIA ") + name)
        yield name, f"gpu <K> name {driver}\ngpu <K> sm {sm}\ngpu <K> units {units}\ngpu <K> speed {clock} {memory} 25\n"


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
        done = subprocess.run([STOKER, "devices", "--selftest", "--quick", *words], env=self.environment("late 0\n" + IDLE + script, **more),
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
        self.assertRegex(lines[-2], r"^\d+ ok, \d+ low, \d+ failed, \d+ unknown$")
        return lines

    def tally(self, text):
        """ok, failed (with the LOW ones, as the status counts them), unknown"""
        ok, low, failed, unknown = (int(word) for word in re.findall(r"\d+", self.block(text)[-2]))
        return ok, low + failed, unknown

    def expect_line(self, text, pattern):
        self.assertTrue(re.search("^" + pattern + "$", text, re.M), f"no line '{pattern}' in:\n{text}")

    def test_all_of_it(self):
        text, _ = self.selftest(script=NAME + SPEED)
        self.assertEqual(self.tally(text)[1:], (0, 0), text)
        for pattern in (r"stoker +\d+\.\d+\.\d+", r"driver +570\.86\.15, CUDA 12\.8", r"NVRTC +12\.8", r"PyTorch +\d+\.\d+\.\d+, CUDA 12\.8",
                        r"cuda:0: NVIDIA Fake 80GB, NVIDIA CUDA, sm_80, 108 SMs, 8\.6 GB, PCIe 4\.0 x16",
                        r"  NHWC, float32 +0 +0 \([\d,]+ values, \d+ batches\) +ok", r"  planar \(NCHW\), 16 bits +0 +0 \([\d,]+ values, \d+ batches\) +ok",
                        r"  PCIe lanes during copies +16 +>= 16 \(measured: PCIe 4\.0 x16 of PCIe 4\.0 x16\) +ok",
                        r"  to the GPU, pinned memory +25 GB/s +>= 22\.05 GB/s \(70 % of PCIe 4\.0 x16, 31\.5 GB/s\) +ok",
                        r"  from the GPU, pageable memory +12\.5 GB/s +not judged: .*",
                        r"  strong, 32 x 512 x 512 +\S+ ms +<= \S+ ms \(2 x \S+ ms: \d+ instr\./px, 108 SMs, 1410 MHz, as the driver reports\) +ok",
                        r"  strong, NHWC, float32 +0 +0 \([\d,]+ bytes, 2 batches\) +ok", r"  MixUp, NHWC, bfloat16 +0 +0 \(.*\) +ok",
                        r"  CutMix, planar \(NCHW\), float16 +0 +0 \(.*\) +ok",
                        r"  conv +\S+ +<= 1\.0e-04 +ok", r"  value_error +\S+ +<= 5\.0e-05 +ok",
                        r"  evaluation, 29 operations +\S+ +<= 1 \(\w+, \S+ of \S+\) +ok", r"  frozen batch_norm +\S+ +<= 1 \(batch_norm, .*\) +ok",
                        r"  bf16, 18 operations +\S+ +<= 1 \(.*\) +ok", r"  fp16, 18 operations +\S+ +<= 1 \(.*\) +ok",
                        r"  relative difference, first 2 steps +\S+ +<= 0\.001 +ok", r"  max rel\. difference, 8 steps +\S+ +<= 0\.02 +ok",
                        r"  evaluation after 2 steps +\S+ +<= 0\.001 +ok", r"  bf16, max rel\. difference, 8 steps +\S+ +<= 0\.1 +ok",
                        r"  step time +\S+ ms +<= \S+ ms \(step time on the CPU\) +not judged", r"  data wait +(< )?\S+ % +<= 5 % +not judged",
                        r"  GPU utilization \(NVML\) +93 % +>= 85 % +not judged", r"  peak memory +\S+ GB +planned: \S+ GB with the CUDA context, .*"):
            self.expect_line(text, pattern)
        # PyTorch's numbers against those of another engine: they agree in what is shown.
        here, there = (re.search(rf"  loss on {device} +(.*)", text)[1] for device in ("cuda:0", "cpu"))
        here, there = ([float(word) for word in words.split()] for words in (here, there))
        self.assertEqual((len(here), len(there)), (4, 4))
        for one, other in zip(here, there):
            self.assertAlmostEqual(one, other, delta=1e-3 * other)
        self.assertEqual(len(re.findall(r"<= [15]\.0e-0[45] +ok$", text, re.M)), 29)  # every operation

    def rows(self, part, script, status=1, **more):
        """Of the GPUs, one part of the self-test."""
        text, _ = self.selftest("--part", part, "--json", script=script, status=status, **more)
        return [gpu["rows"] for gpu in json.loads(text)["gpus"]]

    def expect_broken(self, part, script, names, **more):
        rows, = self.rows(part, NAME + SPEED + script, **more)
        self.assertEqual([row["name"] for row in rows if row["verdict"] not in ("ok", None)], names, (script, more))

    def known_rows(self, share):
        """(name, its rows) of each GPU in the list, whose kernels reach that share of what the model allows."""
        gpus = list(known_gpus())
        for first in range(0, len(gpus), 8):  # so many has the fake
            some = gpus[first:first + 8]
            script = f"gpus {len(some)}\nnvrtc 12 8 70,75,80,86,89,90,100,120\n" + "".join(
                (lines + f"gpu <K> kernels {share}\n").replace("<K>", str(k)) for k, (_, lines) in enumerate(some))
            (self.work / "nvml").write_text(watched(len(some)))
            yield from zip((name for name, _ in some), self.rows("device", script, status=int(share < 0.5)))

    def test_healthy_gpus_of_each_kind(self):
        """Kernels at 0.65 of the issue bound pass on every GPU of the list, at 0.4 they are LOW, and nothing else is."""
        seen = 0
        for share, word in ((0.65, "ok"), (0.4, "LOW")):
            for name, rows in self.known_rows(share):
                seen += 1
                for row in rows:
                    timed = row["section"] == "augmentation"
                    self.assertIn(row["verdict"], (word,) if timed else ("ok", None), (name, share, row))  # None: pageable copies
                    self.assertTrue(not timed or row["basis"].endswith(", " + name), row)  # the list's row, not another's
                self.assertEqual(sum(row["section"] == "augmentation" for row in rows), 2)
        self.assertEqual(seen, 2 * 18)

    def test_each_broken_part_fails_by_name(self):
        both, mixed = ["to the GPU, pinned memory", "from the GPU, pinned memory"], ["MixUp, NHWC, bfloat16", "CutMix, planar (NCHW), float16"]
        self.expect_broken("device", "wrong nhwc\n", ["NHWC, float32", "NHWC, 16 bits"])
        self.expect_broken("device", "wrong planar\n", ["planar (NCHW), float32", "planar (NCHW), 16 bits"])
        self.expect_broken("device", "wrong half\n", ["NHWC, 16 bits", "planar (NCHW), 16 bits"])
        self.expect_broken("device", "gpu 0 copies 0.5\n", both)
        self.expect_broken("batches", "wrong mix\n", mixed)
        self.expect_broken("batches", "wrong 2\n", ["strong, NHWC, float32", *mixed])
        (self.work / "nvml").write_text(watched(link_width=8))
        self.expect_broken("device", "gpu 0 copies 0.5\n", ["PCIe lanes during copies"])  # as fast as eight lanes are

    def test_low_is_counted_apart(self):
        words, script = ("--part", "device"), NAME + SPEED + "gpu 0 copies 0.5\n"
        text, _ = self.selftest(*words, script=script, status=1)
        self.assertRegex(self.block(text)[-2], r"^\d+ ok, 2 low, 0 failed, 0 unknown$")
        text, _ = self.selftest(*words, "--json", script=script, status=1)
        self.assertEqual(json.loads(text)["failed"], 2)

    def test_the_list_says_whether_a_gpu_can_train(self):
        lib = self.work / "torch" / "lib"
        for change, pattern in ((lambda: None, r"training: engine torch, PyTorch \d+\.\d+\.\d+ with CUDA; `stoker devices --selftest` tests it"),
                                ((lib / "libtorch_cuda.so").unlink, r"training: not available: PyTorch [\d.]+ was built without CUDA\n"
                                 r" +hint: install a PyTorch build with CUDA"),
                                ((lib / "libtorch_cpu.so").unlink, r"training: not available: cannot load PyTorch: .*\n +hint: .*STOKER_TORCH")):
            change()
            done = subprocess.run([STOKER, "devices"], env=self.environment("late 0\ngpus 2\n"), capture_output=True, text=True, check=True,
                                  timeout=100)
            self.assertEqual(len(re.findall(r"^ {11}" + pattern + "$", done.stdout, re.M)), 2, done.stdout)  # for each GPU

    def test_modes_of_the_engine_fail_by_name(self):
        for wrong, names in (("evaluation", ["evaluation, 29 operations", "frozen batch_norm"]), ("frozen", ["frozen batch_norm"]),
                             ("bf16", ["bf16: conv"]), ("fp16", ["fp16: conv"])):
            self.expect_broken("engine", "", names, STOKER_FAKE_TORCH_WRONG=wrong)

    def test_training_fails_by_name(self):
        self.expect_broken("train", "", ["evaluation after 2 steps"], STOKER_FAKE_TORCH_WRONG="evaluation")
        self.expect_broken("train", "", ["mixed precision (AMP)"], STOKER_FAKE_TORCH_WRONG="bf16")

    def test_a_mig_instance_is_watched_itself(self):
        """CUDA gives its own id; link and board are those of the GPU."""
        (self.work / "nvml").write_text(watched() + "mig 0 2 1g.10gb\n")
        script = "gpu 0 name NVIDIA A100-SXM4-80GB MIG 1g.10gb\ngpu 0 mig 1\ngpu 0 units 14\ngpu 0 speed 1410 264 25\n"
        text, _ = self.selftest("--part", "device", script=script)
        self.expect_line(text, r"cuda:0: NVIDIA A100-SXM4-80GB MIG 1g\.10gb, .*, 14 SMs, .*, PCIe 4\.0 x16")
        self.expect_line(text, r"  standard, .* ms +<= .* ms \(2 x .* instr\./px, 14 SMs, 1410 MHz, A100 80 GB\) +ok")
        text, _ = self.selftest("--part", "device", script=script.replace("mig 1", "mig 5"))
        self.expect_line(text, r"  PCIe link +unknown: NVML does not list this GPU; .*")

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
        script = "late 0\ngpus 2\ngpu 1 name NVIDIA GeForce RTX 3090\ngpu 1 units 82\ngpu 1 speed 1695 936 25\n" + IDLE
        done = subprocess.run([STOKER, "devices", "--selftest", "--quick", "--gpu", "cuda:1", "--json"], stdout=subprocess.PIPE, stderr=slave,
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
        self.assertEqual(report["unknown"], 4)  # link, what copies should reach, and utilisation
        self.assertEqual(report["ok"], sum(row["verdict"] == "ok" for row in gpu["rows"]))
        self.assertEqual(rows[("training under load", "GPU utilization (NVML)")]["verdict"], "unknown")
        self.assertIn("NVIDIA", rows[("NVML", "PCIe link")]["why"])
        bits = rows[("device check, values that differ from the reference", "NHWC, float32")]
        self.assertEqual((bits["value"], bits["expected"], bits["limit"], bits["verdict"]), (0, 0, "most", "ok"))
        augmented = rows[("augmentation", "standard, 32 x 512 x 512")]
        instructions = int(re.search(r'CHAIN\("standard", (\d+)\)', (LIST.parent / "kernel/kernel_cost.list").read_text())[1])
        self.assertIn(f"{instructions} instr./px, 82 SMs, 1695 MHz, RTX 3090", augmented["basis"])
        # Twice the time in which 82 multiprocessors issue 128 instructions a clock each.
        self.assertAlmostEqual(augmented["expected"], 2 * instructions * 32 * 512 * 512 / (82 * 128 * 1695e3), delta=1e-4)

    def test_nvml_hangs(self):
        (self.work / "nvml").write_text(WATCHED + "fault nvmlDeviceGetSamples from 1 hang 100\nfault nvmlDeviceGetUtilizationRates hang 100\n")
        text, _ = self.selftest("--part", "device", script=NAME + SPEED)
        self.expect_line(text, r"  to the GPU, pinned memory +25 GB/s +PCIe link unknown +unknown")
        text, _ = self.selftest("--part", "load", script=NAME)
        self.expect_line(text, r"  GPU utilization \(NVML\) +unknown: no utilization samples from the driver")
        self.assertEqual(self.tally(text), (0, 0, 1))

    def test_pytorch_is_missing(self):
        text, _ = self.selftest(status=1, STOKER_TORCH="/nowhere", script="gpu 0 clock 1\ngpu 0 bus 8\ngpu 0 speed 1410 1 25\nfault cuDeviceGetUuid fail 1\n")
        self.expect_line(text, r"PyTorch +none: cannot load PyTorch: libtorch_cpu\.so: .*")
        self.expect_line(text, r"  all operations +FAILED: run\.device = 'cuda:0' cannot be used: cannot load PyTorch: .*")
        self.assertEqual(len(re.findall(r"FAILED: run\.device", text)), 3)
        self.expect_line(text, r"  NHWC, float32 +0 .* ok")
        self.expect_line(text, r"  standard, .* ms +<= .* ms \(2 x \S+ ms: bytes at 2e-06 GB/s, as the driver reports\) +ok")
        self.expect_line(text, r"  PCIe link +unknown: NVML lists a different GPU at this index; .*")
        self.assertEqual(self.tally(text), (9, 3, 3))  # unknown: the link, what copies should reach

    def test_the_gpu_that_is_watched_is_the_one_that_works(self):
        """CUDA counts in the order of CUDA_VISIBLE_DEVICES, NVML in its own."""
        (self.work / "nvml").write_text("gpus 2\n" + "".join(f"{gpu} link_generation_max const {3 + gpu}\n{gpu} link_width_max const 16\n"
                                                             for gpu in range(2)))
        two = "gpus 2\n" + NAME + NAME.replace("0", "1", 1)
        for visible, word, generation in ((None, "0", 3), ("1,0", "0", 4), ("1,0", "1", 3), ("GPU-00000001,0", "0", 4)):
            more = {"CUDA_VISIBLE_DEVICES": visible} if visible else {}
            text, _ = self.selftest("--gpu", word, "--part", "batches", script=two, **more)
            self.expect_line(text, rf"cuda:{word}: NVIDIA Fake 80GB, .*, PCIe {generation}\.0 x16")
        (self.work / "nvml").write_text(WATCHED)
        text, _ = self.selftest("--gpu", "1", "--part", "batches", script=two)
        self.expect_line(text, r"  PCIe link +unknown: NVML does not list this GPU; .*")

    def test_nvrtc_is_missing(self):
        text, _ = self.selftest(status=1, STOKER_NVRTC_LIBRARY="/nowhere/libnvrtc.so", script=NAME)
        self.expect_line(text, r"NVRTC +none: STOKER_NVRTC_LIBRARY=libnvrtc\.so cannot be opened: .*")
        self.expect_line(text, r"  opening the device +FAILED: STOKER_NVRTC_LIBRARY=libnvrtc\.so cannot be opened: .*")
        self.expect_line(text, r"  conv +\S+ +<= 1\.0e-04 +ok")  # needs none
        self.assertEqual(self.tally(text), (33, 6, 0))  # 29 operations and 4 modes; device, 3 kinds of batches, 2 trainings

    def test_wrong_bits_and_failing_calls(self):
        cases = (("wrong 1\n", r"  NHWC, float32 +[1-9]\S* +0 \(.*\) +FAILED"),
                 ("fault cuLaunchKernel at 5 fail 1\n", r"  random batches +FAILED: cuLaunchKernel failed: .*"),
                 ("fault cuMemAlloc_v2 at 9 fail 2\n", r".* FAILED: cuMemAlloc failed: .*out of memory.*"),
                 ("gpu 0 sm 37\n", r"  cuda:0 +FAILED: compute capability sm_37 is unsupported: sm_50 or newer is needed"),
                 ("fault kernel at 12 lose 719\n", r"  to the GPU, pinned memory +FAILED: GPU 'cuda:0' is lost and no longer used: .*"))
        for number, (script, pattern) in enumerate(cases):
            text, _ = self.selftest("--part", "device", status=1, STOKER_CACHE_DIR=str(self.work / f"cache{number}"), script=NAME + SPEED + script)
            self.expect_line(text, pattern)
            self.assertGreater(self.tally(text)[1], 0)

    def test_out_of_memory_and_a_lost_gpu_while_training(self):
        text, _ = self.selftest(status=1, STOKER_FAKE_TORCH_SHORT="60", script=NAME)
        self.expect_line(text, r"  \w+ +FAILED: .*out of memory.*")
        self.expect_line(text, r"  cuda:0 +FAILED: cuda:0 is out of memory: .*")
        self.expect_line(text, r"  to the GPU, pinned memory +\S+ GB/s .*")
        for part in ("train", "load"):
            text, _ = self.selftest("--part", part, status=1, script=NAME + "fault kernel at 3 lose 719\n")
            self.expect_line(text, r"  cuda:0 +FAILED: .+")
            self.assertEqual(self.tally(text), (0, 1, 0))

    def test_ctrl_c_keeps_what_was_measured(self):
        trace = self.work / "trace"
        process = subprocess.Popen([STOKER, "devices", "--selftest"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment(NAME + f"late 0\ntrace {trace}\n"))
        until = time.monotonic() + 100
        while not (trace.exists() and '"bytes":67108864' in trace.read_text().replace(" ", "")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        text, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text + said)
        self.expect_line(text, r"  NHWC, float32 +0 +0 \([\d,]+ values, \d+ batches\) +ok")
        self.expect_line(text, r"  all tests +unknown: interrupted")
        self.expect_line(text, r"\d+ s, interrupted")
        counted = self.tally(text)
        self.assertTrue(counted[0] >= 1 and counted[2] >= 4, text)

    def test_no_gpu_is_one_sentence(self):
        for script, more, sentence in (("gpus 0\n", {}, "the driver lists no GPU"),
                                       ("", {"CUDA_VISIBLE_DEVICES": "-1"}, "CUDA_VISIBLE_DEVICES='-1' may hide them all"),
                                       ("fault cuInit fail 803\n", {}, "cuInit failed"),
                                       ("", {"STOKER_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}, "cannot be opened")):
            text, said = self.selftest(status=1, script=script, **more)
            self.assertEqual(text, "")
            self.assertRegex(said, r"^stoker: no NVIDIA GPU to test: [^\n]+\n(  hint:  [^\n]+\n)?$")
            self.assertIn(sentence, said)
        text, said = self.selftest("--gpu", "3", status=1)
        self.assertEqual((text, said), ("", "stoker: no GPU cuda:3 to test: the driver lists 1\n"))


if __name__ == "__main__":
    if not on_fake_gpu.real_torch():
        print("skipped: there is no PyTorch")
        sys.exit(77)
    unittest.main(verbosity=2)
