"""Generated statement: its SQL, its kind and the session's time zone."""

from __future__ import annotations

from dataclasses import dataclass

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")


@dataclass(frozen=True, slots=True)
class Made:
    """A generated statement. `ordered` if its ORDER BY is a total order."""

    kind: str
    sql: str
    zone: str = "UTC"
    ordered: bool = False
