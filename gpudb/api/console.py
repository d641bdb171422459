"""The address of a server's console, as this machine reaches it."""

from __future__ import annotations

import os
import sys
import webbrowser
from urllib.parse import urlsplit, urlunsplit

from gpudb.errors import FeatureNotSupported, GpudbError

_EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def find_console(url: str, host: str) -> str:
    """Returns the console's address. `url` is what the server says of it, `host` what the connection is to.

    0A000 for a server without console, 08001 for one whose console listens on its own loopback alone.
    """
    if not url:
        hint = "Start the server by gpudb serve --http-port PORT."
        raise FeatureNotSupported("there is no console: the server serves no HTTP", hint=hint)
    parts = urlsplit(url)
    is_near = host in _LOOPBACK or host.startswith("/")  # a socket's folder
    if parts.hostname in _EVERY_ADDRESS:
        reached = "127.0.0.1" if host.startswith("/") else host
        reached = f"[{reached}]" if ":" in reached else reached
        return urlunsplit(parts._replace(netloc=f"{reached}:{parts.port}"))
    if parts.hostname in _LOOPBACK and not is_near:
        message = f"the console of {host} listens on its loopback alone"
        hint = f"Forward the port, by ssh -L {parts.port}:127.0.0.1:{parts.port} {host}, or start it with --http-host."
        raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection")
    return url


def open_browser(address: str) -> bool:
    """Opens an address in a browser with windows; returns False where there is none."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    return webbrowser.open(address)
