"""Delays the answer to failed logins: the more of an address fail, the longer each of them waits."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from gpudb.server.wire.pending_connections import get_client_network

FREE_FAILURES = 3
"""Failures that are answered at once: somebody mistypes."""
FIRST_DELAY_S = 0.1
FORGET_S = 60.0
_MAX_ADDRESSES = 10_000


class FailedLogins:
    """Failed logins by client address. Logins that succeed never wait. Thread-safe."""

    def __init__(self, max_delay: float) -> None:
        """`max_delay` is in seconds; 0 turns the delay off."""
        self._max_delay = max_delay
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def record(self, host: str) -> float:
        """Counts a failure; returns the seconds that its answer has to wait, which double with each."""
        network, now = get_client_network(host), time.monotonic()
        with self._lock:
            count, last = self._failures.pop(network, (0, now))
            count = 1 if now - last > FORGET_S else count + 1
            self._failures[network] = count, now
            if len(self._failures) > _MAX_ADDRESSES:
                self._failures.popitem(last=False)
        if count <= FREE_FAILURES:
            return 0.0
        return float(min(self._max_delay, FIRST_DELAY_S * 2.0 ** min(count - FREE_FAILURES - 1, 20)))
