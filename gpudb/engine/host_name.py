"""The name of this host, by which processes learn whether they can share memory."""

from __future__ import annotations

import socket
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def get_host_name() -> str:
    """Returns a name that differs between hosts, and between containers of one host."""
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return f"{socket.gethostname()}/{boot}"
