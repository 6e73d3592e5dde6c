"""libraries.py KIND: a small training by a library that wraps PyTorch."""
import os
import sys
import tempfile

import torch
from torch.nn.functional import cross_entropy

KIND = sys.argv[1]


def data(count=32):
    generator = torch.Generator().manual_seed(3)
    return torch.utils.data.TensorDataset(torch.randn(count, 8, generator=generator), torch.arange(count) % 4)


def train(model, optimizer, loader, backward=lambda loss: loss.backward(), call=None):
    for inputs, labels in loader:
        loss = cross_entropy((call or model)(inputs), labels)
        optimizer.zero_grad()
        backward(loss)
        optimizer.step()
        print(f"{loss.item():.9f}")


def new_model():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def inductor():
    model, optimizer = new_model()
    train(model, optimizer, torch.utils.data.DataLoader(data(), batch_size=4), call=torch.compile(model))
    from torch._dynamo import utils
    print(dict(utils.counters["stats"]), sum(utils.counters["graph_break"].values()))


def ranks():
    torch.distributed.init_process_group("gloo")
    model, _ = new_model()
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    sampler = torch.utils.data.DistributedSampler(data())
    loader = torch.utils.data.DataLoader(data(), batch_size=2, sampler=sampler)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    for inputs, labels in loader:
        optimizer.zero_grad()
        cross_entropy(parallel(inputs), labels).backward()
        optimizer.step()
    if torch.distributed.get_rank() == 0:
        print([parameter.double().sum().item() for parameter in model.parameters()])
    torch.distributed.destroy_process_group()


def lightning():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, _ = new_model()

        def training_step(self, batch, number):
            loss = cross_entropy(self.model(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, number):
            self.log("val", cross_entropy(self.model(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                                    default_root_dir=folder)
        module = Module()
        trainer.fit(module, torch.utils.data.DataLoader(data(), batch_size=4, shuffle=True, num_workers=1), torch.utils.data.DataLoader(data(12), batch_size=4))
        print([parameter.double().sum().item() for parameter in module.parameters()], float(trainer.callback_metrics["val"]))


def trainer():
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, _ = new_model()

        def forward(self, inputs, labels):
            return {"loss": cross_entropy(self.inner(inputs), labels)}

    rows = [{"inputs": inputs, "labels": labels} for inputs, labels in data(48)]
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(folder, num_train_epochs=1, per_device_train_batch_size=4, gradient_accumulation_steps=2, report_to=[],
                                                  use_cpu=True, disable_tqdm=True, save_strategy="no", logging_strategy="no", seed=1)
        model = Model()
        trainer = transformers.Trainer(model, settings, train_dataset=rows)
        trainer.remove_callback(transformers.PrinterCallback)  # prints times
        trainer.train()
        print([parameter.double().sum().item() for parameter in model.parameters()])


def accelerate():
    import accelerate
    helper = accelerate.Accelerator(cpu=True)
    model, optimizer, loader = helper.prepare(*new_model(), torch.utils.data.DataLoader(data(), batch_size=4, shuffle=True))
    train(model, optimizer, loader, helper.backward)


class Pictures(torch.utils.data.Dataset):
    def __init__(self, folder):
        import albumentations
        from PIL import Image
        from torchvision import transforms
        from torchvision.transforms import v2
        self.folder = folder
        for number in range(16):
            Image.new("RGB", (20, 16), (number * 10, 90, 200 - number)).save(f"{folder}/{number}.png")
        self.first = transforms.Compose([transforms.RandomRotation(10), transforms.ToTensor()])
        self.second = v2.Compose([v2.RandomHorizontalFlip(), v2.Normalize([0.5] * 3, [0.5] * 3)])
        self.third = albumentations.Compose([albumentations.Blur(p=1.0, blur_limit=(3, 3))])

    def __len__(self):
        return 16

    def __getitem__(self, number):
        import numpy
        from PIL import Image
        image = Image.open(f"{self.folder}/{number}.png").convert("RGB")
        blurred = self.third(image=numpy.asarray(image))["image"]
        return self.second(self.first(Image.fromarray(blurred))).mean((1, 2)).repeat(3)[:8], number % 4


def transforms():
    with tempfile.TemporaryDirectory() as folder:
        model, optimizer = new_model()
        for workers in (0, 2):
            train(model, optimizer, torch.utils.data.DataLoader(Pictures(folder), batch_size=4, num_workers=workers))


if __name__ == "__main__":
    torch.set_num_threads(1)
    globals()[KIND]()
