"""The child processes of one owner, such as a session: one a module, started when it is first called."""

from __future__ import annotations

import threading

from gpudb.processes.child import ChildProcess


class OwnedProcesses:
    """Children by module. What has ended, killed or by itself, starts again at the next call, with nothing kept."""

    def __init__(self) -> None:
        self._children: dict[str, ChildProcess] = {}
        self._lock = threading.Lock()

    def get(self, module: str, memory_bytes: int = 0) -> ChildProcess:
        """Returns the running child of a module; `memory_bytes` limits the data of one that starts (0: no limit)."""
        with self._lock:
            known = self._children.get(module)
            if known is not None and not known.has_ended:
                return known
            if known is not None:
                known.kill()
            made = self._children[module] = ChildProcess(module, memory_bytes=memory_bytes)
            return made

    def close(self) -> None:
        """Ends all children."""
        with self._lock:
            children, self._children = list(self._children.values()), {}
        for child in children:
            child.kill()
