"""Traces which modules of gpudb a statement passes, in the server and in its workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HOOK = Path(__file__).with_name("hook")


@dataclass(frozen=True)
class Call:
    """A function of the module `callee` that was called from `caller` (None: from outside the package).

    `root` is the package's outermost function on the stack.
    """

    root: str
    caller: str | None
    callee: str
    function: str


@dataclass
class Trace:
    """Calls between modules, as recorded by `record`."""

    calls: set[Call] = field(default_factory=set)

    @property
    def modules(self) -> list[str]:
        """The modules in which code ran, in order of their names."""
        return sorted({call.callee for call in self.calls})


class Tracer:
    """Recordings of processes that were started with `environment`."""

    def __init__(self, folder: Path) -> None:
        self._switch, self._log = folder / "switch", folder / "calls"
        self._switch.write_bytes(b"\0")
        self._log.touch()
        self._recordings = 0

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for the traced processes."""
        return {"PYTHONPATH": str(HOOK), "GPUDB_TRACE": f"{self._switch}{os.pathsep}{self._log}"}

    @contextmanager
    def record(self) -> Iterator[Trace]:
        """Records calls while the block runs."""
        self._recordings += 1
        trace = Trace()
        self._set(self._recordings)
        try:
            yield trace
        finally:
            self._set(0)
        for line in self._log.read_text(encoding="utf-8").splitlines():
            number, root, caller, callee, function = line.split("\t")
            if int(number) == self._recordings:
                trace.calls.add(Call(root, _module(caller) if caller else None, _module(callee), function))

    def _set(self, number: int) -> None:
        # In place: the processes have mapped this file.
        with self._switch.open("r+b") as file:
            file.write(bytes([number]))


def _module(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    name = ".".join(parts[len(parts) - parts[::-1].index("gpudb") - 1 :])
    return name.removesuffix(".__init__")
