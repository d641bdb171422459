"""What a backup knows of a file: its length and checksum."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a backup: its length in bytes and the SHA-256 of its content."""

    bytes: int
    sha256: str
