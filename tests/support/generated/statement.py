"""What a maker gives: a statement, what it belongs to, and the session's time zone that it runs in."""

from __future__ import annotations

from dataclasses import dataclass

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")


@dataclass(frozen=True, slots=True)
class Made:
    """One statement. `ordered` where its ORDER BY leaves no two rows as peers."""

    kind: str
    sql: str
    zone: str = "UTC"
    ordered: bool = False
