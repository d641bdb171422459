"""The cursors that a session has open."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gpudb.catalog.model import Table
from gpudb.errors import SqlError
from gpudb.session.results import Result, ResultColumn
from gpudb.session.state.scrolling import ScrolledRows

if TYPE_CHECKING:
    from gpudb.session.session import Session


@dataclass(slots=True)
class Cursor:
    """A query over `tables`, by OID, that is read piece by piece. One with HOLD is `kept` once the transaction that
    declared it has committed."""

    columns: tuple[ResultColumn, ...]
    result: Result
    rows: ScrolledRows
    statement: str
    tables: frozenset[int]
    hold: bool = False
    kept: bool = False
    declared: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


_CURSORS: WeakKeyDictionary[Session, dict[str, Cursor]] = WeakKeyDictionary()


def cursors_of(session: Session) -> dict[str, Cursor]:
    """A session's cursors by name."""
    return _CURSORS.setdefault(session, {})


def check_unread(session: Session, table: Table, doing: str) -> None:
    """55006 where a cursor of the session is open over a table that a statement changes as a whole."""
    if any(table.oid in cursor.tables and not cursor.kept for cursor in cursors_of(session).values()):
        message = f'cannot {doing} "{table.name}" because it is being used by active queries in this session'
        raise SqlError.of("object_in_use", message)


def listed(session: Session) -> list[Mapping[str, object]]:
    """The rows of pg_cursors."""
    return [
        {
            "name": name,
            "statement": cursor.statement,
            "is_holdable": cursor.hold,
            "is_binary": False,
            "is_scrollable": cursor.rows.goes_back,
            "creation_time": cursor.declared,
        }
        for name, cursor in cursors_of(session).items()
    ]
