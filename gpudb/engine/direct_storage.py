"""GPUDirect Storage: whether a host has it, and the mode of KvikIO and libcudf that a setting asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gpudb.errors import SqlError

MODE_VARIABLE = "KVIKIO_COMPAT_MODE"
"""The environment variable that KvikIO and libcudf read: ON is by the host's memory."""
_DIRECT = {"OFF", "AUTO", "0", "FALSE", "NO"}


def has_kernel_module(root: Path = Path("/")) -> bool:
    """Returns whether the kernel module nvidia-fs is loaded."""
    return (root / "proc/driver/nvidia-fs").exists()


def is_direct(mode: str | None) -> bool:
    """Returns whether a mode reads directly where that is possible; without one libcudf does not."""
    return (mode or "ON").upper() in _DIRECT


def choose_mode(
    setting: Literal["auto", "on", "off"], environment: Mapping[str, str] = os.environ, root: Path = Path("/")
) -> dict[str, str]:
    """Returns the environment of workers that read as a setting says; 58000 for `on` without the kernel module."""
    if setting == "off":
        return {MODE_VARIABLE: "ON"}
    if not has_kernel_module(root):
        if setting == "on":
            message = "direct_storage is on, and the kernel module nvidia-fs is not loaded"
            raise SqlError.of("system_error", message, hint="Load it (modprobe nvidia-fs), or set it to auto.")
        return {}
    if setting == "on":
        return {MODE_VARIABLE: "OFF"}
    return {} if MODE_VARIABLE in environment else {MODE_VARIABLE: "AUTO"}
