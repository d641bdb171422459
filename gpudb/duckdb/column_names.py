"""Names of columns in DuckDB's SQL, which takes names that differ in case alone for one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpudb.duckdb.literals import quote_identifier


def quote_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Returns a relation's columns as quoted identifiers that are unique whatever their case."""
    return tuple(map(quote_identifier, make_unique(names)))


def make_unique(names: Sequence[str]) -> Sequence[str]:
    """Returns names that are unique whatever their case: the first of several keeps its name, others get a number."""
    if len({name.lower() for name in names}) == len(names):
        return names
    taken: set[str] = set()
    whole = {name.lower() for name in names}
    result = []
    for name in names:
        made, number = name, 1
        while made.lower() in taken or (number > 1 and made.lower() in whole):
            number += 1
            made = f"{name}${number}"
        taken.add(made.lower())
        result.append(made)
    return result


def rename_frame(frame: pa.Table) -> pa.Table:
    """Returns a frame under the names of `make_unique`."""
    names = frame.column_names
    unique = make_unique(names)
    return frame if unique is names else frame.rename_columns(list(unique))
