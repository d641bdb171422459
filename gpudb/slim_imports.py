"""Packages of others that import much more than gpudb uses: their parts are imported when something asks for them."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from threading import RLock
from types import ModuleType

_NODES = "postgast.nodes"
_BASE = ("AstNode", "wrap")
"""What postgast imports of its nodes for itself. The other 270 classes take as long to make as the rest of it."""


class _LazyNodes(ModuleType):
    """The package `postgast.nodes`, which makes its classes when one of them is asked for; gpudb asks for none."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(_NODES)
        self.__spec__, self.__loader__, self.__path__ = spec, spec.loader, spec.submodule_search_locations or []
        self._lock, self._is_whole = RLock(), False

    def __getattr__(self, name: str) -> object:
        if name in _BASE:
            from postgast.nodes import base

            return getattr(base, name)
        with self._lock:
            if not self._is_whole and not name.startswith("_"):
                assert isinstance(self.__loader__, SourceFileLoader)
                self._is_whole = True
                self.__loader__.exec_module(self)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {_NODES!r} has no attribute {name!r}")


def slim_postgast() -> None:
    """Defers the classes of postgast's nodes. No-op if it has been imported, or is missing."""
    found = None if "postgast" in sys.modules else find_spec("postgast")
    if found is None or found.origin is None:
        return
    folder = Path(found.origin).parent / "nodes"
    spec = spec_from_file_location(_NODES, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is not None:
        sys.modules.setdefault(_NODES, _LazyNodes(spec))
