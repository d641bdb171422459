"""Rows as values: ROW(…), whole rows of relations, their fields, and NULL tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.scope import NamespaceItem
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import (
    BoolOp,
    Case,
    Column,
    Constant,
    Derived,
    Expr,
    Field,
    From,
    FunctionScan,
    Join,
    OutputColumn,
    Row,
    Select,
    Test,
)
from gpudb.types import BOOL, TEXT, SqlType

PRESENT = "present"
"""A column that is true for a relation's own rows and NULL for those that an outer join adds."""


def build_row(items: Sequence[Expr]) -> Row:
    """Returns ROW(…): its fields are f1, f2, …; untyped literals become text."""
    if not items:
        raise FeatureNotSupported("rows without columns are not supported")
    types = (TEXT if item.type.name == "unknown" else item.type for item in items)
    return Row(tuple(items), SqlType("record", fields=tuple((f"f{n}", each) for n, each in enumerate(types, 1))))


def bind_whole_row(binder: Binder, item: NamespaceItem) -> Expr:
    """Binds a relation's name as an expression: its row, or NULL if an outer join found none."""
    if not item.columns:
        raise FeatureNotSupported("rows without columns are not supported")
    fields = tuple((name, expr.type) for name, expr in item.columns)
    kind = replace(item.row_type, fields=fields) if item.row_type is not None else SqlType("record", fields=fields)
    result = Row(tuple(expr for _, expr in item.columns), kind, whole=True)
    if not item.nullable:
        return result
    return Case(((bind_presence(binder, item), result),), Constant(None, kind), kind)


def bind_presence(binder: Binder, item: NamespaceItem) -> Expr:
    """Binds whether a row is of a relation itself, and none that an outer join adds."""
    columns = [expr for _, expr in (*item.columns, *item.hidden)]
    rels = {column.rel for column in columns if isinstance(column, Column)}
    if len(rels) != 1 or not all(isinstance(column, Column) for column in columns):
        raise FeatureNotSupported("the row of a join that may be missing is not supported")
    (rel,) = rels
    binder.presence_columns[rel] = tuple(OutputColumn(name, expr.type) for name, expr in (*item.columns, *item.hidden))
    return Test(Column(rel, len(columns), BOOL, PRESENT), "NULL", True)


def add_presence_columns(binder: Binder, source: From | None) -> From | None:
    """Adds a presence column to each relation that is read as a whole row.

    It is NULL in rows that an outer join adds.
    """
    if source is None or not binder.presence_columns:
        return source
    if isinstance(source, Join):
        left, right = add_presence_columns(binder, source.left), add_presence_columns(binder, source.right)
        assert left is not None
        assert right is not None
        return replace(source, left=left, right=right)
    columns = binder.presence_columns.pop(source.rel, None)
    if columns is None:
        return source
    rel = binder.new_rel()
    targets: list[Expr] = [Column(rel, n, c.type, c.name) for n, c in enumerate(columns)]
    targets.append(Constant(True, BOOL))
    inside = Select((*columns, OutputColumn(PRESENT, BOOL)), tuple(targets), replace(source, rel=rel))
    lateral = isinstance(source, FunctionScan) or (isinstance(source, Derived) and source.lateral)
    return Derived(source.rel, inside, lateral)


def get_field(arg: Expr, index: int) -> Expr:
    """Returns a field of a row by its position."""
    if isinstance(arg, Row):
        item = arg.items[index]
        return item if item.type.name != "unknown" else literal_as_text(item)
    name, item_type = arg.type.fields[index]
    return Field(arg, name, item_type, index)


def literal_as_text(item: Expr) -> Expr:
    """Returns an untyped literal of a row as text."""
    return Constant(item.value, TEXT) if isinstance(item, Constant) else item


def get_field_by_name(arg: Expr, name: str) -> Expr:
    """Returns (row).name; 42809 for a value that is no row, 42703 for an unknown field."""
    if not is_row(arg.type):
        message = f"column notation .{name} applied to type {arg.type}, which is not a composite type"
        raise SqlError.of("wrong_object_type", message)
    places = [index for index, (each, _) in enumerate(arg.type.fields) if each == name]
    if not places:
        if arg.type.name == "record":
            raise UndefinedColumn(f'could not identify column "{name}" in record data type')
        raise UndefinedColumn(f'column "{name}" not found in data type {arg.type}')
    return get_field(arg, places[0])


def build_null_test(arg: Expr, negated: bool) -> Expr:
    """Returns row IS [NOT] NULL: true if it holds for each field; nested rows are not expanded."""
    parts: list[Expr] = [Test(get_field(arg, index), "NULL", negated) for index in range(len(arg.type.fields))]
    return parts[0] if len(parts) == 1 else BoolOp("AND", tuple(parts))


def check_comparable(left: SqlType, right: SqlType) -> None:
    """Raises 42804 for rows that PostgreSQL does not compare."""
    for number, ((_, one), (_, other)) in enumerate(zip(left.fields, right.fields, strict=False), 1):
        if one.name != other.name:
            message = f"cannot compare dissimilar column types {one.plain} and {other.plain} at record column {number}"
            raise DatatypeMismatch(message)
    if len(left.fields) != len(right.fields):
        raise DatatypeMismatch("cannot compare record types with different numbers of columns")
