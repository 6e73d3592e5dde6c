#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Loader in a program that uses PyTorch: tensors on the loader's memory, on the host and on a GPU that computes nothing
(tests/fake/cudart). NumPy is not needed."""
import gc
import io
import itertools
import pathlib
import tempfile
import threading
import unittest

import torch

import small_data
import stoker

COUNT, SIDE = 22, 8


def mask_of(number):
    stripes = [(x // 4 + number) % 19 for x in range(2 * SIDE)]
    return torch.tensor([stripes[y // 4:][:SIDE] for y in range(SIDE)])


def image_of(number):
    ramp = [(x * (number + 3)) & 255 for x in range(3 * SIDE + 256)]
    rows = [ramp[(y * 5 + number * 31) % 256:][:3 * SIDE] for y in range(SIDE)]
    return torch.tensor(rows, dtype=torch.uint8).reshape(SIDE, SIDE, 3).permute(2, 0, 1)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.data = pathlib.Path(folder.name) / "pairs"
        small_data.make_pairs(cls.data, COUNT, SIDE)

    def open(self, **settings):
        loader = stoker.Loader(self.data, **{"batch_size": 4, "num_workers": 2, **settings})
        self.addCleanup(loader.close)
        return loader

    def expect(self, batch, images, masks):
        for place, number in enumerate(batch.ids.tolist()):
            torch.testing.assert_close(images[place], image_of(number) / 255, atol=1e-6, rtol=0)
            self.assertTrue(torch.equal(masks[place], mask_of(number)))


class Host(Case):
    def test_tensors(self):
        for batch in self.open():
            images, masks = batch
            self.assertEqual((images.dtype, images.device.type, masks.dtype), (torch.float32, "cpu", torch.int64))
            self.assertTrue(images.is_contiguous())
            self.expect(batch, images, masks)
            self.assertEqual(batch.weights.tolist(), [1.0] * len(images))

    def test_predictions(self):
        with tempfile.TemporaryDirectory() as folder:
            run = stoker.train("make:gray?count=60", run=folder + "/run", run_engine="reference", image_size=8, batch_size=8, epochs=1,
                               model_width=2, model_depth=1, run_threads=1)
            images = torch.arange(5 * 12 * 10, dtype=torch.int64).reshape(5, 1, 12, 10).remainder(251).to(torch.uint8)
            with stoker.Predictor(run) as predictor:
                said, turned = predictor.predict(images), predictor.predict(images.permute(0, 2, 3, 1))
                self.assertRaisesRegex(stoker.ArgumentError, "torch.float32", predictor.predict, images / 255)
        for one, other in zip(said, turned, strict=True):
            self.assertEqual((one.probabilities.dtype, one.probabilities.shape), (torch.float32, (10,)))
            self.assertTrue(torch.equal(one.probabilities, other.probabilities))

    def test_no_copy(self):
        batch = next(iter(self.open()))
        self.assertEqual(torch.from_dlpack(batch._tensors[0]).data_ptr(), batch[0].data_ptr())

    def test_types(self):
        for dtype in (torch.float16, torch.bfloat16, "bf16", torch.uint8):
            images, masks = batch = next(iter(self.open(dtype=dtype)))
            wanted = torch.bfloat16 if dtype == "bf16" else dtype
            self.assertEqual(images.dtype, wanted)
            self.assertEqual(images.shape, (4, 3, 8, 8))
            if dtype == torch.uint8:
                self.assertTrue(images.is_contiguous(memory_format=torch.channels_last))
                self.assertTrue(torch.equal(images[0], image_of(int(batch.ids[0]))))

    def test_kept_after_close_and_freed_by_another_thread(self):
        loader = self.open()
        kept = list(itertools.islice(loader, 3))
        loader.close()
        for batch in kept:
            self.expect(batch, *batch)
        tensors = [tensor[1:] for batch in kept for tensor in batch]
        del kept, batch, loader
        thread = threading.Thread(target=tensors.clear)
        thread.start()
        thread.join()

    def test_freed_by_autograd(self):
        weight = torch.ones(3, 8, 8, requires_grad=True)
        for _ in range(3):
            losses = [(images * weight).pow(2).mean() for images, _ in self.open()]
            sum(losses).backward()  # its own thread frees what it kept
        self.assertGreater(weight.grad.abs().sum().item(), 0)

    def test_list(self):
        loader = self.open(shuffle=False)
        for batch in list(loader):
            self.expect(batch, *batch)
        self.assertTrue(any(row["in_effect"].endswith("copied") for row in loader.effects))

    def test_no_growth(self):
        def load(epochs):
            for _ in range(epochs):
                for images, masks in loader:
                    pass
            gc.collect()
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * 4096

        loader = self.open()
        before = load(50)
        self.assertLess(load(200) - before, 2 << 20)

    def test_moved_as_frameworks_do(self):
        kept = next(iter(self.open()))
        self.assertIs(kept.to("cpu"), kept)
        mixed = next(iter(self.open(augment={"mixup_prob": 1, "mixup_alpha": 0.4}, val_split=0)))
        self.assertIs(mixed.to(torch.device("cpu"), non_blocking=True), mixed)
        for batch in (kept, mixed):
            moved = batch.to("meta")
            self.assertEqual((type(moved), moved[0].device.type, moved.weights.device.type), (stoker.Batch, "meta", "meta"))
            targets = moved[1] if batch is mixed else moved[1:]
            self.assertEqual([target.device.type for target in targets], ["meta"] * len(targets))
            self.assertTrue(torch.equal(moved.ids, batch.ids))
            self.assertEqual((moved.epoch, moved.position), (batch.epoch, batch.position))
        plain = stoker.Batch(kept).to("meta")
        self.assertEqual((type(plain), plain[0].device.type), (stoker.Batch, "meta"))
        self.assertRaises(stoker.ArgumentError, lambda: plain.ids)

    def test_state_in_a_checkpoint(self):
        loader = self.open(seed=1)
        list(itertools.islice(loader, 2))
        file = io.BytesIO()
        torch.save(loader.state_dict(), file)
        file.seek(0)
        other = self.open(seed=1)
        other.load_state_dict(torch.load(file, weights_only=True))
        other_ids = [batch.ids.tolist() for batch in other]
        whole = [batch.ids.tolist() for batch in self.open(seed=1)]
        self.assertEqual(other_ids, whole[2:])

    def test_a_training_loop(self):
        torch.manual_seed(0)
        model = torch.nn.Conv2d(3, 19, 3, padding=1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        loader, losses = self.open(augment="minimal"), []
        for epoch in range(6):
            loader.set_epoch(epoch)
            for images, masks in loader:
                loss = torch.nn.functional.cross_entropy(model(images), masks, ignore_index=255)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        self.assertLess(losses[-1], losses[0])

    def test_like_a_dataloader(self):
        class Files(torch.utils.data.Dataset):
            def __len__(self):
                return COUNT

            def __getitem__(self, number):
                return image_of(number) / 255, mask_of(number)

        for drop_last in (False, True):
            theirs = torch.utils.data.DataLoader(Files(), batch_size=4, drop_last=drop_last)
            ours = self.open(shuffle=False, drop_last=drop_last)
            self.assertEqual(len(ours), len(theirs))
            for (a, b), (c, d) in zip(ours, theirs, strict=True):
                torch.testing.assert_close(a, c, atol=1e-6, rtol=0)
                self.assertTrue(torch.equal(b, d) and b.dtype == d.dtype and a.stride() == c.stride())

    def test_rank_of_torch_distributed(self):
        import torch.distributed as distributed
        distributed.init_process_group("fake" if "fake" in distributed.Backend.backend_list else "gloo", rank=0, world_size=1,
                                       store=distributed.HashStore())
        self.addCleanup(distributed.destroy_process_group)
        distributed.get_rank, before = lambda: 1, distributed.get_rank
        distributed.get_world_size, world = lambda: 2, distributed.get_world_size
        self.addCleanup(lambda: (setattr(distributed, "get_rank", before), setattr(distributed, "get_world_size", world)))
        self.assertEqual([batch.ids.tolist() for batch in self.open(shuffle=False)][0], [4, 5, 6, 7])


@unittest.skipUnless(torch.cuda.is_available(), "no GPU, real or not")
class Gpu(Case):
    def test_tensors(self):
        expected = {}
        for batch in self.open():
            expected.update(zip(batch.ids.tolist(), zip(*batch)))
        for device in ("cuda", "cuda:0", torch.device("cuda"), 0):
            loader = self.open(device=device)
            self.assertTrue(loader.info["resident"])
            for batch in loader:
                images, masks = batch
                self.assertEqual((images.device, masks.device), (torch.device("cuda:0"),) * 2)
                self.assertEqual(batch.ids.device.type, "cpu")
                torch.cuda.synchronize()
                for number, image, mask in zip(batch.ids.tolist(), images.cpu(), masks.cpu()):
                    self.assertTrue(torch.equal(image, expected[number][0]))
                    self.assertTrue(torch.equal(mask, expected[number][1]))

    def test_streams(self):
        loader = self.open(device="cuda:1")
        for batch in loader:
            with torch.cuda.stream(torch.cuda.Stream(1)):
                self.assertEqual(batch[0].device.index, 1)
        with torch.cuda.device(1):
            self.assertEqual(next(iter(self.open(device="cuda")))[0].device.index, 1)

    def test_list_and_close(self):
        loader = self.open(device="cuda", shuffle=False)
        batches = list(loader)
        loader.close()
        torch.cuda.synchronize()
        self.assertEqual([number for batch in batches for number in batch.ids.tolist()], list(range(COUNT)))
        for batch in batches:
            self.expect(batch, batch[0].cpu(), batch[1].cpu())
            self.assertEqual(batch.weights.device.type, "cuda")


if __name__ == "__main__":
    unittest.main()
