"""Limits of connections that have not authenticated yet, in all and from one address.

Beyond a limit the oldest one ends, so that new clients always get in. Within a burst, when even the oldest is young,
all may stay: they end by themselves, or the server's limit of threads ends them.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from gpudb.errors import SqlError
from gpudb.server.wire.hba.matching import parse_client_address

BURST_S = 1.0
_IPV6_NETWORK_BITS = 64


class Stoppable(Protocol):
    """A connection that can be ended from another thread."""

    def stop(self, error: SqlError, now: bool = False) -> None:
        """Ends the connection with an error."""


def get_client_network(host: str) -> str:
    """Returns by what clients are counted: the address, or an IPv6 address' network of 64 bits."""
    address = parse_client_address(host)
    if address is None or address.version == 4:
        return host if address is None else str(address)
    return f"{int(address) >> _IPV6_NETWORK_BITS:x}::/64"


class PendingConnections:
    """Connections between their start and their authentication, by client address. Thread-safe."""

    def __init__(self, limit: int, per_address: int) -> None:
        self._limit, self._per_address = limit, per_address
        self._lock = threading.Lock()
        self._by_network: dict[str, dict[Stoppable, float]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Number of pending connections."""
        return self._count

    def add(self, connection: Stoppable, host: str) -> None:
        """Adds a connection; ends the oldest of its address, or of the address with the most, beyond a limit."""
        network = get_client_network(host)
        with self._lock:
            own = self._by_network.setdefault(network, {})
            own[connection] = time.monotonic()
            self._count += 1
            victim = None
            if len(own) > self._per_address:
                victim = self._take_oldest(network, BURST_S)
            elif self._count > self._limit:
                victim = self._take_oldest(self._find_largest(), BURST_S)
        _end(victim)

    def remove(self, connection: Stoppable, host: str) -> None:
        """Removes a connection that has authenticated or ended; no error if it was removed before."""
        with self._lock:
            self._remove(connection, get_client_network(host))

    def evict(self) -> None:
        """Ends the oldest connection of the address that has the most, however young it is."""
        with self._lock:
            victim = self._take_oldest(self._find_largest(), 0.0) if self._by_network else None
        _end(victim)

    def _find_largest(self) -> str:
        return max(self._by_network, key=lambda network: len(self._by_network[network]))

    def _take_oldest(self, network: str, age: float) -> Stoppable | None:
        connection, since = next(iter(self._by_network[network].items()))
        if time.monotonic() - since < age:
            return None
        self._remove(connection, network)
        return connection

    def _remove(self, connection: Stoppable, network: str) -> None:
        own = self._by_network.get(network)
        if own is None or own.pop(connection, None) is None:
            return
        self._count -= 1
        if not own:
            del self._by_network[network]


def _end(connection: Stoppable | None) -> None:
    if connection is not None:
        connection.stop(SqlError.of("too_many_connections", "too many connections have not authenticated yet"))
