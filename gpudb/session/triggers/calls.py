"""Calls of trigger functions: their variables, conditions, transition tables and nesting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import AFTER, UPDATE, Trigger
from gpudb.errors import SqlError, UndefinedFunction
from gpudb.plpgsql.records import NullRecord, Record, null_record
from gpudb.session.authorization.authorize import check_accesses
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.execution.routines.languages import TriggerCalls, find_language
from gpudb.session.triggers.built_in import BuiltInTrigger, find_trigger_function
from gpudb.sql.bind.dml.trigger_conditions import build_condition_query, list_frame_columns
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bound import NEW_ROWS
from gpudb.types import SqlType


def find_triggers(
    context: Context,
    relation: Table,
    event: str,
    timing: str,
    *,
    for_each_row: bool,
    assigned: frozenset[str] | None = None,
) -> list[Trigger]:
    """Returns the triggers that fire for an event, in order: by name.

    `assigned` are the columns that an UPDATE names; None means all.
    """
    if not relation.triggers:
        return []
    role = context.session.settings["session_replication_role"]
    found = [
        each
        for each in relation.triggers
        if each.timing == timing
        and each.for_each_row == for_each_row
        and event in each.events
        and (event != UPDATE or not each.columns or assigned is None or not assigned.isdisjoint(each.columns))
        and each.is_enabled(role)
    ]
    return sorted(found, key=lambda each: each.name)


def list_variables(relation: Table, trigger: Trigger, event: str) -> dict[str, object]:
    """Returns the values of a trigger function's variables beside NEW and OLD."""
    return {
        "tg_name": trigger.name,
        "tg_when": trigger.timing,
        "tg_level": "ROW" if trigger.for_each_row else "STATEMENT",
        "tg_op": event,
        "tg_relid": relation.oid,
        "tg_relname": relation.name,
        "tg_table_name": relation.name,
        "tg_table_schema": relation.schema,
        "tg_nargs": len(trigger.arguments),
        "tg_argv": list(trigger.arguments) or None,
    }


class Firing:
    """A trigger that fires for one event of a statement: once, or for each row."""

    def __init__(
        self,
        context: Context,
        relation: Table,
        trigger: Trigger,
        event: str,
        transition: Transition | None = None,
        assigned: frozenset[str] | None = None,
    ) -> None:
        routine = find_trigger_function(context.transaction.catalog, trigger.function)
        if routine is None:
            raise UndefinedFunction(f"function with OID {trigger.function} does not exist")
        self.context, self.trigger, self._relation, self._name = context, trigger, relation, routine.name
        self._transition = transition
        row = get_row_type(relation)
        self.null = _make_null(row)
        inside = replace(context, plan=None, session_calls=None, arguments=None, parameters=())
        variables = list_variables(relation, trigger, event)
        self._call: TriggerCalls
        if routine.language == "internal":
            self._call = BuiltInTrigger(routine, relation, variables, assigned)
        else:
            self._call = find_language(routine).begin_trigger(inside, routine, row, variables)

    def run(self, new: Record | None = None, old: Record | None = None) -> Record | None:
        """Calls the function for a row, or for the statement; returns the row that it returns, None for NULL."""
        context, session = self.context, self.context.session
        session.triggered.append(self._relation.oid)
        try:
            with _transition_tables(context, self._relation, self.trigger, self._transition):
                found = self._call.run(self.null if new is None else new, self.null if old is None else old)
        finally:
            session.triggered.pop()
        if found is self.null:
            return None
        if found is not None and self.trigger.for_each_row and self.trigger.timing != AFTER:
            _check_shape(self._relation, self._name, found)
        elif found is not None and not self.trigger.for_each_row:
            return None
        return found


def _make_null(row: SqlType) -> NullRecord:
    """Returns a NULL of a row type. Its names are a tuple of its own: plans tell it from a row by that."""
    made = null_record(row)
    return NullRecord((*made.names,), (*made.types,), made.values)


Transition = tuple[pa.Table | None, pa.Table | None]
"""The rows of a statement's transition tables: OLD TABLE and NEW TABLE."""


@contextmanager
def _transition_tables(
    context: Context, relation: Table, trigger: Trigger, transition: Transition | None
) -> Iterator[None]:
    """Lets the function of a trigger read its transition tables by name, and no other trigger's."""
    session = context.session
    if transition is None and not session.transition_tables:
        yield
        return
    before = session.transition_tables
    hidden = {name: (session.frames.pop(name), session.frame_columns.pop(name)) for name in before}
    shadowed = {}
    names = []
    columns = table_columns(relation)
    for name, rows in zip((trigger.old_table, trigger.new_table), transition or (), strict=False):
        if name and rows is not None:
            if name in session.frames:
                shadowed[name] = session.frames[name], session.frame_columns[name]
            session.frames[name] = rows.rename_columns([column.name for column in columns])
            session.frame_columns[name] = tuple(replace(column, table_oid=0, number=0) for column in columns)
            names.append(name)
    session.transition_tables = tuple(names)
    try:
        yield
    finally:
        for name in names:
            session.frames.pop(name, None)
            session.frame_columns.pop(name, None)
        for name, (rows, known) in (*shadowed.items(), *hidden.items()):
            session.frames[name], session.frame_columns[name] = rows, known
        session.transition_tables = before


def check_condition(
    context: Context, relation: Table, trigger: Trigger, new: pa.Table | None, old: pa.Table | None
) -> Sequence[bool] | None:
    """Returns for which rows a trigger's WHEN condition holds, or for the statement; None without a condition."""
    if trigger.condition is None:
        return None
    binder = replace(context, arguments=None, parameters=()).binder()
    query = build_condition_query(binder, relation, trigger.condition, for_each_row=trigger.for_each_row)
    check_accesses(context, binder.accesses)
    frames: Mapping[str, pa.Table] = {}
    if trigger.for_each_row:
        frames = {NEW_ROWS: _pair_rows(relation, new, old)}
    inside = replace(context, plan=None, session_calls=None, arguments=None, parameters=())
    return [each is True for each in fetch_query(inside, query, frames).column(0).to_pylist()]


def _pair_rows(relation: Table, new: pa.Table | None, old: pa.Table | None) -> pa.Table:
    rows = new if new is not None else old
    assert rows is not None
    columns: list[pa.ChunkedArray | pa.Array] = []
    for side in (new, old):
        for place, column in enumerate(relation.columns):
            columns.append(pa.nulls(rows.num_rows, column.type.arrow) if side is None else side.column(place))
    return pa.table(columns, names=[column.name for column in list_frame_columns(relation)])


def _check_shape(relation: Table, trigger: str, row: Record) -> None:
    """42804 for a row that a function returns and that does not have the columns of the relation."""
    columns, detail = relation.columns, None
    for place, (item, column) in enumerate(zip(row.types, columns, strict=False), 1):
        if item.plain.oid != column.type.plain.oid and item.name != "unknown":
            detail = f"Returned type {item.plain} does not match expected type {column.type} in column {place}."
            break
    if detail is None and len(row.values) != len(columns):
        detail = f"Number of returned columns ({len(row.values)}) does not match expected column count"
        detail += f" ({len(columns)})."
    if detail is not None:
        message = "returned row structure does not match the structure of the triggering table"
        where = f"PL/pgSQL function {trigger}() during function exit"
        raise SqlError.of("datatype_mismatch", message, detail=detail, where=where)
