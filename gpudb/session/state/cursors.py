"""Open cursors of a session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container
from dataclasses import dataclass, field

from gpudb.session.results import Result, ResultColumn
from gpudb.session.state.scrolling import ScrolledRows


@dataclass(slots=True)
class Cursor:
    """A cursor over a query that scans `tables`, given by OID.

    `hold` is WITH HOLD; `persisted` becomes true when the transaction that declared such a cursor commits.
    """

    columns: tuple[ResultColumn, ...]
    result: Result
    rows: ScrolledRows
    statement: str
    tables: frozenset[int]
    hold: bool = False
    persisted: bool = False
    declared: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


def close_declared_since(cursors: dict[str, Cursor], known: Container[Cursor]) -> None:
    """Closes and removes a session's cursors that are not among those known at a savepoint."""
    for name, cursor in list(cursors.items()):
        if cursor not in known:
            cursors.pop(name).result.close()
