"""INSERT … ON CONFLICT: the arbiter keys, and the queries that find conflicts among and with proposed rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Exclusion, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import resolve
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.arbiters import check_not_deferrable, infer_arbiters, list_arbiters
from gpudb.sql.bind.dml.exclusions import bind_conflict, bind_guarded
from gpudb.sql.bind.dml.generated_columns import compute_generated, list_updated
from gpudb.sql.bind.dml.targets import ROW_ID, bind_assignments
from gpudb.sql.bind.dml.view_targets import ChangeTarget, build_view_item, resolve_target
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator, build_call, conjunction, disjunction
from gpudb.sql.bind.name_errors import Entry
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    NEW_ROWS,
    ROW_NUMBER,
    Case,
    Column,
    Constant,
    Expr,
    FrameScan,
    Join,
    OnConflict,
    OutputColumn,
    Query,
    Scan,
    Select,
    SetOperation,
    Test,
    Window,
)
from gpudb.sql.parse.parser import present
from gpudb.types import BOOL, INT8, TEXT

_NUMBER = OutputColumn("number", INT8)
_PAIR = (OutputColumn("later", INT8), OutputColumn("earlier", INT8))


def bind_on_conflict(binder: Binder, target: ChangeTarget, relation: Any, node: Any, ctes: Scope) -> OnConflict | None:
    """Binds an OnConflictClause message; None if no conflict is possible. 42P10, 42704, 42601."""
    table = target.table
    if table.kind == "v":
        raise FeatureNotSupported("INSERT with ON CONFLICT is not supported for views with INSTEAD OF triggers")
    update = node.action == pg.ONCONFLICT_UPDATE
    if not node.HasField("infer"):
        if update:
            message = "ON CONFLICT DO UPDATE requires inference specification or constraint name"
            hint = "For example, ON CONFLICT (column_name)."
            raise binder.locate(SqlError.of("syntax_error", message, hint=hint), node.location)
        keys: Sequence[Exclusion] = list_arbiters(table)
    else:
        keys = infer_arbiters(binder, target, node.infer, updates=update)
    if not keys:
        return None
    check_not_deferrable(keys)
    if not update:
        conflicts = _unite([_build_conflicts(binder, table, key) for key in keys])
        same = _build_same_keys(binder, table, [key for key in keys if key.is_unique])
        pairs = [_build_pairs(binder, table, key) for key in keys if not key.is_unique]
        return OnConflict(False, same, conflicts, pairs=_unite(pairs, _PAIR) if pairs else None)
    key = _choose_widest(keys)
    same = _build_same_keys(binder, table, [key])
    query, assigned = _build_update(binder, target, relation, node, key, ctes)
    return OnConflict(True, same, query, assigned)


def _choose_widest(keys: Sequence[Exclusion]) -> Exclusion:
    """Returns the arbiter, of several over the same columns and expressions, that detects the conflicts of all."""
    for key in keys:
        if all(
            (not key.predicate or key.predicate == each.predicate) and (not key.nulls_distinct or each.nulls_distinct)
            for each in keys
        ):
            return key
    raise FeatureNotSupported("ON CONFLICT DO UPDATE by several indexes of different rows is not supported")


# ------------------------------------------------------------------------------------------------ the queries


def scan_proposed(rel: int, table: Table) -> FrameScan:
    """Returns a scan of the rows to insert, with their numbers as last column."""
    return FrameScan(rel, NEW_ROWS, (*table_columns(table), OutputColumn(ROW_NUMBER, INT8)))


def _get_columns(table: Table, rel: int, names: Sequence[str]) -> list[Column]:
    places = {column.name: index for index, column in enumerate(table.columns)}
    return [Column(rel, places[name], table.columns[places[name]].type, name) for name in names]


def _row_number(rel: int, table: Table) -> Column:
    return Column(rel, len(table.columns), INT8, ROW_NUMBER)


def _build_same_keys(binder: Binder, table: Table, keys: Sequence[Exclusion]) -> Select:
    """Returns the query for each proposed row's number and the first number with the same value of each key."""
    rel = binder.new_rel()
    number = _row_number(rel, table)
    targets: list[Expr] = [number]
    for key in keys:
        values, predicate = bind_guarded(binder, table, key, rel)
        partition = values if predicate is None else (*values, Test(predicate, "TRUE"))
        first = build_call(binder, resolve.resolve_function("min", (INT8,), "a"), (number,))
        result: Expr = Window(first.function, first.args, INT8, partition_by=tuple(partition))
        alone: list[Expr] = [] if predicate is None else [Test(predicate, "TRUE", True)]
        if key.nulls_distinct:
            alone += [Test(value, "NULL") for value in values]
        if alone:
            result = Case(((disjunction(alone), number),), result, INT8)
        targets.append(result)
    outputs = (_NUMBER, *(OutputColumn(f"first{place}", INT8) for place in range(len(keys))))
    return Select(outputs, tuple(targets), scan_proposed(rel, table))


def _build_conflicts(binder: Binder, table: Table, key: Exclusion) -> Select:
    """Returns the query for proposed rows whose key is stored: their numbers, and positions of the stored rows."""
    rel, other = binder.new_rel(), binder.new_rel()
    on = bind_conflict(binder, table, key, rel, other)
    source = Join("INNER", scan_proposed(rel, table), Scan(other, table, row_ids=True), on)
    return Select((_NUMBER, *ROW_ID), (_row_number(rel, table), *_row_position(other, table)), source)


def _row_position(rel: int, table: Table) -> tuple[Column, Column]:
    width = len(table.columns)
    return Column(rel, width, TEXT, "file"), Column(rel, width + 1, INT8, "row")


def _build_pairs(binder: Binder, table: Table, key: Exclusion) -> Select:
    """Returns the query for pairs of proposed rows that exclude each other: the later one's number and the other's."""
    rel, other = binder.new_rel(), binder.new_rel()
    later, earlier = _row_number(rel, table), _row_number(other, table)
    on = conjunction([bind_conflict(binder, table, key, rel, other), apply_operator(binder, ">", later, earlier)])
    source = Join("INNER", scan_proposed(rel, table), scan_proposed(other, table), on)
    return Select(_PAIR, (later, earlier), source)


def _unite(queries: Sequence[Query], columns: tuple[OutputColumn, ...] = (_NUMBER, *ROW_ID)) -> Query:
    result = queries[0]
    for each in queries[1:]:
        result = SetOperation(columns, "UNION", True, result, each)
    return result


def _build_update(
    binder: Binder, target: ChangeTarget, relation: Any, node: Any, key: Exclusion, ctes: Scope
) -> tuple[Query, frozenset[str]]:
    """Returns the query for proposed rows whose key is stored, and the columns that SET assigns.

    The query returns each row's number, the position of the stored row, whether WHERE accepts it, and the new row.
    """
    rel, other = binder.new_rel(), binder.new_rel()
    table = target.table
    columns = table_columns(table)
    scope = Scope(parent=ctes, clause="UPDATE")
    scan = Scan(other, table, row_ids=True)
    new, stored = (resolve_target(binder, target.relation, each, "insert into") for each in (rel, other))
    binder.accesses.add_target_rows(rel, target.rel, new.layers)
    binder.accesses.add_target_rows(other, target.rel, stored.layers)
    binder.accesses.require(target.rel, "w")
    item = _stored_item(binder, stored, relation)
    for each, target_rows in ((NamespaceItem("excluded", new.columns), new), (item, stored)):
        scope.add((each,), each.columns)
        scope.rels.add(target_rows.rel)
    scope.entries.append(Entry(item.alias, tuple(name for name, _ in item.columns), target.relation.name))
    before = _get_columns(table, other, [c.name for c in columns])
    assigned = bind_assignments(binder, scope, stored, node.target_list, before, "insert into")
    allowed: Expr = Constant(True, BOOL)
    if present(node.where_clause):
        scope.clause = "WHERE"
        allowed = coerce_condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE")
    old = {column.name: expr for column, expr in zip(table.columns, before, strict=True)}
    values: list[Expr] = []
    for column in table.columns:
        value = assigned.get(column.name, old[column.name])
        if column.name in assigned and present(node.where_clause):
            # Values of rows that WHERE rejects are not computed
            value = Case(((allowed, value),), old[column.name], column.type)
        values.append(value)
    outputs = (_NUMBER, *ROW_ID, OutputColumn("allowed", BOOL), *columns)
    source_join = Join("INNER", scan_proposed(rel, table), scan, bind_conflict(binder, table, key, rel, other))
    query = Select(outputs, (_row_number(rel, table), *_row_position(other, table), allowed, *values), source_join)
    return compute_generated(binder, table.name, table.columns, query, 4), list_updated(table, assigned)


def _stored_item(binder: Binder, stored: ChangeTarget, relation: Any) -> NamespaceItem:
    """Returns the table or view under its name or alias, over the stored rows."""
    alias = relation.alias if relation.HasField("alias") else None
    if stored.view is not None:
        return build_view_item(stored, alias)
    table = stored.table
    scan = Scan(stored.rel, table)
    return build_source(binder, stored.rel, scan, table_columns(table), table.name, alias, table.schema).items[0]
