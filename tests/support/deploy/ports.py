"""Free ports of loopback."""

from __future__ import annotations

import socket


def find_port() -> int:
    """Returns a port on which nothing listens now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
