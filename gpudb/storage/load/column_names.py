"""Distinct names of columns, made of the header of a csv file or of a sheet."""

from __future__ import annotations

from collections.abc import Sequence


def name_columns(header: Sequence[str]) -> list[str]:
    """Returns distinct names for a header's: one without a name has one by its place, one that another has a number."""
    taken = {name.lower() for name in header}
    used: set[str] = set()
    names = []
    for number, written in enumerate(header, 1):
        stem = name = written or f"column{number}"
        copies = 0
        while name.lower() in used or (name != written and name.lower() in taken):
            copies += 1
            name = f"{stem}_{copies}"
        used.add(name.lower())
        names.append(name)
    return names
