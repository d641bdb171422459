"""Stands in for NVML's package: two GPUs, of which the second is divided (MIG) and tells no rates.

A process gets it by a path of modules that begins with this folder.
"""

from __future__ import annotations

from types import SimpleNamespace

UUID = "GPU-0badcafe-0000-4000-8000-00000000f00d"


class NVMLError(Exception):
    """What NVML raises."""


def nvmlInit() -> None:
    """Starts it."""


def nvmlDeviceGetCount() -> int:
    """Returns the number of GPUs."""
    return 2


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    """Returns a GPU's handle."""
    return index


def nvmlDeviceGetHandleByUUID(uuid: str) -> int:
    """Returns a GPU's handle."""
    if uuid != UUID:
        raise NVMLError("Not Found")
    return 0


def nvmlDeviceGetMemoryInfo(handle: int) -> SimpleNamespace:
    """Returns the bytes of a GPU's memory."""
    return SimpleNamespace(used=3 << 30, total=80 << 30)


def nvmlDeviceGetUtilizationRates(handle: int) -> SimpleNamespace:
    """Returns percentages."""
    if handle != 0:
        raise NVMLError("Not Supported")
    return SimpleNamespace(gpu=75, memory=40)
