"""The configuration files that a data directory holds, such as the settings of ALTER SYSTEM: saved and restored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.private_files import create_file

SUFFIXES = frozenset({".conf", ".json", ".toml"})
MAX_BYTES = 1 << 20
"""Larger files are no configuration."""


def read_configuration(directory: Path) -> dict[str, str]:
    """Returns the texts of the configuration files of a data directory, by name."""
    found = {}
    for path in sorted(directory.iterdir()):
        if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= MAX_BYTES:
            found[path.name] = path.read_text(encoding="utf-8", errors="surrogateescape")
    return found


def write_configuration(directory: Path, texts: Mapping[str, str]) -> None:
    """Writes configuration files into a data directory, durably."""
    for name, text in texts.items():
        path = directory / name
        create_file(path)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        sync(path)
