"""gpudb: a distributed GPU analytics database that speaks PostgreSQL.

    with gpudb.connect("./data") as db:
        db.sql("SELECT cab_type, count(*) FROM trips GROUP BY cab_type").show()

The distribution is `gpudb-sql`. Importing `gpudb` imports no CUDA package and nothing heavy. The package's rooms and
their order are described in docs/developers/architecture.md.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.distribution import __version__, check_files
from gpudb.slim_imports import slim_postgast, slim_pyarrow

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from gpudb import errors
    from gpudb.api import Connection, Relation, Rows, connect

check_files(Path(__file__).parent)
slim_postgast()
slim_pyarrow()

__all__ = ["Connection", "Relation", "Rows", "__version__", "connect", "errors"]


def __getattr__(name: str) -> object:
    """Imports the Python API on first access."""
    if name in {"Connection", "Relation", "Rows", "connect"}:
        from gpudb import api

        found = getattr(api, name)
        globals()[name] = found
        return found
    if name == "errors":
        return import_module("gpudb.errors")
    raise AttributeError(f"module 'gpudb' has no attribute '{name}'")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Loads the magics %gpudb, %sql and %explain: `%load_ext gpudb`."""
    from gpudb import jupyter

    jupyter.load_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
