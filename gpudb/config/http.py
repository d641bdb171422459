"""Settings of health and metrics over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gpudb.config.fields import Within


@dataclass(frozen=True)
class HttpSettings:
    """Where `server.http` listens."""

    http_host: str = "127.0.0.1"
    """Address on which health and metrics are served. Whoever reaches it may read them, without a password."""
    http_port: Annotated[int, Within(ge=0, le=65535)] | None = None
    """TCP port of health and metrics over HTTP: `/healthz`, `/readyz`, `/metrics`. 0 selects a free one; the default is
    none, and no HTTP."""
