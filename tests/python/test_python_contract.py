#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Loader keeps the contract of PyTorch's DataLoader: order, drop_last, seeds, worker counts, len, list, break and iterate
again, set_epoch, resume."""
import itertools
import json
import pathlib
import pickle
import unittest
import warnings

import python_case
from python_case import COUNT, flat, ids_of

import stoker


class Contract(python_case.Case):
    def test_sequential_order_and_the_last_batch(self):
        loader = self.open(shuffle=False)
        batches = ids_of(loader)
        self.assertEqual([number for ids in batches for number in ids], list(range(COUNT)))
        self.assertEqual([len(ids) for ids in batches], [4, 4, 4, 4, 4, 2])
        self.assertEqual(len(loader), 6)

    def test_drop_last(self):
        loader = self.open(shuffle=False, drop_last=True)
        self.assertEqual(ids_of(loader), [list(range(i, i + 4)) for i in range(0, 20, 4)])
        self.assertEqual(len(loader), 5)

    def test_shuffled_by_seed_and_epoch(self):
        first = self.open(shuffle=True, seed=1)
        epochs = [flat(first), flat(first)]
        for epoch in epochs:
            self.assertEqual(sorted(epoch), list(range(COUNT)))
        self.assertNotEqual(*epochs)
        self.assertEqual(epochs, [flat(again) for again in [self.open(shuffle=True, seed=1)] * 2])
        self.assertNotEqual(epochs[0], flat(self.open(shuffle=True, seed=2)))

    def test_same_batches_for_all_workers(self):
        expected = None
        for workers, prefetch in [(0, 1), (1, 1), (2, 2), (4, 3), (7, 1)]:
            loader = self.open(num_workers=workers, prefetch_factor=prefetch, augment="strong", seed=3)
            stream = [(batch.ids.tolist(), batch[0].tobytes(), batch[1].tobytes()) for _ in range(2) for batch in loader]
            expected = expected or stream
            self.assertEqual(stream, expected)

    def test_list_does_not_deadlock(self):
        for settings in ({"num_workers": 0}, {"num_workers": 1, "prefetch_factor": 1}, {"num_workers": 2}):
            loader = self.open(shuffle=False, **settings)
            batches = list(loader)
            self.assertEqual(flat(batches), list(range(COUNT)))
            for batch in batches:
                for place, number in enumerate(batch.ids.tolist()):
                    self.assertTrue((batch[1][place] == python_case.expected_mask(number)).all())
            copies = [row for row in loader.effects if row["in_effect"].endswith("copied")]
            slots = loader.info["slot_count"]
            self.assertEqual(copies[0]["in_effect"] if copies else "none", f"{len(batches) - slots + 1} batches copied")
            self.assertEqual(flat(loader), list(range(COUNT)))  # with all of them still in use

    def test_a_loop_that_keeps_one_batch_copies_none(self):
        loader = self.open()
        for _ in range(3):
            for images, masks in loader:
                pass
        self.assertFalse([row for row in loader.effects if row["in_effect"].endswith("copied")])

    def test_break_starts_the_next_epoch(self):
        for taken in (1, 3, 6):
            loader, other = self.open(seed=5), self.open(seed=5)
            self.assertEqual(len(list(itertools.islice(loader, taken))), taken)
            flat(other)
            self.assertEqual([batch.epoch for batch in loader], [1] * 6)
            self.assertEqual(flat(loader), (flat(other), flat(other))[1])

    def test_iter_without_next_changes_nothing(self):
        loader, other = self.open(seed=5), self.open(seed=5)
        for _ in range(3):
            iter(loader)
        self.assertEqual(flat(loader), flat(other))
        iter(loader)
        self.assertEqual(flat(loader), flat(other))

    def test_an_older_iterator_raises(self):
        loader = self.open()
        old = iter(loader)
        next(old)
        new = iter(loader)
        with self.assertRaisesRegex(stoker.StaleIteratorError, "newer one"):
            next(old)
        self.assertEqual(len(list(new)), 6)
        self.assertEqual(list(new), [])  # exhausted stays exhausted
        with self.assertRaises(stoker.StaleIteratorError):
            next(old)

    def test_an_exhausted_iterator_does_not_take_the_next_epoch(self):
        loader = self.open()
        batches = iter(loader)
        self.assertEqual(len(list(batches)), 6)
        for _ in range(3):
            self.assertRaises(StopIteration, next, batches)
        self.assertEqual([batch.epoch for batch in loader], [1] * 6)

    def test_set_epoch(self):
        loader = self.open(seed=7)
        epochs = [flat(loader) for _ in range(3)]
        for epoch in (2, 0, 1, 1):
            loader.set_epoch(epoch)
            self.assertEqual(flat(loader), epochs[epoch])
        loader.set_epoch(2)
        batches = iter(loader)
        next(batches)
        loader.set_epoch(0)  # of the next iteration, not of this one
        self.assertEqual({batch.epoch for batch in batches}, {2})
        self.assertEqual(flat(loader), epochs[0])
        for wrong in (-1, "1", None, 1.5):
            self.assertRaises(ValueError, loader.set_epoch, wrong)

    def test_two_loaders_at_once(self):
        one, two = self.open(shuffle=False), self.open("classes", shuffle=False)
        for (a, masks), (b, labels) in zip(one, two):
            self.assertEqual(masks.shape, (len(a), 8, 8))
            self.assertEqual(labels.shape, (len(b),))

    def test_ranks(self):
        whole = flat(self.open(shuffle=False, batch_size=8))
        parts = [ids_of(self.open(shuffle=False, rank=rank, ranks=2)) for rank in (0, 1)]
        self.assertEqual([number for pair in zip(*parts) for ids in pair for number in ids], whole)
        self.assertEqual(len(self.open(rank=0, ranks=2)), 3)

    def test_ranks_without_samples(self):
        for ranks, batch_size, empty in ((3, 7, 2), (2, 7, 0), (4, 5, 2), (2, 11, 0)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                counts = [len(list(self.open(rank=rank, ranks=ranks, batch_size=batch_size))[-1].ids) for rank in range(ranks)]
                self.open(rank=0, ranks=ranks, batch_size=batch_size, drop_last=True)
            self.assertEqual(counts.count(0), empty)
            self.assertEqual(len(caught), ranks if empty else 0)
            for warning in caught:
                self.assertRegex(str(warning.message), f"is empty on {empty} of {ranks} ranks .*drop_last=True")
                self.assertEqual(pathlib.Path(warning.filename).name, "python_case.py")  # where the loader was opened

    def test_rank_of_the_environment(self):
        script = "import stoker, sys; loader = stoker.Loader(sys.argv[1], batch_size=4, shuffle=False); print([b.ids.tolist() for b in loader])"
        out = self.run_python(script, self.data(), env={**python_case.environment(), "RANK": "1", "WORLD_SIZE": "2"})
        self.assertEqual(json.loads(out), ids_of(self.open(shuffle=False, rank=1, ranks=2)))


class Resume(python_case.Case):
    def stream(self, loader, epochs):
        return [(batch.epoch, batch.ids.tolist()) for _ in range(epochs) for batch in loader]

    def test_every_place(self):
        whole = self.stream(self.open(seed=11), 3)
        for place in range(13):
            loader = self.open(seed=11)
            first, batches = [], iter(loader)
            while len(first) < place:
                for batch in batches:
                    first.append((batch.epoch, batch.ids.tolist()))
                    if len(first) == place:
                        break
                else:
                    batches = iter(loader)
            state = json.loads(json.dumps(loader.state_dict()))
            other = self.open(seed=11, num_workers=place % 3)
            other.load_state_dict(state)
            rest = 3 - state["epoch"]
            self.assertEqual(first + self.stream(other, rest), whole, f"cut at {place}")

    def test_delivered_not_read_ahead(self):
        loader = self.open(seed=1, num_workers=4)
        batches = iter(loader)
        for taken in range(1, 6):
            next(batches)
            state = loader.state_dict()
            self.assertEqual((state["epoch"], state["position"]), (0, 4 * taken))

    def test_set_epoch_continues_a_resumed_epoch(self):
        loader = self.open(seed=3)
        list(itertools.islice(loader, 2))
        state = loader.state_dict()
        whole = self.stream(self.open(seed=3), 2)
        other = self.open(seed=3)
        other.load_state_dict(state)
        stream = []
        for epoch in range(state["epoch"], 2):  # the usual loop of a script that was resumed
            other.set_epoch(epoch)
            stream += self.stream(other, 1)
        self.assertEqual(stream, whole[2:])

    def test_iter_without_next_stays_at_a_resumed_place(self):
        loader = self.open(seed=3)
        list(itertools.islice(loader, 2))
        other = self.open(seed=3)
        other.load_state_dict(loader.state_dict())
        for _ in range(3):  # frameworks make iterators that they do not use
            iter(other)
        self.assertEqual(self.stream(other, 1), self.stream(self.open(seed=3), 1)[2:])
        self.assertEqual({batch.epoch for batch in other}, {1})

    def test_a_program_that_fetches_ahead(self):
        """Takes `ahead` batches before it uses one, as prefetchers of frameworks do; a checkpoint after each that was used."""
        def fetch_ahead(loader, ahead):
            waiting = []
            for batch in loader:
                waiting.append(batch)
                if len(waiting) > ahead:
                    yield waiting.pop(0)
            yield from waiting

        whole = self.stream(self.open(seed=3), 2)
        for ahead in (1, 2, 9):
            for rank, ranks in ((0, 1), (1, 2)):
                loader, used = self.open(seed=3, rank=rank, ranks=ranks, batch_size=4 // ranks), []
                for batch in (batch for _ in range(2) for batch in fetch_ahead(loader, ahead)):
                    used.append((batch.epoch, batch.ids.tolist()))
                    state = json.loads(json.dumps(loader.state_dict(after=pickle.loads(pickle.dumps(batch)))))
                    for workers in (0, 2):
                        other = self.open(seed=3, rank=rank, ranks=ranks, batch_size=4 // ranks, num_workers=workers)
                        other.load_state_dict(state)
                        rest = self.stream(other, 2 - state["epoch"])
                        if ranks == 1:
                            self.assertEqual(used + rest, whole)
                        else:
                            self.assertEqual(len(used) + len(rest), len(whole))
                            self.assertTrue(all(set(mine[1]) < set(all_ranks[1]) for mine, all_ranks in zip(used + rest, whole)))
        behind = self.open(seed=3)
        batches = fetch_ahead(behind, 1)
        first = next(batches)
        self.assertEqual((behind.state_dict()["position"], behind.state_dict(after=first)["position"]), (8, 4))  # the default: delivered
        for wrong in (first[0], tuple(first), stoker.Batch(first), 3):
            with self.assertRaisesRegex(stoker.ArgumentError, "after is not a batch"):
                behind.state_dict(after=wrong)

    def test_moving_ends_iterators(self):
        loader = self.open()
        batches = iter(loader)
        next(batches)
        loader.load_state_dict(loader.state_dict())
        self.assertRaises(stoker.StaleIteratorError, next, batches)
        self.assertEqual(len(list(loader)), 5)

    def test_foreign_states(self):
        state = self.open().state_dict()
        with self.assertRaisesRegex(stoker.StateError, "seed 0"):
            self.open(seed=1).load_state_dict(state)
        with self.assertRaisesRegex(stoker.StateError, "another data set"):
            self.open("classes").load_state_dict(state)
        with self.assertRaises(stoker.StateError):
            self.open().load_state_dict({"epoch": 1})
        for wrong in (None, "state", 3):
            self.assertRaises(TypeError, self.open().load_state_dict, wrong)


if __name__ == "__main__":
    unittest.main()
