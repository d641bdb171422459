"""Packages of others that import much more than gpudb uses: their parts are imported when something asks for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
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


_COMPUTE = "pyarrow.compute"
"""Makes a function of Python for each of Arrow's 250, which takes as long as the rest of pyarrow's modules."""


class _LazyCompute(ModuleType):
    """The module `pyarrow.compute`, whose code runs when one of its names is asked for."""

    def __getattr__(self, name: str) -> object:
        own = self.__dict__
        lock = own.get("_gpudb_lock")  # until the code has run
        if lock is not None and not (name.startswith("__") and name.endswith("__")):
            with lock:
                loader = own.pop("_gpudb_loader", None)
                if loader is not None:
                    loader.exec_module(self)
                    del own["_gpudb_lock"]
        if name in own:
            return own[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _Deferred(Loader):
    """Makes a module whose code runs later."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LazyCompute(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["_gpudb_lock"] = RLock()
        module.__dict__["_gpudb_loader"] = self._loader


class _ComputeFinder(MetaPathFinder):
    """Finds `pyarrow.compute`, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _COMPUTE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Deferred(spec.loader)
        return spec


def slim_pyarrow() -> None:
    """Defers the functions of `pyarrow.compute`. No-op if it has been imported."""
    if _COMPUTE not in sys.modules and not any(isinstance(each, _ComputeFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, _ComputeFinder())


def slim_postgast() -> None:
    """Defers the classes of postgast's nodes. No-op if it has been imported, or is missing."""
    found = None if "postgast" in sys.modules else find_spec("postgast")
    if found is None or found.origin is None:
        return
    folder = Path(found.origin).parent / "nodes"
    spec = spec_from_file_location(_NODES, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is not None:
        sys.modules.setdefault(_NODES, _LazyNodes(spec))
