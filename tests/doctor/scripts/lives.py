"""lives.py KIND: small trainings that begin, go on or end in a special way."""
import os
import signal
import sys

KIND = sys.argv[1]
if KIND == "exec":
    os.execv(sys.executable, [sys.executable, __file__, "killed"])

import torch  # noqa: E402


def train(steps):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(4 * steps, 4))
    for inputs, in torch.utils.data.DataLoader(data, batch_size=4):
        model(inputs).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def scale():
    """Of 8 steps one has gradients that are infinite."""
    model, scaler = train(1)[0], torch.amp.GradScaler("cpu", init_scale=256.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number in range(8):
        loss = model(torch.ones(1, 4)).sum() * (float("inf") if number == 5 else 1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(scaler.get_scale())


def predict():
    """No optimizer at all."""
    torch.manual_seed(0)
    with torch.inference_mode():
        for inputs, in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 4)), batch_size=4):
            print(inputs.sum().item())


if KIND == "killed":
    train(50)
    os.kill(os.getpid(), signal.SIGKILL)
elif KIND == "scale":
    torch.set_float32_matmul_precision("high")
    scale()
    raise torch.OutOfMemoryError("as PyTorch says it")
elif KIND == "predict":
    predict()
elif KIND == "forked":
    child = os.fork()  # before the first backward: PyTorch refuses one in a child after it
    if not child:
        train(7)
        sys.stdout.flush()
        os._exit(0)
    train(3)
    print(os.waitpid(child, 0)[1])
    torch.DataParallelMissing  # noqa: B018
