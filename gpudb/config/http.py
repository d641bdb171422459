"""Settings of HTTP: health, metrics, the Iceberg catalog and the console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gpudb.config.fields import Within


@dataclass(frozen=True)
class HttpSettings:
    """Where `server.http` listens."""

    http_host: str = "127.0.0.1"
    """Address on which health, metrics, the Iceberg catalog and the console are served. Whoever reaches it may read
    health and metrics, without a password; the console takes logins off loopback under `http_tls` alone."""
    http_port: Annotated[int, Within(ge=0, le=65535)] | None = None
    """TCP port of HTTP: `/healthz`, `/readyz`, `/metrics`, `/iceberg`, `/console/`. 0 selects a free one; the default
    is none, and no HTTP."""
    http_tls: bool = False
    """Whether HTTP is encrypted, by `tls_cert` and `tls_key`: all of it, health and metrics too."""
    console_idle_timeout: Annotated[float, Within(ge=1, le=86_400)] = 1800.0
    """Seconds after which a login of the console, or one of its sessions, ends if nothing is asked."""
