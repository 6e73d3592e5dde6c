# SPDX-License-Identifier: Apache-2.0
"""Settings as they are in effect, read after the first step, then every 64th, and at the end; what changed becomes a fact. Reading makes
no GPU start and waits for none."""
import platform
import sys
import weakref

from stoker_hook import layout, record, steps

EVERY = 64
INPUTS = 8  # tensors whose layout is looked at
_known = {}
_state = {"autocast_dtype": None, "autocast_value": None, "parallel": None, "convolutions": None, "channels_last_model": None,
          "channels_last_input": None, "device": None, "scale_first": None}
_inputs = 0
_scale = _pinned = None  # the scale of GradScaler, which changes in place; memory for its copy
_optimizers = []  # (weak reference, number of the row)


def see_input(tensor):
    """Batches of images: are they in channels_last?"""
    global _inputs
    if _inputs < INPUTS and tensor.dim() == 4:
        import torch
        _inputs += 1
        _state["channels_last_input"] = tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()


def see_optimizer(torch, optimizer, row):
    """At its first step."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    _optimizers.append((weakref.ref(optimizer), (row.at - layout.OPTIMIZER_AT) // (8 * layout.OPTIMIZER_WIDTH)))
    if not parameters:
        return
    images = [one for one in parameters if one.dim() == 4 and one.shape[2] * one.shape[3] > 1 and one.shape[1] > 1]
    _state["device"] = parameters[0].device.type
    _state["convolutions"] = bool(_state["convolutions"]) or any(one.dim() in (4, 5) for one in parameters)
    if images:
        _state["channels_last_model"] = images[0].is_contiguous(memory_format=torch.channels_last)
    if parameters[0].is_cuda:
        steps.time_device(torch)


def see_scaler(scaler):
    global _scale
    if scaler._scale is not _scale:
        _scale = scaler._scale
        _state["scale_first"] = scaler._init_scale


def scale_now(torch):
    """On a GPU: what it was when it was asked before, because the copy is not waited for."""
    global _pinned
    if _scale is None or _scale.device.type == "cpu":
        return None if _scale is None else float(_scale)
    last = None if _pinned is None else float(_pinned)
    if _pinned is None:
        _pinned = torch.empty((), dtype=_scale.dtype, pin_memory=True)
    _pinned.copy_(_scale.detach().reshape(()), non_blocking=True)
    return last


def of_gpu(torch):
    if not torch.cuda.is_initialized():
        return {}
    number = torch.cuda.current_device()
    properties = torch.cuda.get_device_properties(number)
    memory = torch.cuda.memory_stats(number)
    ooms = memory.get("num_ooms", 0)
    if ooms > record.words[layout.OUT_OF_MEMORY]:
        record.words[layout.OUT_OF_MEMORY] = ooms
    return {"gpu_name": properties.name, "compute_capability": properties.major + properties.minor / 10,
            "cuda_total_bytes": properties.total_memory, "cuda_peak_bytes": memory.get("allocated_bytes.all.peak")}


def of_group(torch):
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return {}
    import os
    return {"world_size": distributed.get_world_size(), "rank": distributed.get_rank(), "local_rank": int(os.environ.get("LOCAL_RANK", -1))}


def of_backends(torch):
    tf32 = torch._C._get_cudnn_allow_tf32
    return {"tf32_matmul": torch.get_float32_matmul_precision() != "highest", "tf32_cudnn": bool(tf32()),
            "cudnn_benchmark": bool(torch.backends.cudnn.benchmark)}


def of_process(torch):
    return {"python": platform.python_version(), "torch": str(torch.__version__), "cuda": torch.version.cuda or "",
            "deterministic": torch.are_deterministic_algorithms_enabled() or bool(torch.backends.cudnn.deterministic),
            "anomaly_detection": torch.is_anomaly_enabled(), "threads": torch.get_num_threads(), "interop_threads": torch.get_num_interop_threads()}


def of_state(torch):
    return {**_state, "scale_last": scale_now(torch)}


def read_dynamo():
    """Counters of torch.compile, if it was imported: nothing is imported for them."""
    utils, frames = sys.modules.get("torch._dynamo.utils"), sys.modules.get("torch._dynamo.convert_frame")
    if utils is None or frames is None:
        return
    words, counters = record.words, utils.counters
    words[layout.GRAPH_BREAKS] = sum(counters["graph_break"].values()) if "graph_break" in counters else 0
    stats = counters["stats"] if "stats" in counters else {}
    words[layout.GRAPHS] = stats.get("unique_graphs", 0)
    compiled = counters["frames"] if "frames" in counters else {}
    words[layout.COMPILE_FAILURES] = max(0, compiled.get("total", 0) - compiled.get("ok", 0))
    words[layout.RECOMPILES] = sum(max(0, count - 1) for count in getattr(frames, "FRAME_COMPILE_COUNTER", {}).values())


def read(torch):
    found = {}
    for part in (of_process, of_backends, of_gpu, of_group, of_state):
        try:
            found.update(part(torch))
        except Exception:  # a setting that this PyTorch does not have, or does not tell in this state, is unknown
            continue
    changed = {key: value for key, value in found.items() if value is not None and _known.get(key) != value}
    if changed:
        _known.update(changed)
        record.fact(torch=changed)
    for optimizer, number in _optimizers:
        optimizer = optimizer()
        rate = optimizer and optimizer.param_groups[0].get("lr")
        if isinstance(rate, (int, float)) and _known.get(("lr", number)) != rate:
            _known["lr", number] = rate
            record.fact(optimizer=number, lr=float(rate))
    read_dynamo()


def after_step(torch, number):
    if number == 1 or number % EVERY == 0:
        read(torch)
