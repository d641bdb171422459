"""Figures of this machine's GPUs by NVML, where its package and a driver are installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """A GPU by its index: bytes of memory, and the shares of time in which it computed and used its memory."""

    index: str
    used_bytes: int
    total_bytes: int
    utilization: float
    memory_utilization: float


@cache
def _load_nvml() -> Any | None:
    """Returns NVML, initialised; None without it, or without a driver."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def read_utilization(identifier: str) -> tuple[float, float] | None:
    """Returns the shares of time in which a GPU computed and used its memory.

    `identifier` has the 32 hexadecimal digits of its UUID. None without NVML, or for a GPU that does not tell.
    """
    nvml = _load_nvml()
    if nvml is None:
        return None
    try:
        rates = nvml.nvmlDeviceGetUtilizationRates(nvml.nvmlDeviceGetHandleByUUID(f"GPU-{UUID(identifier)}"))
    except nvml.NVMLError:  # a GPU in MIG mode has no rates
        return None
    return rates.gpu / 100, rates.memory / 100


def read_devices() -> Sequence[DeviceFigures]:
    """Returns the figures of each GPU that tells them."""
    nvml = _load_nvml()
    if nvml is None:
        return ()
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            device = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = nvml.nvmlDeviceGetMemoryInfo(device)
            rates = nvml.nvmlDeviceGetUtilizationRates(device)
        except nvml.NVMLError:  # a GPU in MIG mode has no rates
            continue
        found.append(DeviceFigures(str(index), memory.used, memory.total, rates.gpu / 100, rates.memory / 100))
    return found
