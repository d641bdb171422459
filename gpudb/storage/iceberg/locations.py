"""Locations by which Iceberg's metadata names files: `file://` and a path, or an object's address."""

from __future__ import annotations

from pathlib import Path

_places: dict[Path, str] = {}
"""Addresses of folders of which the local ones have copies."""


def place_at(folder: Path, address: str | None) -> None:
    """Has metadata name the files below a folder by an address such as `s3://bucket/prefix`; None: by their paths."""
    if address is None:
        _places.pop(folder, None)
    else:
        _places[folder] = address


def to_uri(path: Path) -> str:
    """Returns the URI of a path, as metadata names files."""
    for folder, address in _places.items():
        if path.is_relative_to(folder):
            return f"{address}/{path.relative_to(folder).as_posix()}"
    return f"file://{path}"


def to_path(uri: str) -> Path:
    """Returns the path of a URI."""
    for folder, address in _places.items():
        if uri.startswith(f"{address}/"):
            return folder / uri[len(address) + 1 :]
    return Path(uri.removeprefix("file://"))
