"""Rows as values: whole rows of relations, their fields, what they are compared and converted as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudb.errors import DatatypeMismatch, FeatureNotSupported, GpudbError, SqlError, UndefinedColumn
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.expressions.constants import typed
from gpudb.sql.bind.scope import Item
from gpudb.sql.bind.types.coercion import coerce, coercible, refusal
from gpudb.sql.bound import (
    BoolOp,
    Case,
    Cast,
    Column,
    Constant,
    CteScan,
    Derived,
    Expr,
    Field,
    FrameScan,
    From,
    FunctionScan,
    Join,
    OutputColumn,
    Row,
    Scan,
    Select,
    SystemScan,
    Test,
)
from gpudb.types import BOOL, TEXT, SqlType

PRESENT = "present"
"""The column that tells a relation's row from the one that an outer join makes up."""


def is_row(item: SqlType) -> bool:
    """Whether values of a type are rows, be it of a named type."""
    return item.name == "record" or (item.category == "C" and item.user is not None)


def row(items: Sequence[Expr]) -> Row:
    """ROW(…): its fields are f1, f2, …; untyped literals are text in it."""
    if not items:
        raise FeatureNotSupported("rows without columns are not supported")
    types = (TEXT if item.type.name == "unknown" else item.type for item in items)
    return Row(tuple(items), SqlType("record", fields=tuple((f"f{n}", each) for n, each in enumerate(types, 1))))


def whole_row(binder: Binder, item: Item) -> Expr:
    """A relation's name as an expression: its row, or NULL where an outer join found none."""
    if not item.columns:
        raise FeatureNotSupported("rows without columns are not supported")
    fields = tuple((name, expr.type) for name, expr in item.columns)
    kind = replace(item.row_type, fields=fields) if item.row_type is not None else SqlType("record", fields=fields)
    made = Row(tuple(expr for _, expr in item.columns), kind, whole=True)
    if not item.nullable:
        return made
    columns = [expr for _, expr in (*item.columns, *item.hidden)]
    rels = {column.rel for column in columns if isinstance(column, Column)}
    if len(rels) != 1 or not all(isinstance(column, Column) for column in columns):
        raise FeatureNotSupported("the row of a join that may be missing is not supported")
    (rel,) = rels
    binder.presence[rel] = tuple(OutputColumn(name, expr.type) for name, expr in (*item.columns, *item.hidden))
    present = Test(Column(rel, len(columns), BOOL, PRESENT), "NULL", True)
    return Case(((present, made),), Constant(None, kind), kind)


def with_presence(binder: Binder, source: From | None) -> From | None:
    """FROM with a column for each relation whose presence is asked for: it is NULL where an outer join found no row."""
    if source is None or not binder.presence:
        return source
    if isinstance(source, Join):
        left, right = with_presence(binder, source.left), with_presence(binder, source.right)
        assert left is not None
        assert right is not None
        return replace(source, left=left, right=right)
    columns = binder.presence.pop(source.rel, None)
    if columns is None:
        return source
    assert isinstance(source, Scan | SystemScan | FrameScan | Derived | CteScan | FunctionScan)
    rel = binder.rel()
    targets: list[Expr] = [Column(rel, n, c.type, c.name) for n, c in enumerate(columns)]
    targets.append(Constant(True, BOOL))
    inside = Select((*columns, OutputColumn(PRESENT, BOOL)), tuple(targets), replace(source, rel=rel))
    lateral = isinstance(source, FunctionScan) or (isinstance(source, Derived) and source.lateral)
    return Derived(source.rel, inside, lateral)


def field_at(arg: Expr, index: int) -> Expr:
    """A field of a row by its position."""
    if isinstance(arg, Row):
        item = arg.items[index]
        return item if item.type.name != "unknown" else replace_type(item)
    name, item_type = arg.type.fields[index]
    return Field(arg, name, item_type, index)


def replace_type(item: Expr) -> Expr:
    """An untyped literal of a row: the text that it is there."""
    return Constant(item.value, TEXT) if isinstance(item, Constant) else item


def field_named(arg: Expr, name: str) -> Expr:
    """(row).name; 42809 for what is no row, 42703 for what it has not."""
    if not is_row(arg.type):
        message = f"column notation .{name} applied to type {arg.type}, which is not a composite type"
        raise SqlError.of("wrong_object_type", message)
    places = [index for index, (each, _) in enumerate(arg.type.fields) if each == name]
    if not places:
        if arg.type.name == "record":
            raise UndefinedColumn(f'could not identify column "{name}" in record data type')
        raise UndefinedColumn(f'column "{name}" not found in data type {arg.type}')
    return field_at(arg, places[0])


def null_test(arg: Expr, negated: bool) -> Expr:
    """row IS [NOT] NULL: true if each of its fields is, those that are rows taken as they are."""
    parts: list[Expr] = [Test(field_at(arg, index), "NULL", negated) for index in range(len(arg.type.fields))]
    return parts[0] if len(parts) == 1 else BoolOp("AND", tuple(parts))


def check_alike(left: SqlType, right: SqlType) -> None:
    """42804 for rows that PostgreSQL does not compare."""
    for number, ((_, one), (_, other)) in enumerate(zip(left.fields, right.fields, strict=False), 1):
        if one.name != other.name:
            message = f"cannot compare dissimilar column types {one.plain} and {other.plain} at record column {number}"
            raise DatatypeMismatch(message)
    if len(left.fields) != len(right.fields):
        raise DatatypeMismatch("cannot compare record types with different numbers of columns")


def to_row(binder: Binder, expr: Expr, target: SqlType, context: str, what: str | None) -> Expr:
    """`expr` as a row of `target`, whose fields may be left open (record)."""
    source = expr.type
    if source.name == "unknown" and isinstance(expr, Constant):
        return _from_literal(binder, expr, target)
    if not coercible(source, target, context):
        refused = refusal(source, target, context, what)
        raise refused if what is None else binder.locate_expr(refused, expr)
    if not target.fields and not is_row(source) and source.name != "unknown":
        raise FeatureNotSupported("input of anonymous composite types is not implemented")
    if not target.fields or source == target:
        return expr
    if isinstance(expr, Row) and target.user is not source.user:
        return _converted(binder, expr, target)
    if isinstance(expr, Column) and source.name == "record" != target.name:
        # PostgreSQL converts a row that is written out, not one that comes from elsewhere
        message = f"cannot cast type record to {target}"
        raise binder.locate_expr(SqlError.of("cannot_coerce", message), expr)
    if is_row(source):
        if len(source.fields) != len(target.fields):
            raise _wrong_width(source, target)
        _no_domains(source, target)
    return Cast(expr, target, context == "e")


def _converted(binder: Binder, expr: Row, target: SqlType) -> Expr:
    if len(expr.items) != len(target.fields):
        raise _wrong_width(expr.type, target)
    items = []
    for number, (item, (_, wanted)) in enumerate(zip(expr.items, target.fields, strict=True), 1):
        if not coercible(item.type, wanted, "e"):
            message = f"cannot cast type {expr.type} to {target}"
            detail = f"Cannot cast type {item.type.plain} to {wanted.plain} in column {number}."
            raise SqlError.of("cannot_coerce", message, detail=detail)
        items.append(held(binder, coerce(binder, item, wanted, "e"), wanted))
    return Row(tuple(items), target, whole=True)


def held(binder: Binder, made: Expr, wanted: SqlType) -> Expr:
    """A field's value held exactly as the row's type says."""
    if made.type == wanted:
        return made
    return Constant(None, wanted) if isinstance(made, Constant) and made.value is None else Cast(made, wanted)


def _wrong_width(source: SqlType, target: SqlType) -> GpudbError:
    few = "few" if len(source.fields) < len(target.fields) else "many"
    message = f"cannot cast type {source} to {target}"
    return SqlError.of("cannot_coerce", message, detail=f"Input has too {few} columns.")


def _no_domains(source: SqlType, target: SqlType) -> None:
    for (_, one), (_, wanted) in zip(source.fields, target.fields, strict=True):
        if wanted.domain is not None and wanted.domain != one.domain:
            raise FeatureNotSupported(f"cast from {source} to {target}, whose fields have domains, is not supported")


def _from_literal(binder: Binder, expr: Constant, target: SqlType) -> Expr:
    if expr.value is None:
        return Constant(None, target)
    if not target.fields:
        raise FeatureNotSupported("input of anonymous composite types is not implemented")
    made = typed(expr, target, binder.timezone)
    assert made is not None
    assert isinstance(made.value, tuple)
    if any(item.domain is not None for _, item in target.fields):
        values = zip(made.value, target.fields, strict=True)
        row = Row(tuple(Constant(value, replace(item, domain=None)) for value, (_, item) in values))
        return _converted(binder, row, target)
    return made
