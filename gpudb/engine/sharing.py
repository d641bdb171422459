"""Where rows of a result are that other processes of a host map."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class SharedColumn:
    """A column of numbers in memory: `size` bytes from `start` on, and its number of NULLs.

    NULL is NaN in floats, 0 in other types.
    """

    start: int
    size: int
    nulls: int


@dataclass(frozen=True, slots=True)
class GpuPlace:
    """Memory of a GPU, by the GPU's UUID: `size` bytes, whose descriptor a socket hands out under a key."""

    identifier: str
    key: str
    size: int


@dataclass(frozen=True, slots=True)
class SharedPart:
    """Rows of a result in the memory of a worker's host, where other processes can map the file `path`.

    Those in the memory of a `gpu` have a socket there instead (see `gpudb.engine.descriptors`).
    """

    rows: int
    host: str
    path: str
    columns: tuple[SharedColumn, ...]
    gpu: GpuPlace | None = None


class SharePlace(StrEnum):
    """Where a result is left: nowhere, in the memory of the workers' hosts, or in that of their GPUs.

    Workers without one, and rows that are on the host, are left in its memory.
    """

    NONE = ""
    HOST = "memory"
    GPU = "device_memory"
