"""Names and column lists as SQL text."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.types import SqlType


def quoted(name: str) -> str:
    """A name as an identifier in quotes."""
    return '"' + name.replace('"', '""') + '"'


def qualified(name: str) -> str:
    """A table's name as given by a user: `schema.table` or `table`, in lower case unless quoted already."""
    if '"' in name:
        return name
    return ".".join(quoted(part.lower()) for part in name.split("."))


def column_definitions(names: Sequence[str], types: Sequence[SqlType]) -> str:
    """Columns as CREATE TABLE lists them."""
    return ", ".join(f"{quoted(name)} {type_}" for name, type_ in zip(names, types, strict=True))
