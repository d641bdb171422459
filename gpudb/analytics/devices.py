"""The GPU as children of analytics see it: whether there is one, and whether what is to be done fits beside workers.

Workers hold what `gpu_memory_limit` gives them. A child takes no memory that is not free when it begins.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpudb.analytics.libraries import load_library

GPU = Path("/dev/nvidiactl")
_KEPT = 1 << 30
"""Bytes of GPU memory that stay free: for contexts and kernels."""


@cache
def load_cupy() -> Any | None:
    """Returns CuPy where there is a GPU, else None."""
    return load_library("cupy") if GPU.exists() and find_spec("cupy") is not None else None


def find_shortage(needed: int) -> str | None:
    """Returns why the GPU has no room for so many bytes; None if it has."""
    cupy = load_cupy()
    if cupy is None:
        return "there is no GPU"
    free, _ = cupy.cuda.runtime.memGetInfo()
    if free - _KEPT >= needed:
        return None
    return f"the GPU has {free >> 20} MiB free, and {needed + _KEPT >> 20} MiB are needed"
