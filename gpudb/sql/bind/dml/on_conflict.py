"""INSERT … ON CONFLICT: the arbiter keys, and the queries that find conflicts among and with proposed rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Key, Table, Unique
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.functions import resolve
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.generated_columns import compute_generated, list_updated
from gpudb.sql.bind.dml.targets import ROW_ID, bind_assignments
from gpudb.sql.bind.dml.view_targets import ChangeTarget, build_view_item, resolve_target
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator, build_call, conjunction
from gpudb.sql.bind.name_errors import Entry
from gpudb.sql.bind.query.sources import build_source, table_columns
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    NEW_ROWS,
    ROW_NUMBER,
    BoolOp,
    Case,
    Column,
    Constant,
    DistinctFrom,
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
from gpudb.sql.parse.parser import inner, present
from gpudb.types import BOOL, INT8, TEXT

_NUMBER = OutputColumn("number", INT8)


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
        keys: Sequence[Key] = table.keys
    else:
        keys = _infer_arbiters(binder, target, node.infer)
    if not keys:
        return None
    same = _build_same_keys(binder, table, keys)
    if not update:
        return OnConflict(False, same, _unite([_build_conflicts(binder, table, key) for key in keys]))
    if len(keys) > 1:
        # All keys are over the same columns; one with NULLS NOT DISTINCT detects the most conflicts
        keys = [next((key for key in keys if not key.nulls_distinct), keys[0])]
        same = _build_same_keys(binder, table, keys)
    query, assigned = _build_update(binder, target, relation, node, keys[0], ctes)
    return OnConflict(True, same, query, assigned)


# ------------------------------------------------------------------------------------------------ arbiters


def _infer_arbiters(binder: Binder, target: ChangeTarget, infer: Any) -> Sequence[Key]:
    table = target.table
    if infer.conname:
        constraints = {c.name for c in table.constraints if isinstance(c, Unique) and not c.index}
        known = constraints | ({table.key_name} if table.primary_key else set())
        if target.view is None and infer.conname in known:
            named = [key for key in table.keys if key.name == infer.conname]
            for expr in (expr for name, expr in target.columns if any(name in key.columns for key in named)):
                binder.accesses.select(expr)
            return named
        if target.view is None and any(c.name == infer.conname for c in table.checks):
            raise SqlError.of("wrong_object_type", "constraint in ON CONFLICT clause has no associated index")
        message = f'constraint "{infer.conname}" for table "{target.relation.name}" does not exist'
        raise SqlError.of("undefined_object", message)
    columns = dict(target.columns)
    names: list[str | None] = []
    for each in map(inner, infer.index_elems):
        if len(each.collation) or len(each.opclass):
            raise FeatureNotSupported("ON CONFLICT over collations or operator classes is not supported")
        if not each.name:
            # No key is over an expression
            _bind_arbiter_expression(binder, target, each.expr)
            names.append(None)
            continue
        if each.name not in columns:
            raise binder.locate(UndefinedColumn(f'column "{each.name}" does not exist'), infer.location)
        result = columns[each.name]
        binder.accesses.select(result)
        # A computed column of a view is no key of its table
        own = isinstance(result, Column) and result.rel == target.rel
        names.append(table.columns[result.index].name if own and isinstance(result, Column) else None)
    if present(infer.where_clause):
        # A key without a predicate arbitrates under any predicate, which only has to be valid
        coerce_condition(binder, _bind_arbiter_expression(binder, target, infer.where_clause), "WHERE")
    found = [key for key in table.keys if set(key.columns) == set(names)]
    if not found:
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        raise SqlError.of("invalid_column_reference", message)
    return found


def _bind_arbiter_expression(binder: Binder, target: ChangeTarget, node: Any) -> Expr:
    """Binds an expression of the arbiter over the columns of the table or view."""
    rel = binder.new_rel()
    seen = resolve_target(binder, target.relation, rel, "insert into")
    binder.accesses.add_target_rows(rel, target.rel, seen.layers)
    scope = Scope(clause="WHERE")
    scope.add((NamespaceItem(target.relation.name, seen.columns, target.relation.schema),), seen.columns)
    return bind_expression(binder, scope, node)


# ------------------------------------------------------------------------------------------------ the queries


def scan_proposed(rel: int, table: Table) -> FrameScan:
    """Returns a scan of the rows to insert, with their numbers as last column."""
    return FrameScan(rel, NEW_ROWS, (*table_columns(table), OutputColumn(ROW_NUMBER, INT8)))


def _get_columns(table: Table, rel: int, names: Sequence[str]) -> list[Column]:
    places = {column.name: index for index, column in enumerate(table.columns)}
    return [Column(rel, places[name], table.columns[places[name]].type, name) for name in names]


def _row_number(rel: int, table: Table) -> Column:
    return Column(rel, len(table.columns), INT8, ROW_NUMBER)


def _build_same_keys(binder: Binder, table: Table, keys: Sequence[Key]) -> Select:
    """Returns the query for each proposed row's number and the first number with the same value of each key."""
    rel = binder.new_rel()
    number = _row_number(rel, table)
    targets: list[Expr] = [number]
    for key in keys:
        columns = _get_columns(table, rel, key.columns)
        first = build_call(binder, resolve.resolve_function("min", (INT8,), "a"), (number,))
        result: Expr = Window(first.function, first.args, INT8, partition_by=tuple(columns))
        if key.nulls_distinct:
            nulls = tuple(Test(column, "NULL") for column in columns)
            result = Case(((BoolOp("OR", nulls) if len(nulls) > 1 else nulls[0], number),), result, INT8)
        targets.append(result)
    outputs = (_NUMBER, *(OutputColumn(f"first{place}", INT8) for place in range(len(keys))))
    return Select(outputs, tuple(targets), scan_proposed(rel, table))


def _compare_keys(binder: Binder, table: Table, key: Key, rel: int, other: int) -> Expr:
    """Returns the condition that a proposed row has the key of a stored row."""
    pairs = zip(_get_columns(table, rel, key.columns), _get_columns(table, other, key.columns), strict=True)
    if key.nulls_distinct:
        return conjunction([apply_operator(binder, "=", one, two) for one, two in pairs])
    return conjunction([DistinctFrom(one, two, True) for one, two in pairs])


def _build_conflicts(binder: Binder, table: Table, key: Key) -> Select:
    """Returns the query for proposed rows whose key is stored: their numbers, and positions of the stored rows."""
    rel, other = binder.new_rel(), binder.new_rel()
    on = _compare_keys(binder, table, key, rel, other)
    source = Join("INNER", scan_proposed(rel, table), Scan(other, table, row_ids=True), on)
    return Select((_NUMBER, *ROW_ID), (_row_number(rel, table), *_row_position(other, table)), source)


def _row_position(rel: int, table: Table) -> tuple[Column, Column]:
    width = len(table.columns)
    return Column(rel, width, TEXT, "file"), Column(rel, width + 1, INT8, "row")


def _unite(queries: Sequence[Query]) -> Query:
    result = queries[0]
    for each in queries[1:]:
        result = SetOperation((_NUMBER, *ROW_ID), "UNION", True, result, each)
    return result


def _build_update(
    binder: Binder, target: ChangeTarget, relation: Any, node: Any, key: Key, ctes: Scope
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
    source_join = Join("INNER", scan_proposed(rel, table), scan, _compare_keys(binder, table, key, rel, other))
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
