"""The distribution that installs this package: `gpudb-sql`, since `gpudb` is another project's on the package index."""

from __future__ import annotations

from pathlib import Path

DISTRIBUTION = "gpudb-sql"
__version__ = "0.1.0"
_FOREIGN = "gpudb.py"
"""A file that the other project puts into its package `gpudb`."""


def render_install(extra: str) -> str:
    """Returns the command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_files(folder: Path) -> None:
    """Raises ImportError if the package's folder has files of the other project, which was installed over it."""
    if (folder / _FOREIGN).exists():
        raise ImportError(
            f"the distribution 'gpudb' of the package index is another project, and its files are in {folder} too:"
            f" pip uninstall -y gpudb {DISTRIBUTION}, remove the folder, and pip install {DISTRIBUTION}"
        )
