"""The kernel that computes a shuffled order on a CUDA device: `Permutation.take` for positions in steps."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gpudb.api.arrays.libraries import load
from gpudb.api.training.permutation import ROUNDS, Permutation
from gpudb.engine.gpu.fused.codegen.building_blocks import read_source

_THREADS = 256
_MAX_BLOCKS = 65535


def permutation_source() -> str:
    """Returns the kernel's source."""
    return read_source("permute.cu")


def kernel_arguments(order: Permutation, first: int, step: int, count: int) -> tuple[Any, ...]:
    """Returns the kernel's arguments before the keys and the output."""
    integers = (np.int64(first), np.int64(step), np.int64(count), np.int64(order.rows))
    return (*integers, np.int32(order.bits), np.int32(ROUNDS))


def take_on_gpu(order: Permutation, first: int, step: int, count: int) -> Any:
    """Returns the rows at positions `first`, `first + step` … modulo their number, as a CuPy array of int64."""
    cupy = load("cupy")
    rows = cupy.empty(count, cupy.int64)
    if count:
        keys = cupy.asarray(np.array(order.keys(), np.uint64))
        blocks = min(-(-count // _THREADS), _MAX_BLOCKS)
        _compile()((blocks,), (_THREADS,), (*kernel_arguments(order, first, step, count), keys, rows))
    return rows


@cache
def _compile() -> Any:
    return load("cupy").RawKernel(permutation_source(), "permute")
