"""Who may log in to the console, from where, and how fast wrong passwords are answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from gpudb.errors import SqlError
from gpudb.server.http.console.requests import HttpError
from gpudb.server.http.login import Refusal, get_host, is_encrypted
from gpudb.server.wire.auth import is_loopback
from gpudb.server.wire.pending_connections import get_client_network

MAX_WAITING = 10
"""Wrong passwords of an address whose answers may wait at once; beyond them its logins are refused unchecked."""


def check_transport(request: Request) -> None:
    """403 for a login whose password would cross a network as it is."""
    if is_encrypted(request) or is_loopback(get_host(request)):
        return
    hint = "Start gpudb serve with --http-tls, and use https; or come through a tunnel to loopback."
    message = "the console takes logins without TLS from loopback alone"
    raise HttpError(403, SqlError.of("invalid_authorization_specification", message, hint=hint))


def check_named_host(request: Request) -> None:
    """403 for a login without password under a name that may be another site's, which has led it to this machine."""
    if is_encrypted(request) or _is_local_name(request.headers.get("host", "")):
        return
    message = "a role without password can log in at localhost or a loopback address alone"
    raise HttpError(403, SqlError.of("invalid_authorization_specification", message))


def _is_local_name(host: str) -> bool:
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower() == "localhost" or (name != "" and is_loopback(name))


class WrongPasswords:
    """Answers of wrong passwords that wait. For the event loop alone."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()

    def check(self, host: str) -> None:
        """429 if many answers to an address wait already."""
        if self._waiting[get_client_network(host)] >= MAX_WAITING:
            error = SqlError.of("invalid_password", "too many wrong passwords: wait before the next")
            raise HttpError(429, error, {"retry-after": "5"})

    async def delay(self, host: str, refusal: Refusal) -> None:
        """Waits as long as the answer of a wrong password has to."""
        with self._count(get_client_network(host)):
            await asyncio.sleep(refusal.delay)

    @contextmanager
    def _count(self, network: str) -> Iterator[None]:
        self._waiting[network] += 1
        try:
            yield
        finally:
            self._waiting[network] -= 1
            if not self._waiting[network]:
                del self._waiting[network]
