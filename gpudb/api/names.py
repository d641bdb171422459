"""Names and column lists as SQL text."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.types import SqlType


def quote_identifier(name: str) -> str:
    """Returns a name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def qualify(name: str) -> str:
    """Returns a table's name given as `schema.table` or `table`, in lower case unless quoted."""
    if '"' in name:
        return name
    return ".".join(quote_identifier(part.lower()) for part in name.split("."))


def format_column_definitions(names: Sequence[str], types: Sequence[SqlType]) -> str:
    """Returns columns in CREATE TABLE's form."""
    return ", ".join(f"{quote_identifier(name)} {type_}" for name, type_ in zip(names, types, strict=True))
