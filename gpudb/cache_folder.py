"""Where compiled code is cached between processes."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Returns the user's directory of compiled code; GPUDB_KERNEL_CACHE and XDG_CACHE_HOME name another."""
    root = os.environ.get("GPUDB_KERNEL_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "gpudb"
