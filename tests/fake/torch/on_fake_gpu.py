#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_fake_gpu.py FOLDER [--script LINE;LINE] PROGRAM [ARGUMENTS]: runs a program with a GPU where there is none.

FOLDER has the fake driver (libcuda.so.1) and the PyTorch in front of the real one. LINEs are for the driver (tests/fake/cuda/fake_cuda.h). Status 77: there
is no PyTorch here."""
import importlib.util
import os
import sys
import tempfile


def real_torch():
    """Folder of libtorch_cpu.so; None: there is none."""
    folder = os.environ.get("STOKER_TORCH")
    if not folder:
        spec = importlib.util.find_spec("torch")
        folder = spec and spec.submodule_search_locations and os.path.join(list(spec.submodule_search_locations)[0], "lib")
    return folder if folder and os.path.exists(os.path.join(folder, "libtorch_cpu.so")) else None


def environment(folder, script="late 0\n", **more):
    """Variables for programs, or None: there is no PyTorch."""
    real = real_torch()
    if not real:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".fake", delete=False) as file:
        file.write(script)
    driver = os.path.join(folder, "libcuda.so.1")
    return dict(os.environ, STOKER_FAKE_TORCH_REAL=real, STOKER_TORCH=folder, STOKER_CUDA_LIBRARY=driver,
                STOKER_NVRTC_LIBRARY=driver, STOKER_FAKE_CUDA=file.name, **more)


if __name__ == "__main__":
    words = sys.argv[2:]
    script = "late 0\n"
    if words[0] == "--script":
        script = words[1].replace(";", "\n") + "\n"
        words = words[2:]
    variables = environment(sys.argv[1], script)
    if not variables:
        print("skipped: there is no PyTorch")
        sys.exit(77)
    os.execve(words[0], words, variables)
