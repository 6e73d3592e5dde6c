# SPDX-License-Identifier: Apache-2.0
"""Tensors of a batch as arrays of PyTorch, where it is imported, or of NumPy; without a copy."""
import sys

from ._errors import UnsupportedError


def torch_now():
    """PyTorch, if the program has imported it."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "from_dlpack") else None


def to_torch(tensor):
    """A torch.Tensor on the tensor's memory."""
    return _from_dlpack(tensor.__dlpack__(-1))


def _from_dlpack(capsule):
    global _from_dlpack  # PyTorch's own, from the second call on
    _from_dlpack = sys.modules["torch"].utils.dlpack.from_dlpack
    return _from_dlpack(capsule)


def to_numpy(tensor):
    """A numpy.ndarray on the tensor's memory."""
    try:
        return _asarray(memoryview(tensor))  # of the tensor itself, NumPy would make an object where it fails
    except BufferError as error:
        raise UnsupportedError(f"NumPy cannot take this batch: {error}", hint="import torch before iterating") from None


def _asarray(tensor):
    global _asarray
    try:
        from numpy import asarray
    except ImportError:
        raise UnsupportedError(
            "batches are arrays of PyTorch or NumPy, and neither is there",
            hint="pip install numpy, or import torch before iterating",
        ) from None
    _asarray = asarray
    return asarray(tensor)
