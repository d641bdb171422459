"""Removes casts that drop type modifiers and change no value; plans have no such casts."""

from __future__ import annotations

from typing import Any

from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes


def remove_relabels(query: bound.Query) -> bound.Query:
    """Returns the query with each such cast replaced by its argument, so that plan analysis sees plain columns."""

    def change(node: Any) -> Any:
        return replace_nodes(node.arg, change) if isinstance(node, bound.Cast) and node.is_relabel else None

    made: bound.Query = replace_nodes(query, change)
    return made
