"""Sequence values that a session has drawn, and those that CACHE reserves for it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class SequenceCache:
    """Last value of each sequence by OID, OID of the sequence drawn last, and reserved values by sequence file."""

    current: dict[int, int] = field(default_factory=dict)
    last: int | None = None
    ready: dict[int, list[range]] = field(default_factory=dict)
