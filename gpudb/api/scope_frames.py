"""Frames in variables of the caller as tables: `db.sql("SELECT … FROM frame")`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from google.protobuf.message import Message
from postgast import pg_query_pb2 as pg

from gpudb.api.frames import is_frame
from gpudb.errors import GpudbError
from gpudb.sql.parse.literal_rows import shorten
from gpudb.sql.parse.parser import RawStatement, parse

_READING = frozenset("SelectStmt InsertStmt UpdateStmt DeleteStmt MergeStmt CopyStmt ExplainStmt".split())
_NAME = re.compile(r"\w+")
_REMEMBERED = 512
_LONGEST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class OtherVariable:
    """A variable of a table's name that holds no frame."""

    name: str
    type_name: str


class Scope(Protocol):
    """Variables that code sees: a frame of the interpreter, or others like it."""

    @property
    def f_locals(self) -> Mapping[str, Any]:
        """The local variables."""

    @property
    def f_globals(self) -> Mapping[str, Any]:
        """The global variables."""


def find_scope_frames(sql: str, caller: Scope) -> dict[str, object]:
    """Returns the caller's variables that a statement names as tables, by the table's name: locals, then globals.

    A variable is named as it is written in the statement, or by its lower case. One that is no frame is an
    `OtherVariable`.
    """
    named = _names(sql) if len(sql) <= _LONGEST_REMEMBERED else _find_names(sql)
    found: dict[str, object] = {}
    if named:
        local, other = caller.f_locals, caller.f_globals
        for table, written in named:
            for name in (written, table):
                if name in local or name in other:
                    value = local[name] if name in local else other[name]
                    found[table] = value if is_frame(value) else OtherVariable(name, type(value).__qualname__)
                    break
    return found


@lru_cache(_REMEMBERED)
def _names(sql: str) -> tuple[tuple[str, str], ...]:
    return _find_names(sql)


def _find_names(sql: str) -> tuple[tuple[str, str], ...]:
    """Returns the tables without a schema that statements read: their names, and as they are written."""
    try:
        statements = parse(shorten(sql))
    except GpudbError:
        return ()  # running it raises the error
    return tuple(dict.fromkeys(name for statement in statements for name in _iter_names(statement)))


def _iter_names(statement: RawStatement) -> Iterator[tuple[str, str]]:
    node: Any = statement.node
    # A view or a materialized view would outlive the frame
    if statement.kind in _READING or (statement.kind == "CreateTableAsStmt" and node.objtype == pg.OBJECT_TABLE):
        encoded = statement.text.encode()
        for table in _iter_tables(node):
            if not table.schemaname and not table.relname.startswith("pg_"):
                written = _NAME.match(encoded[table.location :].decode())
                yield table.relname, written[0] if written else table.relname


def _iter_tables(node: Message) -> Iterator[Any]:
    """Yields the tables that are read: they stand in lists and joins, those that are changed in fields of their own."""
    for field, value in node.ListFields():
        if field.message_type is None:
            continue
        for each in value if field.is_repeated else (value,):
            if field.name == "range_var":
                yield each
            else:
                yield from _iter_tables(each)
