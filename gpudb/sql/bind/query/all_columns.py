"""GROUP BY ALL and ORDER BY ALL: how the tree has them, and the output columns that a stored query has instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpudb.sql.bind.base import Binder
from gpudb.sql.parse.friendly.all_columns import ALL
from gpudb.sql.parse.parser import inner, kind, strings


def is_all(node: Any) -> bool:
    """Whether an item of GROUP BY or ORDER BY is ALL."""
    if kind(node) != "column_ref" or len(inner(node).fields) != 1 or kind(inner(node).fields[0]) != "string":
        return False
    return strings(inner(node).fields) == (ALL,)


def record_all(binder: Binder, node: Any, places: Iterable[int]) -> None:
    """Records the output columns, from 0, that an ALL stands for."""
    if binder.expansions is not None:
        binder.expansions.positions[inner(node).location] = tuple(place + 1 for place in places)
