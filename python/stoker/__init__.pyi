# SPDX-License-Identifier: Apache-2.0
# Written by tools/make_python_docs from tools/python_stubs.pyi and the option tables.
import os
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Literal, TextIO

__version__: str

class Error(Exception):
    message: str
    place: str
    hint: str
    damage: str
    def __init__(self, message: str, place: str = "", hint: str = "", damage: str = "") -> None: ...

class ArgumentError(Error, ValueError): ...
class ConfigError(Error, ValueError): ...
class OutOfMemoryError(Error, MemoryError): ...
class ThreadError(Error, RuntimeError): ...
class FileError(Error): ...
class DataError(Error, ValueError): ...
class SampleError(Error, ValueError): ...
class LoadTimeoutError(Error): ...
class InterruptedLoadError(Error): ...
class StateError(Error, ValueError): ...
class UnsupportedError(Error, NotImplementedError): ...
class StaleIteratorError(Error, RuntimeError): ...

# Arrays are torch.Tensor or numpy.ndarray, by what is imported.
class Batch(tuple[Any, ...]):
    epoch: int | None  # None: made by something else than a Loader
    position: int | None
    @property
    def ids(self) -> Any: ...
    @property
    def weights(self) -> Any: ...
    def to(self, device: Any, non_blocking: bool = False) -> Batch: ...

class Loader:
    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        batch_size: int | None = ...,
        num_workers: int | str | None = ...,
        shuffle: bool | None = ...,
        drop_last: bool | None = ...,
        pin_memory: bool | None = ...,
        prefetch_factor: int | None = ...,
        augment: str | dict[str, Any] | None = ...,
        device: Any = ...,
        val_root: str | os.PathLike[str] | None = ...,
        part: Literal["train", "val", "all", "test"] | None = ...,
        columns: str | os.PathLike[str] | dict[str, str] | None = ...,
        layout: Literal["auto", "classes", "pairs", "images", "list", "parts"] | None = ...,
        images: str | os.PathLike[str] | None = ...,
        masks: str | os.PathLike[str] | None = ...,
        mask_suffix: str | os.PathLike[str] | None = ...,
        mask_prefix: str | os.PathLike[str] | None = ...,
        train_list: str | os.PathLike[str] | None = ...,
        val_list: str | os.PathLike[str] | None = ...,
        test_list: str | os.PathLike[str] | None = ...,
        val_split: float | None = ...,
        split_seed: int | None = ...,
        limit: int | None = ...,
        image_size: int | tuple[int, int] | list[int] | None = ...,
        channels: int | None = ...,
        num_classes: int | None = ...,
        mask_map: str | os.PathLike[str] | dict[int, int] | None = ...,
        mask_colors: str | os.PathLike[str] | dict[str, int] | None = ...,
        mask_frame: Literal["auto", "stored", "upright"] | None = ...,
        flip_pairs: str | os.PathLike[str] | dict[Any, Any] | None = ...,
        jpeg: Literal["exact", "fast"] | None = ...,
        exif: bool | None = ...,
        dtype: Literal["auto", "u8", "uint8", "f32", "float32", "f16", "float16", "bf16", "bfloat16"] | Any | None = ...,
        axes: Literal["nhwc", "nchw"] | None = ...,
        mask_dtype: Literal["u8", "uint8", "i64", "int64"] | Any | None = ...,
        mean: float | tuple[float, float, float] | list[float] | None = ...,
        std: float | tuple[float, float, float] | list[float] | None = ...,
        sequence_length: int | None = ...,
        cache: str | os.PathLike[str] | int | None = ...,
        persistent_workers: bool | None = ...,
        order: str | os.PathLike[str] | None = ...,
        seed: int | None = ...,
        on_bad_sample: Literal["fail", "replace", "skip"] | None = ...,
        timeout: float | str | None = ...,
        rank: int | None = ...,
        ranks: int | None = ...,
        limits_bytes: int | str | None = ...,
        limits_pixels: int | str | None = ...,
        limits_scans: int | None = ...,
        limits_warnings: int | None = ...,
        limits_time: float | str | None = ...,
        limits_memory: int | str | None = ...,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self, after: Batch | None = None) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def effects(self) -> list[dict[str, str]]: ...
    @property
    def bad_samples(self) -> list[dict[str, Any]]: ...
    def stats(self) -> dict[str, Any]: ...
    def sample(self, id: int) -> tuple[str, str]: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def num_workers(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Loader: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Augment:
    training: bool
    def __init__(
        self,
        preset_or_dict: str | dict[str, Any] | None = None,
        *,
        image_size: int | tuple[int, int] | list[int] | None = None,
        seed: int | None = None,
        dtype: Literal["auto", "u8", "uint8", "f32", "float32", "f16", "float16", "bf16", "bfloat16"] | Any | None = None,
        axes: Literal["nchw", "nhwc"] = "nchw",
        mean: float | tuple[float, float, float] | list[float] | None = None,
        std: float | tuple[float, float, float] | list[float] | None = None,
        flip_pairs: str | dict[Any, Any] | None = None,
        class_names: Iterable[str] | None = None,
        point_names: Iterable[str] | None = None,
        threads: int | None = None,
        schedule: str | os.PathLike[str] | dict[int, str] | None = ...,
        fill: float | tuple[float, float, float] | list[float] | None = ...,
        mask_fill: int | str | None = ...,
        crop: float | tuple[float, float] | list[float] | None = ...,
        crop_ratio: float | tuple[float, float] | list[float] | None = ...,
        crop_prob: float | None = ...,
        horizontal_flip_prob: float | None = ...,
        vertical_flip_prob: float | None = ...,
        scale: float | tuple[float, float] | list[float] | None = ...,
        scale_prob: float | None = ...,
        shear: float | tuple[float, float] | list[float] | None = ...,
        shear_prob: float | None = ...,
        rotation_degrees: float | tuple[float, float] | list[float] | None = ...,
        rotation_prob: float | None = ...,
        translate: float | tuple[float, float] | list[float] | None = ...,
        translate_prob: float | None = ...,
        jitter_prob: float | None = ...,
        jitter_order: Literal["drawn", "fixed"] | None = ...,
        brightness: float | tuple[float, float] | list[float] | None = ...,
        brightness_prob: float | None = ...,
        contrast: float | tuple[float, float] | list[float] | None = ...,
        contrast_prob: float | None = ...,
        saturation: float | tuple[float, float] | list[float] | None = ...,
        saturation_prob: float | None = ...,
        hue: float | tuple[float, float] | list[float] | None = ...,
        hue_prob: float | None = ...,
        gray_prob: float | None = ...,
        gamma: float | tuple[float, float] | list[float] | None = ...,
        gamma_prob: float | None = ...,
        blur_kernel: int | str | None = ...,
        blur_sigma: float | tuple[float, float] | list[float] | None = ...,
        blur_prob: float | None = ...,
        noise_std: float | tuple[float, float] | list[float] | None = ...,
        noise_prob: float | None = ...,
        erase_prob: float | None = ...,
        erase_scale: float | tuple[float, float] | list[float] | None = ...,
        erase_ratio: float | tuple[float, float] | list[float] | None = ...,
        mixup_alpha: float | None = ...,
        mixup_prob: float | None = ...,
        cutmix_alpha: float | None = ...,
        cutmix_prob: float | None = ...,
    ) -> None: ...
    # Images alone, or a tuple of what was given.
    def __call__(
        self, images: Any, masks: Any = None, points: Any = None, labels: Any = None, *, epoch: int | None = None, ids: Any = None
    ) -> Any: ...
    def forward(
        self, images: Any, masks: Any = None, points: Any = None, labels: Any = None, *, epoch: int | None = None, ids: Any = None
    ) -> Any: ...
    def set_epoch(self, epoch: int) -> None: ...
    def train(self, mode: bool = True) -> Augment: ...
    def eval(self) -> Augment: ...
    def to(self, *ignored: Any, **also_ignored: Any) -> Augment: ...
    def module(self) -> Any: ...
    @property
    def effects(self) -> list[dict[str, str]]: ...

class Monitor:
    frame: dict[str, Any] | None
    def __init__(
        self,
        *,
        interval: float = 1.0,
        gpus: str | None = None,
        record: str | os.PathLike[str] | None = None,
        replay: str | os.PathLike[str] | None = None,
        demo: bool = False,
    ) -> None: ...
    def start(self) -> Monitor: ...
    def stop(self) -> None: ...
    def summary(self) -> dict[str, Any]: ...
    def __enter__(self) -> Monitor: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Trainer:
    def __init__(
        self,
        config: str | os.PathLike[str] | dict[str, Any] | None = None,
        *,
        run: str | os.PathLike[str] | None = None,
        resume: bool = False,
        files: bool = True,
        stop_after: int | None = None,
        callbacks: Any = None,
        progress: bool | None = None,
        **settings: Any,
    ) -> None: ...
    def train(self) -> dict[str, Any]: ...
    def step(self) -> bool: ...
    def evaluate(self) -> dict[str, Any]: ...
    def save(self) -> None: ...
    def finish(self) -> None: ...
    def interrupt(self) -> None: ...
    @property
    def progress(self) -> dict[str, Any]: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def effects(self) -> list[dict[str, Any]]: ...
    @property
    def stall(self) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Trainer: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def train(
    config: str | os.PathLike[str] | dict[str, Any] | None = None,
    *,
    run: str | os.PathLike[str] | None = None,
    resume: bool = False,
    stop_after: int | None = None,
    callbacks: Any = None,
    progress: bool | None = None,
    **settings: Any,
) -> Run: ...

class Run:
    path: str
    def __init__(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def info(self) -> dict[str, Any] | None: ...
    @property
    def metrics(self) -> dict[str, list[Any]]: ...
    @property
    def report(self) -> str | None: ...
    @property
    def checkpoints(self) -> list[str]: ...
    @property
    def best(self) -> str | None: ...
    def weights(self) -> str: ...
    def predict(
        self,
        inputs: Any,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        newest: bool = False,
        all_windows: bool = False,
        **settings: Any,
    ) -> list[Prediction]: ...

# Arrays are torch.Tensor or numpy.ndarray, by what is imported.
class Prediction:
    index: int
    path: str
    probabilities: Any
    label: str | int | None
    mask: Any
    points: Any
    value: float | None
    row: int | None
    detail: str | None
    damage: str
    def __init__(self, answer: dict[str, Any], info: dict[str, Any]) -> None: ...

class Predictor:
    def __init__(
        self,
        run: Run | str | os.PathLike[str],
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        newest: bool = False,
        all_windows: bool = False,
        **settings: Any,
    ) -> None: ...
    def predict(self, inputs: Any) -> list[Prediction]: ...
    def interrupt(self) -> None: ...
    @property
    def info(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Predictor: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def gpu_utilization(seconds: float = 0.2) -> list[float | None]: ...
def print_gpu_status(phase: str = "", *, seconds: float = 0.2, file: TextIO | None = None) -> None: ...
