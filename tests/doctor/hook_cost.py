#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hook_cost.py [--limit]   what the doctor's hook costs: nanoseconds per event, and per step of a small model, with and without it.

Run like the tests: assemble.py FOLDER --python python3 hook_cost.py, with HOOK_PROBE in the environment. Times are the smallest of many short
rounds, which other programs disturb least. --limit: status 1 if a step costs more than 20 us and 1 % of itself."""
import json
import os
import subprocess
import sys
import tempfile

LIMIT_S, LIMIT_SHARE = 20e-6, 0.01
EVENTS = {"clock": "now()", "tensor.item()": "tensor.item()", "float(tensor)": "float(tensor)", "tensor.to(same device)": "tensor.to('cpu')",
          "torch.is_grad_enabled()": "torch.is_grad_enabled()", "with autocast": "with torch.autocast('cpu', dtype=torch.bfloat16): pass",
          "optimizer.zero_grad()": "optimizer.zero_grad()", "optimizer.step()": "optimizer.step()", "print()": "print('', end='', file=nowhere)",
          "loss.backward()": "weight.sum().backward()", "next(loader)": "next(batches)", "step": "step()"}


def measure():
    """In a process of its own: seconds of each event."""
    import io
    import time

    import torch
    torch.set_num_threads(1)
    model = torch.nn.Linear(16, 16)
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    class Forever(torch.utils.data.IterableDataset):
        def __iter__(self):
            inputs = torch.randn(4, 16)
            while True:
                yield inputs

    batches = iter(torch.utils.data.DataLoader(Forever(), batch_size=None))

    def step():
        loss = model(next(batches)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    names = {"torch": torch, "tensor": torch.ones(()), "optimizer": optimizer, "weight": weight, "batches": batches, "step": step,
             "now": time.monotonic_ns, "nowhere": io.StringIO(), "clock": time.perf_counter}
    found = {}
    for name, code in EVENTS.items():
        exec(f"def run(clock=clock):\n begun = clock()\n for _ in range(50):\n  {code}\n return (clock() - begun) / 50", names)
        found[name] = min(names["run"]() for _ in range(200))
    print(json.dumps(found))


def run(hook):
    env = dict(os.environ, OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as folder:
        if hook:
            said = subprocess.run([os.environ["HOOK_PROBE"], "write", folder], capture_output=True, text=True, check=True).stdout
            env.update(line.split("=", 1) for line in said.splitlines())
        return json.loads(subprocess.run([sys.executable, __file__, "measure"], env=env, stdout=subprocess.PIPE, check=True, text=True).stdout)


def main():
    bare, seen = run(False), run(True)
    print(f"{'event':26} {'without':>10} {'with':>10} {'cost':>9}   (ns)")
    for name in EVENTS:
        print(f"{name:26} {bare[name] * 1e9:10.0f} {seen[name] * 1e9:10.0f} {(seen[name] - bare[name]) * 1e9:9.0f}")
    cost = seen["step"] - bare["step"]
    print(f"a step: {cost * 1e6:.1f} us more; at most {LIMIT_S * 1e6:.0f} us or {LIMIT_SHARE:.0%} of it")
    return int("--limit" in sys.argv and cost > max(LIMIT_S, LIMIT_SHARE * bare["step"]))


if __name__ == "__main__":
    sys.exit(measure() if sys.argv[1:] == ["measure"] else main())
