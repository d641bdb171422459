"""Breakdown of a call's time: functions of the program, timed while it runs, each without the ones that it calls."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


class Breakdown:
    """Seconds by name, of all threads together; `settled` is called before a function's end is recorded."""

    def __init__(self, settled: Callable[[], None] = lambda: None) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: defaultdict[str, int] = defaultdict(int)
        self._settled = settled
        self._lock = threading.Lock()
        self._own = threading.local()

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function, timed under a name."""

        def timed(*given: Any, **named: Any) -> Any:
            within, self._own.within = getattr(self._own, "within", 0.0), 0.0
            begun = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                self._settled()
                took = time.perf_counter() - begun
                with self._lock:
                    self.seconds[name] += took - self._own.within
                    self.calls[name] += 1
                self._own.within = within + took

        return timed

    def summary(self) -> str:
        """Formats each name's seconds and calls, the longest first."""
        order = sorted(self.seconds, key=lambda name: -self.seconds[name])
        return ", ".join(f"{name} {self.seconds[name]:.3f} ({self.calls[name]})" for name in order)


@contextmanager
def timed_functions(places: Mapping[str, str], spent: Breakdown) -> Iterator[None]:
    """Times the functions `package.module:name` or `package.module:Class.name` under their names."""
    before: list[tuple[Any, str, Any]] = []
    try:
        for name, place in places.items():
            module, _, path = place.partition(":")
            owner: Any = import_module(module)
            *parts, last = path.split(".")
            for part in parts:
                owner = getattr(owner, part)
            before.append((owner, last, getattr(owner, last)))
            setattr(owner, last, spent.wrap(name, getattr(owner, last)))
        yield
    finally:
        for owner, last, function in reversed(before):
            setattr(owner, last, function)
