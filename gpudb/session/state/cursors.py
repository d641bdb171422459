"""Open cursors of a session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container
from dataclasses import dataclass, field

from gpudb.catalog.model import Catalog
from gpudb.session.results import Result, ResultColumn
from gpudb.session.state.scrolling import ScrolledRows
from gpudb.sql.bound import Query


@dataclass(slots=True)
class Cursor:
    """A cursor over a query that scans `tables`, given by OID.

    `hold` is WITH HOLD; `persisted` becomes true when the transaction that declared such a cursor commits. `query`,
    which it runs with `parameters`, reads `catalog`. `addresses` are those of its rows by their values, once they are
    asked for; the rows at the positions `updated` and `deleted` have been changed by WHERE CURRENT OF.
    """

    columns: tuple[ResultColumn, ...]
    result: Result
    rows: ScrolledRows
    statement: str
    tables: frozenset[int]
    query: Query
    catalog: Catalog
    parameters: tuple[object, ...] = ()
    hold: bool = False
    persisted: bool = False
    addresses: dict[tuple[str, ...], list[int]] | None = None
    updated: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    declared: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


def close_declared_since(cursors: dict[str, Cursor], known: Container[Cursor]) -> None:
    """Closes and removes a session's cursors that are not among those known at a savepoint."""
    for name, cursor in list(cursors.items()):
        if cursor not in known:
            cursors.pop(name).result.close()
