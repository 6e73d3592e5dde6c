# SPDX-License-Identifier: Apache-2.0
"""Stoker: files to batches, fast and with the same bytes every time, for PyTorch and NumPy.

    import stoker

    with stoker.Loader("faces", batch_size=64) as loader:
        for epoch in range(10):
            for images, masks in loader:
                ...
"""
from ._augment import Augment
from ._errors import (ArgumentError, ConfigError, DataError, Error, FileError, InterruptedLoadError, LoadTimeoutError, OutOfMemoryError,
                      SampleError, StaleIteratorError, StateError, ThreadError, UnsupportedError)
from ._loader import Batch, Loader
from ._monitor import Monitor, gpu_utilization, print_gpu_status
from ._run import Prediction, Predictor, Run
from ._stoker import version as __version__
from ._train import Trainer, train

__all__ = ["ArgumentError", "Augment", "Batch", "ConfigError", "DataError", "Error", "FileError", "InterruptedLoadError", "LoadTimeoutError", "Loader", "Monitor",
           "OutOfMemoryError", "Prediction", "Predictor", "Run", "SampleError", "StaleIteratorError", "StateError", "ThreadError", "Trainer",
           "UnsupportedError", "__version__", "gpu_utilization", "print_gpu_status", "train"]

for _name in __all__:  # in messages they are what users call them
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
