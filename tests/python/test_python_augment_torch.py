#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Augment with PyTorch's tensors, as a module, and in a DataLoader's workers. NumPy is not needed; the GPU, if there is
one, computes nothing (tests/fake/cudart)."""
import copy
import pathlib
import pickle
import tempfile
import unittest
import unittest.mock

import torch

import small_data
import stoker

COUNT, SIDE = 22, 8


def make_images(count=4, height=12, width=16):
    return torch.randint(0, 256, (count, 3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def make_masks(count=4, height=12, width=16):
    return torch.randint(0, 19, (count, height, width), generator=torch.Generator().manual_seed(2))


class Numbers(torch.utils.data.Dataset):
    """Images that are all the same: what differs in a batch was drawn."""

    def __len__(self):
        return 12

    def __getitem__(self, number):
        return make_images(1)[0], number


class Collate:
    """A collate step, as a script would write it."""

    def __init__(self, augment):
        self.augment = augment

    def __call__(self, samples):
        images, numbers = zip(*samples)
        return self.augment(list(images), labels=torch.tensor(numbers))


class Host(unittest.TestCase):
    def equal(self, left, right):
        self.assertTrue(torch.equal(left, right))

    def test_bits_of_a_loader(self):
        with tempfile.TemporaryDirectory() as folder:
            small_data.make_pairs(pathlib.Path(folder) / "pairs", COUNT, SIDE)
            settings = dict(batch_size=4, num_workers=2, seed=5)
            augment = stoker.Augment("strong", seed=5, dtype=torch.float32)
            with stoker.Loader(f"{folder}/pairs", augment="strong", **settings) as loader, \
                    stoker.Loader(f"{folder}/pairs", dtype="uint8", **settings) as decoded:
                for wanted, batch in zip(loader, decoded, strict=True):
                    images, masks = augment(*batch, epoch=batch.epoch, ids=batch.ids)
                    self.equal(images, wanted[0])
                    self.equal(masks.long(), wanted[1])

    def test_kinds(self):
        images, masks, augment = make_images(), make_masks(), stoker.Augment("strong", seed=1)
        result, out_masks = augment(images, masks, ids=range(4))
        self.assertEqual((result.dtype, result.shape, out_masks.dtype), (torch.uint8, images.shape, torch.int64))
        self.assertTrue(result.is_contiguous())
        floats = augment(images / 255, ids=torch.arange(4))
        self.assertEqual(floats.dtype, torch.float32)
        self.equal((floats * 255 + 0.5).byte(), result)
        for dtype in (torch.float16, torch.bfloat16, torch.uint8, "bf16"):
            other = stoker.Augment("strong", seed=1, dtype=dtype)(images, ids=range(4))
            self.assertEqual(other.dtype, torch.bfloat16 if dtype == "bf16" else dtype)
        with torch.device("meta"):  # a default device elsewhere changes nothing
            self.equal(augment(images, ids=range(4)), result)

    def test_layouts(self):
        images, augment = make_images(), stoker.Augment("strong", seed=1)
        wanted = augment(images, ids=range(4))
        last = images.contiguous(memory_format=torch.channels_last)
        result = augment(last, ids=range(4))
        self.assertTrue(result.is_contiguous(memory_format=torch.channels_last))
        self.equal(result, wanted)
        self.equal(stoker.Augment("strong", seed=1, axes="nhwc")(images.permute(0, 2, 3, 1), ids=range(4)), wanted.permute(0, 2, 3, 1))
        wide = torch.zeros(4, 3, 12, 40, dtype=torch.uint8)
        wide[..., 4:20] = images
        self.equal(augment(wide[..., 4:20], ids=range(4)), wanted)

    def test_lists_points_and_mixing(self):
        images = [make_images(1, 8 + i, 20 - i)[0] for i in range(4)]
        masks = [make_masks(1, 8 + i, 20 - i)[0] for i in range(4)]
        out, out_masks, points, labels = stoker.Augment("standard", image_size=10)(images, masks, torch.ones(4, 2, 3), torch.arange(4))
        self.assertEqual((out.shape, out_masks.shape, points.shape), ((4, 3, 10, 10), (4, 10, 10), (4, 2, 3)))
        self.equal(labels, torch.arange(4))
        _, (first, second, share) = stoker.Augment(mixup_alpha=1, mixup_prob=1)(make_images(), labels=torch.arange(4))
        self.assertEqual((first.tolist(), second.tolist(), share.dtype), ([0, 1, 2, 3], [1, 0, 3, 2], torch.float32))

    def test_sources_are_given_back(self):
        def run(count):
            for _ in range(count):
                images = torch.zeros(2, 3, 256, 512, dtype=torch.uint8)  # most of a megabyte
                augment(images, ids=torch.zeros(2, dtype=torch.int64))
                augment(list(images))
                for wrong in (images[:, 0].short(), images[:, 0, :4]):
                    with self.assertRaises(stoker.ArgumentError):
                        augment(images, wrong)
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * 4096

        augment = stoker.Augment()
        before = run(10)
        self.assertLess(run(60) - before, 16 << 20)

    def test_refusals(self):
        augment = stoker.Augment("minimal")
        floats = make_images() / 255
        for arguments, kind, said in ((dict(images=floats.clone().requires_grad_()), Exception, "images: .*grad"),
                                      (dict(images=floats.to_sparse()), Exception, "images: "),
                                      (dict(images=floats.bool()), stoker.ArgumentError, "images has a dtype that"),
                                      (dict(images=floats.half()), stoker.ArgumentError, "images has the dtype f16"),
                                      (dict(images=floats.to("meta")), Exception, "images"),
                                      (dict(images=floats[:0]), stoker.ArgumentError, "images is an empty batch"),
                                      (dict(images=floats[0]), stoker.ArgumentError, "images has the shape"),
                                      (dict(images=floats, masks=make_masks().int()), stoker.ArgumentError, "masks has a dtype that"),
                                      (dict(images=floats, labels=torch.arange(8)[::2]), stoker.ArgumentError, "labels is not dense"),
                                      (dict(images=floats, ids=torch.arange(3)), stoker.ArgumentError, "ids is not a dense array"),
                                      (dict(images=floats, ids=torch.zeros(4)), stoker.ArgumentError, "ids is not a dense array")):
            with self.assertRaisesRegex(kind, said):
                augment(**arguments)


class PooledHost(Host):
    """The same where results get the memory of earlier ones, as large ones do."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(unittest.mock.patch("stoker._augment._POOLED", 0))

    def test_memory_comes_back(self):
        images, augment = make_images() / 255, stoker.Augment("strong", seed=1)
        wanted = augment(images, ids=range(4)).clone()
        places = set()
        for _ in range(5):
            weight = torch.ones(3, 12, 16, requires_grad=True)
            result = augment(images, ids=range(4))
            (result * weight).sum().backward()  # autograd keeps the result, too
            self.equal(result, wanted)
            self.equal(weight.grad, wanted.sum(0))
            places.add(result.data_ptr())
        self.assertLess(len(places), 4)


class Module(unittest.TestCase):
    def test_inside_of_a_model(self):
        images = make_images() / 255
        augment = stoker.Augment("strong", seed=3)
        model = torch.nn.Sequential(augment.module(), torch.nn.Flatten(), torch.nn.Linear(12 * 16 * 3, 2))
        self.assertEqual(model(images).shape, (4, 2))
        model.eval()
        self.assertFalse(augment.training)
        torch.testing.assert_close(model[0](images), images, atol=1 / 255, rtol=0)
        model.train()
        self.assertTrue(augment.training and model[0].training)
        self.assertTrue((model[0](images, ids=range(4)) != images).any())
        self.assertEqual(len(list(augment.module().parameters())), 0)
        self.assertFalse(stoker.Augment().eval().module().training)

    def test_copied(self):
        images, module = make_images(), stoker.Augment("strong", seed=3).module()
        for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            self.assertTrue(torch.equal(again(images, ids=range(4)), module(images, ids=range(4))))


class Workers(unittest.TestCase):
    def draws(self, augment, epochs=2, **settings):
        """Of each sample of each epoch, its image as bytes."""
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=3, num_workers=2, collate_fn=Collate(augment), **settings)
        return [bytes(image.flatten().tolist()) for _ in range(epochs) for images, labels in loader for image in images]

    def test_workers_and_epochs_differ(self):
        augment = stoker.Augment("strong", seed=3)
        augment(make_images())  # the pool has threads, which the workers do not have
        for settings in ({}, {"persistent_workers": True}):
            torch.manual_seed(0)
            first = self.draws(augment, **settings)
            self.assertEqual(len(set(first)), 24)
            torch.manual_seed(0)
            self.assertEqual(self.draws(augment, **settings), first)
            torch.manual_seed(1)
            self.assertFalse(set(self.draws(augment, **settings)) & set(first))

    def test_ids_are_ids(self):
        class Named(Collate):
            def __call__(self, samples):
                images, numbers = zip(*samples)
                return self.augment(list(images), labels=torch.tensor(numbers), ids=numbers)

        augment = stoker.Augment("strong", seed=3)
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2, collate_fn=Named(augment))
        whole = augment([make_images(1)[0]] * 12, ids=range(12))
        self.assertTrue(torch.equal(torch.cat([images for images, _ in loader]), whole))


class PooledWorkers(Workers):
    """Results of worker processes in memory that comes back, while the other process still reads what it got."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(unittest.mock.patch("stoker._augment._POOLED", 0))


@unittest.skipUnless(torch.cuda.is_available(), "no GPU, real or not")
class Gpu(unittest.TestCase):
    """On stand-ins Stoker's own kernels run, and copies; PyTorch's kernels do nothing."""

    def expect(self, found, wanted, device="cuda:0"):
        """The CPU's bits, in the same structure."""
        self.assertEqual(type(found), type(wanted))
        if isinstance(wanted, tuple):
            self.assertEqual(len(found), len(wanted))
            for one, other in zip(found, wanted):
                self.expect(one, other, device)
            return
        self.assertEqual((found.device, found.dtype, found.stride()), (torch.device(device), wanted.dtype, wanted.stride()))
        self.assertTrue(torch.equal(found.cpu(), wanted))

    def compare(self, augment, images, *targets, device="cuda:0", **words):
        there = [None if target is None else target.to(device) for target in targets]
        self.expect(augment(images.to(device), *there, **words), augment(images, *targets, **words), device)

    def test_same_bits(self):
        images, masks = make_images() / 255, make_masks()
        points = torch.tensor([[[3.5, 2.5, 1], [9.5, 7.5, 1]]] * 4)
        labels, sets = torch.arange(4), torch.eye(4)
        for preset in ("minimal", "strong", {"preset": "strong", "mixup_alpha": 1, "cutmix_alpha": 1}):
            augment = stoker.Augment(preset, seed=3, flip_pairs="1:2")
            mixes = isinstance(preset, dict)
            for ids in ([5, 6, 7, 8], torch.arange(4), torch.arange(4).cuda()):
                host = ids.cpu() if isinstance(ids, torch.Tensor) else ids
                there = augment(images.cuda(), masks.cuda(), labels=labels.cuda(), ids=ids)
                self.expect(there, augment(images, masks, labels=labels, ids=host))
            for masks_of in (masks, masks.to(torch.uint8), None):
                self.compare(augment, images, masks_of, None if mixes else points, labels, ids=range(4), epoch=1)
            self.compare(augment, images, None, None, sets, ids=range(4))
            self.compare(augment, make_images(), masks, None, labels, ids=range(4))  # bytes stay bytes
            self.expect(augment(images.cuda(), labels=labels, ids=range(4)), augment(images, labels=labels, ids=range(4)))

    def test_layouts(self):
        images = make_images() / 255
        for settings in ({}, {"dtype": torch.float16}, {"dtype": torch.bfloat16, "mean": 0.5, "std": 0.25}, {"image_size": (20, 24)}):
            augment = stoker.Augment("standard", **settings)
            self.compare(augment, images, ids=range(4))
            self.compare(augment, images.contiguous(memory_format=torch.channels_last), ids=range(4))
            self.compare(augment, make_images(3, 1, 1) / 255, ids=range(3))
            self.compare(augment, make_images().contiguous(memory_format=torch.channels_last), ids=range(4))
            self.expect(augment(images.cuda()[:, :, ::2, 1:], ids=range(4)), augment(images[:, :, ::2, 1:], ids=range(4)))
        lists = [make_images(1, side, 30)[0] / 255 for side in (9, 31, 64)]
        cropping = stoker.Augment("standard", crop=[0.3, 1], image_size=16)
        self.expect(cropping([image.cuda() for image in lists], ids=range(3)), cropping(lists, ids=range(3)))
        planes = stoker.Augment("standard", axes="nhwc", dtype="float32")
        self.compare(planes, images.permute(0, 2, 3, 1).contiguous(), ids=range(4))

    def test_streams_and_devices(self):
        augment, images = stoker.Augment("strong", dtype="float32"), make_images() / 255
        wanted = augment(images, ids=range(4))
        for device in ("cuda:1", "cuda:0"):
            self.compare(augment, images, ids=range(4), device=device)  # one of which is not the current one
            stream = torch.cuda.Stream(device)
            with torch.cuda.stream(stream):
                for _ in range(5):
                    there = images.pin_memory().to(device, non_blocking=True)
                    with unittest.mock.patch.object(torch.cuda.Stream, "synchronize", autospec=True, side_effect=torch.cuda.Stream.synchronize) as wait:
                        made = augment(there, ids=range(4))
                    self.assertEqual([call.args[0] for call in wait.call_args_list], [stream])
                    self.expect(made, wanted, device)

    def test_module(self):
        module = stoker.Augment("strong", seed=1).module().to("cuda")
        images = make_images() / 255
        for again in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            self.expect(again(images.cuda(), ids=range(4)), module(images, ids=range(4)))
        module.eval()
        self.expect(module(images.cuda()), module(images))

    def test_wrong_values(self):
        augment, images, masks = stoker.Augment("minimal"), make_images() / 255, make_masks()
        images[2, 1, 3, 4] = 1.5
        masks[3, 5, 6] = 300
        for batch in ((images, masks), (make_images() / 255, masks)):
            said = []
            for there in (batch, [tensor.cuda() for tensor in batch]):
                with self.assertRaises(stoker.SampleError) as raised:
                    augment(*there)
                said.append((str(raised.exception), raised.exception.damage))
            self.assertEqual(said[0], said[1])
        self.compare(augment, make_images() / 255, ids=range(4))

    def test_refused(self):
        augment, small = stoker.Augment("minimal"), stoker.Augment("minimal", image_size=8)
        images, masks = make_images() / 255, make_masks()
        for said, call in (
                ("masks lies in the memory of cuda:0, and is refused\n.*all of a batch lies in host", lambda: augment(images, masks.cuda())),
                ("labels lies in the memory of cuda:0", lambda: augment(images, labels=torch.arange(4).cuda())),
                ("images and masks are not in the same memory", lambda: augment(images.cuda(), masks)),
                ("masks lies in the memory of cuda:1, and is refused", lambda: augment(images.cuda(), masks.to("cuda:1"))),
                (r"images\[0\] and images\[1\] are not in the same memory", lambda: augment([images[0].cuda(), images[1]])),
                ("images is in the memory of 'cuda:0' and larger than image_size: sample 0 is 12 x 16, not up to 8 x 8", lambda: small(images.cuda())),
                ("images has a dtype that Stoker does not read", lambda: augment(images.cuda().to(torch.int32)))):
            with self.assertRaisesRegex(stoker.Error, said):
                call()
        self.expect(augment(images.cuda(), ids=range(4)), augment(images, ids=range(4)))

    def test_no_growth(self):
        augment, images, masks = stoker.Augment("strong"), (make_images() / 255).cuda(), make_masks().cuda()
        augment(images, masks)
        before = torch.cuda.memory_allocated()
        for _ in range(50):
            augment(images, masks)
        self.assertEqual(torch.cuda.memory_allocated(), before)


if __name__ == "__main__":
    unittest.main()
