#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on libraries that wrap PyTorch, without and with the doctor's hook: the same output and status, and records of the trainer.
Started by tests/long/doctor_harmless.sh."""
import sys
import unittest

from hook_case import SCRIPTS, Case, Run


class Harmless(Case):
    def same(self, *words, steps):
        bare, seen = Run(list(words), False), Run(list(words))
        self.assertEqual(bare.status, 0, bare.err[-2000:])
        self.assertEqual((seen.out, seen.status), (bare.out, 0), seen.err[-2000:])
        self.assertEqual(seen.records["hook_note"], "")
        self.assertEqual(seen.records["steps_total"], steps)
        return seen.records

    def test_inductor(self):
        self.assertEqual(self.same("libraries.py", "inductor", steps=8)["torch"]["compiles"], 1)

    def test_torchrun(self):
        records = self.same("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "libraries.py", "ranks", steps=8)
        self.assertEqual((records["trainers"], records["torch"]["world_size"]), (2, 2))
        self.assertEqual(records["torch"]["parallel"], "DistributedDataParallel")

    def test_lightning(self):
        records = self.same("libraries.py", "lightning", steps=16)
        self.row(records["loaders"], training=False)

    def test_trainer(self):
        self.same("libraries.py", "trainer", steps=6)

    def test_accelerate(self):
        self.same("libraries.py", "accelerate", steps=8)

    def test_transforms(self):
        names = {row["name"] for row in self.same("libraries.py", "transforms", steps=8)["work"]}
        self.assertLessEqual({"PIL.Image.open", "PIL.Image.load", "RandomRotation", "ToTensor", "RandomHorizontalFlip", "Blur", "dataset code", "collate"}, names)


if __name__ == "__main__":
    print(sys.version, SCRIPTS)
    unittest.main()
