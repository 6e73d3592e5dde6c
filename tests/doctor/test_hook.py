#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The doctor's hook in a program with many kinds of training loops: it changes nothing, and what it saw is right."""
import unittest

from hook_case import Case, Run, started_together


def line_of(text):
    """"everything.py:12" of the one line with this text."""
    from hook_case import SCRIPTS
    lines = (SCRIPTS / "everything.py").read_text().splitlines()
    number, = [i + 1 for i, line in enumerate(lines) if text in line]
    return f"everything.py:{number}"


class Everything(Case):
    @classmethod
    def setUpClass(cls):
        words = ["everything.py"]
        cls.bare, cls.seen = started_together((Run, words, False), (Run, words))
        cls.records = cls.seen.records

    def test_nothing_changes(self):
        self.assertEqual(self.seen.out, self.bare.out)  # weights to the last bit, counters of dynamo
        self.assertEqual(self.seen.err, self.bare.err)  # warnings and tracebacks
        self.assertEqual((self.seen.status, self.bare.status), (1, 1))
        self.assertRegex(self.bare.out, "'graph_break': [1-9]")
        self.assertIn("KeyError: 'missing'", self.bare.err)
        self.assertIn("UserWarning: Converting a tensor", self.bare.err)

    def test_hook(self):
        self.assertEqual((self.records["hook_started"], self.records["hook_note"], self.records["trainers"]), (True, "", 1))

    def test_steps(self):
        steps = self.records["steps"]
        self.assertEqual([step["batches"] for step in steps], [1] * 100 + [3] * 4 + [1] * (3 + 5 + 4 + 4) + [0] * (6 + 3 + 1))
        self.assertEqual(self.records["steps_total"], len(steps))
        self.assertEqual(steps[0]["samples"], 4)
        for step in steps:
            causes = sum(value for key, value in step.items() if key not in ("wall", "gpu", "batches", "samples"))
            self.assertLessEqual(causes, step["wall"] * 1.0001)
            self.assertGreater(step["optimizer"], 0)
            self.assertGreater(step["backward"], 0)
            self.assertGreater(step["forward"], 0)
        explained = sum(1 for step in steps[1:100] if step["data_wait"] + step["forward"] + step["backward"] + step["optimizer"] > 0.5 * step["wall"])
        self.assertGreater(explained, 90)
        self.assertGreater(steps[112]["evaluation"], 0)  # the step after it
        self.assertTrue(all(step["evaluation"] == 0 for step in steps[1:100]))

    def test_calls(self):
        sites = self.records["sites"]
        self.assertEqual(self.row(sites, call="item", site=line_of("total += loss.item()"))["count"], 100)  # 502 with those of AdamW
        self.assertEqual(self.row(sites, call="item", site=line_of("total += loss.item()"))["steps"], 100)
        evaluated = line_of('print("evaluation"')
        self.assertEqual({call: self.row(sites, call=call, site=evaluated)["count"] for call in ("int", "format", "bool", "tolist", "print")},
                         {"int": 1, "format": 1, "bool": 1, "tolist": 1, "print": 1})
        self.assertEqual(sum(row["on_device"] for row in sites), 0)
        self.assertEqual(self.row(sites, call="save", site=line_of("torch.save("))["count"], 1)

    def test_loaders(self):
        loaders = self.records["loaders"]
        plain = self.row(loaders, site=line_of("Pictures(100)"))
        self.assertEqual((plain["epochs"], plain["batches"], plain["length"], plain["shuffle"], plain["training"]), (4, 100, 25, True, True))
        self.assertEqual((plain["dataset"], plain["sampler"], plain["num_workers"], plain["custom_collate"]), ("Pictures", "RandomSampler", 0, False))
        for size, count in ((4, 3), (6, 2)):
            self.assertEqual(self.row(loaders, dataset="Pictures", batch_size=size, training=False)["batches"], count)
        for method in ("fork", "spawn"):
            row = self.row(loaders, num_workers=2, start_method=method)
            self.assertEqual((row["batches"], row["training"]), (4, True))
            self.assertGreaterEqual(row["worker_max_share"], 1)

    def test_work(self):
        names = {row["name"]: row for row in self.records["work"]}
        samples = 4 * 100 + 24 + 6 + 10 + 12 + 12 + 12 + 12
        self.assertIn(names["dataset code"]["count"] - samples, range(2, 6))  # those that raised; a worker was asked for more than one
        self.assertEqual(names["collate"]["count"], 100 + 12 + 3 + 5 + 3 + 2 + 4 + 4)
        self.assertGreater(names["dataset code"]["total"], 2 * 12 * 0.01)  # in both kinds of workers
        self.assertLess(names["dataset code"]["cpu"], names["dataset code"]["total"])

    def test_optimizers(self):
        rows = self.records["optimizers"]
        adamw = self.row(rows, name="AdamW")
        self.assertEqual((adamw["steps"], adamw["zero_grads"], adamw["zero_grads_kept"], adamw["lr"], adamw["parameters"]), (100, 100, 0, 0.01, 4))
        self.assertEqual(adamw["site"], line_of("torch.optim.AdamW"))
        accumulated = self.row(rows, site=line_of("optimizer = torch.optim.SGD(model.parameters(), lr=0.01)"))
        self.assertEqual((accumulated["steps"], accumulated["zero_grads_kept"]), (4, 4))
        self.assertEqual([self.row(rows, name=name)["steps"] for name in ("LBFGS", "RMSprop")], [3, 5])
        self.assertEqual([self.row(rows, name=name)["steps"] for name in ("Adagrad", "Adamax")], [3, 3])

    def test_settings(self):
        found = self.records["torch"]
        self.assertEqual((found["device"], found["convolutions"], found["channels_last_model"], found["channels_last_input"]), ("cpu", True, False, False))
        self.assertEqual((found["fixed_shapes"], found["deterministic"], found["anomaly_detection"]), (True, False, False))
        self.assertEqual((found["autocasts"], found["autocasts_off"], found["autocast_dtype"]), (8, 4, "bfloat16"))
        self.assertAlmostEqual(found["autocast_share"] * (100 + 12 + 9 + 10 + 6 + 8 + 3), 4, delta=1.5)
        self.assertEqual((found["compiles"], found["saves"], found["evaluations"]), (3, found["saves"], 2))
        self.assertGreater(found["graph_breaks"], 0)


if __name__ == "__main__":
    unittest.main()
