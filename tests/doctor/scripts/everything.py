"""Training loops of many kinds, one after the other; prints what they compute, and ends with an exception."""
import logging
import time

import others
import torch
from torch.nn.functional import cross_entropy, mse_loss


class Pictures(torch.utils.data.Dataset):
    def __init__(self, count, slow=0.0):
        self.count, self.slow = count, slow

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(number)
        time.sleep(self.slow)
        return torch.randn(3, 8, 8, generator=generator), number % 4


def new_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 4))


def show(name, model, *more):
    print(name, *more, [parameter.double().sum().item() for parameter in model.parameters()])


def plain():
    model, data = new_model(), torch.utils.data.DataLoader(Pictures(100), batch_size=4, shuffle=True)
    optimizer, total = torch.optim.AdamW(model.parameters(), lr=0.01), 0
    for epoch in range(4):
        for images, labels in data:
            loss = cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
    show("plain", model, total)


def accumulation():
    model, data = new_model(), torch.utils.data.DataLoader(Pictures(24), batch_size=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number, (images, labels) in enumerate(data):
        cross_entropy(model(images), labels).backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    show("accumulation", model)


def closures():
    model, data = new_model(), torch.utils.data.DataLoader(Pictures(6), batch_size=2)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
    for images, labels in data:
        def closure():
            optimizer.zero_grad()
            loss = cross_entropy(model(images), labels)
            loss.backward()
            return loss
        optimizer.step(closure)
    show("closures", model)


def two_optimizers():
    maker, judge = new_model(), new_model()
    first, second = torch.optim.Adam(maker.parameters()), torch.optim.RMSprop(judge.parameters())
    for images, _ in torch.utils.data.DataLoader(Pictures(10), batch_size=2):
        mse_loss(maker(images), judge(images).detach()).backward()
        first.step()
        mse_loss(judge(images), maker(images).detach()).backward()
        second.step()
        first.zero_grad(), second.zero_grad()
    show("two_optimizers", maker)
    show("two_optimizers", judge)


def evaluation():
    model, right = new_model(), 0
    for images, labels in torch.utils.data.DataLoader(Pictures(12), batch_size=4):
        with torch.no_grad():
            right += (model(images).argmax(1) == labels).sum()
    with torch.inference_mode():
        for images, labels in torch.utils.data.DataLoader(Pictures(12), batch_size=6):
            right += (model(images).argmax(1) == labels).sum()
    print("evaluation", int(right), f"{right}", bool(right > 3), right.tolist())
    logging.warning("evaluated")


def workers(method):
    data = torch.utils.data.DataLoader(Pictures(12, 0.01), batch_size=3, num_workers=2, multiprocessing_context=method, shuffle=True)
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in data:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=method == "fork"):
            loss = cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    show(method, model)


def compiled():
    """Counters of dynamo: with breaks, without, and a whole step."""
    model = new_model()
    optimizer, images = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(4, 3, 8, 8)
    whole = torch.compile(model, backend="eager", fullgraph=True)

    def broken(given):
        out = model(given)
        if out.sum() > 0:
            out = out * 2
        number = out.sum().item()
        print("in between", number > 0)
        return out.mean() + number + float(out.sum()) + out.cpu().to("cpu").numel()

    def step(given):
        optimizer.zero_grad()
        model(given).sum().backward()
        optimizer.step()

    broken_compiled, step_compiled = torch.compile(broken, backend="eager"), torch.compile(step, backend="eager")
    def counters(**instead):
        return {**{key: dict(value) for key, value in sorted(utils.counters.items())}, **instead}

    whole(images)
    from torch._dynamo import convert_frame, utils
    print(counters())
    for _ in range(3):
        loss = whole(images).sum() + broken_compiled(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step_compiled(images)
    print(counters(frames=0, graph_break=sum(utils.counters["graph_break"].values())))  # frames that dynamo looks at become fewer
    print(sorted(convert_frame.FRAME_COMPILE_COUNTER.values()))
    show("compiled", model, torch.Tensor.item is torch._C.TensorBase.item)


def one_after_another():
    """Most of these optimizers lie where the one before them lay."""
    model = new_model()
    for number in range(3):
        for kind in torch.optim.Adagrad, torch.optim.Adamax:
            optimizer = kind(model.parameters(), lr=0.001)
            model(torch.ones(1, 3, 8, 8)).sum().backward()
            optimizer.step()
            del optimizer
    show("one_after_another", model)


class Broken(Pictures):
    def __getitem__(self, number):
        return {}["missing"]


def main():
    torch.set_num_threads(1)
    plain()
    accumulation()
    closures()
    two_optimizers()
    evaluation()
    workers("fork")
    workers("spawn")
    one_after_another()
    compiled()
    others.run()
    float(torch.ones(1, requires_grad=True))  # PyTorch warns and names this line
    try:
        next(iter(torch.utils.data.DataLoader(Broken(4), num_workers=1)))
    except KeyError as error:
        print(error)
    torch.save(new_model().state_dict(), "/dev/null")
    next(iter(torch.utils.data.DataLoader(Broken(4))))


if __name__ == "__main__":
    main()
