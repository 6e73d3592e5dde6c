# SPDX-License-Identifier: Apache-2.0
"""What `stoker doctor` sees from inside of a Python process.

start() opens this process's record (record.py) and waits until the outermost `import torch` has returned; then it wraps what a training
script uses: loaders (loader.py) and what their datasets call (work.py), methods of tensors that make the host wait (tensor.py),
optimizers, backward, autocast, checkpoints (training.py), and reads settings in effect (settings.py). steps.py divides the time of a
step by cause.

Nothing here may change what the script does: a failure switches the hook off with one note in the record."""
import os
import sys

from stoker_hook import record


class TorchFinder:
    """First in sys.meta_path until torch was imported: its loader patches when the module has been executed."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self.wait_for(spec.loader)
                return spec
        return None

    def wait_for(self, loader):
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            original(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                patch(module)

        loader.exec_module = exec_module


def patch(torch):
    try:
        from stoker_hook import training
        training.patch(torch)
    except Exception as error:
        record.stop(error)


def start(folder):
    if not record.begin(folder):
        return
    os.register_at_fork(after_in_child=record.begin_again)
    torch = sys.modules.get("torch")
    if torch is None:
        sys.meta_path.insert(0, TorchFinder())
    elif not getattr(torch.__spec__, "_initializing", False):
        patch(torch)
