"""The fields to which an interval can be restricted, as its modifier holds them."""

from __future__ import annotations

INTERVAL_FIELDS = {
    "year": 1 << 2,
    "month": 1 << 1,
    "day": 1 << 3,
    "hour": 1 << 10,
    "minute": 1 << 11,
    "second": 1 << 12,
}
"""The bit of each field in the upper half of a modifier."""
ALL_INTERVAL_FIELDS = 0x7FFF
"""The bits of an interval that is not restricted."""


def list_interval_fields(modifier: int) -> list[str]:
    """Returns the fields that an interval's modifier names, from largest to smallest; none if it names all."""
    fields = modifier >> 16
    return [name for name, bit in INTERVAL_FIELDS.items() if fields & bit] if fields != ALL_INTERVAL_FIELDS else []


def format_interval_modifier(modifier: int) -> str:
    """Returns an interval's modifier as it is declared: ` day to minute`, `(2)`, ` second(3)`."""
    named, precision = list_interval_fields(modifier), modifier & 0xFFFF
    ends = f" {' to '.join(dict.fromkeys((named[0], named[-1])))}" if named else ""
    return ends if precision == 0xFFFF else f"{ends}({precision})"
