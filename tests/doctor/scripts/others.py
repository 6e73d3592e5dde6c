"""Uses of PyTorch that could notice that its functions are wrapped; prints what they give."""
import copy
import inspect
import pickle

import torch


@torch.jit.script
def scripted(x: torch.Tensor):
    print("in script", x.numel())
    if bool(x.sum() > 0):
        return x.item() if x.numel() == 1 else float(x.sum())
    return float(x.to(torch.float64).cpu().sum())


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x).to(torch.float32).cpu()


class Logged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        Logged.calls.append(function.__name__)
        return function(*args, **(kwargs or {}))


def use(tensor):
    return tensor.sum().item(), float(tensor.sum()), tensor.cpu().shape, tensor.to("cpu").shape, f"{tensor.sum()}", tensor.tolist(), repr(tensor)


def optimizers():
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    torch.optim.lr_scheduler.StepLR(twin, 1).step()  # PyTorch warns
    return sorted(twin.__dict__), len(pickle.dumps(optimizer)) > 100


CASES = {
    "script": lambda: (scripted(torch.ones(1)), scripted(-torch.ones(2)), torch.jit.script(Module())(torch.ones(1, 2)).shape),
    "trace": lambda: torch.jit.trace(lambda x: x * 2 if x.sum() > 0 else x, torch.ones(2)).code,
    "export": lambda: len(torch.export.export(Module(), (torch.ones(1, 2),)).graph.nodes),
    "fx": lambda: torch.fx.symbolic_trace(Module()).code,
    "vmap": lambda: torch.func.vmap(lambda x: x.sum())(torch.ones(2, 2)).tolist(),
    "vmap item": lambda: torch.func.vmap(lambda x: x.sum().item())(torch.ones(2, 2)),
    "grad": lambda: torch.func.grad(lambda x: (x**2).sum())(torch.ones(2)).tolist(),
    "subclass": lambda: (use(torch.ones(2).as_subclass(Logged)), Logged.calls),
    "optimizers": optimizers,
    "pickle": lambda: [pickle.loads(pickle.dumps(one)) is one for one in (print, torch.save, torch.compile, torch.autograd.backward)],
    "signatures": lambda: [str(inspect.signature(one)) for one in (torch.save, torch.utils.data.DataLoader, torch.optim.Adam.zero_grad)],
    "checkpoint": lambda: torch.utils.checkpoint.checkpoint(Module(), torch.ones(1, 2, requires_grad=True), use_reentrant=True).sum().backward(),
    "index": lambda: [1, 2, 3][torch.tensor(1)],
    "ambiguous": lambda: bool(torch.ones(2)),
    "wrong arguments": lambda: torch.ones(2).item(1, 2),
    "by class": lambda: torch.Tensor.item(torch.ones(1)),
    "meta": lambda: torch.ones(2, device="meta").sum().item(),
    "iterator": lambda: type(iter(torch.utils.data.DataLoader([1, 2], batch_size=2))).__name__,
}


def run():
    for name, case in CASES.items():
        try:
            print(name, case())
        except Exception as error:
            print(name, type(error).__name__, error)
    with Mode():
        print(use(torch.ones(2)))
    print(Logged.calls)
