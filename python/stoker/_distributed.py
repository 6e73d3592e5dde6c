# SPDX-License-Identifier: Apache-2.0
"""Which part of each global batch belongs to this process."""
import os
import sys


def find_rank():
    """(rank, world size) by torch.distributed, or by torchrun's environment, or None."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    rank, ranks = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or ranks is None:
        return None
    try:
        return int(rank), int(ranks)
    except ValueError:
        raise ValueError(f"RANK='{rank}' and WORLD_SIZE='{ranks}' are no numbers: unset them, or pass rank and ranks") from None
