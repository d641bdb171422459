"""Casts that leave out what is declared of a type and change no value: a plan has none of them."""

from __future__ import annotations

from typing import Any

from gpudb.sql import bound
from gpudb.sql.traverse import mapped


def without_relabels(query: bound.Query) -> bound.Query:
    """The query with what such casts are of in their place, so that a column is a column to all that looks at plans."""

    def change(node: Any) -> Any:
        return mapped(node.arg, change) if isinstance(node, bound.Cast) and node.relabels else None

    made: bound.Query = mapped(query, change)
    return made
